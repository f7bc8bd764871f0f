"""What needs a second person: proposed by one, approved by another, done exactly so, and found out by replay if not."""

import json

import pytest

import safebandit as sb
from safebandit.errors import ConflictError, NotFoundError, TrialError
from safebandit.trials import approval, drafts
from safebandit.trials.events import Event, canonical, hash_of
from safebandit.trials.replay import Replay

ALL = ["amend", "correct", "unseal"]


def begun(second_person=ALL, **settings):
    trial = sb.Trial(["placebo", "drug"], 0.3, "docb", seed=1, pending_cap=50, second_person=second_person, **settings)
    for unit in ("1", "2", "3"):
        trial.ask(unit)
        trial.tell(unit, reward=1, risk=0)
    return trial


def test_an_amendment_of_two_people():
    trial = begun()
    with pytest.raises(ConflictError, match="an amendment needs a second person in this trial; propose it"):
        trial.amend(alpha=0.2, reason="too risky")
    before = len(trial.log)
    number = trial.propose("amend", alpha=0.2, reason="too risky", person="ada").event
    assert trial.alpha == 0.3
    assert list(trial.proposals) == [number]
    with pytest.raises(ConflictError, match="needs a second person, got 'ada', who proposed it"):
        trial.approve(number, person="ada")
    trial.approve(number, person="bea")
    assert trial.alpha == 0.2
    assert trial.proposals == {}
    assert [event.kind for event in trial.log[before:]] == ["proposed", "approved", "amended"]
    assert trial.log[-1].content["proposal"] == number
    with pytest.raises(NotFoundError, match="no open proposal"):
        trial.approve(number, person="bea")
    assert trial.verify().holds
    assert sb.Trial.from_json(trial.to_json()).verify().holds


def test_what_is_approved_is_what_was_proposed_or_nothing():
    trial = begun()
    first = trial.propose("amend", alpha=0.2, reason="a", person="ada").event
    second = trial.propose("amend", pending_cap=7, reason="b", person="bea").event
    trial.approve(second, person="ada")
    with pytest.raises(ConflictError, match=f"the trial has changed since event {first}"):
        trial.approve(first, person="bea")
    assert trial.alpha == 0.3
    assert trial.settings.pending_cap == 7
    trial.refuse(first, reason="stale", person="bea")
    assert trial.log[-1].kind == "declined"
    third = trial.propose("amend", alpha=0.2, reason="a", person="ada").event
    trial.refuse(third, reason="no more", person="ada")
    assert trial.log[-1].kind == "withdrawn"
    assert trial.proposals == {}
    trial.close(reason="end")
    with pytest.raises(ConflictError, match="a closed trial cannot be amended"):
        trial.propose("amend", alpha=0.2, reason="a", person="ada")
    assert trial.verify().holds


def test_an_amendment_that_would_take_the_second_person_away_needs_one():
    trial = begun()
    with pytest.raises(ConflictError, match="needs a second person"):
        trial.amend(second_person=[], reason="quicker")
    trial.approve(trial.propose("amend", second_person=["unseal"], reason="quicker", person="a").event, person="b")
    trial.amend(alpha=0.2, reason="alone now")
    assert trial.settings.second_person == ("unseal",)
    assert trial.verify().holds


def test_corrections_need_one_after_the_end_alone():
    trial = begun()
    trial.correct("1", risk=1, reason="misread")
    trial.close(reason="end")
    with pytest.raises(ConflictError, match="a correction after the trial is closed needs a second person"):
        trial.correct("1", risk=0, reason="misread")
    number = trial.propose("correct", id="1", risk=0, reason="misread again", person="ada").event
    other = trial.propose("correct", id="1", reward=0, reason="no reward", person="ada").event
    trial.approve(number, person="bea")
    assert trial.log[-1].kind == "corrected"
    with pytest.raises(ConflictError, match="the trial has changed"):
        trial.approve(other, person="bea")
    assert trial.verify().holds


@pytest.mark.parametrize(("request_", "kind"), [("void", "voided"), ("give_up", "given up")])
def test_units_are_voided_and_given_up_by_two_after_the_end_where_that_is_listed(request_, kind):
    trial = sb.Trial(["placebo", "drug"], 0.3, "docb", seed=1, pending_cap=9, second_person=["correct", request_])
    for unit in "12345":
        trial.ask(unit)
    alone = getattr(trial, request_)
    alone("1", reason="before the end")
    trial.close(reason="end")
    with pytest.raises(ConflictError, match=r"a unit.* after the trial is closed needs a second person"):
        alone("2", reason="alone")
    # What was done already stays so, and nothing is proposed of it.
    assert not alone("1", reason="again").new
    with pytest.raises(ConflictError, match=f"unit '1' was {kind} already; there is nothing to propose"):
        trial.propose(request_, id="1", reason="again", person="ada")
    number = trial.propose(request_, id="2", reason="by two", person="ada").event
    other = trial.propose(request_, id="3", reason="by two", person="ada").event
    with pytest.raises(ConflictError, match="needs a second person"):
        trial.approve(number, person="ada")
    trial.approve(number, person="bea")
    written = trial.log[-1]
    assert (written.kind, written.actor, written.content["unit"]) == (kind, "safebandit", "2")
    # An outcome that comes meanwhile is told by one, and then there is nothing to void or to give up.
    trial.tell("3", reward=1, risk=0)
    with pytest.raises(ConflictError):
        trial.approve(other, person="bea")
    # The other one of the two is not listed.
    getattr(trial, {"void": "give_up", "give_up": "void"}[request_])("4", reason="alone")
    assert trial.verify().holds
    assert sb.Trial.from_json(trial.to_json()).verify().holds
    assert sb.Design(["low", "high"], alpha=0.3, units=20, second_person=[request_]).second_person == (request_,)


def test_a_log_in_which_one_voided_alone_after_the_end_is_refused():
    """Where it is listed; where only corrections are, such a log holds as it did."""
    for listed, holds in ((["correct"], True), (["correct", "void"], False)):
        trial = sb.Trial(["placebo", "drug"], 0.3, "docb", seed=1, pending_cap=9, second_person=listed)
        trial.ask("1")
        trial.close(reason="end")
        # As by a version that knew nothing of it.
        draft = drafts.void(trial._engine.state, trial._store.unit("1"), "alone", alone=False)
        trial._engine.append(draft, "ada")
        found = trial.verify()
        assert found.holds is holds
        assert holds or "needs a second person" in found.problem


def test_a_proposal_expires(monkeypatch):
    trial = begun()
    number = trial.propose("amend", alpha=0.2, reason="a", person="ada", hours=1).event
    until = trial.proposals[number]["expires"]
    from safebandit.trials import engine

    monkeypatch.setattr(engine, "now", lambda: until)
    with pytest.raises(ConflictError, match=f"could be approved until {until}"):
        trial.approve(number, person="bea")
    for wrong in (0, -1, 1e9, float("nan"), True, "1"):
        with pytest.raises(TrialError, match="hours until a proposal expires"):
            trial.propose("amend", alpha=0.2, reason="a", person="ada", hours=wrong)


def test_a_hold_stands_while_something_is_proposed():
    trial = sb.Trial(["a"], 0.05, "docb", seed=1, pending_cap=50, second_person=["amend"])
    trial.ask("first")
    trial.tell("first", reward=1, risk=1)
    held = trial.ask("next")
    assert held.held
    number = trial.propose("amend", alpha=1.0, reason="a", person="ada").event
    assert trial.ask("next").event == held.event
    trial.approve(number, person="bea")
    assert trial.ask("next").arm == "a"
    assert trial.verify().holds


def test_a_design_asks_for_it():
    design = sb.Design(["low", "high"], alpha=0.3, policy="docb", units=20, second_person=["correct", "amend"])
    assert design.second_person == ("amend", "correct")
    assert sb.Design.from_toml(design.to_toml()) == design
    trial = sb.Trial(design, seed=1)
    with pytest.raises(ConflictError, match="needs a second person"):
        trial.amend(design={"units": 30}, reason="more")
    number = trial.propose("amend", design={"units": 30}, reason="more", person="ada").event
    trial.approve(number, person="bea")
    assert trial.design.units == 30
    assert trial.verify().holds
    for wrong in (["close"], "amend", ["amend", "amend"], 1):
        with pytest.raises(TrialError, match="second_person"):
            sb.Design(["low", "high"], alpha=0.3, units=20, second_person=wrong)


def test_unsealing_where_the_trial_asks_for_it():
    with pytest.raises(ConflictError, match='its second_person does not have "unseal"'):
        begun(["amend"]).propose("unseal", what="stream", reason="r", person="ada")
    trial = begun()
    number = trial.propose("unseal", what="stream", reason="an audit", person="ada").event
    trial.approve(number, person="bea")
    assert trial.log[-1].kind == "unsealed"
    with pytest.raises(ConflictError, match="concealed any more"):
        trial.propose("unseal", what="stream", reason="again", person="ada")
    with pytest.raises(TrialError, match="one of stream, sums"):
        trial.propose("unseal", what="all", reason="again", person="ada")
    assert trial.verify().holds


def test_a_proposal_says_no_seed():
    trial = begun()
    number = trial.propose("amend", alpha=0.2, reason="a", person="ada").event
    assert "seed" not in json.dumps(trial.log[number - 1].content)


def forged(log, change):
    """The log with its events changed, and all hashes right."""
    previous, sealed = log[0].previous, []
    for event in change(list(log)):
        fields = (event.trial, len(sealed) + 1, *event[2:6], previous)
        sealed.append(Event(*fields, hash_of(fields)))
        previous = sealed[-1].hash
    return sealed


def body(event, **changes):
    return event._replace(body=canonical({**event.content, **changes}))


def same_person(log):
    return [*log[:-2], body(log[-2], person="ada"), log[-1]]


def not_approved(log):
    return [*log[:-2], log[-1]]


def without_proposal(log):
    plain = {name: value for name, value in log[-1].content.items() if name != "proposal"}
    return [*log[:-3], log[-1]._replace(body=canonical(plain))]


def other_deed(log):
    content = log[-1].content
    settings = {**content["settings"], "alpha": 0.9}
    return [*log[:-1], body(log[-1], settings=settings, changes={"alpha": 0.9})]


def by_somebody(log):
    return [*log[:-1], log[-1]._replace(actor="Mallory")]


def not_done(log):
    return log[:-1]


def too_late(log):
    return [*log[:-2], body(log[-2], at="2099-01-01T00:00:00.000000Z"), log[-1]]


def other_proposal(log):
    gives = log[-3].content["gives"]
    return [*log[:-3], body(log[-3], gives={**gives, "version": 9}), *log[-2:]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (same_person, "needs a second person, got 'ada', who proposed it"),
        (not_approved, "needs a second person in this trial"),
        (without_proposal, "needs a second person in this trial"),
        (other_deed, "is not what was approved"),
        (by_somebody, "is written by the software"),
        (not_done, "the log lacks its end: that what was approved is done"),
        (too_late, "could be approved until"),
        (other_proposal, "is not what a trial writes"),
    ],
)
def test_a_log_that_says_otherwise_is_refused(change, said):
    trial = begun()
    trial.approve(trial.propose("amend", alpha=0.2, reason="a", person="ada").event, person="bea")
    found = Replay(trial.name).verify(forged(trial.log, change))
    assert not found.holds
    assert said in found.problem
    assert Replay(trial.name).verify(forged(trial.log, lambda log: log)).holds


def test_too_many_at_once():
    trial = begun()
    for _ in range(approval.MOST_OPEN):
        trial.propose("amend", alpha=0.2, reason="a", person="ada")
    with pytest.raises(ConflictError, match="proposals are open already"):
        trial.propose("amend", alpha=0.2, reason="a", person="ada")
