"""Units with a context, arms with features: in memory, held against a plain regression and against the log."""

import json

import numpy as np
import pytest

import safebandit as sb
from safebandit.errors import ConflictError, InstanceError, SimulationError, TrialError
from safebandit.trials import holds
from safebandit.trials.drafts import ask as decide
from safebandit.trials.events import canonical, seal
from safebandit.trials.rehearsal import rehearse
from safebandit.trials.settings import Settings

from .record.helpers import refused

DECLARED = ["age:18..90", "smoker"]
FEATURES = [[1.0, 0.0], [1.0, 0.5], [1.0, 2.0]]


def trial_of(policy="linear", **others):
    given = {"context": DECLARED, "pending_cap": 100, "seed": 7, **others}
    return sb.Trial(given.pop("arms", ["a", "b", "c"]), given.pop("alpha", 0.3), policy, **given)


def run(trial, units, start=0):
    """Ask with ages all over, tell outcomes between 0 and 1."""
    told = []
    for i in range(start, start + units):
        context, reward, risk = [18 + (i * 31) % 73, i % 2], (i % 5) / 4, (i % 3) / 10
        given = trial.ask(f"p{i}", context=context)
        trial.tell(given.id, reward=reward, risk=risk)
        told.append((given.arm, context, reward, risk))
    return told


@pytest.mark.parametrize("features", [None, FEATURES])
def test_indices_are_those_of_a_plain_regression_on_the_products_of_features_and_context(features):
    trial = trial_of(features=features)
    rows = np.eye(3) if features is None else np.array(features)

    def of_unit(arm, age, smoker):
        return np.kron(rows["abc".index(arm)], [1.0, (age - 18) / 72, smoker])

    told = run(trial, 40)
    seen = np.array([of_unit(arm, *context) for arm, context, _, _ in told])
    inverse = np.linalg.inv(np.eye(seen.shape[1]) + seen.T @ seen)
    now = np.array([of_unit(arm, 44, 1) for arm in "abc"])
    spread = np.sqrt(np.einsum("ki,ij,kj->k", now, inverse, now))
    explained = trial.explain(context={"smoker": 1, "age": 44})
    for j, column, sign in ((2, "reward_index", 1), (3, "risk_index", -1)):
        means = now @ inverse @ seen.T @ np.array([each[j] for each in told])
        widths = sign * (explained.table()[column].astype(float).to_numpy() - means) / spread
        assert (widths > 0.5).all()
        assert widths == pytest.approx(widths[0], rel=1e-9)
    assert explained.chosen == "abc"[int(np.argmax(explained.table()["reward_index"]))]
    assert str(explained).startswith("round 41, age 44, smoker 1, alpha 0.3: ")
    assert trial.ask("next", context=[44, 1]).arm == explained.chosen
    assert trial.verify().holds


def held_for_smokers(policy="linear"):
    """One arm that harms smokers alone."""
    trial = trial_of(policy, arms=["only"], alpha=0.1, context=["smoker"], ids="")
    for i in range(120):
        given = trial.ask(f"p{i}", context=[i % 2])
        if given.arm is not None:
            trial.tell(given.id, reward=1, risk=i % 2)
    return trial


def test_a_hold_stands_for_its_context_alone():
    trial = held_for_smokers()
    held = trial.ask("smoker", context=[1])
    number = len(trial.log)
    assert (held.held, trial.explain(context=[1]).chosen, trial.explain(context=[0]).chosen) == (True, None, "only")
    assert trial.ask("another", context=[1]) == held._replace(unit="another", new=False)
    assert len(trial.log) == number
    half = trial.ask("half", context=[0.75])
    assert half.held
    assert half.new
    assert half.event == number + 1
    # Both stand, whoever asked between them.
    for each in (trial, sb.Trial.from_json(trial.to_json())):
        assert each.ask("smoker", context=[1]).event == held.event
        assert each.ask("half", context=[0.75]).event == half.event
    given = trial.ask("other", context=[0])
    assert given.arm == "only"
    # It was given an arm: the next round begins, and nothing stands.
    again = trial.ask("smoker", context=[1])
    assert (again.held, again.new) == (True, True)
    trial.tell("other", risk=0)
    assert trial.ask("smoker", context=[1]).new
    assert trial.verify().holds
    assert sb.Trial.from_json(trial.to_json()).verify().holds


def test_a_decision_again_for_a_context_that_stands_is_found_in_a_log():
    trial = held_for_smokers()
    state = trial._engine.state
    trial.ask("smoker", context=[1])
    trial._engine.append(decide(state, "again", (1.0,)), "Mallory")
    found = trial.verify()
    assert (found.failed, "gives no arm since event" in found.problem) == (len(trial.log), True)


def test_the_last_contexts_that_were_held_are_remembered(monkeypatch):
    monkeypatch.setattr(holds, "MOST_STANDING", 2)
    trial = held_for_smokers()
    events = [trial.ask("u", context=[value]).event for value in (1, 0.9, 0.8)]
    assert [trial.ask("u", context=[value]).new for value in (0.9, 0.8, 1)] == [False, False, True]
    assert events == sorted(set(events))
    assert trial.verify().holds


def test_a_unit_that_has_its_arm_is_told_it_again_by_the_same_context_or_none():
    trial = trial_of()
    given = trial.ask("p", context={"age": 44, "smoker": 0})
    for same in ({"smoker": 0.0, "age": 44.0}, [44, 0], None, np.array([44, -0.0])):
        assert trial.ask("p", context=same) == given._replace(new=False)
    with refused("has its arm since event 2 by another context, got age 45, smoker 0", ConflictError) as caught:
        trial.ask("p", context=[45, 0])
    assert "44" not in str(caught.value)
    assert len(trial.log) == 2


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (None, "unit 'p' needs a context: age:18..90, smoker:0..1"),
        ({"age": 44}, "the context lacks smoker"),
        ({"age": 44, "smoker": None}, "the context lacks smoker"),
        ({"age": 44, "smoker": 0, "weight": 80}, 'the context has no "weight"'),
        ({"age": 44, " age": 44, "smoker": 0}, "age of the context is told twice"),
        ([44], "context must be 2 numbers (age, smoker)"),
        (44, "context must be 2 numbers (age, smoker)"),
        ("44", "context must be 2 numbers (age, smoker)"),
        ([44, True], "smoker must be a finite number"),
        ([float("nan"), 0], "age must be a finite number"),
        (["44", 0], "age must be a number"),
        ([17.9, 0], "age must lie in 18..90, as the trial declares, got 17.9"),
        ([44, 1.5], "smoker must lie in 0..1"),
    ],
)
def test_a_context_that_cannot_be_is_refused_in_one_line(context, message):
    trial = trial_of()
    before = trial.to_json()
    with refused(message):
        trial.ask("p", context=context)
    assert trial.to_json() == before


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"context": "age"}, 'context must be a list such as ["age:18..90", "smoker"]'),
        ({"context": ["age", "age:0..5"]}, "names of a context must differ, got age, age"),
        ({"context": ["age:90..18"]}, "the range of age must go from a number to a larger one"),
        ({"context": ["age:1..1"]}, "the range of age must go from a number to a larger one"),
        ({"context": ["age:-1e308..1e308"]}, "the range of age must go from a number to a larger one"),
        ({"context": ["age:0..inf"]}, "the range of age must be a finite number"),
        ({"context": ["age:18-90"]}, 'a range is written as "age:18..90"'),
        ({"context": [":0..1"]}, "the name of a context's number must have 1 to 200 characters"),
        ({"context": [7]}, "the name of a context's number must be a text"),
        ({"context": [f"x{i}" for i in range(101)]}, "a context has at most 100 numbers, got 101"),
        ({"features": [[1, 2], [1, 2]]}, "features must be a row of numbers for each of the 3 arms"),
        ({"features": [[1], [1, 2], [1]]}, "every arm must have as many features, at least one, got 1, 2, 1"),
        ({"features": [[], [], []]}, "every arm must have as many features, at least one"),
        ({"features": [[1], [float("inf")], [1]]}, 'a feature of "b" must be a finite number, got inf'),
        ({"features": {"a": [1], "b": [1]}}, "features are missing for c"),
        ({"features": {"a": [1], "b": [1], "d": [1]}}, 'features of "d", which is no arm'),
        ({"context": [f"x{i}" for i in range(100)], "arms": 5}, "learns at most 500 coefficients, got 5 x 101"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_one_line(said, message):
    with refused(message):
        trial_of(**said)


def test_a_context_where_none_is_declared_is_refused():
    trial = sb.Trial(["a", "b"], 0.3, "docb", seed=1)
    with refused("units of this trial have no context, got [1] for unit 'p'; leave it out"):
        trial.ask("p", context=[1])
    with refused("units of this trial have no context"):
        trial.explain(context=[1])
    with refused("an explanation needs a context"):
        trial_of().explain()


def test_a_policy_that_goes_by_no_features_keeps_contexts_for_one_that_does():
    trial = trial_of("docb")
    run(trial, 12)
    assert trial.explain().context == ""
    trial.amend(policy="linear", reason="ages differ")
    anew = trial_of("linear")
    for unit in trial._store.units():
        state, k = anew._engine.state, anew.arms.index(unit.arm)
        state.allocator.give(k, unit.round)
        context = state.settings.scaled(unit.context)
        state.allocator.learn(k, unit.play, unit.round, (None, None), tuple(unit.outcome), context=context)
    assert trial._engine.state.allocator.to_bytes() == anew._engine.state.allocator.to_bytes()
    assert trial.ask("next", context=[50, 1]).arm is not None
    assert sb.Trial.from_json(trial.to_json()).verify().holds


def test_an_arm_that_is_withdrawn_and_added_again_has_its_features():
    trial = trial_of(features=FEATURES)
    run(trial, 9)
    before = trial._engine.state.allocator.to_bytes()
    trial.amend(withdraw=["a"], reason="for a while")
    assert trial._engine.state.allocator.memory.arm_features["value"].tolist() == FEATURES[1:]
    trial.amend(add=["a"], reason="back again")
    assert trial._engine.state.allocator.to_bytes() == before
    with refused("arms of this trial have features: 'd' cannot be added"):
        trial.amend(add=["d"], reason="more")
    assert trial.verify().holds


def test_settings_are_written_as_they_are_read_and_only_where_there_are_some():
    settings = Settings.read(
        2, 0.3, policy="docb", seed=1, context=[" age: 18.0 .. 90", "x:-0.5..0.25"], features=FEATURES[:2]
    )
    assert settings.context == ("age:18..90", "x:-0.5..0.25")
    assert Settings.from_dict(json.loads(canonical(settings.to_dict()))) == settings
    assert not {"context", "features"} & Settings.read(2, 0.3, policy="docb", seed=1).to_dict().keys()


def test_a_context_that_was_changed_in_a_log_is_found():
    """Hashes and all, as who owns the file could: the decision does not come out so."""
    trial = trial_of()
    run(trial, 6)
    events, previous = [], "0" * 64
    for event in trial.log:
        content = event.content
        if event.kind == "asked" and content["unit"] == "p4":
            content["context"]["age"] = 90.0
        events.append(seal(event.trial, event.number, event.time, event.actor, event.kind, content, previous))
        previous = events[-1].hash
    trial._store.log[:] = events
    found = trial.verify()
    assert (found.failed, "made again" in found.problem) == (10, True)


def test_designs_and_rehearsals_take_no_context_yet():
    design = sb.Design(["a", "b"], alpha=0.3, policy="docb", units=9)
    with refused("a trial by a design has no context yet"):
        sb.Trial(design, context=["age"])
    with refused("a trial by a design has no features yet"):
        sb.Trial(design, features=[[1], [2]])
    for said, word in (({"context": ["age"]}, "a context"), ({"features": [[1], [2]]}, "features of arms")):
        settings = Settings.read(2, 0.3, policy="docb", seed=1, **said)
        with refused(f"a trial with {word} cannot be rehearsed yet", SimulationError):
            rehearse(settings, mu=[0.1, 0.2], nu=[0.1, 0.2])


def test_an_allocator_is_not_asked_without_the_context_that_it_goes_by():
    allocator = trial_of()._engine.state.allocator
    for ask in (allocator.decide, allocator.consider, lambda t: allocator.chances(t, 1)):
        with refused("this policy goes by the unit's context of 2 numbers, got none", TrialError):
            ask(1)


@pytest.mark.parametrize("value", [1e200, -1e7])
def test_features_of_absurd_size_are_refused_at_the_door(value):
    with pytest.raises(TrialError, match=r'features must lie within 1e\+06 of 0, got .* of "b"'):
        Settings.read(["a", "b"], 0.2, policy="linear", features=[[1, 0], [1, value]])
    with pytest.raises(InstanceError, match="features must lie within"):
        sb.Instance.linear(features=[[1, 0], [1, value]], reward=[0.1, 0], risk=[0.1, 0], alpha=0.3)
