"""What a ledger promises, on SQLite and on PostgreSQL."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from safebandit import Trial
from safebandit.errors import ConflictError, NotFoundError, RecordError
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.database import events, open_engine, units
from safebandit.trials.record.overview import overview
from safebandit.trials.record.verification import verify

from .helpers import ARMS, refused, run, settings


def kinds(ledger, name="knee"):
    return [event.kind for event in ledger.events(name)]


def whole(ledger):
    """All that the database holds."""
    with ledger.reading() as connection:
        return [list(connection.execute(sa.select(table))) for table in (events, units)]


# Create.


def test_a_trial_begins_with_its_settings(ledger):
    made = settings(title="Knee pain", pending_cap=3)
    assert ledger.create("knee", made, actor="Ada") == (1, True)
    event = ledger.event("knee", 1)
    assert (event.kind, event.actor) == ("created", "Ada")
    assert Settings.from_dict(event.content["settings"]) == made
    assert ledger.names() == ["knee"]


def test_a_name_is_used_once(ledger):
    ledger.create("knee", settings())
    assert ledger.create("knee", settings()) == (1, False)  # the same again, as after a lost answer
    with refused('there is a trial "knee" already', ConflictError):
        ledger.create("knee", settings(alpha=0.2))
    assert kinds(ledger) == ["created"]


@pytest.mark.parametrize("name", ["", "a b", "../x", "ä", "-a", "a" * 65, 7, "a/b", "a\n"])
def test_names_that_cannot_be_addresses(ledger, name):
    with refused("a trial's name is"):
        ledger.create(name, settings())
    assert ledger.names() == []


def test_an_unknown_trial_is_named_with_the_nearest(ledger):
    with refused("none was created yet", NotFoundError):
        ledger.ask("knee", "p1")
    ledger.create("knee", settings())
    for call in (lambda: ledger.ask("kne", "p1"), lambda: ledger.state("kne"), lambda: ledger.events("kne")):
        with refused('did you mean "knee"?', NotFoundError):
            call()


# Ask.


def test_the_same_unit_gets_the_same_arm(ledger):
    ledger.create("knee", settings())
    first = ledger.ask("knee", "p1")
    assert first.new
    run(ledger, "knee", 20)
    again = ledger.ask("knee", "p1")
    assert again == first._replace(new=False)
    assert kinds(ledger).count("asked") == 21


def test_racing_requests_for_one_unit_give_one_arm(database):
    ledgers = [Ledger(database) for _ in range(3)]
    ledgers[0].create("knee", settings(pending_cap=100))
    gate = threading.Barrier(6)

    def ask(i):
        gate.wait()
        return [ledgers[i % 3].ask("knee", f"p{j}").arm for j in range(20)]

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(ask, range(6)))
    assert all(answer == answers[0] for answer in answers)
    assert None not in answers[0]
    assert kinds(ledgers[0]) == ["created", *["asked"] * 20]
    assert verify(ledgers[0], "knee").holds
    for each in ledgers:
        each.dispose()


@pytest.mark.parametrize("policy", ["docb", "tsbu", "joint-dirichlet"])
def test_it_decides_as_a_trial_in_memory(ledger, policy):
    """The same seed and outcomes: the same arms, one by one."""
    ledger.create("knee", settings(policy))
    trial = Trial(ARMS, 0.3, policy, seed=7)
    for i in range(60):
        mine, theirs = ledger.ask("knee", f"p{i}"), trial.ask()
        assert mine.arm == theirs.arm
        if i % 3:
            value = float(i % 5 == 0)
            ledger.tell("knee", f"p{i}", reward=value, risk=value / 2)
            trial.tell(theirs.id, reward=value, risk=value / 2)
        if mine.arm is None:
            break
    assert i > 20


def test_two_processes_share_a_trial_by_turns(database):
    """States in memory are never older than the record."""
    with Ledger(database) as alone, Ledger(database) as turns:
        alone.create("alone", settings(pending_cap=50))
        alone.create("turns", settings(pending_cap=50))
        for i in range(40):
            value = float(i % 3 == 0)
            first = alone.ask("alone", f"p{i}")
            second = (alone, turns)[i % 2].ask("turns", f"p{i}")
            assert first.arm == second.arm
            if i % 4:
                alone.tell("alone", f"p{i}", reward=value, risk=0)
                (turns, alone)[i % 2].tell("turns", f"p{i}", reward=value, risk=0)
        for each in (alone, turns):
            assert verify(each, "turns").holds


def test_a_decision_says_what_it_rests_on(ledger):
    ledger.create("knee", settings())
    run(ledger, "knee", 100)
    body = ledger.event("knee", ledger.ask("knee", "p1").event).content
    shares = [arm["propensity"] for arm in body["arms"].values()]
    assert list(body["arms"]) == sorted(ARMS)  # in the order of a JSON text
    assert sum(shares) + body["held_propensity"] == pytest.approx(1.0)
    assert body["propensities"] == "integrated, right to 1e-06"
    assert body["arms"][body["arm"]]["permissible"]
    largest = max((each["reward_index"], arm) for arm, each in body["arms"].items() if each["permissible"])
    assert largest[1] == body["arm"]
    assert (body["policy"], body["version"], body["round"], body["decision"]) == ("tsbu", 1, 101, 101)


def test_a_policy_that_draws_nothing_has_exact_propensities(ledger):
    ledger.create("knee", settings("docb"))
    run(ledger, "knee", 30)
    body = ledger.event("knee", ledger.ask("knee", "p1").event).content
    assert body["propensities"] == "exact"
    assert {arm: each["propensity"] for arm, each in body["arms"].items()} == {
        arm: float(arm == body["arm"]) for arm in ARMS
    }


@pytest.mark.parametrize("unit", ["", "  ", "a\x00b", "a\u200bb", "x" * 201, 7.0, True, None, "\ud800"])
def test_ids_that_cannot_be_kept(ledger, unit):
    ledger.create("knee", settings())
    with refused("a unit's id must"):
        ledger.ask("knee", unit)
    assert kinds(ledger) == ["created"]


@pytest.mark.parametrize("unit", ["'; DROP TABLE events; --", "<script>1</script>", "a/b?c#d", "müller 🦵", "%00"])
def test_any_text_is_an_id(ledger, unit):
    ledger.create("knee", settings())
    arm = ledger.ask("knee", unit).arm
    ledger.tell("knee", unit, reward=1, risk=0)
    assert ledger.unit("knee", unit).arm == arm
    assert ledger.unit("knee", unit).outcome == [1.0, 0.0]
    assert verify(ledger, "knee").holds


# Tell.


def test_an_outcome_is_told_once_in_pieces_and_again(ledger):
    ledger.create("knee", settings())
    ledger.ask("knee", "p1")
    assert ledger.tell("knee", "p1", risk=0).new
    assert ledger.unit("knee", "p1").pending
    assert ledger.tell("knee", "p1", reward=1, risk=0).new
    assert not ledger.unit("knee", "p1").pending
    before = whole(ledger)
    assert ledger.tell("knee", "p1", reward=1) == (4, False)
    with refused("unit 'p1' already has reward 1, got 0", ConflictError):
        ledger.tell("knee", "p1", reward=0)
    assert whole(ledger) == before


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ({}, "nothing was told of unit 'p1'"),
        ({"reward": 1.5}, "must lie in [0, 1], got 1.5"),
        ({"risk": -0.1}, "must lie in [0, 1], got -0.1"),
        ({"risk": float("nan")}, "must lie in [0, 1], got nan"),
        ({"reward": float("inf")}, "must lie in [0, 1], got inf"),
        ({"reward": "1"}, "must be a number in [0, 1], got '1'"),
        ({"reward": 1, "risk": "0"}, "must be a number in [0, 1], got '0'"),
        ({"risk": {"harm": 1}}, 'there is no risk "harm"'),
    ],
)
def test_what_cannot_be_told_changes_nothing(ledger, outcome, message):
    ledger.create("knee", settings())
    ledger.ask("knee", "p1")
    before = whole(ledger)
    with refused(message):
        ledger.tell("knee", "p1", **outcome)
    with refused("no unit 'p2' was given an arm"):
        ledger.tell("knee", "p2", reward=1)
    assert whole(ledger) == before


def test_a_request_that_is_refused_does_not_disturb_its_transaction(ledger):
    with ledger.writing() as writing:
        writing.create("knee", settings(), actor="Ada")
        writing.trial("knee").ask("p1", actor="Ada")
        with refused("must lie in [0, 1]"):
            writing.trial("knee").tell("p1", reward=2, actor="Ada")
        writing.trial("knee").tell("p1", reward=1, risk=0, actor="Ada")
    assert kinds(ledger) == ["created", "asked", "told"]
    assert verify(ledger, "knee").holds


def test_a_transaction_that_fails_leaves_nothing(ledger):
    ledger.create("knee", settings())
    run(ledger, "knee", 5)
    before = whole(ledger)

    class Cut(Exception):
        pass

    def cut():
        with ledger.writing() as writing:
            writing.trial("knee").ask("p1", actor="Ada")
            writing.create("hip", settings(), actor="Ada")
            raise Cut

    with pytest.raises(Cut):
        cut()
    assert whole(ledger) == before
    assert ledger.names() == ["knee"]
    # What is decided next is what would have been decided then.
    ledger.ask("knee", "p1")
    assert verify(ledger, "knee").holds


def test_several_risks_by_name_and_in_order(ledger):
    ledger.create("knee", settings("docb", alpha=[0.3, 0.4], risks=["toxicity", "nausea"]))
    for unit in ("p1", "p2"):
        ledger.ask("knee", unit)
    ledger.tell("knee", "p1", risk={"nausea": 0})
    ledger.tell("knee", "p1", reward=1, risk=[1, None])
    ledger.tell("knee", "p2", reward=0, risk=[0, 1])
    assert ledger.unit("knee", "p1").outcome == [1.0, 1.0, 0.0]
    assert ledger.unit("knee", "p2").outcome == [0.0, 0.0, 1.0]
    assert verify(ledger, "knee").holds


# Corrections, and units given up.


def test_a_correction_counts_as_if_told_so_at_first(ledger):
    """The units that follow are decided from the same counts, as the arms' numbers show."""
    for name in ("right", "wrong"):
        ledger.create(name, settings("docb", pending_cap=50))
        for i in range(9):
            ledger.ask(name, f"p{i}")
        for i in range(9):
            mistaken = name == "wrong" and i == 3
            ledger.tell(name, f"p{i}", reward=float(i % 2) if not mistaken else 0.25, risk=float(mistaken))
    before = ledger.state("wrong").allocator.to_bytes()
    ledger.correct("wrong", "p3", reward=1, risk=0, reason="typing error")
    assert before != ledger.state("right").allocator.to_bytes()
    assert ledger.state("wrong").allocator.to_bytes() == ledger.state("right").allocator.to_bytes()
    event = ledger.event("wrong", ledger.state("wrong").number)
    assert event.content["before"] == [0.25, 1.0]
    assert event.content["reason"] == "typing error"
    assert verify(ledger, "wrong").holds


def test_what_cannot_be_corrected(ledger):
    ledger.create("knee", settings())
    ledger.ask("knee", "p1")
    with refused("has no reward yet; tell it", ConflictError):
        ledger.correct("knee", "p1", reward=1, reason="why")
    ledger.tell("knee", "p1", reward=1)
    with refused("has this outcome already"):
        ledger.correct("knee", "p1", reward=1, reason="why")
    with refused("reason must have 1 to 200 characters"):
        ledger.correct("knee", "p1", reward=0, reason=" ")
    assert kinds(ledger) == ["created", "asked", "told"]


@pytest.mark.parametrize(("lost", "known", "harms"), [("harm", 1, 1.0), ("ignore", 0, 0.0)])
def test_a_missing_risk_never_counts_as_safe(ledger, lost, known, harms):
    ledger.create("knee", settings("docb", arms=["only"], lost=lost))
    ledger.ask("knee", "p1")
    assert ledger.ask("knee", "p2").waiting  # one may wait, at first
    ledger.tell("knee", "p1", reward=1)
    assert ledger.ask("knee", "p2").waiting  # the risk is what counts
    ledger.give_up("knee", "p1", reason="moved away")
    risk = ledger.state("knee").allocator.memory.quantities[0, 0, 1]
    assert (risk["plays"], risk["total"], risk["pending"]) == (known, harms, 0)
    assert ledger.state("knee").waiting == 0
    assert verify(ledger, "knee").holds


def test_a_unit_given_up_can_be_corrected_not_told(ledger):
    ledger.create("knee", settings("docb", arms=["only"]))
    ledger.ask("knee", "p1")
    ledger.give_up("knee", "p1", reason="lost")
    assert ledger.give_up("knee", "p1", reason="lost") == (3, False)
    with refused("unit 'p1' was given up in event 3", ConflictError):
        ledger.tell("knee", "p1", reward=1, risk=0)
    ledger.correct("knee", "p1", risk=0, reason="found again")
    risk = ledger.state("knee").allocator.memory.quantities[0, 0, 1]
    assert (risk["plays"], risk["total"]) == (1, 0.0)
    ledger.correct("knee", "p1", reward=1, reason="and this")
    assert ledger.unit("knee", "p1").outcome == [1.0, 0.0]
    assert verify(ledger, "knee").holds
    with refused("all of unit 'p2' is known", ConflictError):
        ledger.ask("knee", "p2")
        ledger.tell("knee", "p2", reward=1, risk=0)
        ledger.give_up("knee", "p2", reason="lost")


# Holds, status, amendments.


def harmful(ledger, name="knee"):
    """A trial in which every arm has done harm until none is permissible."""
    ledger.create(name, settings("docb", alpha=0.1))
    for i in range(200):
        given = ledger.ask(name, f"p{i}")
        if given.held:
            return given
        ledger.tell(name, f"p{i}", reward=1, risk=1)
    raise AssertionError("it never held")


def test_no_arm_permissible_is_a_hold_with_its_reason(ledger):
    held = harmful(ledger)
    assert "no arm is permissible" in held.why
    assert ledger.event("knee", held.event).kind == "held"
    # Asking again adds nothing, neither for this unit nor for another.
    for unit in (held.unit, "other"):
        again = ledger.ask("knee", unit)
        assert (again.held, again.why, again.event, again.new) == (True, held.why, held.event, False)
    with refused("no unit 'other' was given an arm"):
        ledger.tell("knee", "other", risk=0)
    ledger.amend("knee", alpha=0.9, reason="the committee decided")
    assert not ledger.ask("knee", held.unit).held
    assert verify(ledger, "knee").holds


@pytest.mark.parametrize("policy", ["docb", "naive-ts"])
def test_a_pause_is_no_way_around_a_hold(ledger, policy):
    """Nor where the gate is drawn: without new evidence it is not drawn again."""
    ledger.create("knee", settings(policy, alpha=0.05))
    for i in range(300):
        held = ledger.ask("knee", f"p{i}")
        if held.held:
            break
        ledger.tell("knee", f"p{i}", reward=1, risk=1)
    for _ in range(5):
        ledger.set_status("knee", "pause", reason="no")
        ledger.set_status("knee", "resume", reason="no")
        again = ledger.ask("knee", "other")
        assert (again.held, again.event, again.new) == (True, held.event, False)
    assert overview(ledger, "knee").holding == held.why
    assert verify(ledger, "knee").holds


@pytest.mark.parametrize(
    ("policy", "arm"), [("pess:safe_risk=0.05", "placebo"), ("tsbu:when_none=#1", "low"), ("tsbu:when_none=low", "low")]
)
def test_a_policy_names_arms_by_name(ledger, policy, arm):
    """A number would mean another arm when one is withdrawn."""
    ledger.create("knee", settings(policy))
    assert arm in ledger.state("knee").settings.policy
    with refused("must be the name of an arm that may be given"):
        ledger.amend("knee", withdraw=[arm], reason="why")
    ledger.amend("knee", withdraw=["high"], reason="why")
    with refused("must be the name of an arm that may be given"):
        settings("tsbu:when_none=1")


def test_the_rule_a_trial_was_created_with_goes_on(ledger):
    ledger.create("knee", settings("docb:when_none=placebo", alpha=0.05))
    given = []
    for i in range(30):
        given.append(ledger.ask("knee", f"p{i}"))
        ledger.tell("knee", f"p{i}", reward=1, risk=1)
    assert given[-1].arm == "placebo"
    assert "when_none" in given[-1].why
    assert verify(ledger, "knee").holds


def test_paused_and_closed_trials_give_no_arms_but_take_outcomes(ledger):
    ledger.create("knee", settings(pending_cap=10))
    for unit in ("p1", "p2"):
        ledger.ask("knee", unit)
    ledger.set_status("knee", "pause", reason="holidays")
    assert not ledger.set_status("knee", "pause", reason="holidays").new
    with refused('trial "knee" is paused', ConflictError):
        ledger.ask("knee", "p3")
    assert ledger.ask("knee", "p1").arm is not None
    ledger.tell("knee", "p1", reward=1, risk=0)
    ledger.set_status("knee", "resume", reason="back")
    ledger.ask("knee", "p3")
    ledger.set_status("knee", "close", reason="done")
    ledger.tell("knee", "p2", reward=1, risk=0)
    for change in ("pause", "resume"):
        with refused('trial "knee" is closed', ConflictError):
            ledger.set_status("knee", change, reason="no")
    with refused("is closed", ConflictError):
        ledger.ask("knee", "p4")
    with refused("is closed", ConflictError):
        ledger.amend("knee", alpha=0.5, reason="no")
    assert verify(ledger, "knee").holds


def test_an_amendment_counts_what_is_known_by_the_new_rules(ledger):
    """Amended to settings, a trial knows the same as one that had them from the start and the same outcomes."""
    ledger.create("knee", settings("tsbu"))
    run(ledger, "knee", 60, tell=0.9)
    ledger.amend("knee", alpha=0.5, policy="docb", reason="both at once")
    state = ledger.state("knee")
    assert (state.version, state.settings.policy, state.settings.limits) == (2, "docb", (0.5,))
    ledger.create("fresh", settings("docb", alpha=0.5, pending_cap=100))
    fresh = ledger.state("fresh").allocator
    for unit in (ledger.unit("knee", f"unit {i}") for i in range(60)):
        k = ARMS.index(unit.arm)
        play = fresh.give(k, unit.round)
        if not unit.pending:
            fresh.learn(k, play, unit.round, (None, None), tuple(unit.outcome))
    for field in ("plays", "pending", "total", "ones", "mean"):
        mine, theirs = (each.memory.quantities[field].tolist() for each in (state.allocator, fresh))
        assert mine == theirs
    assert verify(ledger, "knee").holds


def test_arms_are_added_withdrawn_and_added_again(ledger):
    ledger.create("knee", settings("docb"))
    run(ledger, "knee", 40)
    known = ledger.state("knee").allocator.memory.quantities["plays"][0, :, 0].tolist()
    pending = ledger.ask("knee", "waits")
    ledger.amend("knee", withdraw=[pending.arm], add=["new"], reason="a better dose")
    arms = {ledger.ask("knee", f"q{i}").arm for i in range(3)}
    assert pending.arm not in arms
    assert "new" in arms
    ledger.tell("knee", "waits", reward=1, risk=0)  # of an arm that is gone
    ledger.amend("knee", add=[pending.arm], reason="it was better")
    state = ledger.state("knee")
    assert state.settings.arms == (*ARMS, "new")
    k = state.allocator.arms.index(pending.arm)
    assert state.allocator.memory.quantities["plays"][0, k, 0] == known[k] + 1
    assert verify(ledger, "knee").holds


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "nothing would change"),
        ({"alpha": 0.3}, "nothing would change"),
        ({"alpha": 1.5}, "alpha must lie in [0, 1]"),
        ({"policy": "tbsu"}, 'did you mean "tsbu"?'),
        ({"withdraw": ["hihg"]}, 'did you mean "high"?'),
        ({"withdraw": ARMS}, "at least one arm that is not withdrawn"),
        ({"add": ["low"]}, "already has the arm 'low'"),
        ({"add": ["new", "new"]}, "names of arms must differ"),
        ({"pending_cap": 0}, "pending_cap must lie between"),
        ({"add": "low"}, "add and withdraw are lists of arms"),
    ],
)
def test_amendments_that_make_no_sense_change_nothing(ledger, changes, message):
    ledger.create("knee", settings())
    with pytest.raises(ValueError, match=r"\A[^\n]*\Z") as caught:
        ledger.amend("knee", reason="why", **changes)
    assert message in str(caught.value)
    assert kinds(ledger) == ["created"]


# The database.


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET actor = 'Eve'",
        "UPDATE events SET hash = hash WHERE number = 1",
        "DELETE FROM events WHERE number = 2",
        "DELETE FROM events",
        {
            "sqlite": "INSERT OR REPLACE INTO events "
            "SELECT trial, number, time, 'Eve', kind, body, previous, hash FROM events",
            "postgresql": "TRUNCATE events",
        },
    ],
)
def test_the_database_refuses_to_change_an_event(ledger, change):
    ledger.create("knee", settings())
    run(ledger, "knee", 3)
    before = whole(ledger)
    words = change if isinstance(change, str) else change[ledger.engine.dialect.name]
    with pytest.raises(sa.exc.DBAPIError, match="events are only ever added"), ledger.engine.begin() as connection:
        connection.execute(sa.text(words))
    assert whole(ledger) == before


def test_a_database_of_another_version_is_refused(database):
    engine = open_engine(database)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with refused("the database has version 9999", RecordError):
        Ledger(database)


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index events_asked")
def test_migrations_give_the_tables_that_the_code_uses(ledger):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from safebandit.trials.record.database import metadata

    with ledger.engine.connect().execution_options(reading=True) as connection:
        # Each database has words of its own for an index of what stands in a JSON text.
        options = {"include_name": lambda name, *_: name != "events_asked"}
        # SQLite keeps texts of any length, so migrations do not change how long they may be there.
        options["compare_type"] = connection.dialect.name != "sqlite"
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []


def test_a_trial_goes_on_after_a_restart(database):
    with Ledger(database) as ledger:
        ledger.create("knee", settings())
        run(ledger, "knee", 30)
        ledger.create("twin", settings())
        run(ledger, "twin", 30)
        going_on = [ledger.ask("twin", f"p{i}").arm for i in range(3)]
    with Ledger(database) as ledger:
        assert [ledger.ask("knee", f"p{i}").arm for i in range(3)] == going_on
        assert verify(ledger, "knee").holds


def test_means_of_outcomes_are_what_was_told(ledger):
    ledger.create("knee", settings("docb"))
    run(ledger, "knee", 80)
    told = [ledger.unit("knee", f"unit {i}") for i in range(80)]
    totals = ledger.state("knee").allocator.memory.quantities["total"][0]
    for k, arm in enumerate(ARMS):
        outcomes = [unit.outcome for unit in told if unit.arm == arm]
        assert totals[k].tolist() == [sum(outcome[j] for outcome in outcomes) for j in (0, 1)]


def test_a_whole_trial_in_one_transaction(ledger):
    with ledger.writing() as writing:
        writing.create("knee", settings(), actor="Ada")
        given = writing.trial("knee").ask("p1", actor="Ada")
        writing.trial("knee").amend(alpha=0.5, reason="so decided", actor="Ada")
        writing.trial("knee").tell("p1", reward=1, risk=0, actor="Ada")
        writing.trial("knee").correct("p1", risk=1, reason="typing error", actor="Ada")
        assert writing.trial("knee").ask("p1", actor="Ada").arm == given.arm
    assert verify(ledger, "knee").events == 5
    assert verify(ledger, "knee").holds


def test_of_two_processes_that_create_a_trial_at_once_one_does(database):
    ledgers = [Ledger(database) for _ in range(2)]
    gate = threading.Barrier(2)

    def create(i):
        gate.wait()
        try:
            return ledgers[i].create("knee", settings(alpha=0.1 * (i + 1)), actor=f"desk {i}").new
        except ConflictError as taken:
            return str(taken)

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(create, range(2)))
    assert answers.count(True) == 1
    assert any('there is a trial "knee" already' in str(answer) for answer in answers)
    assert verify(ledgers[0], "knee").holds
    for each in ledgers:
        each.dispose()


def test_an_actor_that_cannot_be_kept_moves_nothing(ledger):
    """Inside a transaction that goes on, too: a decision that is refused must not move the random numbers."""
    ledger.create("knee", settings())
    with ledger.writing() as writing:
        for actor in ("", "a\nb", "\x00"):
            with refused("actor must"):
                writing.trial("knee").ask("p1", actor=actor)
        writing.trial("knee").ask("p1", actor="Ada")
    assert verify(ledger, "knee").holds
