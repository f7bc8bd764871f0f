"""Exports: exact numbers, texts that no spreadsheet takes for a formula, and a log that can be verified elsewhere."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

import safebandit as sb
from safebandit import check_concealed
from safebandit.errors import NotFoundError, TrialError
from safebandit.trials.concealment import CONCEALED
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record import export as exporting
from safebandit.trials.record.export import KINDS, export

from .helpers import run, settings

DANGEROUS = ["=1+1", "+1", "-1", "@SUM(A1)", "＝1", "'quoted", 'says "no"', "a;=b", "plain, really", "Zoë"]


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "trials.db") as opened:
        yield opened


def filled(ledger: Ledger) -> None:
    """Ten units: most told with numbers that have no short decimal form, one given up, one half told."""
    ledger.create("knee", Settings.read(["=placebo", "drug"], alpha=0.9, policy="tsbu", seed=3, pending_cap=99))
    for i, unit in enumerate(DANGEROUS):
        ledger.ask("knee", unit)
        if i < 8:
            ledger.tell("knee", unit, reward=i / 3 % 1, risk=0.1 * i / 7)
    ledger.give_up("knee", DANGEROUS[8], reason="moved away")
    ledger.amend("knee", reason="a new dose", add=["half"])
    ledger.ask("knee", "last")
    ledger.tell("knee", "last", risk=0.25)


def plain(text: str) -> str:
    return text.removeprefix("'")


def test_csv_has_a_row_per_unit_with_exact_numbers(ledger):
    filled(ledger)
    rows = list(csv.DictReader(io.StringIO(export(ledger, "knee", "csv").decode())))
    columns = ["unit", "round", "arm", "asked", "reward", "risk", "given_up", "pending", "void"]
    columns += ["propensity", "version"]
    assert list(rows[0]) == columns
    assert [plain(row["unit"]) for row in rows] == [*DANGEROUS, "last"]
    assert [int(row["round"]) for row in rows] == list(range(1, 12))
    for i, row in enumerate(rows[:8]):
        assert (float(row["reward"]), float(row["risk"])) == (i / 3 % 1, 0.1 * i / 7)
    assert [row["given_up"] for row in rows] == ["false"] * 8 + ["true", "false", "false"]
    assert [row["pending"] for row in rows] == ["false"] * 9 + ["true", "true"]
    assert (rows[8]["reward"], rows[8]["risk"], rows[10]["reward"], rows[10]["risk"]) == ("", "", "", "0.25")
    assert [row["version"] for row in rows] == ["1"] * 10 + ["2"]
    for row in rows:
        unit = ledger.unit("knee", plain(row["unit"]))
        event = ledger.event("knee", unit.asked_at)
        assert (plain(row["arm"]), row["asked"]) == (unit.arm, event.time)
        assert float(row["propensity"]) == event.content["arms"][unit.arm]["propensity"]


def test_no_cell_of_a_csv_is_a_formula(ledger):
    ledger.create("knee", Settings.read(["=placebo", "drug"], alpha=[0.9, 0.8], risks=["risk =x", "risk -y"], seed=3))
    ledger.create("one", Settings.read(["=placebo", "drug"], alpha=0.9, seed=3, pending_cap=99))
    for unit in DANGEROUS:
        ledger.ask("one", unit)
    text = export(ledger, "one", "csv").decode()
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "＝"))]
    # Where another separator is used a text still does not begin a cell of its own: it is in quotes.
    assert '"a;=b"' in text
    # The apostrophe can be taken off again without doubt.
    assert [plain(row[0]) for row in csv.reader(io.StringIO(text))][1:] == DANGEROUS
    assert "\"''quoted\"" in text


def test_parquet_has_the_same_rows_with_types_and_settings(ledger):
    filled(ledger)
    table = pq.read_table(io.BytesIO(export(ledger, "knee", "parquet")))
    rows = table.to_pylist()
    assert [row["unit"] for row in rows] == [*DANGEROUS, "last"]
    assert [row["reward"] for row in rows[:9]] == [*(i / 3 % 1 for i in range(8)), None]
    first = ledger.event("knee", ledger.unit("knee", DANGEROUS[0]).asked_at)
    assert rows[0]["asked"] == datetime.fromisoformat(first.time) == rows[0]["asked"].astimezone(UTC)
    assert rows[8]["given_up"] is True
    about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert about["safebandit.trial"] == "knee"
    assert about["safebandit.hash"] == ledger.state("knee").hash
    told = json.loads(about["safebandit.settings"])
    assert {**told, "seed": 3} == ledger.state("knee").settings.to_dict()
    assert told["seed"] == CONCEALED


def test_several_risks_have_a_column_each_that_simulations_can_read(ledger, tmp_path):
    ledger.create("two", Settings.read(["a", "b"], alpha=[0.9, 0.8], risks=["toxicity", "nausea"], seed=3))
    for i in range(8):
        ledger.ask("two", f"u{i}")
        ledger.tell("two", f"u{i}", reward=1, risk=[0, 1])
    path = tmp_path / "two.csv"
    path.write_bytes(export(ledger, "two", "csv"))
    assert path.read_text().splitlines()[0].startswith('"unit","round","arm","asked","reward","risk toxicity"')
    instance = sb.Instance.from_data(path, alpha=[0.9, 0.8], allow_infeasible=True)
    assert instance.risk_means[1].tolist() == [1.0, 1.0]


def test_an_empty_trial_is_a_table_without_rows(ledger):
    ledger.create("empty", Settings.read(2, alpha=[0.3, 0.2]))
    assert export(ledger, "empty", "csv").decode().count("\n") == 1
    assert '"risk 1","risk 2"' in export(ledger, "empty", "csv").decode()
    assert pq.read_table(io.BytesIO(export(ledger, "empty", "parquet"))).num_rows == 0


def test_the_log_can_be_verified_with_nothing_but_json_and_sha256(ledger):
    filled(ledger)
    ledger.set_status("knee", "close", reason="all units are in")
    document = json.loads(export(ledger, "knee", "json"))
    state = ledger.state("knee")
    assert (document["number"], document["hash"]) == (state.number, state.hash)
    assert document["settings"] == state.settings.to_dict()
    previous = "0" * 64
    for number, event in enumerate(document["events"], 1):
        assert (event["number"], event["previous"]) == (number, previous)
        fields = [event[name] for name in ("trial", "number", "time", "actor", "kind", "body", "previous")]
        text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert previous == event["hash"]
    assert previous == document["hash"]
    assert len(document["events"]) == state.number


def test_before_the_trial_is_closed_an_export_conceals_and_can_be_checked_in_part(ledger):
    filled(ledger)
    early = export(ledger, "knee", "json").decode()
    document = json.loads(early)
    state = ledger.state("knee")
    assert document["concealed"] == ["settings.seed", "stream"]
    assert (document["settings"]["seed"], document["stream"]) == (CONCEALED, CONCEALED)
    for word in (*state.allocator.position, *(w for e in ledger.events("knee") for w in e.content.get("stream", []))):
        assert str(word) not in early or word < 2**32
    hidden = [event for event in document["events"] if event.get("concealed")]
    assert {event["kind"] for event in hidden} == {"created", "asked", "amended"}
    found = check_concealed(early)
    assert (found.holds, found.events, found.unchecked) == (True, state.number, len(hidden))
    assert (found.checked, found.hash) == (state.number - len(hidden), state.hash)
    assert f"not checked before the trial is closed: the content of {len(hidden)}, and every decision" in str(found)
    with pytest.raises(TrialError, match=r"the export conceals settings\.seed, stream, as its trial was not closed"):
        sb.Trial.from_json(early)
    # When it is closed all can be checked, and is what the hashes of the earlier export said.
    ledger.set_status("knee", "close", reason="all units are in")
    late = json.loads(export(ledger, "knee", "json"))
    assert [event["hash"] for event in late["events"]][:-1] == [event["hash"] for event in document["events"]]
    assert sb.Trial.from_json(json.dumps(late)).verify().holds
    assert check_concealed(json.dumps(late)).checked == state.number + 1


@pytest.mark.parametrize(
    ("number", "change", "problem"),
    [
        (3, {"body": '{"unit":"=1+1","outcome":[1.0,1.0]}'}, "event 3 was changed"),
        (3, {"concealed": ["stream"]}, "event 3 says that parts of it are concealed, but it has none"),
        (2, {"hash": "0" * 64}, "event 3 does not follow"),
        (4, {"number": 5}, "event 4 does not follow"),
    ],
)
def test_a_changed_export_that_conceals_is_found_out(ledger, number, change, problem):
    filled(ledger)
    document = json.loads(export(ledger, "knee", "json"))
    document["events"][number - 1] |= change
    found = check_concealed(json.dumps(document))
    assert problem in found.problem
    assert str(found).startswith(f"event {found.failed} fails: ")


def test_an_export_that_was_cut_short_is_found_out(ledger):
    filled(ledger)
    document = json.loads(export(ledger, "knee", "json"))
    del document["events"][-1]
    assert check_concealed(json.dumps(document)).problem == "the end of the log is missing"
    with pytest.raises(TrialError, match="not an export of a trial"):
        check_concealed("[]")
    with pytest.raises(TrialError, match='"trial" stands twice'):
        check_concealed(json.dumps(document).replace('"trial"', '"trial": "hip", "trial"', 1))
    with pytest.raises(TrialError, match="not an export of a trial"):
        check_concealed("[" * 100_000)


def test_the_owner_of_the_database_may_have_the_whole_export(ledger):
    filled(ledger)
    trial = sb.Trial.from_json(export(ledger, "knee", "json", whole=True).decode())
    assert (trial.seed, trial.verify().holds) == (3, True)
    assert trial.ask("next").arm == ledger.ask("knee", "next").arm


def test_what_cannot_be_exported_is_refused(ledger):
    filled(ledger)
    with pytest.raises(TrialError, match="one of csv, parquet, json, got 'xlsx'"):
        export(ledger, "knee", "xlsx")
    for kind in ("csv", "parquet", "json"):
        with pytest.raises(NotFoundError, match='no trial "kneee"; did you mean "knee"'):
            export(ledger, "kneee", kind)


def test_an_export_of_many_pages_is_one_file(ledger, monkeypatch):
    """Page by page as in one, and never more of it in memory than a page."""
    ledger.create("knee", settings("docb", pending_cap=100))
    run(ledger, "knee", 23, tell=0.8)
    at_once = {kind: export(ledger, "knee", kind) for kind in KINDS}
    monkeypatch.setattr(exporting, "PAGE", 5)
    sizes, page = [], exporting._page
    monkeypatch.setattr(exporting, "_page", lambda rows, schema: sizes.append(len(rows)) or page(rows, schema))
    by_pages = {kind: export(ledger, "knee", kind) for kind in KINDS}
    assert by_pages["csv"] == at_once["csv"]
    assert by_pages["json"] == at_once["json"]
    read, whole = (pq.read_table(io.BytesIO(each["parquet"])) for each in (by_pages, at_once))
    assert read.equals(whole, check_metadata=True)
    assert sizes == [5, 5, 5, 5, 3] * 2
