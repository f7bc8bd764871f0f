"""What a trial selects, by counts made by hand and by the definition, trial by trial."""

import math

import numpy as np
from scipy import stats

from safebandit.simulation.selection import NONE, selected


def select_one(plays, reward, risk, limits):
    """The definition, arm by arm."""
    best, most = NONE, -1.0
    for k, n in enumerate(plays):
        chances = [stats.beta(1 + s[k], 1 + n - s[k]).cdf(limit) for s, limit in zip(risk, limits, strict=True)]
        if n > 0 and math.prod(chances) >= 0.5 and reward[k] / n > most:
            best, most = k, reward[k] / n
    return best


def test_by_hand():
    plays = np.array([[10, 10, 10], [10, 10, 0], [10, 10, 10], [10, 10, 1]])
    reward = np.array([[5, 6, 9], [5, 6, 0], [5, 5, 9], [5, 6, 1]], float)
    #               the unsafe arm is out  none is safe  a tie: the first  one lucky unit is enough where alpha is large
    risk = np.array([[1, 1, 9], [9, 9, 0], [1, 1, 9], [1, 1, 0]], float)[:, None, :]
    assert selected(plays, reward, risk, (0.3,)).tolist() == [1, NONE, 0, 2]
    # After one play without harm the median of Beta(1, 2) is 1 - sqrt(1/2), 0.293.
    assert selected(plays[3:], reward[3:], risk[3:], (0.29,)).tolist() == [1]


def test_risks_that_are_each_likely_small_may_not_be_so_together():
    # P(risk <= 0.3) = 0.687 after 2 harms of 10: of two such risks, both are with 0.472.
    plays, reward = np.array([[10]]), np.array([[9.0]])
    for risks, chosen in ((1, 0), (2, NONE)):
        assert selected(plays, reward, np.full((1, risks, 1), 2.0), (0.3,) * risks).tolist() == [chosen]


def test_every_risk_must_be_likely_safe():
    plays, reward = np.array([[20, 20]]), np.array([[5.0, 15.0]])
    risk = np.array([[[1.0, 1.0], [1.0, 15.0]]])
    assert selected(plays, reward, risk, (0.3, 0.3)).tolist() == [0]
    assert selected(plays, reward, risk, (0.3, 0.9)).tolist() == [1]


def test_against_the_definition():
    rng = np.random.default_rng(5)
    plays = rng.integers(0, 12, (60, 4))
    reward, risk = (
        rng.binomial(plays, 0.5).astype(float),
        rng.binomial(plays[:, None, :], 0.3, (60, 2, 4)).astype(float),
    )
    limits = (0.3, 0.4)
    expected = [select_one(plays[i], reward[i], risk[i], limits) for i in range(60)]
    assert selected(plays, reward, risk, limits).tolist() == expected
    assert NONE in expected
