"""`safebandit trial` as a trial desk uses it: what each command prints, its status, and what is in the record after."""

from __future__ import annotations

import csv
import getpass
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
from types import SimpleNamespace

import pytest

from safebandit.trials.concealment import CONCEALED, show_event
from safebandit.trials.record import Ledger

from .helpers import COMMAND


@pytest.fixture
def desk(tmp_path, monkeypatch, command):
    """Run `safebandit trial ...` in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SAFEBANDIT_DB", raising=False)

    def run(*arguments: str) -> SimpleNamespace:
        return command("trial", *arguments)

    run.folder = tmp_path
    return run


@pytest.fixture
def knee(desk):
    """A trial of three arms in which two units were told and one is pending."""
    done = desk("new", "knee", "--arms", "placebo,low,high", "--alpha", ".3", "--policy", "tsbu", "--seed", "4",
                "--pending-cap", "1")  # fmt: skip
    assert (done.status, done.err) == (0, "")
    for unit in ("p1", "p2", "p3"):
        assert desk("ask", "knee", unit).status == 0
    desk("tell", "knee", "p1", "--reward", "1", "--risk", "0")
    desk("tell", "knee", "p2", "--reward", "0.5", "--risk", "0")
    return desk


def events(trial: str = "knee", db: str = "trials.db"):
    with Ledger(db, create=False) as ledger:
        return list(ledger.events(trial))


def test_a_trial_is_told_how_many_units_are_planned(desk):
    created = desk("new", "knee", "--arms", "a,b", "--alpha", ".2", "--units", "1000")
    policy = "safe-ids:odds=0.25,confidence=0.99,units=1000"
    assert created.out == f'created "knee": 2 arms, policy {policy}, pending cap 1\n'
    refused = desk("new", "hip", "--arms", "a,b", "--alpha", ".2", "--units", "0")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "units must lie between 1 and 1,000,000,000 (how many are planned), got 0" in refused.err


def test_the_arm_is_alone_on_stdout_and_asking_again_gives_it_again(desk):
    created = desk("new", "knee", "--arms", "placebo,low,high", "--alpha", ".2", "--policy", "tsbu", "--title", "Pain")
    assert (created.status, created.out) == (0, 'created "knee": 3 arms, policy tsbu, pending cap 1\n')
    given = desk("ask", "knee", "patient 1")
    assert given.status == 0
    arm, end, rest = given.out.partition("\n")
    assert (arm in {"placebo", "low", "high"}, end, rest) == (True, "\n", "")
    assert given.err == "largest reward index among the permissible arms\n"
    again = desk("ask", "knee", "patient 1")
    assert again.out == given.out
    assert again.err == "given before, in event 2: largest reward index among the permissible arms\n"
    assert [event.kind for event in events()] == ["created", "asked"]
    assert {event.actor for event in events()} == {getpass.getuser()}


def test_no_arm_has_a_status_of_its_own_and_nothing_on_stdout(desk):
    desk("new", "knee", "--arms", "a,b", "--alpha", ".3", "--policy", "docb", "--seed", "1")
    for unit in ("1", "2"):
        assert desk("ask", "knee", unit).status == 0
    held = desk("ask", "knee", "3")
    assert (held.status, held.out) == (3, "")
    assert held.err == "waiting: every arm that may be given waits for outcomes of units already given it\n"
    as_json = desk("ask", "knee", "3", "--json")
    assert as_json.status == 3
    assert as_json.err == ""
    document = json.loads(as_json.out)
    assert (document["arm"], document["held"], document["waiting"], document["unit"]) == (None, False, True, "3")
    shown = desk("explain", "knee", "3")
    assert "unit '3', round 3: no arm (waiting for outcomes)" in shown.out
    assert "waits: every arm that may be given waits" in desk("status", "knee").out
    assert desk("list").out.splitlines()[1].split() == ["knee", "waits", "2", "2"]
    # A red hold: every arm has done nothing but harm.
    for unit in ("1", "2"):
        desk("give-up", "knee", unit, "--reason", "moved away")
    for i in range(20):
        if desk("ask", "knee", f"more {i}").status == 3:
            break
        desk("tell", "knee", f"more {i}", "--reward", "0", "--risk", "1")
    assert desk("ask", "knee", "one more").err.startswith("hold: no arm is permissible")
    assert desk("list").out.splitlines()[1].split()[1] == "holds"
    shown = json.loads(desk("status", "knee", "--json").out)
    assert shown["holding"].startswith("no arm is permissible")
    assert shown["waiting"] is None


def test_the_list_names_strata_that_hold_or_wait(desk):
    desk("new", "knee", "--arms", "a", "--alpha", "0", "--policy", "docb", "--strata", "site=x,y", "--pending-cap", "1")
    for unit in ("1", "2"):
        desk("ask", "knee", unit, "--stratum", "site=y")
    assert "waits in site=y" in desk("list").out
    desk("tell", "knee", "1", "--reward", "1", "--risk", "1")
    desk("ask", "knee", "3", "--stratum", "site=y")
    assert "holds in site=y" in desk("list").out
    (line,) = json.loads(desk("list", "--json").out)["trials"]
    assert (line["holding"], line["holding_in"], line["waiting_in"]) == (True, ["site=y"], [])


def test_outcomes_in_parts_by_name_and_in_order(desk):
    risks = ("--alpha", ".3,.2", "--risks", "toxicity,nausea", "--pending-cap", "9")
    desk("new", "knee", "--arms", "a,b", "--policy", "docb", *risks)
    for unit in ("1", "2", "3"):
        desk("ask", "knee", unit)
    assert desk("tell", "knee", "1", "--reward", "1", "--risk", "nausea=1").out == "told: event 5\n"
    assert desk("tell", "knee", "1", "--risk", "toxicity=0").status == 0
    desk("tell", "knee", "2", "--risk", "0,1")
    desk("tell", "knee", "3", "--risk", "toxicity=0.25", "--risk", "nausea=1", "--reward", "0")
    with Ledger("trials.db") as ledger:
        outcomes = [ledger.unit("knee", unit).outcome for unit in ("1", "2", "3")]
    assert outcomes == [[1.0, 0.0, 1.0], [None, 0.0, 1.0], [0.0, 0.25, 1.0]]
    shown = desk("log", "knee", "--kind", "told").out
    assert '1: reward 1, risk "nausea" 1' in shown
    assert "risk toxicity" in desk("status", "knee").out
    assert "risk index nausea" in desk("explain", "knee", "1").out


def test_the_same_told_again_is_said_and_another_value_is_refused(knee):
    before = len(events())
    assert knee("tell", "knee", "p1", "--risk", "0").out == "this was so already: nothing was written\n"
    refused = knee("tell", "knee", "p1", "--risk", "1")
    assert refused.status == 2
    assert "already has risk 0, got 1; correct it with a reason" in refused.err
    assert len(events()) == before
    corrected = knee("correct", "knee", "p1", "--risk", "1", "--reason", "typed wrongly", "--actor", "Dr. Zoë")
    assert corrected.out == f"corrected: event {before + 1}\n"
    last = events()[-1]
    assert (last.actor, last.kind, last.content["reason"]) == ("Dr. Zoë", "corrected", "typed wrongly")
    assert (
        "unit p1: risk 1 in the place of reward 1, risk 0 (typed wrongly)"
        in knee("log", "knee", "--after", str(before)).out
    )


def test_status_says_what_is_known_and_never_which_arm_comes_next(knee):
    shown = knee("status", "knee")
    assert shown.out.splitlines()[1].startswith("open, 3 units, 1 pending; alpha 0.3, policy tsbu, version 1")
    assert events()[-1].hash in shown.out
    document = json.loads(knee("status", "knee", "--json").out)
    assert sum(arm["plays"] for arm in document["arms"]) == 3
    text = json.dumps(document) + shown.out + knee("explain", "knee").out
    assert all(arm["propensity"] < 1 for arm in document["arms"])
    assert "chosen" not in text
    assert len(events()) == 6


def test_explain_gives_the_stored_decision_and_how_things_stand(knee):
    stored = next(event for event in events() if event.kind == "asked" and event.content["unit"] == "p2")
    shown = knee("explain", "knee", "p2").out
    content = stored.content
    for words in (
        f"unit 'p2', round 2: {content['arm']}",
        f"why: {content['why']}",
        f"propensities: {content['propensities']}",
        f"safebandit {content['software']}, formulas {content['formulas']}",
        f"event {stored.number}, {stored.time}",
        stored.hash,
    ):
        assert words in shown
    rows = [line.split() for line in shown.splitlines() if line.split()[0] in content["arms"]]
    assert [row[0] for row in rows] == ["placebo", "low", "high"]
    # Four digits of each are shown.
    assert [float(row[-1]) for row in rows] == pytest.approx(
        [content["arms"][arm]["propensity"] for arm in ("placebo", "low", "high")], rel=1e-3
    )
    assert json.loads(knee("explain", "knee", "p2", "--json").out) == show_event(stored, closed=False)
    now = knee("explain", "knee").out
    assert now.count("permissible") >= 3
    assert "lower risk index" in now


def test_amending_pausing_and_closing(knee):
    assert "nothing would change" in knee("amend", "knee", "--reason", "no reason").err
    changes = ("--alpha", ".25", "--withdraw", "high", "--add", "half", "--add", "double", "--pending-cap", "4")
    assert knee("amend", "knee", *changes, "--policy", "docb", "--reason", "the board").status == 0
    content = events()[-1].content
    assert content["changes"] == {
        "alpha": 0.25, "withdraw": ["high"], "add": ["half", "double"], "pending_cap": 4, "policy": "docb",
    }  # fmt: skip
    assert content["version"] == 2
    assert "withdrawn" in knee("status", "knee").out
    assert knee("amend", "knee", "--alpha", "0", "--reason", "none at all").status == 0
    assert events()[-1].content["changes"] == {"alpha": 0.0}
    assert knee("pause", "knee", "--reason", "lunch").out.startswith("paused: event")
    assert knee("pause", "knee", "--reason", "lunch").out == "this was so already: nothing was written\n"
    assert 'trial "knee" is paused' in knee("ask", "knee", "p9").err
    assert knee("resume", "knee", "--reason", "fed").status == 0
    assert knee("close", "knee", "--reason", "done").status == 0
    assert "closed" in knee("resume", "knee", "--reason", "again").err
    kinds = [event.kind for event in events()]
    assert kinds[-5:] == ["amended", "amended", "paused", "resumed", "closed"]


def test_the_log_in_pieces(knee):
    whole = knee("log", "knee").out.splitlines()
    assert whole[0].split() == ["event", "time", "actor", "kind", "what"]
    assert len(whole) == 7
    piece = knee("log", "knee", "--after", "1", "--limit", "2")
    assert [line.split()[0] for line in piece.out.splitlines()[1:]] == ["2", "3"]
    assert piece.err == "there is more: --after 3\n"
    told = json.loads(knee("log", "knee", "--kind", "told", "--json").out)
    assert [event["number"] for event in told["events"]] == [5, 6]
    assert told["more"] is False
    assert "must be one of created, asked" in knee("log", "knee", "--kind", "tolled").err


def test_verify_names_the_last_hash_or_the_first_event_that_fails(knee):
    last = events()[-1]
    fine = knee("verify", "knee", "--expect", last.hash)
    assert fine.status == 0
    assert fine.out == f"6 events hold, with 3 decisions made again; the last hash is {last.hash}, as expected\n"
    noted = knee("verify", "knee", "--expect", events()[3].hash)
    assert noted.status == 0
    assert noted.out.endswith("; the expected hash is that of event 4, and 2 events came after it\n")
    other = knee("verify", "knee", "--expect", "0" * 64)
    assert other.status == 1
    assert other.out.startswith("event 6 fails: no event has the hash")
    assert json.loads(knee("verify", "knee", "--json").out)["holds"] is True

    # Someone who owns the file can take the triggers away, and is found out.
    with sqlite3.connect("trials.db") as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE events SET body = replace(body, '1.0', '0.0') WHERE number = 5")
    connection.close()
    forged = knee("verify", "knee")
    assert forged.status == 1
    assert forged.out == "event 5 fails: event 5 was changed: its content does not give its hash\n"
    assert json.loads(knee("verify", "knee", "--json").out)["failed"] == 5


def test_the_database_has_a_log_of_its_own(knee, command):
    made = command("key", "new", "desk 2", "--actor", "Bea", "--db", "trials.db", cwd=knee.folder)
    listed = json.loads(knee("log", "--json").out)["events"]
    assert [event["kind"] for event in listed] == ["begun", "trial created", "key made"]
    assert listed[2]["actor"] == "Bea"
    assert "desk 2" in knee("log").out
    assert made.out.strip() not in knee("log").out
    assert json.loads(knee("log", "--kind", "key made", "--json").out)["events"][0]["number"] == 3
    assert "must be one of begun, trial created" in knee("log", "--kind", "told").err
    fine = knee("verify")
    whole, trial = fine.out.splitlines()
    assert fine.status == 0
    assert whole.startswith("the database: 3 events hold; the last hash is ")
    assert trial.startswith("knee: 6 events hold, with 3 decisions made again; the last hash is ")
    with sqlite3.connect(knee.folder / "trials.db") as connection:
        connection.execute("UPDATE roles SET role = 'admin'")
    connection.close()
    forged = knee("verify")
    assert forged.status == 1
    assert "is not what the database's own log gives" in forged.out.splitlines()[0]
    assert json.loads(knee("verify", "--json").out)["holds"] is False


def test_what_tells_the_next_arms_is_printed_when_the_trial_is_closed(knee):
    """The owner of the database can verify at any time, and have the whole export if it is asked for."""
    new = json.loads(knee("new", "hip", "--arms", "a,b", "--alpha", ".3", "--policy", "docb", "--json").out)
    assert new["settings"]["seed"] == CONCEALED

    def printed() -> str:
        asked = (("log", "knee", "--json"), ("explain", "knee", "p2", "--json"), ("export", "knee", "--kind", "json"))
        return "".join(knee(*arguments).out for arguments in asked)

    words = [str(word) for event in events() for word in event.content.get("stream", []) if word >= 2**32]
    assert words
    assert not [word for word in words if word in printed()]
    assert knee("verify", "knee").status == 0
    assert words[0] in knee("export", "knee", "--kind", "json", "--whole").out
    knee("close", "knee", "--reason", "done")
    assert not [word for word in words if word not in printed()]


def test_a_unit_is_voided_and_ids_have_one_spelling(desk):
    made = desk("new", "knee", "--arms", "a,b ", "--alpha", ".3", "--policy", "docb", "--ids", r"p\d+", "--delay", "9")
    assert (made.out, made.err) == ('created "knee": 2 arms, policy docb, pending cap 5\n', "")
    assert desk("ask", "knee", " p1").status == 0
    assert "must match" in desk("ask", "knee", "patient 1").err
    desk("ask", "knee", "p11")
    assert desk("void", "knee", "p11 ", "--reason", "a typing error").out == "voided: event 4\n"
    assert desk("void", "knee", "p11", "--reason", "again").out == "this was so already: nothing was written\n"
    assert "\nvoided in event 4: it never got its arm" in desk("explain", "knee", "p11").out
    again = desk("ask", "knee", "p11")
    assert (again.status, "its id cannot be used again" in again.err) == (2, True)
    assert "unit p11 never got its arm, and counts as nothing (a typing error)" in desk("log", "knee").out
    assert "1 units, 1 pending, 1 voided; " in desk("status", "knee").out
    assert desk("amend", "knee", "--ids", "", "--reason", "any").status == 0
    assert desk("ask", "knee", "patient 1").status == 0
    assert desk("verify", "knee").status == 0
    quiet = desk("new", "late", "--arms", "a,b", "--alpha", ".3", "--policy", "docb")
    assert "pending cap 1" in quiet.out
    assert "--delay" in quiet.err


def test_exports_go_to_a_file_or_to_stdout(knee):
    printed = knee("export", "knee", "--kind", "csv")
    assert printed.status == 0
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert [row["unit"] for row in rows] == ["p1", "p2", "p3"]
    for name in ("units.csv", "units.parquet", "log.json"):
        done = knee("export", "knee", "--out", name)
        assert (done.status, done.out, done.err) == (0, "", f"wrote {name}\n")
    assert (knee.folder / "units.csv").read_bytes() == printed.bytes
    assert (knee.folder / "units.parquet").read_bytes()[:4] == b"PAR1"
    assert json.loads((knee.folder / "log.json").read_text())["number"] == 6
    assert knee("export", "knee", "--kind", "parquet").bytes[:4] == b"PAR1"


def test_rehearse_says_what_to_expect_and_touches_nothing(knee):
    before = events()
    truth = ("--mu", ".3,.5,.6", "--nu", ".1,.2,.4", "--units", "30", "--times", "8", "--delay", "2", "--seed", "3")
    shown = knee("rehearse", "knee", *truth, "--missing", ".1", "--give-up-after", "9")
    assert shown.status == 0, shown.err
    for words in (
        "knee: 8 runs of 30 units", "plays of low (best)", "plays of high (unsafe)", "harms of high", "regret",
        "units that waited", "chance of a hold because no arm is permissible", "best safe arm is given most often",
    ):  # fmt: skip
        assert words in shown.out
    document = json.loads(knee("rehearse", "knee", *truth, "--json").out)
    assert document["times"] == 8
    assert document["supposed"]["reward_delay"] == document["supposed"]["risk_delay"] == 2
    assert document == json.loads(knee("rehearse", "knee", *truth, "--json").out)
    assert document != json.loads(knee("rehearse", "knee", *truth, "--seed", "4", "--json").out)
    assert events() == before


def test_the_database_is_named_by_an_option_or_the_environment(desk, monkeypatch):
    arms = ("--arms", "a,b", "--alpha", ".3")
    assert desk("new", "knee", *arms, "--db", "other.db").status == 0
    monkeypatch.setenv("SAFEBANDIT_DB", "other.db")
    assert desk("list").out.splitlines()[1].split()[0] == "knee"
    assert [path.name for path in desk.folder.iterdir()] == ["other.db"]


def test_names_that_look_like_markup_are_shown_as_they_are(desk):
    desk("new", "odd", "--arms", "[red]a,:smile:", "--alpha", ".5", "--title", "[bold]x", "--pending-cap", "5")
    desk("ask", "odd", "[link]u")
    texts = {
        "status": ["[red]a", ":smile:", "odd: [bold]x"],
        "log": ["unit [link]u"],
        "list": ["[bold]x"],
    }
    for command, wanted in texts.items():
        shown = desk(command, *(() if command == "list" else ("odd",))).out
        assert [text for text in wanted if text in shown] == wanted
    assert "unit '[link]u'" in desk("explain", "odd", "[link]u").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",), ("ask", "knee", "1"), ("tell", "knee", "1", "--risk", "0"), ("status", "knee"), ("log", "knee"),
        ("explain", "knee"), ("verify", "knee"), ("export", "knee", "--kind", "csv"),
        ("amend", "knee", "--reason", "x"),
        ("correct", "knee", "1", "--reason", "x"), ("give-up", "knee", "1", "--reason", "x"),
        ("pause", "knee", "--reason", "x"), ("rehearse", "knee", "--mu", ".1", "--nu", ".1"),
    ],
)  # fmt: skip
def test_only_new_makes_a_database(desk, arguments):
    done = desk(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        'RecordError: there is no database "trials.db"; create a trial first, or check the name; '
        "try: safebandit trial new knee --arms low,high --alpha .2\n"
    )
    assert list(desk.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("new", "k nee", "--arms", "a", "--alpha", ".3"), "a trial's name is 1 to 64 letters"),
        (("new", "knee", "--arms", "a,a", "--alpha", ".3"), "names of arms must differ, got a, a"),
        (("new", "knee", "--arms", "a,b", "--alpha", "1.5"), "alpha must lie in [0, 1], got 1.5"),
        (("new", "knee", "--arms", "a,b", "--alpha", "x"), '--alpha must be numbers separated by commas, got "x"'),
        (("new", "knee", "--arms", "a,b", "--alpha", ".3", "--policy", "tbsu"), 'did you mean "tsbu"?'),
        (("new", "knee", "--arms", "a,b", "--alpha", ".3", "--lost", "safe"), "lost must be one of harm, ignore"),
        (("new", "knee", "--arms", "a,b", "--alpha", ".3", "--seed", "-1"), "seed must lie in"),
        (("new", "knee", "--arms", "a,b", "--alpha", ".3", "--actor", "a\x07b"), "actor must not have control"),
        (("new", "knee", "--arms", "a,b", "--alpha", ".3", "--db", "no/where.db"), "folder of the database"),
        (("new", "knee", "--arms", "a,b", "--alpha", ".3", "--db", "mysql://host/x"), "SQLite's or PostgreSQL's"),
        (("new", "knee", "--alpha", ".3"), "--arms"),
        (("asc", "knee", "1"), "asc"),
    ],
)  # fmt: skip
def test_a_mistake_makes_no_database(desk, arguments, words):
    done = desk(*arguments)
    assert (done.status, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert words in done.err
    assert list(desk.folder.iterdir()) == []


def test_a_mistake_in_a_trial_is_one_line_and_nothing_is_written(knee):
    mistakes = {
        ("new", "knee", "--arms", "a,b", "--alpha", ".3"): 'there is a trial "knee" already, with other settings',
        ("ask", "kneee", "1"): 'there is no trial "kneee"; did you mean "knee"?',
        ("ask", "knee", " "): "a unit's id must have 1 to 200 characters",
        ("tell", "knee", "nobody", "--risk", "0"): "no unit 'nobody' was given an arm",
        ("tell", "knee", "p3"): "nothing was told of unit 'p3'",
        ("tell", "knee", "p3", "--risk", "1.5"): "risk must lie in [0, 1], got 1.5",
        ("tell", "knee", "p3", "--risk", "bad"): '--risk must be numbers, or name=number for each risk, got "bad"',
        ("tell", "knee", "p3", "--risk", "0,1"): "must be a number",
        ("tell", "knee", "p3", "--risk", "risk=0", "--risk", "risk=1"): "names a risk twice",
        ("tell", "knee", "p3", "--risk", "nausea=0"): 'there is no risk "nausea"',
        ("tell", "knee", "p3", "--reward", "nan"): "reward must lie in [0, 1], got nan",
        ("tell", "knee", "p3", "--reward", "much"): "--reward",
        ("correct", "knee", "p3", "--risk", "0", "--reason", "x"): "has no risk yet; tell it",
        ("correct", "knee", "p1", "--risk", "1"): "--reason",
        ("give-up", "knee", "p1", "--reason", "x"): "all of unit 'p1' is known",
        ("give-up", "knee", "p3", "--reason", " "): "reason must have 1 to 200 characters",
        ("amend", "knee", "--withdraw", "lo", "--reason", "x"): 'did you mean "low"?',
        ("explain", "knee", "nobody"): "has no unit 'nobody'",
        ("log", "knee", "--limit", "0"): "--limit",
        ("export", "knee"): "give --out units.csv, or --kind csv for stdout",
        ("export", "knee", "--out", "units.xlsx"): "one of csv, parquet, json, got 'xlsx'",
        ("export", "knee", "--out", "units.csv", "--kind", "json"): "units.csv ends as a csv file, and --kind is json",
        ("export", "knee", "--out", "no/where.csv"): "No such file or directory: no/where.csv",
        (
            "rehearse",
            "knee",
            "--mu",
            ".1",
            "--nu",
            ".1",
        ): "got 1 arms and 1 risks",
        ("verify", "nowhere"): 'there is no trial "nowhere"',
    }
    before = events()
    for arguments, words in mistakes.items():
        done = knee(*arguments)
        assert (done.status, done.out) == (2, ""), arguments
        assert len(done.err.splitlines()) == 1, done.err
        assert words in done.err
    assert events() == before
    assert [path.name for path in knee.folder.iterdir()] == ["trials.db"]


def test_without_a_command_the_help_is_shown(desk):
    done = desk()
    assert (done.status, done.err) == (0, "")
    assert "rehearse" in done.out


def process(*arguments: str, cwd, code: str = COMMAND[2]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, "trial", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


def test_missing_packages_are_named_in_one_line(tmp_path):
    commands = ["list", "new x --arms a --alpha .1", "log x", "ask x 1"]
    code = f"""
import sys
sys.modules["sqlalchemy"] = None
from safebandit.cli import main
for words in {commands}:
    sys.argv[1:] = ["trial", *words.split()]
    try:
        main()
    except SystemExit as left:
        print(left.code)
"""
    done = process(cwd=tmp_path, code=code)
    assert done.stdout.split() == ["2"] * len(commands)
    line = 'safebandit trial needs more packages: pip install "safebandit[live]"\n'
    assert done.stderr == line * len(commands)


def test_a_shell_can_run_a_trial(tmp_path):
    new = process("new", "knee", "--arms", "a,b", "--alpha", ".3", "--policy", "tsbu", "--json", cwd=tmp_path)
    assert new.returncode == 0, new.stderr
    assert json.loads(new.stdout)["settings"]["policy"] == "tsbu"
    given = process("ask", "knee", "1", cwd=tmp_path)
    assert given.stdout in ("a\n", "b\n")
    assert process("tell", "knee", "1", "--reward", "1", "--risk", "0", "--json", cwd=tmp_path).returncode == 0


def test_a_reader_who_has_seen_enough_is_no_mistake(tmp_path, desk):
    assert desk("new", "knee", "--arms", "a,b", "--alpha", ".3", "--policy", "tsbu").status == 0
    for arguments in (("export", "knee", "--kind", "csv"), ("status", "knee"), ("list", "--json")):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [*COMMAND, "trial", *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            timeout=300,
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (1, "")


def test_a_rehearsal_draws_from_past_outcomes(desk):
    desk("new", "knee", "--arms", "a,b", "--alpha", ".3", "--policy", "docb")
    (desk.folder / "past.csv").write_text("arm,reward,risk\na,1,0\na,0,0\nb,1,1\n")
    done = desk("rehearse", "knee", "--data", "past.csv", "--units", "20", "--times", "3", "--json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["supposed"]["nu"] == [0.0, 1.0]


def test_ctrl_c_keeps_the_runs_that_were_finished(tmp_path, desk):
    desk("new", "knee", "--arms", "a,b", "--alpha", ".3", "--policy", "tsbu")
    # Before the second chunk, which is the second run, the process is interrupted: no clock is involved.
    code = (
        "import os, signal, safebandit.trials.rehearsal as r, safebandit.trials.simulated as s\n"
        "s.CHUNK_UNITS, r.default_workers, play = 1, lambda: 1, s.play_chunk\n"
        "def run(plan, trials):\n"
        "    if trials.start == 3:\n"
        f"        os.kill(os.getpid(), {int(signal.SIGINT)})\n"
        "        plan.stop[0] = 1\n"
        "    return play(plan, trials)\n"
        "s.play_chunk = run\n"
        "from safebandit.cli import main; main()"
    )
    done = process(
        "rehearse", "knee", "--mu", ".1,.2", "--nu", ".1,.2", "--units", "20", "--times", "50", "--json",
        cwd=tmp_path, code=code,
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert done.stderr == "interrupted: kept 3 of 50 runs\n"
    assert json.loads(done.stdout)["interrupted"] is True


def test_starting_imports_nothing_heavy():
    heavy = ("numba", "numpy", "pandas", "sqlalchemy", "alembic", "pyarrow")
    code = f"import sys, safebandit.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_rehearsal_of_a_null_marks_no_arm_and_one_run_has_no_standard_error(knee):
    small = ("--nu", ".1,.1,.1", "--units", "20")
    null = knee("rehearse", "knee", "--mu", ".4,.4,.4", *small, "--times", "1")
    assert null.status == 0, null.err
    assert "(best)" not in null.out
    assert "3 safe arms share the largest mean reward: none is the best" in null.out
    row = next(line for line in null.out.splitlines() if line.startswith("plays of low"))
    assert row.split()[4] == "-"
    assert (
        json.loads(knee("rehearse", "knee", "--mu", ".4,.4,.4", *small, "--times", "1", "--json").out)["rewards"]["se"]
        is None
    )
    other = knee("rehearse", "knee", "--mu", ".3,.4,.5", *small, "--times", "2")
    assert "plays of high (best)" in other.out


DOSES = """
arms = ["low", "mid", "high"]
alpha = 0.3
policy = "docb"
units = 12
cohort = 2

[stop.arm-harm]
confidence = 0.8
least = 2

[stop.too-many-harms]
harms = 3
"""


def test_a_trial_by_a_design_file_stops_and_says_so(desk):
    (desk.folder / "dose.toml").write_text(DOSES)
    created = desk("new", "dose", "--design", "dose.toml", "--seed", "7")
    assert (created.status, created.err) == (0, "")
    for unit, risk in (("p1", "1"), ("p2", "1"), ("p3", "0")):
        desk("ask", "dose", unit)
        desk("tell", "dose", unit, "--reward", "1", "--risk", risk)
    so_far = desk("status", "dose").out
    assert "by a design: at most 12 units; cohort on mid: 1 of 2 units; next look at 4 settled units, now 3" in so_far
    assert "dropped: low" in so_far
    (line,) = [line.split() for line in so_far.splitlines() if line.startswith("too-many-harms")]
    assert line[-3:] == ["2", "3", "-"]
    assert desk("ask", "dose", "p4").err == "unit 2 of 2 of the cohort on mid\n"
    waiting = desk("ask", "dose", "p5")
    assert (waiting.status, waiting.out) == (3, "")
    assert "waiting: the cohort on mid waits for 1 outcome before" in waiting.err
    desk("tell", "dose", "p4", "--reward", "1", "--risk", "1")
    refused = desk("ask", "dose", "p5")
    assert refused.status == 2
    assert "has stopped by its design: no more units are given arms; by the rule too-many-harms" in refused.err
    stopped = desk("status", "dose").out
    assert "stopped in event 12, by the rule too-many-harms: 3 harms in all (3 stop the trial)" in stopped
    assert "selected: no arm" in stopped
    assert "stopped" in desk("list").out
    desk("correct", "dose", "p4", "--risk", "0", "--reason", "another unit's")
    assert "selected: mid (since event 14, after the stop)" in desk("status", "dose").out
    assert "mid in the place of no arm, because of event 13, after the stop" in desk("log", "dose").out
    assert desk("verify", "dose").status == 0
    found = json.loads(desk("status", "dose", "--json").out)
    assert (found["stopped"]["rule"], found["selected"], found["design"]["units"]) == ("too-many-harms", "mid", 12)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--design", "none.toml"], "No such file or directory: none.toml"),
        (["--design", "bad.toml"], "bad.toml, line 2, unit: a design has no key"),
        (["--design", "dose.toml", "--arms", "a,b"], "dose.toml has its arms: leave --arms out"),
        (["--design", "boin:target=.3"], "or a design by name with --arms"),
        (["--design", "bion:target=.3", "--arms", "a,b"], 'unknown design "bion"; did you mean "boin"'),
        (["--arms", "a,b"], "a trial needs --arms and --alpha, or a --design that says them"),
    ],
)
def test_a_design_that_cannot_be_read_makes_no_trial(desk, flags, said):
    (desk.folder / "dose.toml").write_text(DOSES)
    (desk.folder / "bad.toml").write_text('arms = ["a"]\nunit = 3\n')
    refused = desk("new", "dose", *flags)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert said in refused.err
    assert not (desk.folder / "trials.db").exists()


def test_a_design_is_amended_by_another_file(desk):
    (desk.folder / "dose.toml").write_text(DOSES)
    desk("new", "dose", "--design", "dose.toml", "--seed", "7")
    (desk.folder / "longer.toml").write_text(DOSES.replace("units = 12", "units = 20"))
    assert desk("amend", "dose", "--design", "longer.toml", "--reason", "the board").status == 0
    assert events("dose")[-1].content["changes"] == {"design": {"units": 20}}
    assert "the board" in desk("log", "dose").out
    shown = desk("rehearse", "dose", "--mu", ".1,.2,.3", "--nu", ".1,.2,.3").out
    assert shown.startswith("dose: 300 runs of 20 units")
    assert "\nends by: most units " in shown
    assert "\nselects: " in shown


def test_a_trial_is_analysed(knee):
    shown = knee("analyse", "knee", "--control", "placebo")
    assert (shown.status, shown.err) == (0, "")
    assert shown.out.startswith("knee: 3 units; 95 % confidence sequences (mixture, Beta(1, 1))\n")
    assert 'less "placebo"' in shown.out
    assert "nothing is claimed at 5 % (e-BH over 14 claims); nearest: " in shown.out
    assert "2 outcomes not known: left out of means" in shown.out
    printed = json.loads(knee("analyse", "knee", "--json", "--confidence", ".9").out)
    assert (printed["confidence"], printed["units"], printed["control"]) == (0.9, 3, None)

    knee("export", "knee", "--out", "units.csv")
    table = json.loads(knee("analyse", "--file", "units.csv", "--alpha", ".3", "--json", "--confidence", ".9").out)
    by_arm = {(each["arm"], each["endpoint"]): each["interval"] for each in table["estimates"]}
    assert by_arm == {
        (each["arm"], each["endpoint"]): each["interval"] for each in printed["estimates"] if each["units"]
    }
    drawn = knee("analyse", "knee", "--plot", "out.svg")
    assert (drawn.status, drawn.err) == (0, "")
    assert (knee.folder / "out.svg").read_text().startswith("<?xml")


def test_an_analysis_is_corrected_by_simulation(knee):
    knee("correct", "knee", "p2", "--reward", "1", "--reason", "typed wrong")
    shown = knee("analyse", "knee", "--corrected", "--simulated", "200", "--seed", "3", "--delay", "1")
    assert shown.status == 0
    assert "corrected by 200 simulated trials of the same rules at the estimates, in 2 steps (seed 3; " in shown.out
    assert "at most 3 units, outcomes known 1 arrivals later; rewards and risks independent bits" in shown.out
    printed = json.loads(knee("analyse", "knee", "--corrected", "--simulated", "200", "--json").out)["corrected"]
    assert (printed["simulated_trials"], printed["seed"], printed["units"], printed["selected"]) == (200, 0, 3, None)
    numbers = [each["reward"] for each in printed["arms"].values() if each["reward"]["known"]]
    assert numbers
    assert all(each["low"] <= each["corrected"] <= each["high"] for each in numbers)


def test_an_analysis_of_nothing_is_an_answer(desk):
    desk("new", "knee", "--arms", "placebo,low,high", "--alpha", ".3", "--policy", "tsbu", "--seed", "4")
    shown = desk("analyse", "knee")
    assert (shown.status, shown.err) == (0, "")
    assert shown.out.endswith("nothing is known yet: no outcome was told\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a trial, or a table of units by --file; got none"),
        (("knee", "--file", "units.csv"), "give a trial, or a table of units by --file; got both"),
        (("knee", "--confidence", "95"), "confidence must lie between 0 and 1, got 95"),
        (("knee", "--control", "drug"), 'the control must be an arm, got "drug"'),
        (("knee", "--alpha", ".2"), "--alpha cannot be used here; give --alpha with --file"),
        (("knee", "--plot", "out.pdf"), "--plot must be a file such as out.svg or out.png, got out.pdf"),
        (("hip",), 'there is no trial "hip"'),
        (("knee", "--seed", "2"), "--seed cannot be used here; give --seed with --corrected"),
        (("knee", "--corrected"), "a correction simulates bits, and outcomes between 0 and 1 were told; leave it out"),
        (("--file", "units.csv", "--corrected"), "--corrected is for a trial: a table of units does not say by which"),
        (("--file", "units.csv"), "there is no file units.csv"),
    ],
)
def test_an_analysis_that_cannot_be_made_says_why(knee, arguments, message):
    refused = knee("analyse", *arguments)
    assert (refused.status, refused.out) == (2, "")
    assert message in refused.err
    assert refused.err.count("\n") == 1


def test_a_unit_asks_with_a_context(desk):
    (desk.folder / "arms.csv").write_text("arm,one,dose\nhigh,1,2\nlow,1,1\n", encoding="utf-8")
    made = desk("new", "knee", "--arms", "low,high", "--alpha", ".3", "--policy", "linear", "--context", "age:18..90",
                "--context", "smoker", "--features", "arms.csv", "--pending-cap", "5")  # fmt: skip
    assert made.status == 0
    given = desk("ask", "knee", "p1", "--context", "age=44", "--context", "smoker=0")
    assert (given.status, given.out.strip() in ("low", "high")) == (0, True)
    assert desk("ask", "knee", "p1").out == given.out
    for wrong, message in (
        (("--context", "45,0"), "by another context, got age 45, smoker 0"),
        (("--context", "age=44", "--context", "age=45"), "--context names a number of the context twice"),
        (("--context", "old"), '--context must be numbers, or name=number for each number of the context, got "old"'),
    ):
        refused = desk("ask", "knee", "p1", *wrong)
        assert (refused.status, message in refused.err, refused.err.count("\n")) == (2, True, 1)
    said = desk("explain", "knee", "p1").out
    assert "context: age 44, smoker 0" in said
    assert "by context" in desk("status", "knee").out
    assert desk("explain", "knee").out.count("depends on the unit's context") == 2
    assert desk("explain", "knee", "--context", "44,0").out.count("permissible: ") == 2
    assert desk("explain", "knee", "p1", "--context", "44,0").status == 2
    assert "unit p1 (age 44, smoker 0) was given" in desk("log", "knee").out
    assert desk("verify", "knee").status == 0
    assert desk("rehearse", "knee", "--mu", ".3,.5", "--nu", ".1,.2").status == 2
    with Ledger("trials.db", create=False) as ledger:
        assert ledger.state("knee").settings.features == ((1.0, 1.0), (1.0, 2.0))
    for flags in (("--features", "1,x;1,2"), ("--features", "none.csv"), ("--context", "age:9..1")):
        refused = desk("new", "hip", "--arms", "a,b", "--alpha", ".3", *flags)
        assert (refused.status, refused.err.count("\n")) == (2, 1)


def test_recorded_chances_are_weighted_and_asked_what_if(knee):
    shown = knee("what-if", "knee", "--policy", "tsbu:floor=0.1")
    assert shown.status == 0
    assert shown.out.startswith("knee: 3 units by tsbu; each next one by tsbu:floor=0.1")
    assert "- at each decision the next unit alone is given by the other policy" in shown.out
    printed = json.loads(knee("what-if", "knee", "--policy", "docb", "--json").out)
    assert (printed["units"], printed["refused"], len(printed["outcomes"])) == (3, None, 2)
    assert printed["outcomes"][0]["missing"] == 1
    weighted = knee("weighted", "knee", "--control", "placebo")
    assert weighted.status == 0
    assert weighted.out.startswith("knee: 3 units; asymptotic normal intervals")
    assert 'reward of "high": it' in weighted.out
    refused = knee("weighted", "knee", "--least", "0")
    assert (refused.status, refused.err) == (
        2, "TrialError: --least must lie between 0 and 1 (the smallest chance of an arm), got 0\n"
    )  # fmt: skip
    assert knee("what-if", "knee", "--policy", "tsbo").status == 2


def test_a_deterministic_log_says_why_it_cannot_tell(desk):
    desk("new", "knee", "--arms", "a,b", "--alpha", ".3", "--policy", "docb", "--seed", "4")
    desk("ask", "knee", "p1")
    shown = desk("what-if", "knee", "--policy", "tsbu")
    assert shown.status == 1
    assert "the recorded chances do not allow more: for 1 of 1 units it has a chance for an arm that had" in shown.out


def test_chances_of_one_stratum(desk):
    flags = "--arms a,b --alpha .9 --policy docb:floor=.3 --strata site=x,y --seed 1 --pending-cap 99"
    desk("new", "knee", *flags.split())
    for i in range(6):
        desk("ask", "knee", f"p{i}", "--stratum", f"site={'xxy'[i % 3]}")
        desk("tell", "knee", f"p{i}", "--reward", "1", "--risk", "0")
    shown = desk("what-if", "knee", "--policy", "docb:floor=.1", "--stratum", "site=x")
    assert (shown.status, shown.out.splitlines()[0].startswith("knee, site=x: 4 units by docb")) == (0, True)
    found = json.loads(desk("weighted", "knee", "--stratum", "site=y", "--json").out)
    assert (found["units"], found["stratum"]) == (2, "site=y")
    assert json.loads(desk("weighted", "knee", "--json").out)["units"] == 6
    desk("new", "hip", "--arms", "a,b", "--alpha", ".9", "--policy", "docb", "--seed", "1")
    for command in (("weighted", "hip"), ("what-if", "hip", "--policy", "docb")):
        refused = desk(*command, "--stratum", "site=x")
        assert (refused.status, refused.err.count("\n"), "this trial has no strata" in refused.err) == (2, 1, True)
        refused = desk(*command, "--stratum", "x")
        assert (refused.status, "--stratum must be factor=level" in refused.err) == (2, True)
