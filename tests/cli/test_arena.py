"""The arena on the command line: what it prints, what it leaves behind, and how it stops."""

from __future__ import annotations

import json

import safebandit as sb
from safebandit.studies.arena import COLLECTION
from safebandit.studies.arena.plan import QUICK_UNITS

from .helpers import interrupted

SOME = ["--instance", "dominated-two", "--instance", "bayes-schedules", "--policy", "docb"]


def test_a_quick_run_writes_the_leaderboard(tmp_path, command):
    done = command("arena", *SOME, "--quick", cwd=tmp_path)
    assert done.status == 0, done.err
    assert done.out.count("mean rank") == len(QUICK_UNITS)
    assert "36 units" in done.out
    assert "1,000 units" in done.out
    assert "docb" in done.out
    assert "100 % of" in done.err
    folder = tmp_path / "results" / "arena-quick"
    assert {path.name for path in folder.iterdir()} == {"index.html", "arena.json", "figures", "runs"}
    results = {(path.parent.name, path.stem) for path in (folder / "runs").glob("*/*.parquet")}
    names = ("dominated-two", "bayes-schedules")
    assert results == {(str(units), name) for units in QUICK_UNITS for name in names}
    result = sb.Result.load(folder / "runs" / "36" / "dominated-two.parquet")
    assert sorted(result.policies) == ["docb", "tsbu"]


def test_json_is_one_document_and_equals_the_file(tmp_path, command):
    done = command(
        "arena", *SOME, "--trials", "5", "--units", "100,36", "--seed", "3", "--json", "--out", str(tmp_path)
    )
    assert done.status == 0, done.err
    document = json.loads(done.out)
    assert document == json.loads((tmp_path / "arena.json").read_text(encoding="utf-8"))
    assert document["settings"]["seed"] == 3
    assert [size["units"] for size in document["sizes"]] == [36, 100]
    assert [one["trials"] for size in document["sizes"] for one in size["instances"]] == 4 * [5]


def test_the_collection_is_listed_and_nothing_runs(tmp_path, command):
    done = command("arena", "--list", cwd=tmp_path)
    assert done.status == 0
    for name in COLLECTION:
        assert name in done.out
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_the_finished_instances(tmp_path):
    settings = ["--units", "100000", "--trials", "100", "--out", str(tmp_path / "out")]
    names = ["--instance", "two-arm-example", "--instance", "dominated-two", "--policy", "docb"]
    status, rest = interrupted("arena", *names, *settings, at="60 %")
    assert status == 130, rest
    assert "interrupted: 1 instances were finished" in rest
    document = json.loads((tmp_path / "out" / "arena.json").read_text(encoding="utf-8"))
    assert document["interrupted"] is True
    assert [one["name"] for one in document["sizes"][0]["instances"]] == ["two-arm-example"]
    assert (tmp_path / "out" / "index.html").is_file()
