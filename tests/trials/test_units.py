"""Units of a trial in memory: one spelling for an id, patterns of ids, and units that never got their arm."""

import pytest

from safebandit.errors import ConflictError, TrialError
from safebandit.trials.drafts import ask as decide
from safebandit.trials.engine import Engine
from safebandit.trials.events import NO_ARM, Draft
from safebandit.trials.trial import Trial

from .record.helpers import refused

ARMS = ["placebo", "low", "high"]


def trial_of(policy="docb", **others):
    return Trial(others.pop("arms", ARMS), 0.3, policy, seed=7, **{"pending_cap": 5, **others})


def numbers(trial):
    """What is counted, without where the random numbers are."""
    return trial._engine.state.allocator.to_bytes()


# Ids.


def test_an_id_typed_otherwise_is_the_same_unit():
    trial = trial_of()
    given = trial.ask(" Jose\u0301\u00a0 17 ")
    assert given.unit == "José 17"
    assert trial.ask("José 17") == given._replace(new=False)
    assert trial.tell("Jose\u0301 17", reward=1).new
    assert trial.correct("José\t17", reward=0, reason="typing error").new
    assert trial.give_up("José  17", reason="moved away").new
    assert list(trial.pending) == []
    with refused("U+200B (ZERO WIDTH SPACE)"):
        trial.ask("José\u200b 17")
    assert trial.verify().holds


def test_arms_risks_and_the_policys_own_arm_have_one_spelling():
    trial = Trial([" Jose\u0301", "b\u00a02"], [0.3, 0.2], "docb:when_none=Jose\u0301", risks=["a ", "b"], seed=1)
    assert (trial.arms, trial.risks) == (("José", "b 2"), ("a", "b"))
    assert trial.settings.policy.endswith(":when_none=José")
    trial.tell(trial.ask("1").id, reward=1, risk={" a": 0, "b": 1})
    with refused('risk "a" is told twice'):
        trial.tell("1", risk={"a": 0, "a ": 0})
    trial.amend(withdraw=["b  2"], add=["c "], reason="so decided")
    assert trial.arms == ("José", "c")
    with refused("the trial already has the arm 'c'"):
        trial.amend(add=["\u00a0c"], reason="so decided")
    with refused("names of arms must differ"):
        Trial(["a", "a "], 0.3)
    assert Trial.from_json(trial.to_json()).verify().holds


def test_a_trial_can_name_a_pattern_for_its_ids():
    trial = trial_of(ids=r"P-\d{4}")
    assert trial.ask("P-0017").arm is not None
    for bad in ("P-017", "p-0017", "P-00171", "P-٠٠١٧"):
        with refused(r"a unit's id must match P-\d{4} in this trial"):
            trial.ask(bad)
    assert [event.kind for event in trial.log] == ["created", "asked"]
    trial.amend(ids=r"Q\d", reason="another site")
    # A unit that is there stays what it is.
    assert not trial.ask("P-0017").new
    assert trial.tell("P-0017", reward=1, risk=0).new
    assert trial.ask("Q1").new
    trial.amend(ids="", reason="any id will do")
    assert trial.ask("anything").new
    assert Trial.from_json(trial.to_json()).verify().holds
    with refused("nothing would change"):
        trial.amend(ids="", reason="again")
    for bad in ("(a+)+b", "[", 17):
        with refused("ids must be"):
            trial_of(ids=bad)


def test_an_id_against_the_pattern_in_a_log_is_found():
    trial = trial_of(ids=r"P\d")
    trial.ask("P1")
    engine = Engine(trial._engine.state, trial._store)
    engine.append(decide(engine.state, "X"), "Mallory")
    found = trial.verify()
    assert (found.failed, "must match" in found.problem) == (3, True)


# Units that never got their arm.


@pytest.mark.parametrize("policy", ["docb", "tsbu", "joint-dirichlet"])
def test_a_voided_unit_counts_as_if_its_arm_had_not_been_given(policy):
    """But for its round, and for where the random numbers are."""
    trial = trial_of(policy)
    for i in range(12):
        given = trial.ask(f"p{i}")
        trial.tell(given.id, reward=(i % 5) / 4, risk=(i % 3) / 2)
    before, place, told = numbers(trial), trial._engine.state.allocator.position, trial.round
    typo = trial.ask("pateint 17")
    drawn = trial._engine.state.allocator.position
    assert trial.void("pateint  17", reason="a typing error") == (trial.log[-1].number, True)
    assert numbers(trial) == before
    assert trial._engine.state.allocator.position == drawn
    assert (trial.round, typo.round, trial.pending) == (told + 1, told, {})
    assert (policy == "docb") == (place == drawn)
    views = {view.arm: view for view in trial.explain().arms}
    assert sum(view.plays for view in views.values()) == 12
    assert trial.ask("patient 17").round == told + 1
    assert Trial.from_json(trial.to_json()).verify().holds
    assert trial.verify().holds


def test_the_id_of_a_voided_unit_is_used_up():
    trial = trial_of()
    trial.ask("typo")
    trial.void("typo", reason="a typing error")
    number = trial.log[-1].number
    for again in (
        lambda: trial.ask("typo "),
        lambda: trial.tell("typo", reward=1),
        lambda: trial.correct("typo", reward=1, reason="no"),
        lambda: trial.give_up("typo", reason="no"),
    ):
        with refused("unit 'typo' was voided in event 3", ConflictError):
            again()
    assert trial.void("typo", reason="again") == (number, False)
    assert len(trial.log) == number
    with refused("reason must have"):
        trial.void("typo", reason=" ")
    with refused("no unit 'other' was given an arm"):
        trial.void("other", reason="no")


def test_an_outcome_cannot_be_voided_away():
    trial = trial_of()
    trial.ask("p")
    trial.tell("p", risk=1)
    with refused("unit 'p' has an outcome, and so had its arm", ConflictError):
        trial.void("p", reason="it looks bad")


@pytest.mark.parametrize("lost", ["harm", "ignore"])
def test_a_unit_that_was_given_up_can_be_voided_and_is_no_harm_then(lost):
    trial = trial_of(lost=lost)
    for i in range(6):
        trial.tell(trial.ask(f"p{i}").id, reward=1, risk=0)
    before = numbers(trial)
    trial.ask("typo")
    trial.give_up("typo", reason="nobody is called so")
    assert numbers(trial) != before
    trial.void("typo", reason="a typing error")
    assert numbers(trial) == before
    assert trial._engine.state.waiting == 0
    assert trial.verify().holds


def test_no_two_units_share_a_play_after_one_was_voided():
    """The bits that stand for outcomes between 0 and 1 are fixed by the play: shared, they would depend."""
    trial = trial_of(arms=["only"])
    for i in range(3):
        trial.ask(str(i))
    trial.void("0", reason="a typing error")
    trial.ask("3")
    trial.void("3", reason="another")
    trial.amend(withdraw=["only"], add=["other"], reason="for a while")
    trial.amend(add=["only"], withdraw=["other"], reason="back again")
    trial.ask("4")
    plays = [unit.play for unit in trial._store.units()]
    assert plays == [0, 1, 2, 3, 4]
    assert trial._engine.state.allocator.memory.arms["asked"].tolist() == [[3]]


def test_voiding_ends_a_wait():
    trial = trial_of(arms=["only"], pending_cap=1)
    trial.ask("typo")
    assert trial.ask("p").waiting
    trial.void("typo", reason="a typing error")
    assert trial.ask("p").arm == "only"
    assert trial.verify().holds


# Holding and waiting.


def no_arm(trial):
    """Events as they were written before holding and waiting had kinds of their own."""
    engine = trial._engine
    draft = decide(engine.state, "next")
    engine.append(Draft("held", {**draft.body, "cause": NO_ARM[draft.kind]}), "Ada")
    return draft.kind


@pytest.mark.parametrize("kind", ["held", "waiting"])
def test_a_log_in_which_both_were_held_is_read_and_verified(kind):
    trial = trial_of(arms=["only"], pending_cap=1)
    trial.ask("1")
    if kind == "held":
        trial.amend(alpha=0.0, reason="none is safe")
        trial.tell("1", reward=1, risk=1)
    assert no_arm(trial) == kind
    for each in (trial, Trial.from_json(trial.to_json())):
        assert each.verify().holds
        again = each.ask("another")
        assert (again.held, again.waiting, again.new) == (kind == "held", kind == "waiting", False)


def test_the_default_cap_fits_the_delay_that_is_named():
    assert Trial(ARMS, 0.3).settings.pending_cap == 1
    assert Trial(ARMS, 0.3, delay=20).settings.pending_cap == 7
    assert Trial(ARMS, 0.3, delay=2).settings.pending_cap == 1
    assert Trial(["only"], 0.3, delay=20).settings.pending_cap == 21
    with refused("give either", TrialError):
        Trial(ARMS, 0.3, delay=20, pending_cap=3)
    for bad in (-1, 10**7, 0.5, "x"):
        with refused("delay must"):
            Trial(ARMS, 0.3, delay=bad)
