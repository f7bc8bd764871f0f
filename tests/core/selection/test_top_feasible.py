"""The best feasible arm: the rule against its definition, on random counts, and its words."""

import numpy as np
import pytest

from safebandit.core.selection import NONE_SELECTED, TopFeasible

from ..policies.exploring.plain import SETS, PlainSet
from ..states import States, prepare_selection

STATES = States(300, 4, (0.3, 0.3), seed=21, most=12)


def named(states, row, plain):
    """The arms whose means are known, as far as the set asks, and lie in it."""
    asked = np.flatnonzero(plain.a.any(axis=0))
    plays, ones = states.plays[row], states.ones[row]
    means = ones / np.maximum(plays, 1)
    return [k for k in range(len(plays)) if plays[k, asked].all() and plain.contains(means[k])], means


@pytest.mark.parametrize("text", SETS)
def test_the_largest_mean_reward_of_the_feasible_arms_is_selected(text):
    rule, plain = TopFeasible(text or ""), PlainSet(text)
    own, found = prepare_selection(rule, STATES.terms), STATES.selected(rule)
    for row in range(len(found)):
        feasible, means = named(STATES, row, plain)
        assert own.feasible(STATES.memory.quantities[row], STATES.terms) == feasible
        left = [k for k in feasible if not STATES.dropped[row, k]]
        assert found[row] == (max(left, key=lambda k: (means[k, 0], -k)) if left else NONE_SELECTED)
    assert {NONE_SELECTED, 0, 1, 2, 3} == set(found.tolist())


def test_its_words_name_all_feasible_arms():
    rule, row = TopFeasible("risk1 + risk2 <= 0.5"), 0
    states = States(1, 3, (0.3, 0.3), dropped=0.0)
    states.set(np.full((1, 3, 3), 10), np.array([[[5, 1, 1], [9, 4, 2], [3, 1, 0]]]))
    seen = states.memory.quantities[row]
    assert rule.why(0, seen, states.terms) == (
        '"arm 0" has the largest mean reward of the feasible arms, 0.5 of 10 units; feasible: "arm 0", "arm 2"'
    )
    assert rule.why(NONE_SELECTED, seen, states.terms) == "no arm that is left has its sample means in the safe set"
    assert "lie in the safe set (risk1 + risk2 <= 0.5), and that of" in rule.says(states.terms)
    assert "(one <= 0.3, two <= 0.3)" in TopFeasible().says(states.terms)
