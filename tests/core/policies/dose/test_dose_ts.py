"""Dose finding by Thompson sampling: posteriors by SciPy's quadrature, decisions by the plain rule."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from safebandit.core.kernels import kernels_for
from safebandit.core.policies import policy_from_text, policy_to_text
from safebandit.core.policies.dose.crm import skeleton_of
from safebandit.core.selection import NONE_SELECTED, TsDose
from safebandit.errors import PolicyError

from .stand import Stand, chance_below, random_counts

DOSES, TARGET = 4, 0.3
MODELS = ("independent", "logistic")
LOGITS = special.logit(skeleton_of(0.05, TARGET, 2, DOSES))
# Some harms, none, all; many units, a jump from dose to dose, and before any.
SEEN = [
    ([3, 6, 6, 0], [0, 1, 3, 0]), ([3, 0, 0, 0], [0] * 4), ([3, 0, 0, 0], [3, 0, 0, 0]), ([40] * 4, [2, 8, 14, 20]),
    ([20, 20, 0, 0], [0, 20, 0, 0]), ([0] * 4, [0] * 4),
]  # fmt: skip


@pytest.fixture(scope="module")
def stands():
    return {model: Stand(f"dose-ts:model={model}", DOSES, TARGET) for model in MODELS}


def log_density(b0, b1, plays, harms):
    """Of b0 ~ N(0, 100) and b1 ~ Exp(1), but for a constant."""
    value = -b0 * b0 / 200 - b1
    for u, n, s in zip(LOGITS, plays, harms, strict=True):
        logit = b0 + b1 * u
        value = value + s * special.log_expit(logit) + (n - s) * special.log_expit(-logit)
    return value


def posterior_on_a_grid(plays, harms):
    """Means of the risks and chances to be above the target, by brute force: a million points."""
    b0, log_b1 = np.meshgrid(np.linspace(-80, 80, 4001), np.linspace(-14, 4.6, 300))
    b1 = np.exp(log_b1)
    height = log_density(b0, b1, plays, harms) + log_b1
    weight = np.exp(height - height.max())
    weight /= weight.sum()
    means, chances = [], []
    for u in LOGITS:
        logit = b0 + b1 * u
        means.append((weight * special.expit(logit)).sum())
        # A point stands for its surroundings, which may lie above the target in part.
        chances.append((weight * np.clip((logit - special.logit(TARGET)) / 0.04 + 0.5, 0, 1)).sum())
    return np.array(means), np.array(chances)


@pytest.mark.parametrize(("plays", "harms"), SEEN)
def test_posterior_of_the_logistic_model_is_that_of_brute_force(stands, plays, harms):
    stand = stands["logistic"]
    stand.at(0, plays, harms).next()
    means, chances = posterior_on_a_grid(plays, harms)
    assert stand.own("posterior mean") == pytest.approx(means, abs=2e-6)
    # A chance is that of the law from which it draws, whose cells are half a standard deviation wide.
    assert stand.own("chance above target") == pytest.approx(chances, abs=4e-3)


def test_posterior_means_are_those_of_scipys_quadrature(stands):
    plays, harms = SEEN[0]
    stands["logistic"].at(0, plays, harms).next()

    def moment(k):
        def density(b0, b1):
            risk = 1.0 if k is None else special.expit(b0 + b1 * LOGITS[k])
            return risk * math.exp(log_density(b0, b1, plays, harms) + 8.0)

        return integrate.dblquad(density, 0, 30, -15, 15, epsabs=1e-8, epsrel=1e-6)[0]

    expected = moment(2) / moment(None)
    assert stands["logistic"].own("posterior mean")[2] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_draws_are_from_the_posterior(stands, model):
    """Mean and share above the target of 2,000 draws, within four standard errors; two tests of two numbers each for
    two models: wrong by chance once in two thousand."""
    stand, (plays, harms) = stands[model], SEEN[0]
    drawn = np.array([(stand.at(1, plays, harms).next(), stand.own("drawn risk")[2])[1] for _ in range(2_000)])
    error = drawn.std() / math.sqrt(len(drawn))
    assert drawn.mean() == pytest.approx(stand.own("posterior mean")[2], abs=4 * error)
    chance = stand.own("chance above target")[2]
    assert (drawn > TARGET).mean() == pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / len(drawn)))
    if model == "independent":
        law = stats.beta(1 + harms[2], 1 + plays[2] - harms[2])
        assert stats.kstest(drawn, law.cdf).pvalue > 1e-4
        assert stand.own("posterior mean")[2] == law.mean()


@pytest.mark.parametrize("model", MODELS)
def test_the_nearest_of_the_admissible_doses_is_given(stands, model):
    stand, met = stands[model], set()
    for present, plays, harms, _ in random_counts(DOSES, 9, 300):
        found = stand.at(present, plays, harms).next()
        above = stand.own("chance above target")
        if model == "independent":
            assert above == pytest.approx(1 - chance_below(TARGET, plays, harms))
        known = plays if model == "independent" else np.full(DOSES, plays.sum())
        out = np.flatnonzero((above > 0.95) & (known >= 3))
        doses = out[0] if out.size else DOSES
        assert stand.permissible.tolist() == [k < doses for k in range(DOSES)]
        if doses == 0:
            assert stand.none
            continue
        untried = np.flatnonzero(plays == 0)
        reach = min(doses, untried[0] + 1 if untried.size else DOSES)
        assert found == np.abs(stand.own("drawn risk")[:reach] - TARGET).argmin()
        met.add((reach == doses, found > present))
    assert len(met) == 4


def test_without_an_admissible_set_any_dose_is_given():
    stand = Stand("dose-ts:model=independent,cutoff=1,skips=true", DOSES, TARGET)
    met = set()
    for _ in range(60):
        found = stand.at(0, [6, 0, 0, 0], [6, 0, 0, 0]).next()
        assert found == np.abs(stand.own("drawn risk") - TARGET).argmin()
        met.add(found)
    assert met == {0, 1, 2, 3}


def test_the_posterior_mean_nearest_to_the_target_is_selected(stands):
    stand, chosen, met = stands["logistic"], np.zeros(1, np.int64), set()
    kernels = kernels_for(stand.policy, TsDose())
    for present, plays, harms, _ in random_counts(DOSES, 10, 60):
        stand.at(present, plays, harms).next()
        kernels.select(TsDose(), stand.memory, np.arange(1), chosen)
        distance = np.abs(stand.own("posterior mean") - TARGET)
        distance[(plays == 0) | ~stand.permissible] = np.inf
        assert chosen[0] == (distance.argmin() if np.isfinite(distance).any() else NONE_SELECTED)
        met.add(chosen[0])
    assert met == {NONE_SELECTED, *range(DOSES)}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("dose-ts:cutoff=1.1", "cutoff must be above 0 and at most 1"),
        ("dose-ts:variance=0", "variance must be above 0"),
        ("dose-ts:guess=5", "guess must be a dose from 1 to 4, got 5"),
        ("dose-ts:model=probit", "model must be one of independent, logistic, got 'probit'"),
        ("dose-ts:target=1", "target must lie between 0 and 1"),
    ],
)
def test_bad_parameters_are_refused(text, rule):
    with pytest.raises(PolicyError, match=rule):
        Stand(text, DOSES, TARGET)


def test_a_ts_dose_needs_the_policy():
    class Other:
        policy = "boin:target=0.3"

    with pytest.raises(PolicyError, match="ts-dose needs the policy dose-ts"):
        TsDose().completed(Other())


def test_it_is_read_back_from_its_text():
    policy = policy_from_text("dose-ts:target=0.3,model=independent,skips=true")
    assert policy_from_text(policy_to_text(policy)) == policy
