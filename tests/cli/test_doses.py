"""`safebandit doses`: what it prints, what it leaves behind, and how it refuses."""

import json

import pytest

SLOPES = ["--alpha", ".3", "--reward-slopes", ".9,.3", "--risk-slopes", ".3,.3"]
SMALL = ["--units", "1000,20000", "--trials", "20"]


def test_it_prints_the_truth_and_a_table(tmp_path, command):
    done = command("doses", *SLOPES, *SMALL, "--arms", "x,y", cwd=tmp_path)
    assert done.status == 0, done.err
    for words in ("x 0.9 at 1, y 0.3 at 1; best: x", "safe-linear", "safe-monotonic", "uniform", "promise broken, %"):
        assert words in done.out
    assert "100 % of" in done.err
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_document_and_equals_the_file(tmp_path, command):
    curves = ["--reward", "emax:bottom=0,top=.9,half=.3", "--risk", "logistic:low=.02,high=.9"]
    curves += ["--reward", "linear:low=0,high=.4", "--risk", "flat:value=.1", "--first", ".1,.2"]
    flags = ["--alpha", ".3", *curves, *SMALL, "--system", "uniform:doses=3"]
    done = command("doses", *flags, "--json", "--out", str(tmp_path))
    assert done.status == 0, done.err
    document = json.loads(done.out)
    assert document == json.loads((tmp_path / "doses.json").read_text(encoding="utf-8"))
    assert document["instance"]["first"] == [0.1, 0.2]
    assert [point["units"] for point in document["points"]] == [1_000, 20_000]


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--alpha", ".3"], "--reward and --risk for every arm; got neither"),
        ([*SLOPES, "--risk", "flat:value=.1"], "--reward and --risk for every arm; got both"),
        (["--alpha", ".3", "--reward-slopes", ".9,.3"], "go together; add --risk-slopes"),
        ([*SLOPES, "--units", "x"], 'units must be whole numbers separated by commas, got "x"'),
        ([*SLOPES, "--first", "2"], "a first dose must be above 0 and at most the highest dose (1), got 2"),
        ([*SLOPES, "--system", "safe-linear:delta=2"], "delta must lie between 0 and 1, got 2.0"),
    ],
)
def test_mistakes_are_one_line(flags, why, command):
    done = command("doses", *flags)
    assert done.status == 2
    assert why in done.err
    assert done.err.strip().count("\n") == 0
