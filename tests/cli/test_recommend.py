"""`safebandit recommend`: what it prints, what it leaves behind, and how it refuses and stops."""

from __future__ import annotations

import json

import pytest

import safebandit as sb

from .helpers import interrupted

SMALL = ["--units", "36", "--trials", "40", "--policy", "docb", "--policy", "equal", "--seed", "7"]
RANDOM = ["--arms", "3", "--alpha", ".3"]
ESTIMATE = {"value", "low", "high"}


def test_it_prints_a_table_and_recommends_one(tmp_path, command):
    done = command("recommend", *RANDOM, *SMALL, cwd=tmp_path)
    assert done.status == 0, done.err
    for words in ("3 arms, alpha 0.3, 36 units", "mean risks uniform on 0 to twice alpha", "more than 3, %"):
        assert words in done.out
    assert "Recommended: docb" in done.out
    assert "docb *" in done.out
    assert "100 % of" in done.err
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_document_and_equals_the_file(tmp_path, command):
    done = command("recommend", *RANDOM, *SMALL, "--json", "--more-than", "5", "--out", str(tmp_path))
    assert done.status == 0, done.err
    document = json.loads(done.out)
    assert document == json.loads((tmp_path / "recommendation.json").read_text(encoding="utf-8"))
    assert set(document) == {
        "version", "choice", "policy", "why", "rule", "truths", "units", "trials", "seed", "more_than", "confidence",
        "candidates", "cannot_play",
    }  # fmt: skip
    assert (document["choice"], document["more_than"], document["trials"]) == ("docb", 5, 40)
    assert document["truths"]["prior"] == "uniform"
    for one in document["candidates"]:
        assert {key for key, value in one.items() if isinstance(value, dict)} == {
            "regret", "unsafe_plays", "more_than", "best_selected", "unsafe_selected", "harms", "over_least",
        }  # fmt: skip
        assert set(one["regret"]) == ESTIMATE
        assert isinstance(one["on_front"], bool)
    assert (tmp_path / "index.html").is_file()
    expected = sb.recommend(3, 0.3, units=36, trials=40, seed=7, policies=["docb", "equal"], more_than=5)
    assert document == json.loads(json.dumps(expected.to_dict()))


@pytest.mark.parametrize(
    ("truth", "about"),
    [
        (["--instance", "drug-trial", "--alpha", ".19"], "given truths: drug-trial"),
        (["--mu", ".3,.5", "--nu", ".1,.6", "--alpha", ".3"], "given truths: instance"),
        (["--data", "past.csv", "--alpha", ".3"], "given truths: past"),
    ],
)
def test_given_truths(truth, about, tmp_path, command):
    (tmp_path / "past.csv").write_text("arm,reward,risk\na,1,0\na,0,0\nb,1,1\nb,1,0\n")
    done = command("recommend", *truth, *SMALL, cwd=tmp_path)
    assert done.status == 0, done.err
    assert about in done.out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "random truths need arms, how many there are: give --arms 5, or a truth of your own"),
        (["--arms", "3"], "random truths need alpha: give --alpha 0.2"),
        ([*RANDOM, "--more-than", "400"], "--more-than must be below the units (400), got 400"),
        (["--arms", "three", "--alpha", ".3"], "Invalid value for '--arms'"),
        (["--mu", ".3,.5", "--alpha", ".3"], "--mu needs --nu"),
    ],
)
def test_mistakes_are_told_in_one_line(flags, message, tmp_path, command):
    done = command("recommend", *flags, "--out", "out", cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert message in done.err
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_nothing(tmp_path):
    many = ["--policy", "docb", "--units", "100000", "--trials", "300", "--out", str(tmp_path / "out")]
    status, rest = interrupted("recommend", *RANDOM, *many, at="10 %")
    assert status == 130, rest
    assert rest.splitlines()[-1] == "interrupted: nothing was kept"
    assert list(tmp_path.iterdir()) == []
