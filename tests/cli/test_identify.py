"""`safebandit identify`: what it prints, what it leaves behind, and how it refuses."""

from __future__ import annotations

import json

import pytest

import safebandit as sb

MEANS = ["--mu", ".3,.5,.8", "--nu", ".05,.1,.2", "--nu", ".1,.2,.6"]
SMALL = ["--units", "30,60", "--trials", "40", "--system", "equal", "--seed", "7"]
SET = ["--safe-set", "risk1 + risk2 <= 0.5"]


def test_it_prints_the_answers_and_a_table(tmp_path, command):
    done = command("identify", *MEANS, *SET, *SMALL, cwd=tmp_path)
    assert done.status == 0, done.err
    for words in ("feasible: 0, 1; best of them: 1", "wrong feasible arms, %", "on infeasible arms", "equal"):
        assert words in done.out
    assert "100 % of" in done.err
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_document_and_equals_the_file(tmp_path, command):
    done = command("identify", *MEANS, *SET, *SMALL, "--json", "--out", str(tmp_path))
    assert done.status == 0, done.err
    document = json.loads(done.out)
    assert document == json.loads((tmp_path / "identification.json").read_text(encoding="utf-8"))
    assert (document["safe_set"], document["feasible"], document["best"]) == ("risk1 + risk2 <= 0.5", ["0", "1"], ["1"])
    assert [point["units"] for point in document["points"]] == [30, 60]
    assert set(document["points"][0]["feasible_error"]) == {"value", "error"}
    assert (tmp_path / "figures" / "errors.png").is_file()
    instance = sb.Instance.bernoulli([0.3, 0.5, 0.8], [[0.05, 0.1, 0.2], [0.1, 0.2, 0.6]], 1.0)
    found = sb.identify(instance, "risk1 + risk2 <= 0.5", systems=["equal"], units=[30, 60], trials=40, seed=7)
    assert document["points"] == json.loads(json.dumps(found.to_dict()))["points"]


def test_risks_go_by_their_names(command):
    done = command(
        "identify", *MEANS, "--risks", "toxicity,nausea", "--safe-set", "toxicity + nausea <= .5", *SMALL, "--json"
    )
    assert json.loads(done.out)["safe_set"] == "risk1 + risk2 <= .5"


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ([*MEANS, "--safe-set", "risk1 <= 0.2, risk1 >= 0.3"], "PolicyError: the safe set is empty"),
        ([*MEANS, "--safe-set", "risk3 <= 0.2"], 'PolicyError: unknown "risk3" in the half-space "risk3 <= 0.2"'),
        ([*MEANS, "--safe-set", ""], "PolicyError: --safe-set must be half-spaces"),
        ([*MEANS], "an instance needs alpha"),
        ([*MEANS, *SET, "--units", "30,x"], 'units must be whole numbers separated by commas, got "30,x"'),
        ([*MEANS, *SET, "--units", "2"], "units must be at least 3 (one unit for every arm), got 2"),
        ([*MEANS, *SET, "--system", "md-apt:tolerance=-1"], "PolicyError: tolerance must be at least 0, got -1.0"),
        (["--instance", "drug-trial", "--nu", ".1"], "--nu cannot be used here; give --nu with --mu"),
        ([*SET], "give a problem by --instance, by --mu and --nu, or by --data; got none"),
    ],
)
def test_mistakes_are_one_line(flags, why, command):
    done = command("identify", *flags)
    assert done.status == 2
    assert why in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
