"""Instances: means, gaps and costs by hand, the paper's data sets, writing and reading back, and every refusal."""

import json
import re

import numpy as np
import pytest

from safebandit import Instance, instance_by_name
from safebandit.errors import InstanceError
from safebandit.problems import NAMED

MU = [0.360, 0.340, 0.469, 0.465, 0.537]
NU = [0.160, 0.259, 0.184, 0.209, 0.293]


def refused(text):
    """An InstanceError whose message is one line that holds `text`."""
    return pytest.raises(InstanceError, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


# Gaps by hand, from the means printed in the paper.


def test_drug_trial_at_21_percent():
    instance = instance_by_name("drug-trial")
    assert instance.alpha == 0.21
    assert instance.mu.tolist() == MU
    assert instance.nu.tolist() == NU
    assert instance.arms == ("0 mg", "25 mg", "75 mg", "150 mg", "300 mg")
    # "arm 3 is optimal, while arms 2, 5 are unsafe", counted from 1 there.
    assert instance.best_arm == 2
    assert instance.best_mean == 0.469
    assert instance.unsafe_arms.tolist() == [1, 4]
    assert instance.efficiency_gaps == pytest.approx([0.109, 0.129, 0, 0.004, 0], abs=1e-12)
    assert instance.safety_gaps == pytest.approx([0, 0.049, 0, 0, 0.083], abs=1e-12)
    assert instance.costs == pytest.approx([0.109, 0.129, 0, 0.004, 0.083], abs=1e-12)


def test_drug_trial_at_19_percent():
    instance = instance_by_name("drug-trial", 0.19)
    # "arm 4 is now unsafe by a significant amount, which increases its gap to about 0.02 from 0.004".
    assert instance.best_arm == 2
    assert instance.unsafe_arms.tolist() == [1, 3, 4]
    assert instance.safety_gaps == pytest.approx([0, 0.069, 0, 0.019, 0.103], abs=1e-12)
    assert instance.costs == pytest.approx([0.109, 0.129, 0, 0.019, 0.103], abs=1e-12)


@pytest.mark.parametrize(
    ("text", "mu", "nu", "alpha"),
    [
        ("two-arm-example", [0.5, 1.0], [0.0, 1.0], 0.5),
        ("policy-case-1", [0, 0.4, 0.5, 0.6], [0, 0.4, 0.5, 0.6], 0.5),
        ("policy-case-2", [0, 0.4, 0.6, 0.6], [0, 0.4, 0.5, 0.6], 0.5),
        ("gaps-large:i=1", [0.5, 0.46, 0.54], [0.5, 0.46, 0.54], 0.5),
        ("gaps-large:i=10", [0.5, 0.1, 0.9], [0.5, 0.1, 0.9], 0.5),
        ("gaps-small:i=1", [0.5, 0.46, 0.504], [0.5, 0.504, 0.54], 0.5),
        ("gaps-small:i=10", [0.5, 0.1, 0.54], [0.5, 0.54, 0.9], 0.5),
        ("bayes-schedules", [0.4, 0.5, 0.6], [0.4, 0.5, 0.6], 0.5),
        ("naive-sampling", [0.3, 0.5, 0.7], [0.3, 0.5, 0.7], 0.5),
    ],
)
def test_the_papers_data_sets(text, mu, nu, alpha):
    instance = instance_by_name(text)
    assert instance.mu == pytest.approx(mu, abs=1e-12)
    assert instance.nu == pytest.approx(nu, abs=1e-12)
    assert instance.alpha == alpha
    assert instance.name == text


def test_every_named_instance_but_ours_is_of_the_paper():
    ours = {name for name, made in NAMED.items() if "not of the paper" in made.__doc__}
    assert ours == {"dose-two-risks", "linear-doses", "dose-by-patient"}
    assert set(NAMED) - ours == {
        "drug-trial", "two-arm-example", "policy-case-1", "policy-case-2", "gaps-large", "gaps-small",
        "bayes-schedules", "naive-sampling",
    }  # fmt: skip


def test_larger_gaps_agree_in_both_gap_series_and_smaller_ones_are_ten_times_less():
    for i in range(1, 11):
        large, small = (instance_by_name(f"{name}:i={i}") for name in ("gaps-large", "gaps-small"))
        assert large.costs == pytest.approx([0, i / 25, i / 25], abs=1e-12)
        assert small.costs == pytest.approx(large.costs, abs=1e-12)
        assert small.safety_gaps == pytest.approx([0, i / 250, i / 25], abs=1e-12)


def test_the_first_of_tied_safe_arms_is_best_and_none_of_them_costs():
    instance = Instance.bernoulli(mu=[0.2, 0.6, 0.6, 0.9], nu=[0, 0.3, 0.1, 0.5], alpha=0.3)
    assert instance.best_arm == 1
    assert instance.costs == pytest.approx([0.4, 0, 0, 0.2], abs=1e-12)


def test_risk_exactly_at_alpha_is_safe():
    instance = Instance.bernoulli(mu=[0.2, 0.6], nu=[0.1, 0.3], alpha=0.3)
    assert instance.best_arm == 1
    assert instance.unsafe_arms.tolist() == []


def test_a_safe_arm_of_mean_zero_is_best_over_unsafe_ones():
    instance = Instance.bernoulli(mu=[0.9, 0.0], nu=[0.9, 0.1], alpha=0.5)
    assert (instance.best_arm, instance.best_mean) == (1, 0.0)


def test_an_infeasible_instance_has_to_be_allowed():
    with refused('no arm has mean risk <= 0.1 (smallest: 0.16, arm "0 mg"); raise alpha'):
        instance_by_name("drug-trial", 0.1)
    instance = Instance.bernoulli(mu=[0.2, 0.6], nu=[0.4, 0.3], alpha=0.1, allow_infeasible=True)
    assert instance.best_arm is None
    assert instance.best_mean == 0.0
    assert instance.unsafe_arms.tolist() == [0, 1]
    assert instance.costs == pytest.approx([0.3, 0.2], abs=1e-12)


def test_with_alpha_keeps_the_arms_and_forgets_what_followed_from_the_old_alpha():
    instance = instance_by_name("drug-trial")
    assert instance.best_arm == 2
    stricter = instance.with_alpha(0.17)
    assert stricter.best_arm == 0
    assert stricter.arms == instance.arms
    assert instance.alpha == 0.21
    with refused("alpha must lie in [0, 1], got 1.5"):
        instance.with_alpha(1.5)


# Written and read back.

EVERY_KIND = [
    Instance.bernoulli(MU, NU, 0.21, arms=["a", "b", "c", "d", "e"], name="five"),
    Instance.bernoulli([0.3, 0.5], [0.2, 0.5], 0.3, correlation=[0.25, -0.5]),
    Instance.bernoulli([0.3, 0.5], [0.2, 0.5], 0.1, allow_infeasible=True),
    Instance.beta([0.3, 0.5], [0.2, 0.5], 0.3, deviation=[0.05, 0.2]),
    Instance.finite([[(0, 0, 0.25), (0.5, 1, 0.75)], [(1 / 3, 0.1, 1)]], 0.2),
]


@pytest.mark.parametrize("instance", EVERY_KIND)
def test_an_instance_survives_json_and_draws_the_same(instance):
    again = Instance.from_dict(json.loads(json.dumps(instance.to_dict())))
    assert again.to_dict() == instance.to_dict()
    assert (again.name, again.arms, again.alpha) == (instance.name, instance.arms, instance.alpha)
    assert again.allow_infeasible == instance.allow_infeasible
    for mine, yours in ((again.mu, instance.mu), (again.nu, instance.nu)):
        assert np.array_equal(mine, yours)
    for arm in range(len(instance.mu)):
        assert np.array_equal(again.draw(arm, 50, seed=3), instance.draw(arm, 50, seed=3))


def test_a_document_is_not_changed_by_reading_it():
    document = instance_by_name("drug-trial").to_dict()
    before = json.dumps(document)
    Instance.from_dict(document)
    assert json.dumps(document) == before


def test_numpy_arrays_and_tuples_are_read_like_lists():
    listed = Instance.bernoulli([0.3, 0.5], [0.2, 0.4], 0.3)
    for kind in (np.array, tuple):
        assert Instance.bernoulli(kind([0.3, 0.5]), kind([0.2, 0.4]), 0.3).to_dict() == listed.to_dict()


# Refusals.


@pytest.mark.parametrize(
    ("mu", "nu", "alpha", "message"),
    [
        ([0.5, 0.5], [0.5], 0.5, "mu and nu must have the same length, got 2 and 1"),
        ([0.5, float("nan")], [0.5, 0.5], 0.5, "mu[1] must lie in [0, 1], got nan"),
        ([0.5, 0.5], [float("inf"), 0.5], 0.5, "nu[0] must lie in [0, 1], got inf"),
        ([-0.1, 0.5], [0.5, 0.5], 0.5, "mu[0] must lie in [0, 1], got -0.1"),
        ([0.5, 0.5], [0.5, 1.0001], 0.5, "nu[1] must lie in [0, 1], got 1.0001"),
        (["x"], [0.5], 0.5, "mu[0] must be a number in [0, 1], got 'x'"),
        ([None], [0.5], 0.5, "mu[0] must be a number in [0, 1], got None"),
        ([], [], 0.5, "mu must be a list of numbers, one per arm, got []"),
        (0.5, [0.5], 0.5, "mu must be a list of numbers, one per arm, got 0.5"),
        ([[0.5]], [0.5], 0.5, "mu must be a list of numbers, one per arm"),
        ([[0.5], [0.1, 0.2]], [0.5, 0.5], 0.5, "mu must be a list of numbers, one per arm"),
        ([0.5], [0.5], float("nan"), "alpha must lie in [0, 1], got nan"),
        ([0.5], [0.5], 1.5, "alpha must lie in [0, 1], got 1.5"),
        ([0.5], [0.5], -0.1, "alpha must lie in [0, 1], got -0.1"),
        ([0.5], [0.5], "x", "alpha must be a number in [0, 1], got 'x'"),
        ([0.5], [0.5], None, "alpha must be a number in [0, 1], got None"),
        ([0.5, 0.6], [0.5, 0.4], 0.39, 'no arm has mean risk <= 0.39 (smallest: 0.4, arm "1")'),
    ],
)
def test_means_and_alpha_that_make_no_sense(mu, nu, alpha, message):
    with refused(message):
        Instance.bernoulli(mu, nu, alpha)


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        (["a"], "there are 2 arms but 1 names; give one name per arm"),
        (["a", "b", "c"], "there are 2 arms but 3 names"),
        (["a", "a"], "names of arms must differ, got a, a"),
        ([1, "1"], "names of arms must differ, got 1, 1"),
    ],
)
def test_names_of_arms(arms, message):
    with refused(message):
        Instance.bernoulli([0.5, 0.6], [0.1, 0.2], 0.5, arms=arms)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"kind": "bernouli", "alpha": 0.5}, 'unknown kind of instance "bernouli"; did you mean "bernoulli"?'),
        ({"kind": "bernoulli", "mu": [0.5], "nu": [0.5]}, "an instance needs alpha"),
        ({"kind": "bernoulli", "mu": [0.5], "alpha": 0.5}, "an instance of kind bernoulli"),
        ({"kind": "beta", "mu": [0.5], "nu": [0.5], "alpha": 0.5, "spread": 1}, "spread"),
        ({"kind": None, "mu": [0.5], "nu": [0.5], "alpha": 0.5}, 'unknown kind of instance "None"'),
    ],
)
def test_documents_that_make_no_sense(document, message):
    with refused(message):
        Instance.from_dict(document)


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ([], "outcomes must list at least one arm, got none"),
        ([[]], "outcomes of arm 0 must be rows (reward, risk, probability), got []"),
        ([[(0, 0, 1)], [(0, 0, 0.5), (1, 1, 0.4)]], "probabilities of arm 1 must sum to 1, got 0.9"),
        ([[(0, 0, 0.6), (1, 1, 0.6)]], "probabilities of arm 0 must sum to 1, got 1.2"),
        ([[(0, 0, 1.5), (1, 1, -0.5)]], "a probability of arm 0 must lie in [0, 1], got 1.5"),
        ([[(2, 0, 1)]], "a reward of arm 0 must lie in [0, 1], got 2.0"),
        ([[(0, -1, 1)]], "a risk of arm 0 must lie in [0, 1], got -1.0"),
        ([[(0, float("nan"), 1)]], "a risk of arm 0 must lie in [0, 1], got nan"),
        ([[(0, 1)]], "outcomes of arm 0 must be rows (reward, risk, probability)"),
        ([[(0, "x", 1)]], "outcomes of arm 0 must be rows of three numbers"),
        (5, "an instance of kind finite"),
    ],
)
def test_finite_laws_that_make_no_sense(outcomes, message):
    with refused(message):
        Instance.finite(outcomes, 1.0)


@pytest.mark.parametrize(
    ("deviation", "message"),
    [
        (0.5, "deviation of arm 0 must lie in (0, 0.5) for a mean of 0.5, got 0.5"),
        (0.0, "deviation of arm 0 must lie in (0, 0.5)"),
        (-0.1, "deviation of arm 0 must lie in (0, 0.5)"),
        (float("nan"), "deviation must be finite, got nan"),
        ([0.1, 0.2, 0.3], "deviation must be one number or one per arm (2), got 3"),
        ("x", "deviation must be"),
    ],
)
def test_deviations_that_no_beta_law_has(deviation, message):
    with refused(message):
        Instance.beta([0.5, 0.5], [0.5, 0.5], 0.5, deviation=deviation)


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_a_beta_law_has_no_mean_at_the_edge(mean):
    with refused("of a Beta law must lie inside (0, 1)"):
        Instance.beta([mean], [0.5], 0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("drug-trail", 'unknown instance "drug-trail"; did you mean "drug-trial"?'),
        ("gaps-large:i=0", "i must be a whole number from 1 to 10, got 0"),
        ("gaps-large:i=11", "i must be a whole number from 1 to 10, got 11"),
        ("gaps-small:i=x", "i must be a whole number, got 'x'"),
        ("gaps-small:i=1.5", "i must be a whole number, got '1.5'"),
        ("gaps-small:j=1", 'instance "gaps-small" has no parameter "j"'),
        ("drug-trial:i=1", 'instance "drug-trial" has no parameter "i"; it takes none'),
        ("gaps-small:i", 'a parameter is written name=value, got "i"'),
    ],
)
def test_names_that_no_instance_has(text, message):
    with refused(message):
        instance_by_name(text)


# Several risks.

TWO = [[0.1, 0.2, 0.35, 0.1], [0.1, 0.3, 0.1, 0.25]]


def test_gaps_of_two_risks_by_hand():
    instance = Instance.bernoulli([0.2, 0.9, 0.8, 0.5], TWO, [0.3, 0.2], risks=["toxicity", "nausea"])
    assert instance.alpha == instance.limits == (0.3, 0.2)
    assert instance.risks == ("toxicity", "nausea")
    assert instance.nu.tolist() == instance.risk_means.tolist() == TWO
    assert instance.unsafe_by_risk.tolist() == [[False, False, True, False], [False, True, False, True]]
    assert instance.unsafe_arms.tolist() == [1, 2, 3]
    assert (instance.best_arm, instance.best_mean) == (0, 0.2)
    assert instance.efficiency_gaps.tolist() == [0, 0, 0, 0]
    assert instance.safety_gaps == pytest.approx([0, 0.1, 0.05, 0.05], abs=1e-12)
    assert instance.costs == pytest.approx([0, 0.1, 0.05, 0.05], abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_cost_of_an_arm_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    m, count = int(rng.integers(2, 5)), 7
    mu, nu, limits = rng.random(count), rng.random((m, count)), rng.uniform(0.5, 0.9, m)
    instance = Instance.bernoulli(mu, nu, limits, allow_infeasible=True)
    safe = [k for k in range(count) if all(nu[j][k] <= limits[j] for j in range(m))]
    best = max((mu[k] for k in safe), default=0.0)
    assert instance.unsafe_arms.tolist() == [k for k in range(count) if k not in safe]
    for k in range(count):
        gaps = [best - mu[k], *(nu[j][k] - limits[j] for j in range(m)), 0.0]
        assert instance.costs[k] == pytest.approx(max(gaps), abs=1e-15)


def test_one_alpha_is_that_of_every_risk_and_a_single_row_is_one_risk():
    assert Instance.bernoulli([0.5, 0.5], [[0.1, 0.2], [0.3, 0.1]], 0.3).alpha == (0.3, 0.3)
    for nu, alpha in ((TWO[0], [0.3]), (TWO[:1], 0.3), (np.array(TWO[:1]), (0.3,))):
        instance = Instance.bernoulli([0.5] * 4, nu, alpha)
        assert (instance.alpha, instance.limits, instance.risks) == (0.3, (0.3,), ("risk",))
        assert instance.nu.tolist() == TWO[0]
        assert instance.risk_means.tolist() == TWO[:1]
        assert instance.to_dict() == Instance.bernoulli([0.5] * 4, TWO[0], 0.3).to_dict()


def test_with_alpha_takes_one_number_or_one_per_risk():
    instance = instance_by_name("dose-two-risks")
    assert instance.with_alpha(0.25).alpha == (0.25, 0.25)
    assert instance.with_alpha([0.5, 0.5]).best_arm == 4
    assert instance_by_name("dose-two-risks", (0.1, 0.2)).best_arm == 1
    with refused("there must be one alpha for all risks or one per risk (2), got 3: 0.1, 0.2, 0.3"):
        instance.with_alpha([0.1, 0.2, 0.3])


SEVERAL = [
    instance_by_name("dose-two-risks"),
    Instance.bernoulli([0.3, 0.5], [[0.2, 0.5], [0.4, 0.1]], [0.3, 0.5], correlation=[[0.25, -0.5], [0, 0.1]]),
    Instance.bernoulli([0.3, 0.5], [[0.2, 0.5], [0.4, 0.1]], 0.1, correlation=-0.1, allow_infeasible=True),
    Instance.beta([0.3, 0.5], [[0.2, 0.5], [0.4, 0.1]], [0.3, 0.5], deviation=[0.05, 0.2], risks=["a", "b"]),
    Instance.finite([[(0, 0, 0.2, 0.5), (1, 0.2, 0.4, 0.5)], [(0.9, 0.4, 0, 1)]], (0.25, 0.3)),
    Instance.bernoulli([0.3], [0.2], 0.3, risks=["toxicity"]),
]


@pytest.mark.parametrize("instance", SEVERAL, ids=lambda instance: instance.name)
def test_several_risks_are_written_and_read_back(instance):
    document = json.loads(json.dumps(instance.to_dict()))
    again = Instance.from_dict(document)
    assert again.to_dict() == instance.to_dict() == document
    assert (again.alpha, again.risks, again.limits) == (instance.alpha, instance.risks, instance.limits)
    assert np.array_equal(again.nu, instance.nu)
    for mine, yours in zip(again.law, instance.law, strict=True):
        assert np.array_equal(mine, yours)


@pytest.mark.parametrize("instance", SEVERAL[:5], ids=lambda instance: instance.name)
def test_draws_have_the_means_and_correlations_that_were_asked_for(instance):
    # 5,000 draws: within 5 standard errors, a false alarm in 1 of 10^5 runs were the seed not fixed.
    for k in range(len(instance.mu)):
        drawn = instance.draw(k, 5_000, seed=4)
        assert drawn.shape == (5_000, 3)
        assert drawn[:, 0].mean() == pytest.approx(instance.mu[k], abs=5 * 0.5 / 70)
        assert drawn[:, 1:].mean(axis=0) == pytest.approx(instance.risk_means[:, k], abs=5 * 0.5 / 70)
        rows = instance.recipe.get("correlation")
        if rows is not None:
            found = np.corrcoef(drawn.T)
            assert found[0, 1:] == pytest.approx([row[k] for row in rows], abs=5 / 70)
            # Given the reward the risks are independent: correlations multiply.
            assert found[1, 2] == pytest.approx(rows[0][k] * rows[1][k], abs=5 / 70)


@pytest.mark.parametrize(
    ("nu", "alpha", "options", "message"),
    [
        ([[0.1, 0.2], [0.1]], 0.5, {}, "mu and nu[1] must have the same length, got 2 and 1; give one of each per arm"),
        ([[0.1, 0.2], 0.3], 0.5, {}, "nu must be a list of numbers, one per arm, or such a list for every risk"),
        ([[0.1, 0.2], []], 0.5, {}, "nu[1] must be a list of numbers, one per arm, got []"),
        ([[0.1, 0.2], [float("nan"), 0.1]], 0.5, {}, "nu[1][0] must lie in [0, 1], got nan"),
        ([[[0.1], [0.2]]], 0.5, {}, "nu[0] must be a list of numbers, one per arm"),
        ([], 0.5, {}, "nu must be a list of numbers, one per arm, got []"),
        (TWO2 := [[0.1, 0.2], [0.3, 0.1]], [0.5], {}, "or one per risk (2), got 1: 0.5"),
        (TWO2, [0.5, 0.5, 0.5], {}, "or one per risk (2), got 3: 0.5, 0.5, 0.5"),
        (TWO2, [0.5, float("nan")], {}, "alpha[1] must lie in [0, 1], got nan"),
        (TWO2, [0.5, "x"], {}, "alpha[1] must be a number in [0, 1], got 'x'"),
        (TWO2, [], {}, "alpha must be a number in [0, 1], or one per risk, got []"),
        ([0.1, 0.2], [0.5, 0.5], {}, "or one per risk (1), got 2: 0.5, 0.5"),
        (TWO2, 0.5, {"risks": ["a"]}, "there must be one name per risk (2), got 1: a"),
        (TWO2, 0.5, {"risks": ["a", "a"]}, "names of risks must differ, got a, a"),
        (TWO2, 0.5, {"risks": "ab"}, "risks must be a list of names, got 'ab'"),
        (TWO2, 0.5, {"correlation": [[0.1, 0.1]]}, "or one per risk and arm (2 rows of 2), got [[0.1, 0.1]]"),
        (TWO2, 0.5, {"correlation": [0.1] * 3}, "correlation must be one number or one per arm (2)"),
        (TWO2, 0.5, {"correlation": [[0, 0], [0, 2]]}, "correlation[1] of arm 1 must lie in [-0.3333, 0.3333]"),
        (TWO2, [0.15, 0.2], {}, 'nearest: arm "1", whose risk "risk 1" of 0.2 is above 0.15); raise alpha'),
    ],
)
def test_several_risks_that_make_no_sense(nu, alpha, options, message):
    with refused(message):
        Instance.bernoulli([0.5, 0.5], nu, alpha, **options)


def test_finite_outcomes_must_agree_on_the_number_of_risks():
    with refused("every arm must have the same number of risks: arm 0 has 2, arm 1 has 1"):
        Instance.finite([[(0, 0, 0, 1)], [(0, 0, 1)]], 0.5)
    with refused("a risk 2 of arm 0 must lie in [0, 1], got 3.0"):
        Instance.finite([[(0, 0, 3, 1)]], 0.5)
    with refused("of a Beta law must lie inside (0, 1), got 0"):
        Instance.beta([0.5], [[0.5], [0.0]], 0.5)
