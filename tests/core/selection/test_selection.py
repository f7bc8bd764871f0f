"""Selection: every rule against its definition, written out plainly, on random counts."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from safebandit.core.selection import NONE_SELECTED, BestSafe, Isotonic, Nothing, Utility
from safebandit.core.stopping import Terms
from safebandit.errors import PolicyError

from ..states import States, prepare_selection

TWO_RISKS = States(400, 3, (0.4, 0.3), seed=11)
DOSES = States(600, 5, seed=12, most=9)
FEW = States(400, 4, (0.5,), seed=13, most=2)


def chances_safe(states, row, a, b):
    plays, ones = states.plays[row, :, 1:], states.ones[row, :, 1:]
    return stats.beta.cdf(np.array(states.terms.limits), a + ones, b + plays - ones).prod(axis=1)


def pooled_chances_safe(states, row, a, b):
    """Counts of neighbours, of the arms tried, are added up until no mean falls, in exact fractions."""
    chances = np.ones(states.plays.shape[1])
    for j, limit in enumerate(states.terms.limits, start=1):
        plays, ones = states.plays[row, :, j], states.ones[row, :, j]
        tried = np.flatnonzero(plays)
        chances[plays == 0] = 0.0
        blocks = [[k] for k in tried]

        def mean(block, ones=ones, plays=plays):
            return Fraction(int(ones[block].sum()), int(plays[block].sum()))

        while falls := [i for i in range(len(blocks) - 1) if mean(blocks[i]) > mean(blocks[i + 1])]:
            blocks[falls[0] : falls[0] + 2] = [blocks[falls[0]] + blocks[falls[0] + 1]]
        for block in blocks:
            s, n = ones[block].sum(), plays[block].sum()
            chances[block] *= stats.beta.cdf(limit, a + s, b + n - s)
    return chances


def best_safe(states, rule, row):
    chances = (pooled_chances_safe if rule.isotonic else chances_safe)(states, row, *rule[5:])
    plays, ones, able = states.plays[row], states.ones[row], []
    for k in range(len(plays)):
        n, r = plays[k, 0], ones[k, 0]
        mean = r / n if n else 0.0
        enough = mean >= rule.least_reward
        if rule.reward_confidence > 0 and rule.least_reward > 0:
            a, b = rule[5:]
            enough = stats.beta.sf(rule.least_reward, a + r, b + n - r) >= rule.reward_confidence
        known = plays[k, 1:].min() >= rule.least
        if known and enough and chances[k] >= rule.confidence and not states.dropped[row, k]:
            able.append((-mean, -round(chances[k], 12), k))
    return min(able)[-1] if able else NONE_SELECTED


@pytest.mark.parametrize("states", [TWO_RISKS, DOSES, FEW], ids=["two risks", "doses", "few units"])
@pytest.mark.parametrize(
    "rule",
    [
        BestSafe(),
        BestSafe(0.8, 5, 0.5),
        BestSafe(0.3, 0, 0.4, 0.6, False, 0.5, 2.0),
        BestSafe(0.4, isotonic=True),
        BestSafe(0.6, 3, 0.4, 0.6, True, 2.0, 3.0),
    ],
)
def test_the_best_safe_arm_is_its_definition(states, rule):
    chosen = states.selected(rule)
    assert chosen.tolist() == [best_safe(states, rule, row) for row in range(len(chosen))]
    if states is not FEW:
        assert set(chosen) == {NONE_SELECTED, *range(states.plays.shape[1])}


def test_the_least_reward_may_be_the_designs():
    terms = DOSES.terms._replace(least_reward=0.7)
    assert prepare_selection(BestSafe(), terms).least_reward == 0.7
    assert prepare_selection(BestSafe(least_reward=0.2), terms).least_reward == 0.2
    assert prepare_selection(BestSafe(), DOSES.terms).least_reward == 0.0


def select_mtd(target, plays, harms, out, cutoff=0.95, least=3):
    """The tolerated dose as the R package BOIN finds it, step by step; doses that were dropped are out, too."""
    excluded = list(out)
    for i, (n, y) in enumerate(zip(plays, harms, strict=True)):
        if n >= least and stats.beta.sf(target, y + 1, n - y + 1) > cutoff:
            excluded[i:] = [True] * (len(plays) - i)
            break
    able = [i for i in range(len(plays)) if plays[i] > 0 and not excluded[i]]
    if not able:
        return NONE_SELECTED
    y, n = harms[able], plays[able]
    estimates = (y + 0.05) / (n + 0.1)
    variances = (y + 0.05) * (n - y + 0.05) / ((n + 0.1) ** 2 * (n + 0.1 + 1))
    fit = optimize.isotonic_regression(estimates, weights=1 / variances).x + np.arange(1, len(able) + 1) * 1e-10
    return able[int(np.argmin(np.abs(fit - target)))]


@pytest.mark.parametrize("target", [0.0, 0.25])
def test_the_tolerated_dose_is_that_of_boin(target):
    chosen = DOSES.selected(Isotonic(target))
    expected = [
        select_mtd(target or 0.3, DOSES.plays[row, :, 1], DOSES.ones[row, :, 1], DOSES.dropped[row])
        for row in range(len(chosen))
    ]
    assert chosen.tolist() == expected
    assert set(chosen) == {NONE_SELECTED, 0, 1, 2, 3, 4}


def tolerated(*counts, target=0.3):
    """The dose selected after (harms, units) of each."""
    states = States(1, len(counts), (target,), dropped=0.0)
    ones, plays = np.array(counts).T
    zeros = np.zeros_like(plays)
    states.set(np.stack([zeros, plays], axis=1)[None], np.stack([zeros, ones], axis=1)[None])
    return states.selected(Isotonic())[0]


def test_equal_estimates_go_to_the_higher_dose_below_the_target_and_to_the_lower_one_above():
    assert tolerated((0, 3), (0, 3), (3, 6)) == 2
    assert tolerated((0, 6), (0, 6)) == 1
    assert tolerated((3, 6), (3, 6)) == 0
    # The highest tried is excluded; and all are where the lowest is.
    assert tolerated((0, 6), (1, 6), (5, 6)) == 1
    assert tolerated((3, 3), (0, 3)) == NONE_SELECTED


def test_the_most_useful_dose_is_that_of_boin12():
    rule = Utility(0.35, 0.25)
    chosen = DOSES.selected(rule)
    for row in range(len(chosen)):
        plays, ones = DOSES.plays[row], DOSES.ones[row]
        highest = select_mtd(0.35, plays[:, 1], ones[:, 1], DOSES.dropped[row])
        useful = {}
        for k in range(highest + 1):
            (n, m), (r, s) = plays[k], ones[k]
            if m > 0 and not DOSES.dropped[row, k] and stats.beta.cdf(0.25, r + 1, n - r + 1) < 0.9:
                # A unit with a reward and no harm has utility 100, with neither 40, with both 60, with a harm only 0.
                p, q = r / n if n else 0.0, s / m
                total = m * (p * (1 - q) * 100 + (1 - p) * (1 - q) * 40 + p * q * 60) / 100
                useful[k] = (1 + total) / (2 + m)
        expected = max(useful, key=lambda k: round(useful[k], 12)) if useful else NONE_SELECTED
        assert chosen[row] == expected
    assert set(chosen) == {NONE_SELECTED, 0, 1, 2, 3, 4}


def test_nothing_is_selected():
    assert (DOSES.selected(Nothing()) == NONE_SELECTED).all()


def test_what_a_design_cannot_have_is_refused():
    two, plain = Terms(["low", "high"], (0.3, 0.2), ("fall", "bleeding")), Terms(["low", "high"], (0.3,))
    for rule in (Isotonic(), Utility()):
        with pytest.raises(
            PolicyError, match="asks how one risk grows with the dose, got 2 risks; take best-safe with"
        ):
            prepare_selection(rule, two)
    for rule, message in [
        (BestSafe(confidence=1.0), "^confidence of BestSafe must lie between 0 and 1, got 1.0$"),
        (BestSafe(least=-1), "^least of BestSafe must be at least 0, got -1$"),
        (BestSafe(reward_confidence=1.0), "^reward_confidence of BestSafe must lie below 1, got 1.0$"),
        (BestSafe(least_reward=2.0), "^least_reward of BestSafe must be at most 1, got 2.0$"),
        (BestSafe(prior_a=0.0), "^prior_a of BestSafe must be above 0, got 0.0$"),
        (Isotonic(target=math.nan), "^target must be a finite number, got nan$"),
        (Utility(least_reward=1.5), "^least_reward of Utility must be at most 1, got 1.5$"),
        (Utility(neither=101.0), r"^neither of Utility must lie in \[0, 100\], got 101.0$"),
        (plain, "^a selection rule is a NamedTuple with a formula registered for select, got Terms"),
    ]:
        with pytest.raises(PolicyError, match=message):
            prepare_selection(rule, plain)
