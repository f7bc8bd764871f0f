"""Calibration of two parameters or with two targets, and what parameters of designs can be set."""

from __future__ import annotations

import pytest

import safebandit as sb
from safebandit.errors import StudyError
from safebandit.studies.designs.parameters import value_of, with_value

TOXIC = sb.Scenario("toxic", mu=[0.5, 0.5], nu=[0.5, 0.6])
POOR = sb.Scenario("poor", mu=[0.15, 0.1], nu=[0.05, 0.05])
PATHS = ["stop.harm.confidence", "stop.futility.confidence"]


@pytest.fixture(scope="module")
def design():
    rules = [{"rule": "harm"}, {"rule": "futility"}]
    return sb.Design(2, 0.3, "equal", 12, waits=False, least_reward=0.3, stop=rules, select="none")


def test_two_parameters_for_two_targets(design):
    targets = ["stopped: harm[toxic] >= 0.3", "stopped: futility[poor] >= 0.4"]
    between = [(0.5, 0.999), (0.5, 0.999)]
    found = sb.calibrate(
        design, [TOXIC, POOR], set=PATHS, so_that=targets, between=between, trials=500, seed=2, workers=1
    )
    assert list(found.values) == PATHS
    assert all(found.intervals[path][0] <= value <= found.intervals[path][1] for path, value in found.values.items())
    # Played anew, the calibrated design does what it says, and both targets are met.
    played = sb.operating_characteristics({"it": found.design}, [TOXIC, POOR], trials=500, seed=2, workers=1)
    again = [played.estimate("it", "toxic", "stopped: harm"), played.estimate("it", "poor", "stopped: futility")]
    assert [one.value for one in again] == [one.value for one in found.found]
    assert again[0].value >= 0.3
    assert again[1].value >= 0.4
    # A little more of either parameter, and its target is missed or the number has jumped: it is at the border.
    for path, target, one in zip(PATHS, (0.3, 0.4), found.found, strict=True):
        jumps = any("jumps" in remark and path in remark for remark in found.remarks)
        assert jumps or one.value - target <= one.se


def test_a_second_target_must_be_met_where_the_first_is(design):
    targets = ["stopped: harm[toxic] >= 0.3", "size[poor] >= 3"]
    asked = {"set": PATHS[0], "between": (0.5, 0.999), "trials": 300, "workers": 1}
    found = sb.calibrate(design, [TOXIC, POOR], so_that=targets, **asked)
    assert found.found[1].value >= 3
    with pytest.raises(StudyError, match="cannot be met together with the other target"):
        sb.calibrate(design, [TOXIC, POOR], so_that=[targets[0], "size[poor] <= 3"], **asked)


def test_parameters_by_path(design):
    assert value_of(design, "stop.futility.confidence") == 0.95
    changed = with_value(design, "stop.futility.confidence", 0.8)
    assert (changed.stop[0].confidence, changed.stop[1].confidence) == (0.95, 0.8)
    assert design.stop[1].confidence == 0.95
    assert with_value(design, "units", 20.0).units == 20
    safe = sb.Design(2, 0.3, "safe-ids:odds=0.5", 12)
    assert value_of(safe, "policy.odds") == 0.5
    assert value_of(with_value(safe, "policy.odds", 0.25), "policy.odds") == 0.25
    text = "boin:target=.25,units=12"
    assert (value_of(text, "units"), value_of(text, "cutoff")) == (12, 0.95)
    assert with_value(text, "cutoff", 0.9) == "boin:target=.25,units=12,cutoff=0.9"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (
            "stop.harm.confidense",
            'the design has no parameter "stop.harm.confidense"; did you mean "stop.harm.confidence"',
        ),
        ("policy.odds", 'policy "equal" has no parameter "odds"'),
        ("unit", 'a design has no number "unit"; did you mean "units"'),
    ],
)
def test_parameters_that_are_not_there_are_refused(path, says, design):
    with pytest.raises(StudyError) as problem:
        value_of(design, path)
    assert str(problem.value).startswith(says)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("cut", 'design "boin" has no parameter "cut"'),
        ("enough", '"enough" must be a number to be searched, and it is None'),
    ],
)
def test_parameters_of_texts_that_are_not_there_are_refused(path, says):
    with pytest.raises(StudyError) as problem:
        value_of("boin:target=.25", path)
    assert str(problem.value).startswith(says)
