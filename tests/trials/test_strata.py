"""Strata: in each a policy state of its own, in one log; held against trials that are really apart."""

import pytest

import safebandit as sb
from safebandit.errors import ConflictError, DesignError, TrialError
from safebandit.trials.events import canonical
from safebandit.trials.replay import Replay
from safebandit.trials.strata import MOST_STRATA, read_factors, stratum_names, stratum_seed

from .test_legality import chained

ARMS = ["placebo", "low", "high"]
STRATA = {"site": ["a", "b"], "age": ["<65", "65+"]}


def trial_of(policy="tsbu", **others):
    return sb.Trial(ARMS, 0.3, policy, **{"pending_cap": 9, "seed": 7, "name": "knee", "strata": STRATA, **others})


def stratum_of(i):
    return {"site": "ab"[i % 2], "age": ["<65", "65+"][i // 2 % 2]}


def outcome(i):
    return {"reward": (i * 7 % 5) / 4, "risk": (i * 3 % 4) / 8}


def run(trial, units, start=0):
    for i in range(start, start + units):
        given = trial.ask(f"p{i}", stratum=stratum_of(i))
        if given.arm is not None:
            trial.tell(given.id, **outcome(i))


@pytest.mark.parametrize("policy", ["tsbu", "docb", "safe-ids", "tsbu:floor=.1"])
def test_each_stratum_decides_as_a_trial_of_its_own_would(policy):
    """A trial that is really apart, with the stratum's seed, told the same bits, gives the same arms by the same
    numbers, however the units of other strata lie between them.
    """
    together = trial_of(policy)
    alone = {
        name: sb.Trial(ARMS, 0.3, policy, pending_cap=9, seed=stratum_seed(7, name))
        for name in stratum_names(read_factors(STRATA))
    }
    assert next(iter(alone)) == "age=<65, site=a"
    for i in range(48):
        bits = {"reward": i * 7 % 3 % 2, "risk": int(i % 11 == 0)}
        # Not in turn: some strata are ahead of others.
        told = stratum_of(i * i % 7)
        apart = alone[f"age={told['age']}, site={told['site']}"]
        given, other = together.ask(f"p{i}", stratum=told), apart.ask(f"p{i}")
        assert (given.arm, given.why) == (other.arm, other.why)
        said, theirs = together.log[-1].content, apart.log[-1].content
        assert {k: {**v, "propensity": 0} for k, v in said["arms"].items()} == {
            k: {**v, "propensity": 0} for k, v in theirs["arms"].items()
        }
        if given.arm is not None:
            together.tell(f"p{i}", **bits)
            apart.tell(f"p{i}", **bits)
    assert together.verify().holds


def test_a_log_holds_goes_on_and_recounts():
    trial = trial_of()
    run(trial, 40)
    trial.correct("p3", reward=0.1, reason="typing error")
    trial.give_up(trial.ask("lost", stratum=stratum_of(1)).id, reason="moved away")
    trial.void(trial.ask("none", stratum=stratum_of(2)).id, reason="typing error")
    trial.amend(alpha=0.35, reason="the board")
    run(trial, 8, start=40)
    assert trial.verify().holds
    again = sb.Trial.from_json(trial.to_json())
    assert again.verify().holds
    for i in range(6):
        given = [each.ask(f"q{i}", stratum=stratum_of(i)).arm for each in (trial, again)]
        assert given[0] == given[1]
    assert trial._engine.state.to_row() == again._engine.state.to_row() or trial.log[-1].time != again.log[-1].time


def test_a_state_read_back_decides_alike():
    trial = trial_of()
    run(trial, 20)
    state = trial._engine.state
    row = type("Row", (), state.to_row())
    back = type(state).from_row("knee", row, trial._store)
    assert (back.recounted, back.to_row()) == (False, state.to_row())
    other = type("Row", (), {**state.to_row(), "memory": b"x" * len(state.to_row()["memory"])})
    counted = type(state).from_row("knee", other, trial._store)
    assert (counted.recounted, counted.to_row()) == (True, state.to_row())


def test_a_hold_of_one_stratum_leaves_the_others():
    trial = trial_of("docb", strata={"site": ["a", "b"]})
    for i in range(200):
        given = trial.ask(f"p{i}", stratum={"site": "a"})
        if given.held:
            break
        trial.tell(given.id, reward=1, risk=1)
    assert given.held
    number = len(trial.log)
    assert trial.ask("again", stratum="site=a") == given._replace(unit="again", new=False)
    assert trial.explain(stratum="site=a").chosen is None
    assert len(trial.log) == number
    assert trial.ask("other", stratum="site=b").arm is not None
    # That says nothing of the first: it is held as before, and not decided again.
    assert trial.ask("again", stratum="site=a").event == given.event
    assert trial._engine.state.holds.at is None
    assert trial.verify().holds


@pytest.mark.parametrize(
    ("stratum", "words"),
    [
        (None, "unit 'x' needs a stratum: age, site; give stratum="),
        ({"site": "a"}, "the stratum lacks age; a unit asks with all of it"),
        ({"site": "c", "age": "65+"}, 'site has no level "c"'),
        ({"site": "a", "age": "65+", "sex": "f"}, 'the strata have no factor "sex"'),
        ("a", "a stratum is the level of each factor, such as site=a, got 'a'"),
        (["a", "65+"], "a stratum is the level of each factor"),
        ({"site": 1, "age": "65+"}, 'site has no level "1"'),
    ],
)
def test_a_stratum_that_is_none_is_refused_and_leaves_no_trace(stratum, words):
    trial = trial_of()
    before = trial._engine.state.to_row()
    with pytest.raises(TrialError, match=words):
        trial.ask("x", stratum=stratum)
    assert trial._engine.state.to_row() == before


def test_a_unit_that_has_its_arm_is_answered_in_its_own_stratum_alone():
    trial = trial_of()
    given = trial.ask("x", stratum=stratum_of(0))
    assert trial.ask("x") == trial.ask("x", stratum="site=a, age=<65") == given._replace(new=False)
    with pytest.raises(ConflictError, match="in another stratum, got age=<65, site=b"):
        trial.ask("x", stratum=stratum_of(1))
    with pytest.raises(TrialError, match="this trial has no strata"):
        sb.Trial(ARMS, 0.3, "docb", seed=1).ask("x", stratum=stratum_of(0))


@pytest.mark.parametrize(
    ("strata", "words"),
    [
        (["site"], "strata must be factors with their levels"),
        ({"site": "ab"}, "a factor of the strata has two levels or more"),
        ({"site": ["a"]}, "a factor of the strata has two levels or more"),
        ({"site": ["a", "A"]}, "site must have names that differ"),
        ({"site": ["a", "b=c"]}, "must not have = or a comma"),
        ({"site": [str(i) for i in range(MOST_STRATA + 1)]}, f"at most {MOST_STRATA} strata, got {MOST_STRATA + 1}"),
        ({"": ["a", "b"]}, "the name of a factor"),
    ],
)
def test_strata_that_cannot_be_are_refused(strata, words):
    with pytest.raises(TrialError, match=words):
        trial_of(strata=strata)
    with pytest.raises(DesignError, match=words):
        sb.Design(ARMS, 0.3, "docb", 10, strata=strata)


@pytest.mark.parametrize("stratum", [{"site": "b", "age": "<65"}, {"site": "a"}, None])
def test_a_log_with_another_stratum_is_refused(stratum):
    trial = trial_of("docb")
    run(trial, 9)
    assert Replay("knee").verify(chained(trial.log)).holds
    i = max(i for i, event in enumerate(trial.log) if event.kind == "asked")
    body = {key: value for key, value in trial.log[i].content.items() if key != "stratum"}
    body |= {} if stratum is None else {"stratum": stratum}
    forged = [*trial.log[:i], trial.log[i]._replace(body=canonical(body)), *trial.log[i + 1 :]]
    assert not Replay("knee").verify(chained(forged)).holds


def design_of(**others):
    rules = ["too-many-harms:harms=4", "arm-harm:confidence=.8,least=2"]
    given = {"policy": "docb", "units": 40, "pending_cap": 40, "stop": rules, "strata": {"site": ["a", "b"]}, **others}
    return sb.Design(ARMS, alpha=0.3, **given)


def test_rules_are_measured_over_all_strata_together_and_a_dropped_arm_is_dropped_in_all():
    trial = sb.Trial(design_of(stop=["too-many-harms:harms=2"]), seed=3)
    for i, site in enumerate("ab"):
        trial.tell(trial.ask(f"p{i}", stratum={"site": site}).id, reward=1, risk=1)
    assert (trial.status, trial.stopped["rule"]) == ("stopped", "too-many-harms")
    other = sb.Trial(design_of(stop=["arm-harm:confidence=.8,least=2"]), seed=3)
    i = 0
    while not other.dropped:
        given = other.ask(f"p{i}", stratum={"site": "ab"[i % 2]}, eligible=["high"])
        other.tell(given.id, reward=1, risk=1)
        i += 1
    assert other.dropped == ("high",)
    for site in "ab":
        assert other.ask(f"after {site}", stratum={"site": site}).arm != "high"
    assert trial.verify().holds
    assert other.verify().holds
    assert sb.Trial.from_json(other.to_json()).verify().holds


def test_cohorts_and_the_end_are_those_of_the_design():
    trial = sb.Trial(design_of(cohort=3, stop=[], units=9), seed=3)
    arms = {site: [trial.ask(f"{site}{i}", stratum={"site": site}).arm for i in range(3)] for site in "ab"}
    assert all(len(set(given)) == 1 for given in arms.values())
    for site in "ab":
        for i in range(3):
            trial.tell(f"{site}{i}", reward=1, risk=0)
    for i in range(3):
        trial.tell(trial.ask(f"c{i}", stratum={"site": "a"}).id, reward=1, risk=0)
    assert trial.stopped["rule"] == "most units"
    assert trial.verify().holds


def test_a_design_with_strata_is_written_and_read_back():
    design = design_of()
    assert sb.Design.from_toml(design.to_toml()) == design == sb.Design.from_dict(design.to_dict())
    assert design.to_dict()["strata"] == {"site": ["a", "b"]}
    assert "strata" not in design_of(strata=None).to_dict()
    trial = sb.Trial(design, seed=1)
    with pytest.raises(ConflictError, match=r"the strata of trial .* stay as they are"):
        trial.amend(design={"strata": {"site": ["a", "b", "c"]}}, reason="another hospital")


def test_all_units_are_routed_in_every_stratum():
    trial = trial_of(control="placebo", control_floor=0.2)
    run(trial, 12)
    trial.route(reason="an alarm")
    assert {trial.ask(f"r{i}", stratum=stratum_of(i)).arm for i in range(4)} == {"placebo"}
    trial.unroute(reason="all clear")
    assert trial.verify().holds


PLACE = "age=65+, site=b"


def drawn(units=480):
    """A trial that draws in four strata, and one really apart whose units are those of one of them."""
    together = trial_of("docb:floor=.25", pending_cap=999)
    apart = sb.Trial(ARMS, 0.3, "docb:floor=.25", pending_cap=999, seed=stratum_seed(7, PLACE), name="knee")
    for i in range(units):
        told = stratum_of(i)
        bits = {"reward": int(i * 7 % 13 < 6), "risk": int(i * 5 % 11 < 2)}
        together.tell(together.ask(f"p{i}", stratum=told).id, **bits)
        if f"age={told['age']}, site={told['site']}" == PLACE:
            apart.tell(apart.ask(f"p{i}").id, **bits)
    return together, apart


def test_weighted_means_and_another_policy_of_one_stratum_are_those_of_a_trial_apart():
    together, apart = drawn()
    # One unit that was voided is in neither.
    for trial, told in ((together, {"stratum": PLACE}), (apart, {})):
        trial.void(trial.ask("never", **told).id, reason="typing error")
    for ask in (
        lambda trial, **of: sb.weighted(trial, least=0.01, **of),
        lambda trial, **of: sb.what_if(trial, "docb:floor=.1", **of),
    ):
        of_one, own = ask(together, stratum={"site": "b", "age": "65+"}), ask(apart)
        assert (of_one.stratum, own.stratum, of_one.units) == (PLACE, "", 120)
        assert f"These are the units of the stratum {PLACE} alone; other strata say nothing here." in of_one.assumptions
        assert not any("alone; other strata" in each for each in ask(together).assumptions)
        plain = [{**each.to_dict(), "stratum": "", "assumptions": ()} for each in (of_one, own)]
        assert plain[0] == plain[1]
        assert any(each.refused is None for each in getattr(of_one, "means", [of_one]))
        assert ask(together).units == 480


@pytest.mark.parametrize("ask", [sb.weighted, lambda trial, **of: sb.what_if(trial, "equal", **of)])
def test_a_stratum_is_refused_where_there_is_none(ask):
    with pytest.raises(TrialError, match="this trial has no strata, got"):
        ask(sb.Trial(ARMS, 0.3, "equal", seed=1), stratum={"site": "a"})
    trial = trial_of("equal")
    with pytest.raises(TrialError, match='site has no level "c"'):
        ask(trial, stratum={"site": "c", "age": "65+"})
    with pytest.raises(TrialError, match="the stratum lacks age"):
        ask(trial, stratum={"site": "a"})


def test_a_stratum_without_units_has_no_decisions_to_ask_about():
    trial = trial_of("equal")
    trial.ask("p", stratum=stratum_of(0))
    with pytest.raises(TrialError, match=r"was given an arm yet in the stratum age=65\+, site=b"):
        sb.what_if(trial, "equal", stratum=PLACE)
    assert all(each.refused == "no unit was given an arm yet" for each in sb.weighted(trial, stratum=PLACE).means)
