"""`safebandit design run`, `calibrate` and `tune`: what they print, what they leave behind, and how they refuse."""

from __future__ import annotations

import json

import pytest

import safebandit as sb

BOIN = "boin:target=.25,cohort=3,units=12"
TRUTH = ["--nu", ".05,.25,.6"]
FEW = ["--trials", "60", "--seed", "7", "--workers", "1"]
FILE = """
title = "Two doses"
arms = ["low", "high"]
alpha = 0.3
policy = "equal"
units = 12
rewarded = false
waits = false
compare = ["boin:cohort=3"]

[stop.harm]                 # no dose is safe
confidence = 0.9            # so sure

[select]
rule = "none"

[[scenario]]
name = "toxic"
nu = [0.5, 0.6]

[simulate]
trials = 60
seed = 7
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "dose.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_json_is_one_document_and_nothing_else(tmp_path, command):
    done = command("design", "run", "--design", BOIN, *TRUTH, *FEW, "--json", cwd=tmp_path)
    assert done.status == 0, done.err
    document = json.loads(done.out)
    (one,) = document["results"]
    assert (one["design"], one["trials"], len(one["selected"])) == (BOIN, 60, 3)
    expected = sb.operating_characteristics(BOIN, sb.Scenario("given", nu=[0.05, 0.25, 0.6]), trials=60, seed=7)
    assert one["selected"] == json.loads(expected.to_json())["results"][0]["selected"]
    assert list(tmp_path.iterdir()) == []


def test_it_prints_tables_and_leaves_nothing_unless_asked(tmp_path, command):
    done = command("design", "run", "--design", BOIN, *TRUTH, *FEW, cwd=tmp_path)
    assert done.status == 0, done.err
    for words in ("60 trials of every design", "unsafe units", "selected, %", "best", BOIN):
        assert words in done.out
    assert list(tmp_path.iterdir()) == []


def test_a_file_has_its_folder_and_more_trials_are_added(file, tmp_path, command, monkeypatch):
    monkeypatch.setattr("safebandit.studies.designs.report._draw", lambda *_: [])
    done = command("design", "run", str(file), "--workers", "1", cwd=tmp_path)
    assert done.status == 0, done.err
    folder = tmp_path / "results" / "dose"
    assert {"report.html", "table.csv", "characteristics.parquet"} <= {path.name for path in folder.iterdir()}
    assert "Two doses" in done.out
    assert "boin:cohort=3" in done.out
    done = command("design", "run", str(file), "--add", "--trials", "90", "--out", str(folder), "--json", cwd=tmp_path)
    assert done.status == 0, done.err
    assert {one["trials"] for one in json.loads(done.out)["results"]} == {90}
    assert sb.Characteristics.load(folder / "characteristics.parquet").trials == 90
    done = command("rerun", str(folder / "characteristics.parquet"), "--workers", "1")
    assert done.status == 0, done.err
    assert "identical, bit for bit" in done.out
    done = command("show", str(folder / "characteristics.parquet"))
    assert (done.status, "90 trials of every design" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "give a design file, or designs and a truth: --design"),
        (["run", "--design", BOIN], "--nu, the mean risks is missing"),
        (["run", "FILE", "--mu", ".1,.2"], "--mu cannot be used together with a design file; write it into the file"),
        (["run", "FILE", "--alpha", ".2"], "--alpha cannot be used together with a design file"),
        (["run", "--design", BOIN, "--mu", ".1,.2"], "--mu cannot be used here; give --mu with --nu"),
        (["run", "--design", BOIN, "--design", BOIN, *TRUTH], "each design is played once"),
        (
            ["run", "--design", BOIN, *TRUTH, "--add"],
            "--add cannot be used here; give --add with a design file or --out",
        ),
        (["run", "--design", BOIN, *TRUTH, "--trials", "1"], "trials must be at least 2"),
        (["run", "--design", "boyn:target=.25", *TRUTH], 'unknown design "boyn"; did you mean "boin"?'),
        (["run", "missing.toml"], "missing.toml"),
        (["calibrate", "FILE"], "--set names the parameter and --so-that what shall hold; give both"),
        (
            ["calibrate", "FILE", "--set", "stop.harm.confidence", "--so-that", "stopped early[toxid] <= .1"],
            'there is no scenario "toxid"; did you mean "toxic"?',
        ),
        (
            ["calibrate", "FILE", "--set", "a", "--so-that", "size <= 9", "--between", "5-9"],
            "--between is written from the least to the most, 0.8..0.999",
        ),
        (
            ["calibrate", "--design", BOIN, *TRUTH, "--set", "cutoff", "--so-that", "size <= 9", "--write", "x.toml"],
            "--write cannot be used here; give --write with a design file",
        ),
        (
            ["tune", "FILE", "--set", "stop.harm.confidence=x", "--front", "regret", "size"],
            "--set is written with values",
        ),
    ],
)
def test_mistakes_are_told_in_one_line_and_nothing_is_written(arguments, says, file, tmp_path, command):
    before = sorted(tmp_path.iterdir())
    done = command("design", *(str(file) if each == "FILE" else each for each in arguments), cwd=tmp_path)
    assert done.status == 2
    assert says in done.err
    assert done.out == ""
    assert len(done.err.strip().splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_calibrate_says_its_steps_and_writes_a_copy_only_when_asked(file, tmp_path, command):
    asked = [
        "design",
        "calibrate",
        str(file),
        "--set",
        "stop.harm.confidence",
        "--so-that",
        "stopped early[toxic] >= .5",
    ]
    asked += ["--between", "0.5..0.999", "--trials", "200", "--workers", "1"]
    done = command(*asked, cwd=tmp_path)
    assert done.status == 0, done.err
    assert "95 % interval" in done.out
    assert "grid" in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["dose.toml"]
    done = command(*asked, "--write", str(tmp_path / "new.toml"), "--json", cwd=tmp_path)
    assert done.status == 0, done.err
    value = json.loads(done.out)["values"]["stop.harm.confidence"]
    assert file.read_text(encoding="utf-8") == FILE
    # All but the value stays as it was written, comments too.
    expected = FILE.replace("confidence = 0.9            # so sure", f"confidence = {value!r}            # so sure")
    assert (tmp_path / "new.toml").read_text(encoding="utf-8") == expected


def test_tune_prints_the_front(file, tmp_path, command):
    done = command(
        "design", "tune", str(file), "--set", "stop.harm.confidence=.6,.99", "--front", "unsafe units", "duration",
        "--trials", "50", "--workers", "1", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.status == 0, done.err
    points = json.loads(done.out)["points"]
    assert [point["values"]["stop.harm.confidence"] for point in points] == [0.6, 0.99]
    assert points[0]["on_front"]
