"""Response-adaptive randomisation: shares by plain arithmetic, as adaptr has them, and what is drawn by them."""

import functools

import numpy as np
import pytest
from scipy import stats

from safebandit import PolicyError
from safebandit.core.arms import CELL, RISKS
from safebandit.core.called import called
from safebandit.core.conduct import plain_conduct
from safebandit.core.kernels import Told, no_contexts
from safebandit.core.policies import (
    HOLD,
    WAIT,
    Decision,
    Floor,
    ResponseAdaptive,
    Setup,
    policy_from_text,
    policy_to_text,
    prepare,
)

from .. import driving
from .. import posterior_truth as truth

ARMS = 4
# The data are looked at when the first unit is settled.
LOOKING = plain_conduct(2**62)._replace(looks=np.array([1])).packed()
PLAYS, ONES = np.array([40, 30, 60, 20]), np.array([16, 15, 21, 9])
HARMS = np.array([12, 9, 10, 5])


@functools.cache
def bench():
    return driving.Bench(ResponseAdaptive(), ARMS)


def after(policy, ones=ONES, *, dropped=(), given=None):
    """A trial that was looked at with these counts, in which arms are dropped before and others since."""
    one = bench()
    one.policy = driving.ready(policy, ["a", "b", "c", "d"], (0.3,))
    one.called = called(one.policy)
    one.begin()
    one.memory.courses["looks"] = one.memory.courses["settled"] = 0
    one.arms["dropped"] = 0
    for k in range(ARMS):
        last = k == 0
        one.set(k, 0, PLAYS[k] - last, ones[k] - last).set(k, 1, PLAYS[k] - last, HARMS[k] - last)
    one.arms["dropped"][list(dropped)] = 1
    one.seen["pending"][0] = 1
    first, known = np.zeros(1, np.int64), one.unknown[None].view(CELL)
    told = Told(first, first, first + 1, np.ones((1, 2)).view(CELL), known, np.array([False]), no_contexts(1))
    one.kernels.learn(one.called, LOOKING, one.memory, told)
    one.arms["available"], one.arms["dropped"] = 1, 0
    one.arms["dropped"][list(dropped if given is None else given)] = 1
    return one


def shares(policy, **options):
    return after(policy, **options).table(1)[2].copy()


def test_before_the_first_look_all_arms_have_the_same_share():
    one = bench()
    one.policy = driving.ready("response-adaptive", ["a", "b", "c", "d"], (0.3,))
    one.called = called(one.policy)
    one.begin()
    assert one.table(1)[2].tolist() == [0.25] * ARMS


@pytest.mark.parametrize("soften", [0.0, 0.5, 1.0, 2.0])
def test_shares_are_powers_of_the_chances_to_be_best(soften):
    weights = truth.best(PLAYS, ONES) ** soften
    one = after(ResponseAdaptive(soften))
    assert one.table(1)[2] == pytest.approx(weights / weights.sum(), abs=1e-5)
    assert one.memory.table["value"][:, RISKS + 1] == pytest.approx(truth.best(PLAYS, ONES), abs=1e-6)


def test_where_the_lowest_is_best_first_risks_are_compared():
    expected = truth.best(PLAYS, PLAYS - HARMS)
    assert shares(ResponseAdaptive(lowest=True)) == pytest.approx(expected, abs=1e-6)
    assert expected.argmax() != truth.best(PLAYS, ONES).argmax()


def test_a_mixed_floor_is_given_to_all_before_the_rest_is_divided():
    best = truth.best(PLAYS, ONES)
    assert shares(ResponseAdaptive(floor=0.15)) == pytest.approx(0.15 + (1 - 4 * 0.15) * best, abs=1e-6)
    assert shares(ResponseAdaptive(floor=0.25)) == pytest.approx([0.25] * ARMS, abs=1e-12)


def raised(weights, floor, rest=1.0):
    """adaptr's way, as its manual has it: shares below the floor are set to it, what is left is divided again."""
    final = np.full(len(weights), np.nan)
    while True:
        open_arms = np.isnan(final)
        trial = (rest - np.nansum(final)) * weights / weights[open_arms].sum()
        low = open_arms & (trial < floor)
        if not low.any():
            return np.where(open_arms, trial, final)
        final[low] = floor


@pytest.mark.parametrize("ones", [ONES, (30, 20, 12, 10), (39, 5, 5, 2), (17, 13, 26, 9)])
def test_a_raised_floor_is_that_of_adaptr(ones):
    for floor in (0.05, 0.2, 0.25):
        got = shares(ResponseAdaptive(0.5, floor, Floor.raised), ones=np.array(ones))
        assert got == pytest.approx(raised(truth.best(PLAYS, ones) ** 0.5, floor), abs=1e-5)
        assert got.min() >= floor


def test_a_control_has_a_fixed_share_or_that_of_the_best_other_arm():
    best = truth.best(PLAYS, ONES)
    others = np.array([0, 1, 3])
    fixed = shares(ResponseAdaptive(floor=0.1, control="c", control_share=0.4))
    assert fixed[2] == 0.4
    assert fixed[others] == pytest.approx(0.1 + (0.6 - 0.3) * best[others] / best[others].sum(), abs=1e-6)
    clipped = shares(ResponseAdaptive(1.0, 0.15, Floor.raised, "c", 0.4))
    assert clipped[others] == pytest.approx(raised(best[others], 0.15, 0.6), abs=1e-6)
    matched = shares(ResponseAdaptive(control="c"))
    weights = np.where(np.arange(ARMS) == 2, best[others].max(), best)
    assert matched == pytest.approx(weights / weights.sum(), abs=1e-6)
    assert matched[2] == matched[others].max()


def test_what_a_dropped_arm_had_goes_to_the_others():
    left = [0, 2, 3]
    among_all, among_left = truth.best(PLAYS, ONES)[left], truth.best(PLAYS[left], ONES[left])
    # Dropped since the look: by the chances of that look. Before it: by those among the arms that are left.
    since, before = shares(ResponseAdaptive(), given=[1]), shares(ResponseAdaptive(), dropped=[1])
    assert since[1] == before[1] == 0.0
    assert since[left] == pytest.approx(among_all / among_all.sum(), abs=1e-6)
    assert before[left] == pytest.approx(among_left, abs=1e-6)
    assert np.abs(since - before).max() > 0.01
    fixed = ResponseAdaptive(control="c", control_share=0.4)
    assert shares(fixed, dropped=[0, 1, 3]).tolist() == [0.0, 0.0, 1.0, 0.0]
    assert shares(fixed, dropped=[2]).sum() == pytest.approx(1.0)


def test_nothing_is_given_where_no_arm_may_be():
    one = after(ResponseAdaptive(), given=range(ARMS))
    assert one.decide(1) == (HOLD, True)
    one.arms["dropped"] = 0
    counts = np.zeros(3 + ARMS, np.int64)
    one.seen["pending"][:, 1] = PLAYS
    waiting = plain_conduct(1).packed()
    assert one.kernels.decide(one.called, waiting, one.memory, 1, 1, counts) == (WAIT, False)


def test_arms_are_drawn_by_their_shares():
    one = after(ResponseAdaptive(0.5, 0.1))
    expected, counts = one.table(1)[2], one.counts(1, 20_000)[:ARMS]
    assert one.policy.exact_chances
    assert stats.chisquare(counts, expected * 20_000).pvalue > driving.FALSE_ALARM


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("soften=-1", "soften must be at least 0"),
        ("floor=0.3", r"floor must lie in \[0, 0.25\], what 4 arms can all have, got 0.3"),
        ("floor=0.25,control=a,control_share=0.4", r"floor must lie in \[0, 0.2\], what 3 arms"),
        ("control_share=0.4", "control_share needs a control"),
        ("control=e", "control must be an arm"),
        ("control=a,control_share=1", "control_share must lie between 0 and 1"),
        ("floors=cut", "floors must be one of mixed, raised"),
        ("lowest=perhaps", "lowest must be true or false"),
    ],
)
def test_parameters_are_checked(text, problem):
    with pytest.raises(PolicyError, match=problem):
        prepare(policy_from_text(f"response-adaptive:{text}"), Setup(["a", "b", "c", "d"], (0.3,), "hold"))


def test_it_is_written_as_it_is_read():
    policy = ResponseAdaptive(0.5, 0.2, Floor.raised, "a", 0.4, True)
    text = policy_to_text(policy)
    assert text == "response-adaptive:soften=0.5,floor=0.2,floors=raised,control=a,control_share=0.4,lowest=true"
    assert policy_from_text(text) == policy


def test_it_says_why():
    decided = decision([0.6, 0.4, 0.0])
    policy = ResponseAdaptive()
    shown = 'by shares that follow the chances to be best, as of the last look: 0.6 "a", 0.4 "b"'
    assert policy.why(decided, 0) == f"drawn {shown}"
    assert policy.why(decided, 1) == f"another arm was drawn {shown}"
    assert "leaves it no share" in policy.why(decided, 2)


def decision(chances):
    chances = np.array(chances)
    nothing = np.full(len(chances), np.nan)
    names = tuple("abcdef"[: len(chances)])
    return Decision(0, False, chances >= 0.0, nothing, nothing[:, None], chances, {"chance best": chances}, names)
