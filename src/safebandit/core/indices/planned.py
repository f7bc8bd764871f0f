"""Bounds as other systems publish them: their width follows from the planned units T, not from the round.

What is left open of `units`, `arms` and `slack` is filled in by the policy, from the trial or the simulation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import Seen
from safebandit.core.dispatch import both
from safebandit.core.indices.interface import described, evidence, lower, upper
from safebandit.core.streams import Stream

# A mixture of arms is about two quantities, the reward and one risk: d in its bounds' union over all of them.
COORDINATES = 2


@described(
    "U = mean + sqrt(log(2 T^2) / (2 N)), T the planned units",
    "con-lcb (Kagrecha, Nair and Jagannathan 2023), for outcomes in [0, 1]",
    positive=("units",),
    steady=True,
)
class PlannedUpper(NamedTuple):
    """The mean and Hoeffding's width at the level log(2 T^2), which is the same in every round; not cut off at 1."""

    units: int | None = None


@described(
    "L = max(0, mean - sqrt(log(2 T^2) / (2 N))), T the planned units",
    "con-lcb (Kagrecha, Nair and Jagannathan 2023), for outcomes in [0, 1]",
    positive=("units",),
    steady=True,
)
class PlannedLower(NamedTuple):
    """The mean risk less Hoeffding's width at the level log(2 T^2), which is the same in every round."""

    units: int | None = None


@described(
    "U = min(1, m + 2 rad), m = R/(N+1), rad = sqrt(C m / (N+1)) + C / (N+1), C = log(2 K T / delta)",
    "bwcr as published (Agrawal and Devanur 2014)",
    positive=("units", "arms"),
    between=("delta",),
)
class RadiusUpper(NamedTuple):
    """The largest mean within two radii, which are narrow where the mean is near 0."""

    delta: float = 0.05
    units: int | None = None
    arms: int | None = None


@described(
    "L = max(0, m - 2 rad), m = S/(N+1), rad = sqrt(C m / (N+1)) + C / (N+1), C = log(2 K T / delta)",
    "bwcr as published (Agrawal and Devanur 2014)",
    positive=("units", "arms"),
    between=("delta",),
)
class RadiusLower(NamedTuple):
    """The smallest mean risk within two radii, which are narrow where the mean is near 0."""

    delta: float = 0.05
    units: int | None = None
    arms: int | None = None


@described(
    "U = mean + (1 + 2 / slack) sqrt(2 log(4 K T / delta) / N), slack = alpha - the safe arm's known risk",
    "pess as published: OPB (Pacchiano et al. 2021)",
    positive=("units", "arms", "slack"),
    between=("delta",),
)
class SlackUpper(NamedTuple):
    """The mean reward and a width that pays for the pessimism about risks: the less slack there is, the wider."""

    delta: float = 0.05
    units: int | None = None
    arms: int | None = None
    slack: float | None = None


@described(
    "mean + sqrt(2 log(4 K T / delta) / N)",
    "pess as published: OPB (Pacchiano et al. 2021); a risk of 1 is supposed before the first play",
    positive=("units", "arms"),
    between=("delta",),
    risk_word="upper risk index",
)
class SlackUpperRisk(NamedTuple):
    """The mean risk and its width: a safety index that is pessimistic, as OPB has it; not cut off at 1."""

    delta: float = 0.05
    units: int | None = None
    arms: int | None = None


@both
def planned_width(units: int, plays: int) -> float:
    """sqrt(log(2 T^2) / (2 N))."""
    return math.sqrt((math.log(2.0) + 2.0 * math.log(units)) / (2.0 * plays))


@both
def radius(index: RadiusUpper | RadiusLower, mean: float, plays: int) -> float:
    """sqrt(C m / n) + C / n."""
    level = math.log(COORDINATES * index.arms * index.units / index.delta)  # type: ignore[operator]
    return math.sqrt(level * mean / plays) + level / plays


@both
def slack_width(index: SlackUpper | SlackUpperRisk, plays: int) -> float:
    """sqrt(2 log(4 K T / delta) / N)."""
    return math.sqrt(2.0 * math.log(4.0 * index.arms * index.units / index.delta) / plays)  # type: ignore[operator]


@upper.register(PlannedUpper)
def planned_upper_index(index: PlannedUpper, seen: Seen, t: int, stream: Stream) -> float:
    if seen.plays == 0:
        # As after one play of reward 1.
        return 1.0 + planned_width(index.units, 1)  # type: ignore[arg-type]
    return seen.mean + planned_width(index.units, seen.plays + seen.pending)  # type: ignore[arg-type]


@lower.register(PlannedLower)
def planned_lower_index(index: PlannedLower, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if seen.plays == 0:
        return 0.0
    return max(0.0, seen.mean - planned_width(index.units, seen.plays))  # type: ignore[arg-type]


@evidence.register(PlannedLower)
def planned_evidence(index: PlannedLower, seen: Seen, alpha: float) -> float:
    """2 N (mean - alpha)^2 where the mean is above alpha."""
    return 2.0 * seen.plays * max(0.0, seen.mean - alpha) ** 2


@upper.register(RadiusUpper)
def radius_upper_index(index: RadiusUpper, seen: Seen, t: int, stream: Stream) -> float:
    n = seen.plays + 1
    mean = seen.total / n
    return min(1.0, mean + 2.0 * radius(index, mean, n))


@lower.register(RadiusLower)
def radius_lower_index(index: RadiusLower, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    n = seen.plays + 1
    mean = seen.total / n
    return max(0.0, mean - 2.0 * radius(index, mean, n))


@upper.register(SlackUpper)
def slack_upper_index(index: SlackUpper, seen: Seen, t: int, stream: Stream) -> float:
    wider = 1.0 + 2.0 / index.slack  # type: ignore[operator]
    if seen.plays == 0:
        # As after one play of reward 1.
        return 1.0 + wider * slack_width(index, 1)
    return seen.mean + wider * slack_width(index, seen.plays)


@lower.register(SlackUpperRisk)
def slack_upper_risk_index(index: SlackUpperRisk, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if seen.plays == 0:
        # As after one play with harm.
        return 1.0 + slack_width(index, 1)
    return seen.mean + slack_width(index, seen.plays)
