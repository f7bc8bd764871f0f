"""Units for which only some arms are eligible: decided among these, recorded, verified, held for these alone."""

import math

import pytest

import safebandit as sb
from safebandit.errors import ConflictError, TrialError
from safebandit.trials.analysis.off_policy import what_if
from safebandit.trials.events import canonical
from safebandit.trials.holds import last_of_strata, standing_key
from safebandit.trials.replay import Replay

from .test_legality import chained

ARMS = ["a", "b", "c"]


def trial_of(policy="tsbu", **others):
    return sb.Trial(ARMS, 0.3, policy, **{"pending_cap": 1000, "seed": 7, "name": "knee", **others})


def fill(trial, units, risk=lambda arm: 0.0, reward=lambda i: (i % 5) / 4):
    for i in range(units):
        given = trial.ask(f"p{i}")
        if given.arm is not None:
            trial.tell(given.id, reward=reward(i), risk=risk(given.arm))


def shut(arms, policy="docb", **others):
    """A trial in which these arms are not permissible, and the others are."""
    trial = trial_of(policy, **others)
    for i in range(40 * len(arms)):
        unit = trial.ask(f"p{i}", eligible=arms)
        if unit.arm is not None:
            trial.tell(unit.id, reward=1, risk=1)
    return trial


@pytest.mark.parametrize("policy", ["tsbu", "docb", "equal", "tsbu:floor=.1", "safe-ids", "safe-imed"])
def test_only_eligible_arms_are_given_with_all_of_the_chance(policy):
    trial = trial_of(policy)
    fill(trial, 12)
    for i in range(20):
        given = trial.ask(f"q{i}", eligible=["c", "a"])
        said = trial.log[-1].content
        assert given.arm in ("a", "c")
        assert said["eligible"] == ["a", "c"]
        assert said["arms"]["b"]["propensity"] == 0.0
        assert not said["arms"]["b"]["available"]
        assert sum(each["propensity"] for each in said["arms"].values()) == pytest.approx(1.0, abs=1e-5)
        trial.tell(given.id, reward=i % 2, risk=0)
    assert trial.verify().holds
    again = sb.Trial.from_json(trial.to_json())
    assert again.ask("more", eligible=["b"]).arm == trial.ask("more", eligible=["b"]).arm == "b"


def test_propensities_given_a_mask_are_the_frequencies_of_many_trials():
    # Error rate: three shares, each beyond 4.5 standard errors with a chance of 7e-6.
    counts, n, chances = dict.fromkeys(ARMS, 0), 800, None
    for seed in range(n):
        trial = trial_of(seed=seed)
        for i, arm in enumerate("abc"):
            trial.ask(f"p{i}", eligible=[arm])
            trial.tell(f"p{i}", reward=float(i % 2 == 0), risk=0)
        counts[trial.ask("next", eligible=["a", "b"]).arm] += 1
        seen = {arm: each["propensity"] for arm, each in trial.log[-1].content["arms"].items()}
        chances = chances or seen
        assert seen == pytest.approx(chances, abs=1e-6)
    assert chances["c"] == 0.0 < 0.1 < chances["a"] < 0.9
    for arm, chance in chances.items():
        assert abs(counts[arm] / n - chance) <= 4.5 * math.sqrt(chance * (1 - chance) / n)


def test_a_trial_without_masks_makes_the_same_bits_whether_or_not_it_could_have_had_one():
    plain, all_of_them = trial_of(), trial_of()
    for i in range(30):
        given = plain.ask(f"p{i}"), all_of_them.ask(f"p{i}", eligible=ARMS)
        assert given[0].arm == given[1].arm
        for trial in (plain, all_of_them):
            trial.tell(f"p{i}", reward=i % 2, risk=0)
    assert plain._engine.state.to_row()["memory"] == all_of_them._engine.state.to_row()["memory"]


def test_a_hold_stands_for_its_mask_and_for_a_part_of_it():
    trial = shut(["a", "b"])
    held = trial.ask("x", eligible=["a", "b"])
    assert (held.held, trial.status) == (True, "open")
    assert "no arm that is eligible for this unit is permissible" in held.why
    number = len(trial.log)
    assert trial.ask("y", eligible=["b"]) == held._replace(unit="y", new=False)
    assert trial.explain(eligible=["b"]).chosen is None
    assert len(trial.log) == number
    assert trial.ask("z", eligible=["b", "c"]).arm == "c"
    assert trial.ask("w").arm is not None
    assert trial.verify().holds
    assert trial._engine.state.holds.at is None
    assert sb.Trial.from_json(trial.to_json()).verify().holds


def test_a_hold_for_a_mask_leaves_the_hold_of_the_trial_and_stands_under_it():
    trial = shut(ARMS)
    held = trial.ask("x")
    assert held.held
    again = trial.ask("y", eligible=["a"])
    assert (again.held, again.new) == (True, False)
    assert trial._engine.state.holds.held_at == held.event


def test_a_unit_that_has_its_arm_is_answered_without_a_mask_or_with_its_own_alone():
    trial = trial_of()
    given = trial.ask("x", eligible=["b", "a"])
    assert trial.ask("x") == trial.ask("x", eligible=["a", "b"]) == given._replace(new=False)
    with pytest.raises(ConflictError, match=r"unit 'x' has its arm since event 2, and other arms were eligible.*got b"):
        trial.ask("x", eligible=["b"])
    trial.ask("y")
    with pytest.raises(ConflictError, match="other arms were eligible"):
        trial.ask("y", eligible=ARMS)
    assert len(trial.log) == 3


@pytest.mark.parametrize(
    ("eligible", "words"),
    [
        ([], "eligible must name at least one arm of the trial, got none"),
        (["d"], 'the trial has no arm "d" that could be eligible'),
        ([1], 'the trial has no arm "1"'),
        ("a", "eligible must be a list of arms, got 'a'"),
        (["a", "A "], "the trial has no arm|named twice"),
        (["a", "a"], "an arm is named twice"),
    ],
)
def test_a_mask_that_names_no_arm_is_refused_and_leaves_no_trace(eligible, words):
    trial = trial_of()
    before = trial._engine.state.to_row()
    with pytest.raises(TrialError, match=words):
        trial.ask("x", eligible=eligible)
    assert trial._engine.state.to_row() == before


def test_a_mask_of_withdrawn_arms_alone_is_refused():
    trial = trial_of()
    trial.amend(withdraw=["b"], reason="toxic")
    with pytest.raises(TrialError, match="got b, and no unit is given that any more"):
        trial.ask("x", eligible=["b"])
    assert trial.ask("x", eligible=["b", "a"]).arm == "a"
    assert trial.verify().holds


@pytest.mark.parametrize(
    "change", [{"eligible": ["a"]}, {"eligible": ["b", "a"]}, {"eligible": []}, {"eligible": ["d"]}]
)
def test_a_log_with_another_mask_is_refused(change):
    trial = trial_of("docb")
    fill(trial, 6)
    assert trial.ask("x", eligible=["a", "b"]).arm == "b"
    log = trial.log
    forged = [*log[:-1], log[-1]._replace(body=canonical({**log[-1].content, **change}))]
    assert not Replay("knee").verify(chained(forged)).holds
    without = {name: value for name, value in log[-1].content.items() if name != "eligible"}
    assert not Replay("knee").verify(chained([*log[:-1], log[-1]._replace(body=canonical(without))])).holds
    assert Replay("knee").verify(chained(log)).holds


def test_an_arm_that_was_not_eligible_is_refused_though_no_decision_is_made_again():
    trial = trial_of("docb")
    trial.ask("x", eligible=["a"])
    event = trial.log[-1]
    forged = [trial.log[0], event._replace(body=canonical({**event.content, "eligible": ["b"]}))]
    assert "'a' could not be given: it is not eligible" in Replay("knee", decide=False).verify(chained(forged)).problem


def test_a_decision_forged_to_be_made_again_while_a_mask_holds_is_refused():
    trial = shut(["a", "b"])
    trial.ask("x", eligible=["a", "b"])
    body = {**trial.log[-1].content, "unit": "y", "decision": trial.log[-1].content["decision"] + 1, "eligible": ["a"]}
    forged = chained([*trial.log, trial.log[-1]._replace(body=canonical(body))])
    assert "gives no arm since event" in Replay("knee").verify(forged).problem


def test_in_a_cohort_a_unit_that_may_not_get_its_arm_waits_until_the_cohort_is_full():
    design = sb.Design(["low", "high"], alpha=0.4, policy="docb", units=12, cohort=3, first="low")
    trial = sb.Trial(design, seed=1)
    first = trial.ask("no", eligible=["high"])
    assert (first.waiting, first.why) == (
        True,
        "the design begins with low, and that arm is not eligible for this unit",
    )
    assert trial.ask("p1").arm == "low"
    waits = trial.ask("no", eligible=["high"])
    assert (waits.waiting, waits.why) == (
        True,
        "the cohort on low is not full, and that arm is not eligible for this unit",
    )
    assert trial.ask("p2", eligible=["low"]).arm == "low"
    assert trial.ask("p3").arm == "low"
    for i in (1, 2, 3):
        trial.tell(f"p{i}", reward=1, risk=0)
    assert trial.ask("no", eligible=["high"]).arm == "high"
    assert trial.verify().holds


def test_what_another_policy_would_have_given_is_asked_for_the_eligible_arms():
    trial = trial_of("equal")
    for i in range(30):
        trial.tell(trial.ask(f"p{i}", eligible=["a", "b"]).id, reward=i % 2, risk=0)
    found = what_if(trial, "tsbu:floor=.2")
    assert found.shares["c"] == 0.0


def test_a_masked_hold_is_kept_with_a_context(tmp_path):
    trial = sb.Trial(["a", "b"], 0.1, "linear", context=["smoker"], pending_cap=99, seed=7)
    for i in range(60):
        given = trial.ask(f"p{i}", context=[i % 2], eligible=["a"])
        if given.arm is not None:
            trial.tell(given.id, reward=1, risk=i % 2)
    held = trial.ask("x", context=[1], eligible=["a"])
    assert held.held
    assert not trial.ask("y", context=[1], eligible=["a"]).new
    assert trial.ask("z", context=[0], eligible=["a"]).arm == "a"
    assert trial.ask("w", context=[1]).arm == "b"
    assert trial.verify().holds


def test_of_a_stratum_the_last_hold_for_all_arms_is_known():
    standing = {
        standing_key((), ("x",), "site=b"): 9,
        standing_key((1.0,), None, "site=a"): 7,
        standing_key((2.0,), None, "site=a"): 3,
        standing_key((2.0,), None): 5,
        standing_key((), ("x",)): 6,
    }
    assert last_of_strata(standing) == {"site=a": 7}
