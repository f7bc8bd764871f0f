"""Operating characteristics played: JSON, tables, files, more trials, pairs, calibration and tuning."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import safebandit as sb
from safebandit.errors import ResultError, StudyError
from safebandit.studies.designs.run import rerun

BOIN, EQUAL = "boin:target=.25,cohort=3,units=12", "safe:policy=equal,alpha=.3,units=12,harm=.9,rewarded=false"
STEEP = sb.Scenario("steep", nu=[0.05, 0.25, 0.6])
SAFE = sb.Scenario("all <safe>", nu=[0.02, 0.05, 0.1])
TRIALS = 120


@pytest.fixture(scope="module")
def found():
    return sb.operating_characteristics([BOIN, EQUAL], [STEEP, SAFE], trials=TRIALS, seed=5, workers=2)


def test_json_has_the_shape_that_programs_read(found):
    document = json.loads(found.to_json())
    assert [(one["design"], one["scenario"]) for one in document["results"]] == [
        (BOIN, "steep"), (EQUAL, "steep"), (BOIN, "all <safe>"), (EQUAL, "all <safe>"),
    ]  # fmt: skip
    for one in document["results"]:
        assert one["trials"] == TRIALS
        for name in ("selected", "selected_se", "units", "units_se", "harms"):
            assert len(one[name]) == 3
        assert sum(one["selected"]) + one["none"] == pytest.approx(1.0)
        assert one["none_se"] == pytest.approx(math.sqrt(one["none"] * (1 - one["none"]) / TRIALS))
        assert sum(one["units"]) == pytest.approx(one["size"]["mean"])
        assert {"mean", "se", "q95"} <= set(one["unsafe_units"])
        assert {"mean", "se"} <= set(one["size"])
        assert sum(one["stopped"].values()) == pytest.approx(1.0)
        assert one["processor_seconds"] > 0.0
        assert "rewards" not in one
    assert set(document["results"][1]["stopped"]) == {"most units", "no arm", "policy", "harm"}
    assert document["results"][0]["best"] == ["1"]
    assert document["results"][0]["unsafe"] == ["2"]
    said = document["specification"]
    assert (said["trials"], said["seed"], said["version"]) == (TRIALS, 5, sb.__version__)


def test_numbers_are_those_of_the_trials(found):
    runs = found.of(BOIN, "steep").runs
    assert runs.trials == TRIALS
    assert found.estimate(BOIN, "steep", "unsafe units").value == pytest.approx(runs.plays[:, 2].mean())
    table = found.table()
    row = table.loc[(BOIN, "steep", "selected", "1")]
    assert row["value"] == np.mean(runs.selected == 1)
    assert row["low"] < row["value"] < row["high"]
    summary = found.summary().loc[("steep", BOIN)]
    assert summary[("size", "value")] == runs.size.mean()


def test_pairs_met_the_same_outcomes(found):
    boin, equal = found.of(BOIN, "steep").runs, found.of(EQUAL, "steep").runs
    difference = found.compare(EQUAL, BOIN, "steep", "unsafe units")
    assert difference.value == pytest.approx((equal.plays[:, 2] - boin.plays[:, 2]).mean())
    assert len(found.compared()) == 2 * 9


def test_it_is_saved_loaded_and_played_again(found, tmp_path):
    path = found.save(tmp_path / "characteristics.parquet")
    again = sb.Characteristics.load(path)
    assert again.to_json() == found.to_json()
    assert again.is_current
    assert rerun(again, workers=1)


def test_more_trials_are_those_of_a_longer_run(found, tmp_path):
    few = sb.operating_characteristics([BOIN, EQUAL], [STEEP, SAFE], trials=50, seed=5, workers=1)
    path = few.save(tmp_path / "few.parquet")
    more = sb.operating_characteristics([BOIN, EQUAL], [STEEP, SAFE], trials=TRIALS, seed=5, add_to=path)
    for mine, yours in zip(more.played, found.played, strict=True):
        for name in ("plays", "selected", "cause", "harms"):
            assert np.array_equal(getattr(mine.runs, name), getattr(yours.runs, name))


def test_trials_are_not_added_to_others(found, edited):
    with pytest.raises(ResultError, match="the result has seed 5, got 6"):
        sb.operating_characteristics([BOIN, EQUAL], [STEEP, SAFE], trials=500, seed=6, add_to=found)
    with pytest.raises(ResultError, match="the result has 120 trials already, got 100; ask for more"):
        sb.operating_characteristics([BOIN, EQUAL], [STEEP, SAFE], trials=100, seed=5, add_to=found)
    with pytest.raises(ResultError, match="other designs or scenarios"):
        sb.operating_characteristics([BOIN], [STEEP, SAFE], trials=500, seed=5, add_to=found)
    edited()
    with pytest.raises(ResultError, match="other sources"):
        sb.operating_characteristics([BOIN, EQUAL], [STEEP, SAFE], trials=500, seed=5, add_to=found)


def test_a_file_that_is_none_is_refused(tmp_path):
    path = tmp_path / "cut.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(ResultError, match="holds no operating characteristics, or was cut short"):
        sb.Characteristics.load(path)
    with pytest.raises(ResultError, match="there is no file"):
        sb.Characteristics.load(tmp_path / "nothing.parquet")


def test_trials_are_corrected_on_demand(found):
    some = sb.operating_characteristics([EQUAL], [STEEP], trials=TRIALS, seed=5, workers=1, corrected=3)
    said = json.loads(some.to_json())["results"][0]
    one = said["estimates"]
    assert said["corrected_trials"] == 3
    assert set(one["risk_corrected_bias"]) == {"0", "1", "2"}
    assert "risk_corrected_bias" not in json.loads(found.to_json())["results"][1]["estimates"]
    runs, corrected = some.played[0].runs, some.played[0].corrected
    assert corrected.means.shape == (3, 2, 3)
    # The design may stop early where there are many harms: a little is taken off, or added.
    moved = corrected.means[:, 1] - runs.risk_totals[:3, 0] / runs.risk_plays[:3, 0]
    assert 0.0 < np.abs(moved).max() < 0.1
    again = sb.operating_characteristics([EQUAL], [STEEP], trials=TRIALS, seed=5, workers=2, corrected=3)
    assert np.array_equal(again.played[0].corrected.means, corrected.means, equal_nan=True)


@pytest.mark.parametrize(
    ("scenario", "count", "says"),
    [
        (STEEP, 11, "corrected must be at most the trials that there are, 10, got 11"),
        (STEEP, -1, "corrected must be at least 0"),
        (
            sb.Scenario("shares", sb.Instance.beta([0.5] * 3, [0.1] * 3, 0.3), rewarded=False), 1,
            'a correction simulates bits, and scenario "shares" has others; leave it out',
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_corrected_is_refused(scenario, count, says):
    with pytest.raises(sb.BadValueError) as problem:
        sb.operating_characteristics([EQUAL], [scenario], trials=10, workers=1, corrected=count)
    assert says in str(problem.value)
    assert "\n" not in str(problem.value)


def test_the_report_shows_what_users_write_as_it_is(found, tmp_path, monkeypatch):
    monkeypatch.setattr("safebandit.studies.designs.report.MOST_PICTURES", 1)
    page = (
        replace(found, played=found.played[2:])
        .write(tmp_path, question="Is <b>this</b> safe?")
        .read_text(encoding="utf-8")
    )
    assert "Is &lt;b&gt;this&lt;/b&gt; safe?" in page
    assert "all &lt;safe&gt;" in page
    assert "<safe>" not in page
    assert 'src="data:image/png;base64,' in page
    assert "http" not in page.replace("http-equiv", "")
    assert found.sources in page
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"report.html", "table.csv", "characteristics.json", "characteristics.parquet", "figures"}
    for word in ("best selected", "unsafe units", "In pairs", "seed 5", "sequence coverage", "selected arm"):
        assert word in page


@pytest.mark.parametrize(
    ("designs", "scenarios", "says"),
    [
        ([], [STEEP], "there must be at least one design, got none"),
        ([BOIN], [], "there must be at least one scenario, got none"),
        ([BOIN, BOIN], [STEEP], "there are two designs"),
        ([BOIN], [STEEP, STEEP], 'there are two scenarios "steep"'),
        (["boin:target=.25,unit=9"], [STEEP], 'has no parameter "unit"'),
        ([sb.Design(2, 0.3, "equal", 12, rewarded=False)], [STEEP], "must have the arms of the design"),
        (["boin12:tolerated=.3,wanted=.2"], [STEEP], "decides by rewards"),
    ],
)
def test_bad_questions_are_refused_before_anything_is_played(designs, scenarios, says):
    with pytest.raises(sb.BadValueError) as problem:
        sb.operating_characteristics(designs, scenarios, trials=10)
    assert says in str(problem.value)
    assert "\n" not in str(problem.value)


def test_calibration_finds_where_trials_stop_early_as_seldom_as_they_shall():
    design = sb.Design(
        ["low", "high"], 0.3, "equal", 12, rewarded=False, cohort=1, waits=False, stop=[{"rule": "harm"}], select="none"
    )
    toxic = sb.Scenario("toxic", nu=[0.5, 0.6])
    target = "stopped early[toxic] >= 0.4"
    found = sb.calibrate(
        design, toxic, set="stop.harm.confidence", so_that=target, trials=600, seed=3, workers=1, between=(0.6, 0.999)
    )
    value = found.values["stop.harm.confidence"]
    assert found.design.stop[0].confidence == value
    assert found.found[0].value >= 0.4
    # What it says is what the design does: the same trials, played anew.
    played = sb.operating_characteristics({"it": found.design}, toxic, trials=600, seed=3, workers=1)
    assert played.estimate("it", "toxic", "stopped early").value == found.found[0].value
    low, high = found.intervals["stop.harm.confidence"]
    assert low <= value <= high
    steps = found.table()
    assert steps["trials"].tolist() == sorted(steps["trials"].tolist()) or "comparison" in set(steps["why"])
    assert set(found.to_dict()) >= {"values", "intervals", "targets", "steps", "design", "seed"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"set": "stop.harms.confidence"},
            'the design has no parameter "stop.harms.confidence"; did you mean "stop.harm',
        ),
        ({"so_that": "stopped early[steep] <= 2"}, "is met everywhere"),
        ({"so_that": "stopped early[none] <= 0.1"}, 'there is no scenario "none"'),
        ({"set": "units"}, "say where to look for units, which is 12 now"),
        ({"between": (0.9, 0.8)}, "a range goes from the least value to the most, got 0.9 to 0.8"),
        ({"set": ["stop.harm.confidence", "units"]}, "one parameter has one or two targets"),
        ({"set": "title"}, 'a design has no number "title"'),
    ],
)
def test_bad_calibrations_are_refused_in_one_line(changes, says):
    design = sb.Design(3, 0.3, "equal", 12, rewarded=False, stop=[{"rule": "harm"}], select="none")
    asked = {"set": "stop.harm.confidence", "so_that": "stopped early[steep] <= 0.1", "trials": 100} | changes
    with pytest.raises(StudyError) as problem:
        sb.calibrate(design, STEEP, workers=1, **asked)
    assert says in str(problem.value)
    assert "\n" not in str(problem.value)


def test_tuning_says_who_is_on_the_front(tmp_path):
    found = sb.tune(
        BOIN, STEEP, set={"cutoff": [0.6, 0.95], "units": [6, 12]}, front=("unsafe units", "best selected"), trials=100
    )
    points = {tuple(each.values.values()): (each.first.value, each.second.value) for each in found.points}
    assert list(points) == [(0.6, 6), (0.6, 12), (0.95, 6), (0.95, 12)]
    front = {tuple(each.values.values()) for each in found.points if each.on_front}
    for name, (unsafe, best) in points.items():
        beaten = any(u <= unsafe and b >= best and (u, b) != (unsafe, best) for u, b in points.values())
        assert (name in front) == (not beaten)
    assert found.write(tmp_path).is_file()
    assert len(found.table()) == 4


def test_tuning_needs_numbers_of_which_more_or_less_is_better():
    with pytest.raises(StudyError, match='of "size" neither more nor less is better'):
        sb.tune(BOIN, STEEP, set={"units": [6]}, front=("size", "best selected"), trials=10)
    with pytest.raises(StudyError, match="needs the values of at least one parameter"):
        sb.tune(BOIN, STEEP, set={}, front=("regret", "best selected"), trials=10)
