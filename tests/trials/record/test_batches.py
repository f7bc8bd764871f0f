"""Batches: each request has the answer that it would have alone; all are written, or each that can be."""

import threading

import pytest
import sqlalchemy as sa

from safebandit.errors import BatchError, ConflictError, TrialError
from safebandit.trials import batches
from safebandit.trials.batches import MOST_REQUESTS
from safebandit.trials.design import Design
from safebandit.trials.record import Ledger, Settings, rows
from safebandit.trials.record.verification import verify
from safebandit.trials.state import TrialState

from .helpers import refused, settings

UNITS = [f"p {i}" for i in range(12)]


@pytest.fixture
def knee(ledger):
    ledger.create("knee", settings("docb", pending_cap=100))
    return ledger


def bodies(ledger, name="knee"):
    return [(event.kind, event.content) for event in ledger.events(name)][1:]


def outcomes(units=UNITS):
    return [{"id": unit, "reward": i % 2, "risk": i % 3 // 2} for i, unit in enumerate(units)]


def test_a_batch_is_what_its_requests_are_one_by_one(knee):
    knee.create("one", settings("docb", pending_cap=100))
    for unit in UNITS:
        knee.ask("one", unit, actor="desk")
    for told in outcomes():
        knee.tell("one", told["id"], reward=told["reward"], risk=told["risk"], actor="desk")
    given = knee.batch("knee", "ask", [{"id": unit} for unit in UNITS], actor="desk")
    done = knee.batch("knee", "tell", outcomes(), actor="desk")
    assert bodies(knee) == bodies(knee, "one")
    assert [each.unit for each in given] == UNITS
    assert [each.event for each in done] == list(range(14, 26))
    assert verify(knee, "knee").holds


def test_the_same_batch_again_changes_nothing(knee):
    asked = [{"id": unit} for unit in UNITS]
    first, again = (knee.batch("knee", "ask", asked) for _ in range(2))
    assert [each.arm for each in first] == [each.arm for each in again]
    assert not any(each.new for each in again)
    knee.batch("knee", "tell", outcomes())
    written = bodies(knee)
    assert not any(each.new for each in knee.batch("knee", "tell", outcomes()))
    assert bodies(knee) == written


def test_one_bad_request_stops_a_whole_batch_and_nothing_is_written(knee):
    knee.batch("knee", "ask", [{"id": unit} for unit in UNITS])
    before, state = bodies(knee), knee.state("knee").to_row()
    bad = outcomes()
    bad[6]["risk"] = 7
    bad[9] = {"id": "nobody", "reward": 1}
    with pytest.raises(BatchError) as found:
        knee.batch("knee", "tell", bad)
    assert sorted(found.value.refused) == [7, 10]
    assert "2 of 12 requests are refused, so nothing of the batch was written; number 7: " in str(found.value)
    assert (bodies(knee), knee.state("knee").to_row()) == (before, state)
    # What the process keeps of the trial is as before, too: it goes on as if the batch had not been.
    knee.batch("knee", "tell", outcomes())
    assert verify(knee, "knee").holds


def test_without_whole_each_that_can_be_is_written(knee):
    knee.batch("knee", "ask", [{"id": unit} for unit in UNITS])
    knee.tell("knee", UNITS[0], reward=1, risk=1)
    answers = knee.batch("knee", "tell", [*outcomes(), {"id": "nobody", "reward": 1}], whole=False)
    assert [isinstance(each, TrialError) for each in answers] == [True, *[False] * 11, True]
    assert isinstance(answers[0], ConflictError)
    assert verify(knee, "knee").holds
    assert sum(kind == "told" for kind, _ in bodies(knee)) == 12


def test_a_preview_writes_nothing(knee):
    knee.batch("knee", "ask", [{"id": unit} for unit in UNITS])
    before = bodies(knee)
    answers = knee.batch("knee", "tell", outcomes(), write=False)
    assert all(each.new for each in answers)
    assert bodies(knee) == before
    assert [each.event for each in knee.batch("knee", "tell", outcomes())] == [each.event for each in answers]


def test_corrections_losses_and_voids_come_in_batches_too(knee):
    knee.batch("knee", "ask", [{"id": unit} for unit in UNITS])
    knee.batch("knee", "tell", outcomes()[:4])
    knee.batch("knee", "correct", [{"id": unit, "reward": 0.5, "reason": "read again"} for unit in UNITS[:4]])
    knee.batch("knee", "give_up", [{"id": unit, "reason": "moved away"} for unit in UNITS[4:6]])
    knee.batch("knee", "void", [{"id": unit, "reason": "typed twice"} for unit in UNITS[6:8]])
    kinds = [kind for kind, _ in bodies(knee)]
    assert [kinds.count(kind) for kind in ("corrected", "given up", "voided")] == [4, 2, 2]
    assert verify(knee, "knee").holds


def test_a_batch_has_some_requests_and_not_too_many(knee):
    for number in (0, MOST_REQUESTS + 1):
        with refused(f"a batch has 1 to {MOST_REQUESTS} requests, got {number}", TrialError):
            knee.batch("knee", "ask", [{"id": str(i)} for i in range(number)])


def test_the_same_batch_twice_at_once_is_written_once(database):
    with Ledger(database) as one, Ledger(database) as other:
        one.create("knee", settings("docb", pending_cap=100))
        asked, answers = [{"id": unit} for unit in UNITS], []
        threads = [
            threading.Thread(target=lambda ledger=ledger: answers.append(ledger.batch("knee", "ask", asked)))
            for ledger in (one, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [each.arm for each in answers[0]] == [each.arm for each in answers[1]]
        assert sum(each.new for answer in answers for each in answer) == len(UNITS)
        assert verify(one, "knee").holds


def test_a_batch_that_takes_too_long_is_given_up(knee, monkeypatch):
    monkeypatch.setattr(batches, "LONGEST_SECONDS", -1.0)
    # The first request, for which formulas may be compiled, is not counted.
    with refused("a batch may take -1 s, in which others wait, and this one did 1 of 12 requests", BatchError):
        knee.batch("knee", "ask", [{"id": unit} for unit in UNITS])
    assert bodies(knee) == []


def test_what_a_batch_is_about_is_read_at_once(knee, monkeypatch):
    statements, run = [], rows.run
    sa.event.listen(knee.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    monkeypatch.setattr(rows, "run", lambda *given: (statements.append(given[1]), run(*given))[1])

    def count(kind, requests):
        statements.clear()
        knee.batch("knee", kind, requests)
        return len(statements)

    more = [f"q {i}" for i in range(60)]
    assert count("ask", [{"id": unit} for unit in more]) == count("ask", [{"id": unit} for unit in UNITS])
    assert count("tell", outcomes(more)) == count("tell", outcomes())


CORRECTED = [{"id": unit, "reward": 0.1 * i, "reason": "typed"} for i, unit in enumerate(UNITS[1:8], 1)]
REFUSED = [{**CORRECTED[3]}, {"id": "nobody", "reward": 0.1, "reason": "typed"}]
VOIDED = [{"id": unit, "reason": "never came"} for unit in UNITS[9:]]
SITES = {"site": ["a", "b"]}
DESIGN = Design(["low", "high"], 0.3, "docb", 40, pending_cap=100, stop=["too-many-harms:harms=30"])


def begin(ledger, name, said):
    """A trial of which some units are told, one is given up, and some are waited for."""
    ledger.create(name, said)
    asked = [
        {"id": unit, **({"stratum": {"site": "ab"[i % 2]}} if said.strata else {})} for i, unit in enumerate(UNITS)
    ]
    ledger.batch(name, "ask", asked, actor="desk")
    ledger.batch(name, "tell", outcomes(UNITS[:8]), actor="desk")
    ledger.give_up(name, UNITS[8], reason="moved away", actor="desk")


def one_by_one(ledger, name):
    for request in CORRECTED:
        ledger.correct(name, request["id"], reward=request["reward"], reason=request["reason"], actor="desk")
    for request in VOIDED:
        ledger.void(name, request["id"], reason=request["reason"], actor="desk")


@pytest.mark.parametrize(
    ("said", "joined"),
    [
        (settings("docb", pending_cap=100), True),
        (settings("tsbu", pending_cap=100, strata=SITES, lost="ignore"), True),
        # Its rules look at every change.
        (Settings.by_design(DESIGN, seed=7), False),
    ],
    ids=["plain", "strata", "design"],
)
def test_changes_in_a_batch_are_counted_once_and_give_what_they_give_one_by_one(ledger, monkeypatch, said, joined):
    """The same log, but for its times, and the same state bit by bit, also where some requests are refused."""
    for name in ("many", "one"):
        begin(ledger, name, said)
    one_by_one(ledger, "one")
    counted, count = [], TrialState.count
    monkeypatch.setattr(TrialState, "count", lambda state, store: counted.append(state.name) or count(state, store))
    corrected = ledger.batch("many", "correct", CORRECTED[:5] + REFUSED + CORRECTED[5:], whole=False, actor="desk")
    assert [isinstance(each, TrialError) for each in corrected] == [*[False] * 5, True, True, False, False]
    assert len(counted) == (1 if joined else len(CORRECTED))
    ledger.batch("many", "void", VOIDED, actor="desk")
    assert len(counted) == (2 if joined else len(CORRECTED) + len(VOIDED))
    assert bodies(ledger, "many") == bodies(ledger, "one")
    many, one = (ledger.state(name).to_row() for name in ("many", "one"))
    assert [many[key] for key in ("number", "status", "state", "memory")] == [
        one[key] for key in ("number", "status", "state", "memory")
    ]
    # Both go on as one, from memory and as another process reads them.
    site = {"stratum": {"site": "b"}} if said.strata else {}
    with Ledger(ledger.engine.url.render_as_string(hide_password=False)) as other:
        for each in (ledger, other):
            given = [each.ask(name, f"new to {each is other}", **site, actor="desk") for name in ("many", "one")]
            assert given[0] == given[1]
    counted.clear()
    assert verify(ledger, "many").holds
    # Created, and then the first of the two kinds of change follows the other: one row of changes.
    assert len(counted) == (2 if joined else 1 + len(CORRECTED) + len(VOIDED))


def test_a_batch_of_changes_that_fails_leaves_the_state_as_it_was(knee):
    begin(knee, "hip", settings("docb", pending_cap=100))
    before = knee.state("hip").to_row()
    with refused("so nothing of the batch was written", BatchError):
        knee.batch("hip", "correct", CORRECTED + REFUSED)
    assert knee.state("hip").to_row() == before
    knee.batch("hip", "correct", CORRECTED, write=False)
    assert knee.state("hip").to_row() == before
    knee.ask("hip", "one more")
    assert verify(knee, "hip").holds
