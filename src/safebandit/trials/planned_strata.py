"""The strata of simulated trials: those of the truth, in their shares, and whether a design decides them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Records
from safebandit.core.book import STRATUM
from safebandit.problems.scenario import Scenario
from safebandit.trials.strata import Factors, stratum_names


class PlannedStratum(NamedTuple):
    """A stratum: its name, the share of the units that are of it, and which arm of the law is its first."""

    name: str
    share: float
    first_arm: int = 0


def in_scenario(factors: Factors, scenario: Scenario) -> tuple[Any, tuple[PlannedStratum, ...]]:
    """The law of outcomes, and the strata of a design with these factors on a scenario; of a design without any, those
    that the scenario tells apart.
    """
    parts = scenario.parts(stratum_names(factors))
    law, firsts = scenario.law_in(parts)
    planned = zip(parts, firsts, strict=True)
    return law, tuple(PlannedStratum(part.name, part.share, first) for part, first in planned)


def in_equal_shares(factors: Factors) -> tuple[PlannedStratum, ...]:
    """All strata of these factors, as many units in one as in another; none where there are no factors."""
    names = stratum_names(factors)
    return tuple(PlannedStratum(name, 1.0 / len(names)) for name in names)


def packed(planned: Sequence[PlannedStratum], *, apart: bool) -> Records:
    """Strata as compiled code takes them, decided apart or together; a truth without them is one."""
    made: Records = np.zeros(max(1, len(planned)), STRATUM)
    if planned:
        made["until"] = np.cumsum([each.share for each in planned])
        made["first_arm"] = [each.first_arm for each in planned]
        made["decider"] = np.arange(len(planned)) if apart else 0
    return made
