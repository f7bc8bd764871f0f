"""What another policy would have given: its chances at every decision, and what may not be asked."""

import numpy as np
import pytest

import safebandit as sb
from safebandit.errors import TrialError
from safebandit.trials.analysis.off_policy import ask_other

REWARD, RISK = {"a": 0.3, "b": 0.6, "c": 0.8}, {"a": 0.1, "b": 0.2, "c": 0.6}


def run(policy="tsbu:floor=0.1", units=60, seed=2, **others):
    trial, rng = sb.Trial(["a", "b", "c"], alpha=0.4, policy=policy, seed=seed, **others), np.random.default_rng(seed)
    for _ in range(units):
        asked = trial.ask()
        trial.tell(
            asked.unit, reward=float(rng.random() < REWARD[asked.arm]), risk=float(rng.random() < RISK[asked.arm])
        )
    return trial


def test_the_other_policy_is_asked_given_what_was_known_then():
    trial = run()
    found = ask_other("t", trial.log, "docb", ("a", "b", "c"))
    # Before anything is known it gives, of the arms that nobody was given, the first.
    given = [event.content["arm"] for event in trial.log if event.kind == "asked"]
    for t in range(3):
        expected = next(arm for arm in "abc" if arm not in given[:t])
        assert found.chances[t].tolist() == [float(arm == expected) for arm in "abc"]
    # Later, what a trial of its own that was given the same units would give.
    again = sb.Trial(["a", "b", "c"], alpha=0.4, policy="docb", seed=2)
    allocator = again._engine.state.allocator
    units = list(trial._store.units())
    for unit in units[:50]:
        k = "abc".index(unit.arm)
        allocator.learn(k, allocator.give(k, unit.round), unit.round, (None, None), tuple(unit.outcome))
    assert found.chances[50].tolist() == list(allocator.chances(51, 1).arms)
    means = {arm: np.mean([unit.outcome[1] for unit in units[:50] if unit.arm == arm]) for arm in "abc"}
    assert found.risky[50].tolist() == [bool(means[arm] > 0.4) for arm in "abc"]


def test_of_its_own_policy_it_says_what_was_recorded():
    trial = run()
    same, other = sb.what_if(trial, "tsbu:floor=0.1"), sb.what_if(trial, "tsbu")
    for each in same.outcomes:
        assert each.other == pytest.approx(each.recorded)
        assert each.difference == pytest.approx(0.0, abs=1e-8)
    assert same.shares == pytest.approx(same.recorded_shares)
    assert same.risky == pytest.approx(same.recorded_risky)
    assert same.heaviest == pytest.approx(1.0)
    # p = w where e = f + (1 - 3f) w, but for arms that are not permissible.
    assert other.refused is None
    assert other.heaviest <= 1.0 / 0.7 + 1e-6
    reward = other.outcome()
    assert reward.other_interval[0] < reward.other < reward.other_interval[1]
    assert reward.difference == pytest.approx(reward.other - reward.recorded)
    assert (reward.known, reward.missing) == (60, 0)
    assert [each.endpoint for each in other.outcomes] == ["reward", "risk"]
    assert other.to_dict()["kind"] == "anytime-valid interval for a mean over the decisions so far"


def test_voided_units_and_amendments_are_as_in_the_log():
    trial = run(units=20)
    asked = trial.ask()
    trial.void(asked.unit, reason="never came")
    trial.amend(alpha=0.5, reason="agreed")
    pending = trial.ask()
    found = sb.what_if(trial, "tsbu")
    assert (found.units, found.recorded_policy) == (21, "tsbu:floor=0.1")
    assert (found.outcome().known, found.outcome().missing) == (20, 1)
    assert pending.arm is not None


def test_it_is_refused_where_no_data_can_tell():
    found = sb.what_if(run("docb", units=30), "tsbu")
    assert found.outcomes == ()
    assert found.refused.startswith("for ")
    assert 'the first time 0.33 for "b", unit 1' in found.refused
    assert found.shares["a"] > 0.0  # what it would have given is known all the same


def test_bad_requests_are_refused():
    trial = run(units=3)
    with pytest.raises(TrialError, match="what_if needs the log of a trial: give a Trial"):
        sb.what_if("units.csv", "tsbu")
    with pytest.raises(sb.SafebanditError, match='unknown policy "tsbo"; did you mean "tsbu"'):
        sb.what_if(trial, "tsbo")
    with pytest.raises(TrialError, match="confidence must lie between 0 and 1, got 95"):
        sb.what_if(trial, "tsbu", confidence=95)
    with pytest.raises(TrialError, match="no decision to ask about"):
        sb.what_if(sb.Trial(2, 0.3, "tsbu", seed=1), "docb")


def test_a_policy_that_holds_at_times_differs_from_itself_by_nothing():
    trial = sb.Trial(["a", "b"], alpha=0.3, policy="naive-ts", seed=1, pending_cap=100)
    for i in range(80):
        given = trial.ask(str(i))
        if given.arm is not None:
            trial.tell(given.id, reward=1, risk=float(i % 4 == 0))
    found = sb.what_if(trial, "naive-ts")
    assert found.held > 0.01
    assert abs(found.outcomes[0].difference) < 1e-6


def test_a_policy_that_goes_by_the_context_is_asked_with_it():
    trial = sb.Trial(["a", "b"], alpha=0.5, policy="tsbu:floor=0.3", seed=1, context=["age"], pending_cap=100)
    for i in range(30):
        given = trial.ask(str(i), context=[i % 2])
        trial.tell(given.id, reward=float((i % 2 == 0) == (given.arm == "a")), risk=0)
    found = sb.what_if(trial, "linear")
    assert found.refused is None
    assert 0.0 < found.shares["a"] < 1.0
