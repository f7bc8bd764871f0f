"""Policies that are called by an address: the value that is read there, its arrays, its errors."""

import gc
import pickle
from typing import NamedTuple

import numpy as np
import pytest

import safebandit as sb
from safebandit.core.called import called
from safebandit.core.dispatch import is_ours
from safebandit.core.kernels import kernels_for, memory_for
from safebandit.core.streams import trial_streams
from tests.core.driving import CONDUCT


class Told(NamedTuple):
    """Gives the arm that its parts come to: fields of every size, nested, with arrays."""

    small: bool
    arms: np.ndarray
    inner: tuple
    last: float


@sb.decide.register(Told)
def decide_told(policy, state, t):
    if policy.last < 0:
        raise ValueError("below zero")
    return policy.arms[t] + policy.inner[0] + policy.inner[1][0] + int(policy.last) + policy.small, False


class Plain(NamedTuple):
    arms: int = 7


@pytest.fixture
def memory():
    streams = trial_streams(1, 0, 100)
    return memory_for(Plain(), streams.keys[None], streams.policy, (0.3,))


def arm_of(policy, memory, t):
    return kernels_for(policy).decide(policy, CONDUCT, memory, t, 1, np.zeros(103, np.int64))


def test_the_value_at_the_address_is_the_policys_with_its_arrays(memory):
    policies = [called(Told(bool(n % 2), np.arange(n, n + 3), (10, np.array([20])), 3.0)) for n in range(40)]
    gc.collect()
    # Others take the room of what was let go, if anything was.
    others = [np.full(3, -1) for _ in range(1_000)]
    for n, policy in enumerate(policies):
        assert arm_of(policy, memory, 2) == (n + 2 + 10 + 20 + 3 + n % 2, False)
    assert len(others) == 1_000


def test_what_a_formula_raises_is_raised(memory):
    with pytest.raises(ValueError, match="below zero"):
        arm_of(called(Told(True, np.arange(3), (1, np.arange(1)), -1.0)), memory, 0)


def test_an_address_does_not_leave_its_process():
    policy = called(Told(True, np.arange(3), (1, np.arange(1)), 1.0))
    with pytest.raises(TypeError, match="send the policy"):
        pickle.dumps(policy)


def test_all_that_is_around_a_policy_has_one_type(memory):
    one = called(Told(True, np.arange(3), (1, np.arange(1)), 1.0))
    assert is_ours(one)
    assert not is_ours(one.kept[0])
    before = len(kernels_for(one).decide.overloads)
    arm_of(one, memory, 0)
    arm_of(called(Told(False, np.arange(3), (1, np.arange(1)), 1.0)), memory, 0)
    assert len(kernels_for(one).decide.overloads) == max(before, 1)
