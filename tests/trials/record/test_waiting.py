"""Pending units over trials, on each database: against a list made unit by unit."""

import pytest

from safebandit.errors import TrialError
from safebandit.trials.record import Settings
from safebandit.trials.record.projects import make_project
from safebandit.trials.record.waiting import Place, Sight, Wanted, waiting_counts, waiting_units

ALL = Sight(["default", "ada", "bea"])


ASKED = [(("knee", "ada:knee", "bea:hip")[n % 3], f"Unit_{n}%") for n in range(18)]


def make_filled(ledger):
    """Make three trials of three projects, asked in turns by two people; some units are told in part or whole."""
    settings = {"policy": "docb", "seed": 1, "pending_cap": 100}
    for project in ("ada", "bea"):
        make_project(ledger, project, actor="root")
    for trial, risks in (("knee", ["pain", "fall"]), ("ada:knee", ["pain"]), ("bea:hip", ["pain"])):
        limits = [0.3] * len(risks)
        ledger.create(trial, Settings.read(["a", "b"], limits, risks=risks, **settings), actor="root")
    for n, (trial, unit) in enumerate(ASKED):
        ledger.ask(trial, unit, actor=("x", "y")[n % 2])
    ledger.tell("knee", "Unit_0%", reward=1, risk={"fall": 0}, actor="x")
    ledger.tell("knee", "Unit_3%", reward=1, risk={"fall": 0, "pain": 0}, actor="x")
    ledger.give_up("bea:hip", "Unit_5%", reason="lost", actor="x")
    ledger.void("ada:knee", "Unit_7%", reason="never", actor="x")
    ledger.tell("ada:knee", "Unit_1%", risk=0, actor="x")
    ledger.set_status("bea:hip", "close", reason="end", actor="root")


@pytest.fixture
def filled(made_once):
    """That ledger, and each unit that waits in it with its trial."""
    gone = {"Unit_3%", "Unit_5%", "Unit_7%"}
    return made_once(make_filled), [pair for pair in ASKED if pair[1] not in gone]


def named(found):
    return [(each.trial, each.unit) for each in found]


def test_all_of_them_in_the_order_in_which_they_were_asked_for(filled):
    ledger, expected = filled
    found = waiting_units(ledger, ALL, Wanted(), most=100)
    assert named(found) == expected
    assert len(expected) == 15
    for each in found:
        event = ledger.event(each.trial, each.event)
        stored = ledger.unit(each.trial, each.unit)
        assert (event.time, event.content["unit"], event.content["arm"]) == (each.asked, each.unit, each.arm)
        assert stored.round == each.round
        names = ["reward", *ledger.state(each.trial).settings.risks]
        assert each.missing == tuple(n for n, v in zip(names, stored.outcome, strict=True) if v is None)
    assert [each.missing for each in found[:3]] == [("pain",), ("reward",), ("reward", "pain")]


@pytest.mark.parametrize("size", [1, 4, 14, 15])
def test_pages_have_each_once_while_others_are_told(filled, size):
    ledger, expected = filled
    seen, after = [], None
    while page := waiting_units(ledger, ALL, Wanted(), after=after, most=size):
        seen += named(page)
        after = Place.read(str(page[-1].place))
        # What was seen goes from the list: nothing behind it moves.
        ledger.give_up(page[0].trial, page[0].unit, reason="lost", actor="x")
    assert seen == expected


def test_units_asked_at_one_time_have_each_a_place(filled, monkeypatch):
    ledger, _ = filled
    monkeypatch.setattr("safebandit.trials.events.now", lambda: "2099-01-01T00:00:00.000000Z")
    for n in range(4):
        ledger.ask(("knee", "ada:knee")[n % 2], f"same {n}", actor="x")
    wanted = Wanted(text="same")
    whole = waiting_units(ledger, ALL, wanted, most=10)
    assert [each.asked[:4] for each in whole] == ["2099"] * 4
    one_by_one = [waiting_units(ledger, ALL, wanted, after=each.place, most=1) for each in whole]
    assert [named(found) for found in one_by_one] == [*([pair] for pair in named(whole)[1:]), []]


@pytest.mark.parametrize(
    ("sight", "sees"),
    [
        (Sight([]), lambda trial, n: False),
        (Sight(["ada"]), lambda trial, n: trial == "ada:knee"),
        (Sight(["default"]), lambda trial, n: trial == "knee"),
        (Sight([], ["ada", "bea", "default"], "x"), lambda trial, n: n % 2 == 0),
        (Sight(["ada"], ["default"], "y"), lambda trial, n: trial == "ada:knee" or (trial == "knee" and n % 2 == 1)),
        (Sight([], ["ada"], ""), lambda trial, n: False),
    ],
)
def test_who_sees_what(filled, sight, sees):
    ledger, pending = filled
    expected = [(trial, unit) for trial, unit in pending if sees(trial, int(unit[5:-1]))]
    assert named(waiting_units(ledger, sight, Wanted(), most=100)) == expected
    counts = waiting_counts(ledger, sight, Wanted())
    assert counts == {t: sum(trial == t for trial, _ in expected) for t in sorted({t for t, _ in expected})}


@pytest.mark.parametrize("text", ["unit", "1", "_1", "%", "_", "nit_17%", " unit ", "no such", "'; --"])
def test_a_text_in_the_id_is_text(filled, text):
    ledger, pending = filled
    expected = [pair for pair in pending if text.strip().lower() in pair[1].lower()]
    assert named(waiting_units(ledger, ALL, Wanted(text=text), most=100)) == expected
    of_one = waiting_units(ledger, ALL, Wanted("knee", text), most=100)
    assert named(of_one) == [pair for pair in expected if pair[0] == "knee"]


@pytest.mark.parametrize("text", ["", "x", "2026,1,knee", "2026-11-18T04:02:03.123456Z,x,knee", "a\0b"])
def test_a_place_that_is_none(text):
    with pytest.raises(TrialError, match="a place in the list is such as"):
        Place.read(text)
