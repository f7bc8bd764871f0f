"""What the 3+3 design does on given risks, exactly: every way that a trial can go, with its chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.policies.dose.three_plus_three import RULED_OUT, is_tolerated, next_dose
from safebandit.errors import InstanceError

COHORT = 3

# Units and harms of every dose.
_Counts = tuple[tuple[int, int], ...]


class ExactThreePlusThree(NamedTuple):
    """The chance that each dose is selected and that none is; mean units and mean harms of each dose."""

    selected: Numbers
    none: float
    units: Numbers
    harms: Numbers


def exact_three_plus_three(nu: Sequence[float], *, deescalate: bool = True) -> ExactThreePlusThree:
    """The operating characteristics of 3+3 where the doses have these mean risks, without a draw.

    >>> exact = exact_three_plus_three([0.1, 0.2, 0.3, 0.4, 0.5])
    >>> round(exact.none, 2), exact.selected.round(2).tolist()
    (0.1, [0.28, 0.33, 0.2, 0.06, 0.02])
    """
    risks = [float(risk) for risk in nu]
    if not risks or not all(0 <= risk <= 1 for risk in risks):
        raise InstanceError(f"risks must lie in [0, 1], at least one, got {list(nu)}")
    selected, units, harms = np.zeros(len(risks)), np.zeros(len(risks)), np.zeros(len(risks))
    none = 0.0
    running: dict[tuple[int, _Counts], float] = {(0, ((0, 0),) * len(risks)): 1.0}
    while running:
        after: dict[tuple[int, _Counts], float] = defaultdict(float)
        for (dose, counts), chance in running.items():
            for more in range(COHORT + 1):
                share = comb(COHORT, more) * risks[dose] ** more * (1 - risks[dose]) ** (COHORT - more)
                if share == 0:
                    continue
                known = _after_cohort(counts, dose, more)
                units[dose] += COHORT * chance * share
                harms[dose] += more * chance * share
                following = _next(dose, known, deescalate)
                if following >= 0:
                    after[following, known] += chance * share
                elif (chosen := _selected(known)) >= 0:
                    selected[chosen] += chance * share
                else:
                    none += chance * share
        running = after
    return ExactThreePlusThree(selected, none, units, harms)


def _after_cohort(counts: _Counts, dose: int, harms: int) -> _Counts:
    plays, before = counts[dose]
    return (*counts[:dose], (plays + COHORT, before + harms), *counts[dose + 1 :])


def _open_doses(counts: _Counts) -> int:
    return next((k for k, (_, harms) in enumerate(counts) if harms >= RULED_OUT), len(counts))


def _next(dose: int, counts: _Counts, deescalate: bool) -> int:
    """The dose of the next cohort; negative where the trial has ended."""
    doses = _open_doses(counts)
    if doses == 0:
        return -1
    return next_dose(dose, doses, len(counts), *counts[dose], counts[doses - 1][0], deescalate)


def _selected(counts: _Counts) -> int:
    tolerated = [k for k in range(_open_doses(counts)) if is_tolerated(*counts[k])]
    return max(tolerated, default=-1)
