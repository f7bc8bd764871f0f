"""BOIN: its table as printed, and every decision by the rule of its authors, transcribed."""

import pytest

from safebandit.core.policies import HOLD, WAIT
from safebandit.core.policies.dose.ladder import optimal_boundaries
from safebandit.core.policies.interface import DONE
from safebandit.errors import PolicyError
from safebandit.studies.validation.numbers import BOIN_TABLE

from ... import driving
from .stand import Stand, is_too_toxic, random_counts

DOSES = 5


@pytest.fixture(scope="module")
def stand():
    return Stand("boin:target=0.3", DOSES, 0.3)


def test_the_table_for_a_target_of_three_tenths(stand):
    """Harms from which on one de-escalates and eliminates, and up to which one escalates, after 3, 6, ... 30 units."""
    escalate, deescalate, eliminate = BOIN_TABLE.values()
    for i, n in enumerate(range(3, 31, 3)):
        for y in range(n + 1):
            following = stand.at(1, [3, n, 0, 0, 0], [0, y, 0, 0, 0]).next()
            assert following == 1 + (y <= escalate[i]) - (y >= deescalate[i])
            assert stand.permissible.tolist() == [True] + [y < eliminate[i]] * 4


def plain(target, present, plays, harms, enough=10**9, stay=False):
    """The rule as the R package BOIN 2.7.2 follows it: the next dose, DONE or HOLD."""
    low, high = optimal_boundaries(target, 0.6 * target, 1.4 * target)
    out = DOSES
    for k in range(DOSES):
        if is_too_toxic(target, plays[k], harms[k]):
            out = k
            break
    if out == 0:
        return HOLD
    if present >= out:
        return out - 1
    n, y = plays[present], harms[present]
    kept = stay and n == 3 and y == 1
    following = present
    if y <= n * low and not kept:
        following = present + 1 if present + 1 < out else present
    elif y >= n * high and not kept:
        following = max(0, present - 1)
    return DONE if n >= enough and following == present else following


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("boin:target=0.3", {}),
        ("boin:target=0.25,enough=9", {"enough": 9}),
        ("boin:target=0.25,enough=6,stay_at_one_of_three=true", {"enough": 6, "stay": True}),
    ],
)
def test_every_decision_is_the_rule(text, options):
    stand = Stand(text, DOSES, 0.3)
    met = set()
    for present, plays, harms, _ in random_counts(DOSES, 5, 800):
        expected = plain(stand.policy.target, present, plays, harms, **options)
        assert stand.at(present, plays, harms).next() == expected
        assert stand.none == (expected == HOLD)
        met.add(expected if expected < 0 else expected - present)
    assert met >= {HOLD, -1, 0, 1} | ({DONE} if options else set())


def test_a_tiny_target_is_held_to_the_posterior():
    """With a target of 0.01, three units without harm leave P(risk > target) at .99^4 > .95."""
    stand = Stand("boin:target=0.01", 2, 0.01)
    assert stand.at(0, [3, 0], [0, 0]).next() == HOLD
    assert stand.own("chance above target")[0] == pytest.approx(0.99**4)


def test_the_target_is_alpha_unless_given():
    assert Stand("boin", 3, 0.2).policy.target == 0.2
    assert Stand("boin:target=0.3", 3, 0.2).policy.target == 0.3


def test_nothing_known_is_no_reason_to_move(stand):
    assert stand.at(2, [3, 3, 0, 0, 0], [0, 0, 0, 0, 0]).next() == 2
    assert stand.at(-1, [0] * 5, [0] * 5).next() == 0


def test_a_dose_that_may_not_be_given_is_not(stand):
    stand.at(1, [3, 3, 0, 0, 0], [0, 0, 0, 0, 0])
    stand.arms["dropped"][2] = 1
    # A dropped dose is out with those above; the design stays below it.
    assert stand.next() == 1
    assert stand.permissible.tolist() == [True, True, False, False, False]
    stand.arms["available"], stand.arms["dropped"] = 1, [1, 0, 0, 0, 0]
    assert stand.next() == HOLD
    stand.arms["available"], stand.arms["dropped"] = 1, 0


def test_a_step_down_waits_for_the_dose_below():
    stand = Stand("boin:target=0.3", DOSES, 0.3)
    stand.at(1, [3, 6, 0, 0, 0], [0, 3, 0, 0, 0])
    stand.seen["pending"][0, 1] = 2**62
    assert stand.next() == WAIT


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("boin:target=0.8", "target must lie between 0 and 0.7143, got 0.8"),
        ("boin:target=0.3,cutoff=1", "cutoff must lie between 0 and 1, got 1"),
        ("boin:target=0.3,enough=0", "enough must be at least 1"),
        ("boin:target=0.3,escalate_at=0.4", "escalate_at must be below deescalate_at, got 0.4 and 0.3585"),
    ],
)
def test_bad_parameters_are_refused(text, rule):
    with pytest.raises(PolicyError, match=rule):
        Stand(text, DOSES, 0.3)


@pytest.mark.parametrize("text", ["boin", "boin12:wanted=0.2", "mtpi", "tpi", "crm", "dose-ts", "three-plus-three"])
def test_dose_finding_is_about_one_risk(text):
    with pytest.raises(PolicyError, match="one risk, got 2"):
        driving.ready(text, ["a", "b"], (0.3, 0.2))
