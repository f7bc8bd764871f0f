"""A log that is verified in two parts is found to be what one process finds it to be, wherever the parts meet."""

import shutil

import pytest
import sqlalchemy as sa

from safebandit.trials.record import two_parts, verification
from safebandit.trials.record.verification import verify

from .helpers import let_change, run, settings

IN_A_PROCESS = two_parts.Aside


class Here(two_parts.Aside):
    """The first part, made again in this process."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def answer(self):
        return two_parts.first_part(*self._task)


@pytest.fixture
def here(monkeypatch):
    """Any trial is long; a list of what came of every try in two parts."""
    came = []

    def noted(*args, **named):
        came.append(two_parts.in_two_parts(*args, **named))
        return came[-1]

    monkeypatch.setattr(two_parts, "TWO_PARTS", 1)
    monkeypatch.setattr(verification, "in_two_parts", noted)
    monkeypatch.setattr(two_parts, "first_events", lambda events: events // 2)
    monkeypatch.setattr(two_parts, "Aside", Here)
    return came


def make_told(ledger):
    """Make a trial with decisions, a hold, outcomes, corrections in a row, a void, an amendment and a unit given up."""
    ledger.create("knee", settings())
    run(ledger, "knee", 12, tell=0.8)
    ledger.ask("knee", "p1")
    ledger.give_up("knee", "p1", reason="lost")
    ledger.amend("knee", alpha=0.4, reason="the committee decided")
    run(ledger, "knee", 6, start=12)
    for n in (12, 13, 14):
        ledger.correct("knee", f"unit {n}", reward=0.5, reason="typing error")
    ledger.ask("knee", "p2")
    ledger.void("knee", "p2", reason="not eligible")
    run(ledger, "knee", 9, start=18)


@pytest.fixture
def told(made_once):
    return made_once(make_told)


def in_both_ways(ledger, **options):
    alone, together = verify(ledger, "knee", **options), verify(ledger, "knee", processes=2, **options)
    assert together == alone
    return alone


def test_wherever_the_parts_meet(told, here, monkeypatch):
    last = told.state("knee").number
    expected = told.event("knee", 9).hash
    alone = verify(told, "knee", expected=expected)
    assert alone.holds
    for first in range(1, last):
        monkeypatch.setattr(two_parts, "first_events", lambda events, first=first: first)
        assert verify(told, "knee", expected=expected, processes=2) == alone
    met = [found is not None for found in here]
    assert len(met) == last - 1
    # But amid corrections that are counted at the last of them, and where no decision is left.
    assert sum(met) >= last - 6


def test_what_fails_in_either_part(told, here, monkeypatch):
    last = told.state("knee").number
    with told.engine.begin() as connection:
        let_change(connection)
    for number in range(1, last + 1, 5):
        body = told.event("knee", number).body
        for new in (body[:-1] + " }", "[]", "{}"):
            _write(told, number, new)
            alone = verify(told, "knee")
            assert alone.failed == number
            for share in (0.3, 0.7):
                monkeypatch.setattr(two_parts, "first_events", lambda events, share=share: int(share * events))
                assert verify(told, "knee", processes=2) == alone
        _write(told, number, body)
    assert "trigger" in in_both_ways(told).problem


def _write(ledger, number, body):
    with ledger.engine.begin() as connection:
        connection.execute(sa.text("UPDATE events SET body = :new WHERE number = :n"), {"new": body, "n": number})


def test_an_end_that_is_missing(told, here):
    with told.engine.begin() as connection:
        let_change(connection)
        connection.execute(sa.text("DELETE FROM events WHERE number = :n"), {"n": told.state("knee").number})
    assert "the end is missing" in in_both_ways(told).problem


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part._replace(position=[*part.position[:-1], part.position[-1] + 1]),
        lambda part: part._replace(state={**part.state, "memory": b""}),
        lambda part: None,
    ],
    ids=["random numbers", "state", "nothing"],
)
def test_parts_that_do_not_meet_are_not_believed(told, here, monkeypatch, change):
    class Other(Here):
        """Who made the first part again found something else."""

        def answer(self):
            return change(super().answer())

    monkeypatch.setattr(two_parts, "Aside", Other)
    assert in_both_ways(told).holds
    assert here == [None]


def test_what_is_taken_at_its_word_may_make_no_sense(told, here, monkeypatch):
    monkeypatch.setattr(two_parts.Replay, "take", lambda *_: 1 / 0)
    assert in_both_ways(told).holds
    assert here == [None]


def test_strata_are_verified_in_one_part(ledger, here):
    ledger.create("knee", settings(strata={"sex": ["f", "m"]}))
    for n in range(8):
        ledger.ask("knee", f"unit {n}", stratum={"sex": "fm"[n % 2]})
    assert in_both_ways(ledger).holds
    assert here == [None]


def test_a_process_of_its_own_makes_the_first_part_again(told, here, monkeypatch):
    monkeypatch.setattr(two_parts, "Aside", IN_A_PROCESS)
    assert in_both_ways(told).holds
    assert len(here) == 1
    assert here[0].holds


def test_a_process_that_ends_is_no_finding(told, here, monkeypatch):
    monkeypatch.setattr(two_parts, "Aside", IN_A_PROCESS)
    monkeypatch.setattr(two_parts.sys, "executable", shutil.which("false"))
    assert in_both_ways(told).holds
    assert here == [None]


def test_both_parts_take_as_long():
    first = two_parts.first_events(200_000)
    assert 15_000 + first == pytest.approx(0.3 * first + (200_000 - first), abs=2)
