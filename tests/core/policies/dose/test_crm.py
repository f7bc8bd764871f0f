"""CRM: the posterior by SciPy's quadrature, the skeleton as published, the steps by the rule."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, optimize

from safebandit.core.kernels import kernels_for
from safebandit.core.policies import policy_from_text, policy_to_text
from safebandit.core.policies.dose.crm import Crm, skeleton_of
from safebandit.core.selection import NONE_SELECTED, CrmDose
from safebandit.errors import PolicyError

from .stand import Stand, random_counts

DOSES, TARGET = 6, 0.3


@pytest.fixture(scope="module")
def stand():
    return Stand("crm", DOSES, TARGET)


def test_where_a_dose_is_on_target_its_neighbours_are_a_halfwidth_off():
    """Lee and Cheung (2009): at the b between which two doses change, their risks are target -+ halfwidth."""
    skeleton = skeleton_of(0.06, 0.25, 2, 5)
    for low, high in pairwise(skeleton):
        power = math.log(0.25 + 0.06) / math.log(high)
        assert low**power == pytest.approx(0.25 - 0.06)


def risks_by_scipy(skeleton, plays, harms, variance=1.34):
    """The risks at the posterior mean of b."""

    def log_density(b):
        log_p, zeros = math.exp(b) * np.log(skeleton), plays - harms
        log_q = np.log(-np.expm1(log_p[zeros > 0]))
        return -b * b / (2 * variance) + (harms * log_p).sum() + (zeros[zeros > 0] * log_q).sum()

    peak = optimize.minimize_scalar(lambda b: -log_density(b), bounds=(-6, 6), method="bounded").x
    top = log_density(peak)
    ends = {"limit": 400, "epsabs": 0, "epsrel": 1e-11, "points": [peak - 1, peak, peak + 1]}
    total = integrate.quad(lambda b: math.exp(log_density(b) - top), -12, 8, **ends)[0]
    mean = integrate.quad(lambda b: (b + 20) * math.exp(log_density(b) - top), -12, 8, **ends)[0] / total - 20
    return skeleton ** math.exp(mean)


def counts():
    yield from ((0, [0] * 6, [0] * 6), (0, [3, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0]))
    yield from ((5, [30] * 6, [0] * 6), (2, [30] * 6, [30] * 6), (2, [200, 400, 300, 0, 0, 0], [20, 80, 90, 0, 0, 0]))
    for present, plays, harms, _ in random_counts(DOSES, 8, 15):
        yield present, plays, harms


def test_risks_by_the_model_are_those_of_quadrature(stand):
    for present, plays, harms in counts():
        stand.at(present, plays, harms).next()
        expected = risks_by_scipy(skeleton_of(0.05, TARGET, 3, 6), np.array(plays), np.array(harms))
        assert stand.own("risk by the model") == pytest.approx(expected, rel=1e-8)


def test_one_step_up_at_most_and_none_after_harms(stand):
    for cohort_harms in (0, 1, 2):
        met = set()
        for present, plays, harms, _ in random_counts(DOSES, 9, 400):
            stand.at(present, plays, harms)
            stand.memory.courses["cohort"], stand.memory.courses["cohort_harms"] = 3, cohort_harms
            found = stand.next()
            nearest = int(np.abs(stand.own("risk by the model") - TARGET).argmin())
            # One harm of three is the target's rate or more.
            assert found == min(nearest, present + (cohort_harms == 0))
            met.add(np.sign(found - present))
        assert met == {-1, 0} | ({1} if cohort_harms == 0 else set())
    stand.memory.courses["cohort"] = stand.memory.courses["cohort_harms"] = 0


def test_harms_below_the_targets_rate_allow_a_step():
    stand = Stand("crm:target=0.4", DOSES, 0.4)
    stand.at(0, [9, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0])
    stand.memory.courses["cohort"], stand.memory.courses["cohort_harms"] = 3, 1
    assert stand.next() == 1


def test_the_first_dose_is_the_lowest(stand):
    assert stand.at(-1, [0] * 6, [0] * 6).next() == 0


def test_the_dose_of_the_model_is_selected(stand):
    kernels = kernels_for(stand.policy, CrmDose())
    for present, plays, harms, _ in random_counts(DOSES, 10, 50):
        stand.at(present, plays, harms).next()
        chosen = np.zeros(1, np.int64)
        kernels.select(CrmDose(), stand.memory, np.arange(1), chosen)
        assert chosen[0] == int(np.abs(stand.own("risk by the model") - TARGET).argmin())
    stand.arms["dropped"][0] = 1
    kernels.select(CrmDose(), stand.memory, np.arange(1), chosen)
    assert chosen[0] == NONE_SELECTED
    stand.arms["dropped"][0] = 0


def test_a_given_skeleton_is_read_from_a_list_or_a_text():
    given = [0.1, 0.2, 0.35]
    as_list, as_text = Crm(skeleton=given), policy_from_text('crm:skeleton="0.1, 0.2, 0.35"')
    for policy in (
        as_list,
        as_text,
        policy_from_text(policy_to_text(as_list)),
        policy_from_text(policy_to_text(as_text)),
    ):
        assert Stand(policy, 3, TARGET).policy.skeleton.tolist() == given


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("crm:guess=7", "guess must be a dose from 1 to 6, got 7"),
        ("crm:halfwidth=0.3", "halfwidth must lie between 0 and 0.3"),
        ("crm:skeleton=0.1 0.2", "skeleton must have a risk for each of 6 doses, got 2"),
        ("crm:skeleton=0.1 0.2 0.3 0.3 0.4 0.5", "skeleton must rise"),
        ("crm:skeleton=0.1 0.2 0.3 0.4 0.5 x", "skeleton must be a finite number, got 'x'"),
        ("crm:variance=0", "variance must be above 0"),
    ],
)
def test_bad_parameters_are_refused(text, rule):
    with pytest.raises(PolicyError, match=rule):
        Stand(text, DOSES, TARGET)


def test_a_crm_dose_needs_the_model():
    class Other:
        policy = "boin:target=0.3"

    with pytest.raises(PolicyError, match="crm-dose needs the policy crm"):
        CrmDose().completed(Other())
