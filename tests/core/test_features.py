"""Features of arms for a unit: products of the arm's numbers with 1 and the unit's context."""

import numpy as np

from safebandit.core.arms import Features, Sizes, meet, new_memory
from safebandit.core.streams import STATE


def test_features_are_the_products_of_the_arms_numbers_with_1_and_the_context():
    arms = np.array([[1.0, 0.5, -2.0], [0.0, 3.0, 4.0]])
    memory = new_memory(np.zeros((1, 2), np.uint64), np.zeros(1, STATE), (0.2,), Sizes(), 0, Features(arms, context=2))
    context = np.array([0.25, -7.0])
    for k in range(2):
        meet(memory.features, memory.arm_features, k, context)
    expected = np.array([np.kron(row, [1.0, *context]) for row in arms])
    assert memory.features["value"].tolist() == expected.tolist()


def test_without_a_context_features_are_the_arms_own():
    arms = np.array([[1.0, 0.5], [0.0, 3.0]])
    memory = new_memory(np.zeros((1, 2), np.uint64), np.zeros(1, STATE), (0.2,), Sizes(), 0, Features(arms))
    assert memory.features["value"].tolist() == arms.tolist()
