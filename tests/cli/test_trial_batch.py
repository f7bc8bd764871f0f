"""`safebandit trial ask` and `tell` with a file."""

import json

import pytest


@pytest.fixture
def desk(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SAFEBANDIT_DB", raising=False)
    made = ("--arms", "2", "--alpha", ".3", "--policy", "docb", "--pending-cap", "50", "--seed", "1")
    command("trial", "new", "knee", *made)

    def run(what, text, *flags):
        (tmp_path / "rows.csv").write_text(text)
        return command("trial", what, "knee", "--file", "rows.csv", *flags)

    return run


def test_many_units_ask_and_their_outcomes_are_told(desk, command):
    given = desk("ask", "unit\na\nb\nc\n")
    assert given.status == 0
    assert [line.split(",")[0] for line in given.out.splitlines()] == ["unit", "a", "b", "c"]
    outcomes = "unit,reward,risk\na,1,0\nb,0,\nc,,1\n"
    assert desk("tell", outcomes, "--preview").out == "3 would be told\n"
    assert desk("tell", outcomes).out == "3 told\n"
    assert desk("tell", outcomes).out == "0 told, 3 known already\n"
    shown = json.loads(command("trial", "status", "knee", "--json").out)
    # Of one the risk is not known yet.
    assert sum(arm["pending"] for arm in shown["arms"]) == 1


def test_a_bad_row_stops_all_unless_each_is_asked_for(desk):
    desk("ask", "unit\na\nb\n")
    bad = "unit,reward,risk\na,1,0\nnobody,1,0\nb,1,0\n"
    found = desk("tell", bad)
    assert (found.status, found.out, found.err.count("\n")) == (2, "", 1)
    assert "1 of 3 requests are refused, so nothing of the batch was written; number 2" in found.err
    previewed = desk("tell", bad, "--preview")
    assert (previewed.status, previewed.out) == (2, "2 would be told, 1 refused\n")
    found = desk("tell", bad, "--each", "--json")
    said = json.loads(found.out)
    assert (found.status, said["new"], said["refused"][0]["number"]) == (2, 2, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unit,reword\na,1\n", 'has a column "reword" that says nothing here; did you mean "reward"'),
        ("reward\n1\n", 'needs a column "unit"'),
        ("unit,reward\na,yes\n", "line 2: reward must be a number, got 'yes'"),
        ("unit,reward\na\n", "line 2 of rows.csv has another number of cells"),
        ("unit,unit\na,b\n", 'has the column "unit" twice'),
        ("unit,reward\na,1_0\n", "line 2: reward must be a number, got '1_0'"),
        ("unit,reward\n", "a batch has 1 to 5000 requests, got 0"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(desk, text, message):
    found = desk("tell", text)
    assert (found.status, found.err.count("\n")) == (2, 1)
    assert message in found.err


def test_a_unit_or_a_file(desk, command):
    assert "give one unit, or a table of many with --file, got neither" in command("trial", "ask", "knee").err
    (both, none) = desk("ask", "unit\na\n", "--context", "a=1"), command("trial", "tell", "knee", "a", "--preview")
    assert "--context cannot be used together with --file" in both.err
    assert "--preview cannot be used here; give --preview with --file" in none.err


def test_a_column_that_would_mean_two_things_is_refused(desk, command):
    made = ("--arms", "2", "--alpha", ".3,.2", "--risks", "reward,harm", "--policy", "docb")
    command("trial", "new", "odd", *made)
    desk("tell", "unit,reward,harm\na,1,0\n")
    found = command("trial", "tell", "odd", "--file", "rows.csv")
    assert (found.status, found.err.count("\n")) == (2, 1)
    assert 'a number of this trial is named "reward"' in found.err


def test_headings_are_read_however_they_are_typed(desk):
    assert desk("ask", "\ufeff Unit \na\nb\n").status == 0
    assert desk("tell", "UNIT, Reward ,rISK\na,1,0\n").out == "1 told\n"
    assert "twice" in desk("tell", "unit,Unit\na,b\n").err


def test_many_are_corrected_given_up_and_voided(desk, command):
    desk("ask", "unit\na\nb\nc\nd\n")
    desk("tell", "unit,reward,risk\na,1,0\nb,1,0\n")
    why = ("--reason", "the lab was wrong")
    changed = "unit,reward\na,0\nb,0\n"
    assert desk("correct", changed, *why, "--preview").out == "2 would be corrected\n"
    assert desk("correct", changed, *why).out == "2 corrected\n"
    # Of rows of which one is refused none is written.
    refused = desk("give-up", "unit\nc\na\n", *why)
    assert (refused.status, "number 2" in refused.err) == (2, True)
    assert desk("give-up", "unit\nc\n", *why).out == "1 given up\n"
    assert desk("give-up", "unit\nc\n", *why).out == "0 given up, 1 known already\n"
    assert desk("void", "unit\nd\n", *why).out == "1 voided\n"
    kinds = [event["kind"] for event in json.loads(command("trial", "log", "knee", "--json").out)["events"]]
    assert kinds[-6:] == ["told", "told", "corrected", "corrected", "given up", "voided"]
    assert "got both" in command("trial", "void", "knee", "d", "--file", "rows.csv", *why).err
    assert command("trial", "verify", "knee").status == 0
