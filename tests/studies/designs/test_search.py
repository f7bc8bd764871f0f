"""The search for a value of a parameter: functions whose answer is known, and targets as people write them."""

from __future__ import annotations

import numpy as np
import pytest

from safebandit.errors import StudyError
from safebandit.studies.designs.estimates import mean, share
from safebandit.studies.designs.search import Range, Search
from safebandit.studies.designs.targets import read_target

DRAWN = np.random.default_rng(11).uniform(size=10_000)


class Counted:
    """A share that falls from 1 to 0 as the parameter goes from 0 to 1, by common random numbers."""

    def __init__(self, kind=lambda value, count: share(DRAWN[:count] > value)):
        self.kind, self.asked = kind, []

    def __call__(self, value, count, why):
        self.asked.append((value, count, why))
        return self.kind(value, count)


@pytest.mark.parametrize("bound", [0.05, 0.3, 0.9])
def test_it_finds_where_a_share_comes_down_to_its_bound(bound):
    counted = Counted()
    found = Search(counted, Range(0.001, 0.999), 1.0, bound, 10_000, "it").run()
    # The largest share that is at most the bound lies where the sample's own quantile is.
    assert found.measured.value <= bound
    assert bound - found.measured.value <= found.measured.se
    assert abs(found.value - np.quantile(DRAWN, 1 - bound)) < 0.01
    # The interval of the parameter is that of the error: the function's slope is -1.
    assert found.low < 1 - bound < found.high
    assert (found.high - found.low) / (2 * 1.96 * found.measured.se) == pytest.approx(1.0, rel=0.15)
    full = [count for _, count, why in counted.asked if why == "all trials"]
    assert 1 <= len(full) <= 5
    assert {count for _, count, why in counted.asked if why in ("grid", "narrowing")} == {500}


def test_at_least_a_bound():
    found = Search(Counted(), Range(0.001, 0.999), -1.0, 0.8, 10_000, "it").run()
    assert 0.8 <= found.measured.value <= 0.8 + found.measured.se
    assert abs(found.value - np.quantile(DRAWN, 0.2)) < 0.01


def test_a_number_that_jumps_over_its_bound():
    # It has two values only: 0.75 below 0.4, 0.25 from there on.
    counted = Counted(lambda value, count: share(DRAWN[:count] < (0.75 if value < 0.4 else 0.25)))
    found = Search(counted, Range(0.01, 0.99), 1.0, 0.5, 10_000, "it").run()
    assert found.jump == pytest.approx(0.75, abs=0.02)
    assert found.measured.value == pytest.approx(0.25, abs=0.02)
    assert 0.4 <= found.value < 0.41
    assert found.low <= 0.4 <= found.high == found.value


@pytest.mark.parametrize("edge", np.linspace(0.505, 0.6, 20).round(4))
def test_a_jump_to_nothing_just_above_the_bound(edge):
    """6 % up to an edge and nothing from there on, for at most 5 %: small trials do so. The answer is the edge."""
    counted = Counted(lambda value, count: share(DRAWN[:count] < (0.06 if value < edge else 0.0)))
    found = Search(counted, Range(0.5, 0.9999), 1.0, 0.05, 10_000, "it").run()
    assert found.measured.value == 0.0
    assert edge <= found.value < edge + 0.01
    assert found.low <= edge <= found.high


def test_a_whole_parameter():
    counted = Counted(lambda value, count: mean(DRAWN[:count] * value))
    found = Search(counted, Range(1, 40, whole=True), 1.0, 7.0, 10_000, "it", share=False).run()
    assert all(value == round(value) for value, _, _ in counted.asked)
    # The mean of uniform numbers is a half: 14 is not above 7 if the sample's mean is not above a half.
    assert found.value == np.floor(7.0 / DRAWN.mean())


@pytest.mark.parametrize(
    ("within", "sign", "bound", "says"),
    [
        (Range(0.5, 0.9), 1.0, 0.05, "it cannot be reached: "),
        (Range(0.5, 0.9), -1.0, 0.8, "it cannot be reached: "),
        (Range(0.96, 0.99), 1.0, 0.2, "it is met everywhere, "),
    ],
)
def test_what_cannot_be_reached_is_refused_with_what_can(within, sign, bound, says):
    counted = Counted()
    with pytest.raises(StudyError) as problem:
        Search(counted, within, sign, bound, 4_000, "it").run()
    # It is refused by all trials, not by few.
    least, most = (np.mean(DRAWN[:4_000] > end) for end in (within.high, within.low))
    reached = f"between {within.low} and {within.high} it goes from {least:.4g} to {most:.4g}"
    assert str(problem.value).startswith(says + reached)


NAMES = ["null", "all safe", "steep, late"]


@pytest.mark.parametrize(
    ("text", "key", "scenarios", "over", "bound"),
    [
        ("stopped early[all safe] <= 0.05", "stopped early", ("all safe",), "max", 0.05),
        ("stopped early [null, all safe]<=.05", "stopped early", ("null", "all safe"), "max", 0.05),
        ("best selected[null, all safe] >= .6", "best selected", ("null", "all safe"), "min", 0.6),
        ("type I error max over [null, all safe] <= 5e-2", "type I error", ("null", "all safe"), "max", 0.05),
        ("size mean over [null, all safe] <= 40", "size", ("null", "all safe"), "mean", 40.0),
        ('unsafe units: q95["steep, late", null] <= 6', "unsafe units: q95", ("steep, late", "null"), "max", 6.0),
        ("unsafe units: more than 6[steep, late] <= 1", "unsafe units: more than 6", ("steep, late",), "max", 1.0),
        ("regret <= 3", "regret", tuple(NAMES), "max", 3.0),
    ],
)
def test_targets_are_read(text, key, scenarios, over, bound):
    target = read_target(text, NAMES)
    assert (str(target.measure.key), target.measure.scenarios) == (key, scenarios)
    assert (target.measure.over, target.bound) == (over, bound)
    assert target.met(bound)
    assert not target.met(bound + 1e-9 * target.sign)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("stopped early[all safe]", "a target ends with <= or >= and a number"),
        ("stopped early[all safe] < 0.05", "a target ends with <= or >= and a number"),
        ("stopped early[all safe] <= little", "a target ends with <= or >= and a number"),
        ("stopped early[all save] <= 0.05", 'there is no scenario "all save"; did you mean "all safe"?'),
        ("stopped early[all safe <= 0.05", "the scenarios stand in brackets"),
        ("stopped early[] <= 0.05", "name a scenario in the brackets, got none"),
        ("stoped[null] <= 0.05", 'there is no characteristic "stoped"; did you mean "stopped"?'),
        ("size median over [null] <= 5", "a characteristic is taken max, min or mean over scenarios"),
    ],
)
def test_targets_that_cannot_be_read_are_refused_in_one_line(text, says):
    with pytest.raises(StudyError) as problem:
        read_target(text, NAMES)
    assert str(problem.value).startswith(says)
    assert "\n" not in str(problem.value)
