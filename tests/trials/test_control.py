"""A floor under the control, and all units routed to it: by hand, by a rule, undone, replayed, simulated."""

import itertools

import numpy as np
import pytest

import safebandit as sb
from safebandit.errors import ConflictError, TrialError
from safebandit.trials.events import canonical
from safebandit.trials.histories import histories
from safebandit.trials.replay import Replay
from safebandit.trials.simulated import plan_of, play, simulate_design

from .test_legality import chained
from .test_simulated_live import replayed

ARMS = ["placebo", "low", "high"]
FLOOR = 0.25


def trial_of(policy="tsbu", **others):
    given = {"pending_cap": 1000, "seed": 7, "name": "knee", "control": "placebo", **others}
    return sb.Trial(ARMS, 0.3, policy, **given)


def fill(trial, units, risk=lambda arm: 0.0, reward=lambda arm: 1.0, start=0):
    for i in range(start, start + units):
        given = trial.ask(f"p{i}")
        if given.arm is not None and trial.status == "open":
            trial.tell(given.id, reward=reward(given.arm), risk=risk(given.arm))


@pytest.mark.parametrize("policy", ["tsbu", "docb", "equal", "safe-ids", "tsbu:floor=.1", "docb:floor=.1"])
def test_the_control_has_its_floor_and_its_part_of_the_rest_and_others_their_part(policy):
    with_floor, without = trial_of(policy, control_floor=FLOOR), trial_of(policy)
    for i, (arm, reward) in enumerate(zip(ARMS * 4, itertools.cycle([0, 1, 0.5, 1]), strict=False)):
        for trial in (with_floor, without):
            trial.ask(f"p{i}", eligible=[arm])
            trial.tell(f"p{i}", reward=reward, risk=i % 3 / 10)
    found, own = (trial._allocator.chances(13, 13).arms for trial in (with_floor, without))
    expected = np.array([FLOOR, 0.0, 0.0]) + (1.0 - FLOOR) * np.array(own)
    # Where nothing is known without draws, a share of 1,000 is within 5 standard errors; it fails once in 10^6.
    drawn = with_floor._allocator.chances(13, 13).draws > 0
    assert np.abs(np.array(found) - expected).max() <= (0.08 if drawn else 1e-6)
    assert with_floor.verify().holds


def test_recorded_chances_with_a_floor_are_the_frequencies_of_many_trials():
    # A deterministic policy: the control is given by its floor alone. Error rate 1e-5 of each of three shares.
    counts, n = dict.fromkeys(ARMS, 0), 600
    for seed in range(n):
        trial = trial_of("docb", seed=seed, control_floor=FLOOR)
        for i, arm in enumerate(ARMS):
            trial.ask(f"p{i}", eligible=[arm])
            trial.tell(f"p{i}", reward=float(arm == "high"), risk=0)
        counts[trial.ask("next").arm] += 1
        said = trial.log[-1].content
        assert said["propensities"] == "exact"
        assert [said["arms"][arm]["propensity"] for arm in ARMS] == [FLOOR, 0.0, 1.0 - FLOOR]
    assert counts["low"] == 0
    assert abs(counts["placebo"] / n - FLOOR) <= 4.4 * (FLOOR * (1 - FLOOR) / n) ** 0.5


def test_why_says_that_the_floor_decided():
    trial = trial_of("docb", control_floor=0.5)
    fill(trial, 40, reward=lambda arm: float(arm == "high"))
    whys = {event.content["why"] for event in trial.log if event.kind == "asked" and event.content["arm"] == "placebo"}
    assert "drawn by its floor of 0.5; the policy's own rule gives another arm" in whys
    other = {event.content["why"] for event in trial.log if event.kind == "asked" and event.content["arm"] == "high"}
    assert not any("floor" in why for why in other)


def test_a_control_that_is_not_permissible_is_not_given_by_its_floor():
    trial = trial_of("tsbu", control_floor=0.5)
    for i in range(30):
        trial.tell(trial.ask(f"c{i}", eligible=["placebo"]).id, reward=1, risk=1)
        if trial.ask(f"d{i}", eligible=["placebo"]).arm is None:
            break
    said = [trial.ask(f"e{i}") and trial.log[-1].content["arms"]["placebo"] for i in range(8)]
    shut = [each for each in said if not each["permissible"]]
    assert shut
    assert all(each["propensity"] == 0.0 for each in shut)
    assert trial.verify().holds


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"control": "aspirin"}, "control must be the name of an arm, got 'aspirin'"),
        ({"control": 0}, "control must be the name of an arm, got 0"),
        ({"control": None, "control_floor": 0.2}, "none is named, got 0.2"),
        ({"control_floor": 1.0}, r"control_floor must lie in \[0, 1\)"),
        ({"control_floor": -0.1}, r"control_floor must lie in \[0, 1\)"),
        ({"control_floor": float("nan")}, "control_floor must be a finite number"),
    ],
)
def test_a_control_or_floor_that_is_none_is_refused(said, words):
    with pytest.raises(TrialError, match=words):
        trial_of(**said)


def test_control_and_floor_are_amended_and_a_control_cannot_be_withdrawn():
    trial = trial_of()
    trial.amend(control_floor=0.2, reason="the board")
    trial.ask("p1")
    assert trial.log[-1].content["arms"]["placebo"]["propensity"] >= 0.2
    with pytest.raises(TrialError, match="the control must be an arm that may be given"):
        trial.amend(withdraw=["placebo"], reason="no")
    trial.amend(control="low", withdraw=["placebo"], reason="another")
    assert trial.verify().holds
    assert sb.Trial.from_json(trial.to_json()).settings.control == "low"


@pytest.mark.parametrize("policy", ["tsbu", "docb", "equal", "linear", "safe-ids", "topsi"])
def test_routed_every_unit_gets_the_control_and_nothing_is_drawn_for(policy):
    trial = trial_of(policy)
    fill(trial, 9)
    trial.route(reason="an alarm")
    before = trial._allocator.position
    for i in range(5):
        given = trial.ask(f"r{i}")
        said = trial.log[-1].content
        assert (given.arm, given.why) == ("placebo", "all units are routed to the control, placebo")
        assert ([said["arms"][arm]["propensity"] for arm in ARMS], said["propensities"]) == ([1.0, 0.0, 0.0], "exact")
        trial.tell(given.id, reward=1, risk=0)
    assert trial._allocator.position == before
    assert trial.routed == {"event": trial.log[19].number, "rule": None, "why": "an alarm"}
    assert trial.explain().chosen == "placebo"
    trial.correct("r1", reward=0, reason="typing error")
    assert trial.ask("again").arm == "placebo"
    assert trial.route(reason="again").new is False
    trial.unroute(reason="all clear")
    assert trial.routed is None
    assert trial.verify().holds
    again = sb.Trial.from_json(trial.to_json())
    assert again.ask("more").arm == trial.ask("more").arm


def test_routed_to_a_control_that_is_not_permissible_or_not_eligible_the_trial_holds():
    trial = trial_of("docb")
    fill(trial, 25, risk=lambda arm: float(arm == "placebo"))
    assert not trial.explain().arms[0].permissible
    trial.route(reason="an alarm")
    held = trial.ask("x")
    assert held.held
    assert held.why.startswith("all units are routed to the control, placebo, and it is not permissible: ")
    trial.unroute(reason="it is worse")
    assert trial.ask("x").arm is not None
    other = trial_of("docb")
    other.route(reason="an alarm")
    assert other.ask("y", eligible=["low"]).why.endswith("placebo, and it is not eligible for this unit")
    assert trial.verify().holds
    assert other.verify().holds


def test_units_cannot_be_routed_without_a_control_or_after_the_end():
    trial = trial_of(control=None)
    with pytest.raises(ConflictError, match="has no control that units could be routed to"):
        trial.route(reason="x")
    other = trial_of()
    other.close(reason="done")
    with pytest.raises(ConflictError, match="is closed: no unit is given an arm any more"):
        other.route(reason="x")


def design_of(then, **others):
    stop = [{"rule": "too-many-harms", "harms": 2, **({} if then is None else {"then": then})}]
    given = {"policy": "equal", "units": 30, "control": "placebo", "pending_cap": 30, "stop": stop, **others}
    return sb.Design(ARMS, alpha=0.3, **given)


def harm(trial, i, risk):
    trial.tell(trial.ask(f"p{i}").id, reward=1, risk=risk)


def test_a_rule_pauses_and_a_person_resumes_and_only_new_outcomes_trip_it_again():
    trial = sb.Trial(design_of("pause"), seed=1)
    harm(trial, 1, 1)
    harm(trial, 2, 0)
    assert trial.status == "open"
    waiting = trial.ask("later")
    harm(trial, 3, 1)
    event = trial.log[-1]
    assert (trial.status, event.kind, event.actor) == ("paused", "paused", "safebandit")
    assert (event.content["rule"], event.content["level"]) == ("too-many-harms", 2.0)
    with pytest.raises(ConflictError, match="is paused"):
        trial.ask("p4")
    trial.resume(reason="seen by the board")
    assert trial.status == "open"
    harmless = trial.ask("p4")
    assert harmless.arm is not None
    trial.tell(waiting.id, reward=1, risk=0)
    assert trial.log[-1].kind == "paused"
    assert trial.verify().holds
    assert sb.Trial.from_json(trial.to_json()).verify().holds


def test_a_rule_routes_to_the_control_until_a_person_undoes_it():
    trial = sb.Trial(design_of("route"), seed=1)
    for i in range(3):
        harm(trial, i, 1)
    assert (trial.status, trial.routed["rule"]) == ("open", "too-many-harms")
    assert {trial.ask(f"q{i}").arm for i in range(4)} == {"placebo"}
    # Reached again while it is so already, nothing is written.
    trial.tell("q0", reward=1, risk=1)
    assert sum(event.kind == "routed" for event in trial.log) == 1
    trial.unroute(reason="seen by the board")
    assert trial.routed is None
    assert trial.log[-1].kind == "unrouted"
    trial.ask("free")
    trial.tell("q1", reward=1, risk=0)
    assert trial.log[-1].kind == "routed"
    assert trial.verify().holds


@pytest.mark.parametrize("then", ["pause", "route"])
def test_forged_or_missing_guards_are_refused(then):
    trial = sb.Trial(design_of(then), seed=1, name="knee")
    for i in range(2):
        harm(trial, i, 1)
    log = trial.log
    kind = {"pause": "paused", "route": "routed"}[then]
    assert log[-1].kind == kind
    assert Replay("knee").verify(chained(log)).holds

    def problem(events):
        return Replay("knee").verify(chained(events)).problem

    assert "lacks its end" in problem(log[:-1])
    other = {**log[-1].content, "level": 3.0}
    assert "is not what the design's rules give" in problem([*log[:-1], log[-1]._replace(body=canonical(other))])
    assert "written by the software" in problem([*log[:-1], log[-1]._replace(actor="Mallory")])
    # One that no rule gives, before it is due.
    assert problem([*log[:-3], log[-1]]) is not None
    undone = {"pause": "resumed", "route": "unrouted"}[then]
    body = canonical({"reason": "x"})
    assert problem([*log, log[-1]._replace(kind=undone, actor="Ada", body=body)]) is None
    assert problem([*log[:-1], log[-1]._replace(kind=undone, actor="Ada", body=body)]) is not None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stop": ["too-many-harms:harms=2,then=route"], "control": None}, "this design has none; say control"),
        ({"stop": ["too-many-harms:harms=2,then=sleep"]}, "then must be one of stop, pause, route, got 'sleep'"),
        ({"stop": ["arm-harm:then=pause"]}, 'arm-harm drops an arm, and then = "pause" is for rules that stop'),
        ({"control_floor": 0.2, "control": None}, "none is named"),
        ({"control_floor": 0.2, "policy": "boin", "ordered": True}, "moves from dose to dose, and takes no floor"),
    ],
)
def test_designs_that_cannot_be_are_refused(change, words):
    with pytest.raises(sb.SafebanditError, match=words):
        design_of(None, **change)


def test_a_design_with_guards_is_written_and_read_back():
    design = design_of("route", control_floor=0.2)
    assert sb.Design.from_toml(design.to_toml()) == design == sb.Design.from_dict(design.to_dict())
    assert (design.then, design.to_dict()["stop"][0]["then"]) == (("route",), "route")
    assert "then" not in design_of("stop").to_dict()["stop"][0]
    assert design_of("stop") == design_of(None) != design
    assert "Every unit is given the control until a person undoes it, once there are 2 harms" in design.describe()
    assert "at least 0.2" in design.protocol()
    assert sb.Design.from_toml(design.to_toml()).to_toml() == design.to_toml()


@pytest.mark.parametrize("then", ["route", "pause"])
def test_simulated_trials_take_the_steps_of_live_ones(then):
    """Live trials told what simulated ones heard, in that order, give the same arms, and are routed or paused alike."""
    rule = f"too-many-harms:harms=5,then={then}"
    design = design_of(None, policy="tsbu", control_floor=0.3, units=20, stop=[rule], pending_cap=1)
    scenario = sb.Scenario("means", mu=[0.3, 0.5, 0.7], nu=[0.1, 0.2, 0.5])
    tripped = []
    for seed in range(12):
        plan = plan_of(design, scenario, seed)
        (history,), runs = histories(plan, range(1)), play(plan, range(1))
        trial = replayed(design, history, seed)
        assert trial.round - 1 == runs.size[0]
        kinds = [event.kind for event in trial.log]
        tripped.append(("routed" if then == "route" else "paused") in kinds)
        ended = design.causes[runs.cause[0]] == "too-many-harms"
        assert tripped[-1] == (bool(runs.routed[0]) if then == "route" else ended)
        assert trial.verify().holds
    assert True in tripped
    assert False in tripped


def test_a_floor_costs_what_its_formula_says():
    """Operating characteristics show it: the control has its share of units, the best arm fewer of them."""
    scenario = sb.Scenario("means", mu=[0.1, 0.2, 0.9], nu=[0.1, 0.1, 0.1])
    plays = []
    for floor in (0.0, 0.5):
        design = design_of(None, policy="tsbu", units=100, stop=[], pending_cap=100, control_floor=floor)
        plays.append(simulate_design(design, scenario, trials=200, seed=5).plays.mean(axis=0) / 100)
    without, with_floor = plays
    # At least half of all units on average: 20,000 draws, and 0.49 lies 2.8 standard errors below one half.
    assert with_floor[0] >= 0.49
    assert with_floor[0] - without[0] > 0.35
    assert with_floor[2] < without[2] - 0.2


def test_a_routed_share_is_among_the_operating_characteristics():
    scenario = sb.Scenario("means", mu=[0.5] * 3, nu=[0.2] * 3)
    for then in ("route", None):
        found = sb.operating_characteristics(design_of(then, units=20), scenario, trials=20, seed=1)
        assert ("routed" in found.table().index.get_level_values("characteristic")) == (then == "route")
