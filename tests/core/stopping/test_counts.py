"""Rules that count, and precision: by plain sums and SciPy on random counts."""

import math

import numpy as np
import pytest
from scipy import stats

from safebandit.core.stopping import Enough, HarmShare, Precision, TooManyHarms

from ..states import States

STATES = States(200, 3, (0.3, 0.15), seed=5, most=12)


def test_harms_add_up_over_arms_and_risks():
    found = STATES.measured(TooManyHarms(12))
    assert (found[:, 0] == STATES.ones[:, :, 1:].sum(axis=(1, 2))).all()
    assert np.isnan(found[:, 1:]).all()


def test_graded_risks_count_as_what_they_are():
    states = States(1, 2, dropped=0.0)
    states.memory.quantities["total"][0, :, 1] = 0.25, 1.5
    assert states.measured(TooManyHarms(2))[0, 0] == 1.75


def test_the_share_is_that_of_the_worst_risk_once_enough_is_known():
    least = 14
    found = STATES.measured(HarmShare(0.5, least))[:, 0]
    known, harms = STATES.plays[:, :, 1:].sum(axis=1), STATES.ones[:, :, 1:].sum(axis=1)
    expected = np.where(known >= least, harms / np.maximum(known, 1), 0.0).max(axis=1)
    assert found == pytest.approx(expected, abs=1e-12)
    assert 0 < (expected == 0.0).sum() < len(expected)


def test_enough_counts_units_of_which_nothing_is_waited_for():
    states = States(1, 3, dropped=0.0)
    states.memory.arms["asked"] = 9, 12, 4
    states.memory.quantities["pending"][0, :, 0] = 0, 2, 1
    states.memory.quantities["pending"][0, :, 1] = 0, 5, 0
    assert states.measured(Enough(9)).tolist() == [[9.0, 7.0, 3.0]]
    assert states.measured(Enough(9, arm="arm 1"))[0] == pytest.approx([math.nan, 7.0, math.nan], nan_ok=True)


def interval(s, n, confidence, a, b):
    low, high = stats.beta.ppf([(1 - confidence) / 2, (1 + confidence) / 2], s + a, n - s + b)
    return high - low


@pytest.mark.parametrize(
    ("rule", "outcomes"),
    [
        (Precision(0.3), (0,)),
        (Precision(0.4, True, 0.9, 2, -1, 0.5, 0.5), (1, 2)),
        (Precision(0.3, arm=1), (0,)),
    ],
)
def test_precision_is_one_over_the_width_of_the_interval(rule, outcomes):
    found = STATES.measured(rule)
    reached = 0
    for row in range(len(found)):
        plays, ones = STATES.plays[row], STATES.ones[row]
        left = [k for k in range(3) if plays[k, 0] > 0 and not STATES.dropped[row, k]]
        k = rule.arm if rule.arm >= 0 else max(left, key=lambda k: ones[k, 0] / plays[k, 0], default=None)
        expected = np.full(3, math.nan)
        if k is not None and min(plays[k, list(outcomes)]) >= rule.least:
            widths = [interval(ones[k, j], plays[k, j], *(rule[2], *rule[5:])) for j in outcomes]
            expected[k] = 1.0 / max(widths)
            reached += expected[k] >= rule.level
        assert found[row] == pytest.approx(expected, rel=1e-8, nan_ok=True)
    assert 0 < reached < len(found)
