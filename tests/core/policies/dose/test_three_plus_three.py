"""3+3: exact chances by every way that a trial can go; the compiled design takes those ways."""

import itertools
from math import comb

import numpy as np
import pytest

from safebandit.core.kernels import kernels_for
from safebandit.core.policies import HOLD
from safebandit.core.policies.interface import DONE
from safebandit.core.selection import ThreePlusThreeDose
from safebandit.errors import InstanceError
from safebandit.problems.three_plus_three import exact_three_plus_three
from safebandit.studies.validation.numbers import THREE_PLUS_THREE_RISKS

from .stand import Stand

NU = list(THREE_PLUS_THREE_RISKS)


def ways(doses, deescalate):
    """Every way that a trial can go, as a list of (dose, harms of three) and the dose that is selected, by the rules as
    one reads them: climb until a dose has two harms, or the highest is tolerated; then go down.
    """

    def climb(dose, past):
        for first in range(4):
            seen = [*past, (dose, first)]
            if first >= 2:
                yield from descend(dose - 1, seen)
            elif first == 0:
                yield from climb(dose + 1, seen) if dose + 1 < doses else [(seen, dose)]
            else:
                for second in range(4):
                    more = [*seen, (dose, second)]
                    if second > 0:
                        yield from descend(dose - 1, more)
                    else:
                        yield from climb(dose + 1, more) if dose + 1 < doses else [(more, dose)]

    def descend(dose, past):
        given = [harms for k, harms in past if k == dose]
        if dose < 0 or not deescalate or len(given) == 2:
            yield past, dose
            return
        for more in range(4):
            seen = [*past, (dose, more)]
            yield from [(seen, dose)] if sum(given) + more < 2 else descend(dose - 1, seen)

    return climb(0, [])


def chance_of(way, nu):
    return np.prod([comb(3, harms) * nu[k] ** harms * (1 - nu[k]) ** (3 - harms) for k, harms in way])


@pytest.mark.parametrize("deescalate", [True, False])
@pytest.mark.parametrize("nu", [NU, [0.3, 0.2, 0.6], [0.45], [0.0, 1.0]])
def test_exact_chances_are_those_of_every_way(nu, deescalate):
    selected, units, harms, none = np.zeros(len(nu)), np.zeros(len(nu)), np.zeros(len(nu)), 0.0
    for way, dose in ways(len(nu), deescalate):
        chance = chance_of(way, nu)
        if dose >= 0:
            selected[dose] += chance
        else:
            none += chance
        for k, more in way:
            units[k] += 3 * chance
            harms[k] += more * chance
    exact = exact_three_plus_three(nu, deescalate=deescalate)
    assert exact.selected == pytest.approx(selected, abs=1e-12)
    assert exact.none == pytest.approx(none, abs=1e-12)
    assert exact.units == pytest.approx(units, abs=1e-12)
    assert exact.harms == pytest.approx(harms, abs=1e-12)
    assert exact.harms == pytest.approx(exact.units * nu, abs=1e-12)
    assert exact.selected.sum() + exact.none == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("deescalate", [True, False])
def test_the_design_goes_every_way_and_selects_its_dose(deescalate):
    doses, rule = 3, ThreePlusThreeDose()
    stand = Stand(f"three-plus-three:deescalate={str(deescalate).lower()}", doses, 0.33)
    kernels, chosen = kernels_for(rule), np.zeros(1, np.int64)
    count = 0
    for way, dose in ways(doses, deescalate):
        plays, harms, present = np.zeros(doses, int), np.zeros(doses, int), -1
        for k, more in way:
            assert stand.at(present, plays, harms).next() == k
            plays[k] += 3
            harms[k] += more
            present = k
        assert stand.at(present, plays, harms).next() == (HOLD if dose < 0 else DONE)
        assert stand.none == (dose < 0)
        kernels.select(rule, stand.memory, np.arange(1), chosen)
        assert chosen[0] == dose
        count += 1
    assert count > 40


def test_cohorts_of_one_come_to_the_same_decisions_after_three_and_six():
    stand = Stand("three-plus-three", 3, 0.33)
    for n, harms in itertools.product((1, 2), (0, 1)):
        assert stand.at(0, [n, 0, 0], [harms, 0, 0]).next() == 0
    assert stand.at(0, [4, 3, 0], [0, 2, 0]).next() == 0
    assert stand.at(0, [6, 3, 0], [0, 2, 0]).next() == DONE


def test_a_dose_that_is_not_a_risk_is_refused():
    for nu in ([], [0.1, 1.2]):
        with pytest.raises(InstanceError, match=r"risks must lie in \[0, 1\]"):
            exact_three_plus_three(nu)
