"""Means of arms by inverse propensities: what adaptation does to plain means is weighted away.

Let W_t be the arm of unit t, e_t(k) the recorded chance of arm k, Y_t the outcome, and m_t(k) the mean of arm k over
the units before t, (S + 1/2) / (N + 1). Then

    IPW     mean over t of 1{W_t = k} Y_t / e_t(k)
    score   G_t = m_t(k) + 1{W_t = k} (Y_t - m_t(k)) / e_t(k), whose mean given the past is that of arm k
    AIPW    Q = sum h_t G_t / sum h_t, h_t = sqrt(e_t(k)), with the variance sum h_t^2 (G_t - Q)^2 / (sum h_t)^2

IPW is unbiased, but after adaptation its law is no normal one, so it has no interval. The weights h_t make the variance
of each term of AIPW nearly the same, whatever the chance was then, and (Q - mean) / error is asymptotically normal
(Hadad, Hirshberg, Zhan, Wager and Athey 2021, constant allocation); a little bias is left, because the weights follow
the past. A difference has the variance of both, added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Counts, Numbers
from safebandit.core.naming import read_number
from safebandit.errors import TrialError
from safebandit.trials.analysis.endpoints import said_of
from safebandit.trials.analysis.units import AnalysedUnits, read_control, read_units
from safebandit.trials.analysis.words import of_one_stratum, of_unseen
from safebandit.trials.strata import AnyStratum

if TYPE_CHECKING:
    import pandas as pd

KIND = "asymptotic normal interval"
# Units of which an endpoint is not known are left out, up to this share of all.
MOST_MISSING = 0.05
# With fewer known outcomes of an arm a normal law is not near.
FEWEST = 20
# Known outcomes of an arm that are 1, and that are 0, at least.
FEWEST_OF_EACH = 10


class Estimated(NamedTuple):
    """An estimate and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class WeightedMean:
    """The mean of an endpoint of an arm. Where it is `refused`, that says why, and there are no numbers.

    `least` is the smallest recorded chance of the arm; `missing` units are left out, because it is not known of them.
    """

    arm: str
    endpoint: str
    known: int
    missing: int
    least: float | None
    ipw: float | None
    mean: float | None
    error: float | None
    interval: tuple[float, float] | None
    refused: str | None = None


@dataclass(frozen=True)
class WeightedDifference:
    """An endpoint of an arm less that of the control; or why that is `refused`."""

    arm: str
    control: str
    endpoint: str
    difference: float | None
    error: float | None
    interval: tuple[float, float] | None
    refused: str | None = None


@dataclass(frozen=True)
class Weighted:
    """Means of arms by inverse propensities, each against the control, and what they assume; of one `stratum`, if it is
    named.
    """

    trial: str
    units: int
    confidence: float
    control: str | None
    means: tuple[WeightedMean, ...]
    differences: tuple[WeightedDifference, ...]
    assumptions: tuple[str, ...]
    kind: str = KIND
    stratum: str = ""

    def mean(self, arm: str, endpoint: str = "reward") -> WeightedMean:
        """What is said of one endpoint of one arm."""
        return said_of(self.means, endpoint, arm)

    def table(self) -> pd.DataFrame:
        """One row per arm and endpoint."""
        import pandas as pd

        return pd.DataFrame([asdict(each) for each in self.means])

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def weighted(
    source: Any,
    name: str | None = None,
    *,
    confidence: float = 0.95,
    control: str | None = None,
    least: float = 0.01,
    stratum: AnyStratum | None = None,
) -> Weighted:
    """Means of every arm by inverse propensities (IPW, and adaptively weighted AIPW with a normal interval).

    The source is a `Trial`, or a record with the name of a trial; of its strata one `stratum`, or all. An arm is
    refused, with the reason, where its chance was below `least` for any unit: weights would be larger than 1 / least,
    and an arm that once had no chance may have lost it because of its outcomes.
    """
    confidence = float(read_number("confidence", confidence, float, TrialError))
    if not 0.0 < confidence < 1.0:
        raise TrialError(f"confidence must lie between 0 and 1, got {confidence:g}")
    if not 0.0 < least < 1.0:
        raise TrialError(f"least must lie between 0 and 1 (the smallest chance of an arm), got {least:g}")
    units = read_units(source, name, stratum=stratum)
    place = read_control(units, control)
    found = {(k, j): _estimate(units, k, j, least) for j in _endpoints(units) for k in range(len(units.arms))}
    means = tuple(_mean(units, k, j, found[k, j], confidence) for k, j in found)
    differences = () if place is None else tuple(_differences(units, place, found, confidence))
    named = None if place is None else units.arms[place]
    assumed = tuple(_assumptions(units, means))
    return Weighted(units.name, units.size, confidence, named, means, differences, assumed, stratum=units.stratum)


def _endpoints(units: AnalysedUnits) -> range:
    return range(0 if units.rewarded else 1, 1 + len(units.risks))


def _named(units: AnalysedUnits, j: int) -> str:
    return "reward" if j == 0 else units.risks[j - 1]


def plug_in(values: Numbers, given: NDArray[np.bool_]) -> Numbers:
    """The mean of an arm over the units before each, (S + 1/2) / (N + 1): what was known of it then.

    >>> plug_in(np.array([1.0, 0.0, 1.0]), np.array([True, False, True])).tolist()
    [0.5, 0.75, 0.75]
    """
    told = given & ~np.isnan(values)
    plays, total = np.cumsum(told), np.cumsum(np.where(told, values, 0.0))
    before, sums = np.concatenate([[0], plays[:-1]]), np.concatenate([[0.0], total[:-1]])
    return np.asarray((sums + 0.5) / (before + 1.0), float)


def adaptive_mean(values: Numbers, given: NDArray[np.bool_], chance: Numbers) -> Estimated:
    """AIPW with weights sqrt(chance), from units in the order in which they were given arms."""
    before = plug_in(values, given)
    score, h = before + np.where(given, (values - before) / chance, 0.0), np.sqrt(chance)
    mean = float(h @ score / h.sum())
    return Estimated(mean, float(np.sqrt(h**2 @ (score - mean) ** 2) / h.sum()))


class _Found(NamedTuple):
    known: int
    missing: int
    least: float | None
    ipw: float | None
    aipw: Estimated | None
    refused: str | None


def _estimate(units: AnalysedUnits, k: int, j: int, least: float) -> _Found:
    if units.size == 0:
        return _Found(0, 0, None, None, None, "no unit was given an arm yet")
    # Where a decision may give no arm, the chances of those that gave one are shares of the rest.
    values, given, chance = units.outcomes[:, j], units.arm == k, units.chances[:, k] / units.chances.sum(axis=1)
    known = ~np.isnan(values)
    missing, plays = int((~known).sum()), int((known & given).sum())
    smallest = None if np.isnan(chance).any() else float(chance.min())
    refused = _refusal(units, chance, missing, plays, least) or _too_alike(values[known & given])
    if refused is not None:
        return _Found(plays, missing, smallest, None, None, refused)
    values, given, chance = values[known], given[known], chance[known]
    ipw = float(np.mean(np.where(given, values / chance, 0.0)))
    return _Found(plays, missing, smallest, ipw, adaptive_mean(values, given, chance), None)


def _refusal(units: AnalysedUnits, chance: Numbers, missing: int, plays: int, least: float) -> str | None:
    if np.isnan(chance).any():
        return (
            f"the chance of this arm was not recorded for {np.isnan(chance).sum():,} of {units.size:,} units; "
            "take the trial or its record: a table of units has the chance of the given arm alone"
        )
    never, seldom = int((chance == 0.0).sum()), int((chance < least).sum())
    if never:
        return (
            f"its chance was 0 for {never:,} of {units.size:,} units, perhaps because of its outcomes; take a policy "
            "that draws with a floor, or the confidence sequences of an analysis, which need no chances"
        )
    if seldom:
        return (
            f"its chance was below {least:g} for {seldom:,} of {units.size:,} units (least: {chance.min():.2g}), so "
            "that few outcomes would decide all; take a floor, or a smaller `least`"
        )
    if missing > MOST_MISSING * units.size:
        return (
            f"it is not known of {missing:,} of {units.size:,} units, more than {MOST_MISSING:.0%}: those that are "
            "known may differ from those that are not; wait for more outcomes"
        )
    return f"it is known of {plays} units of this arm, at least {FEWEST} are needed" if plays < FEWEST else None


def _too_alike(values: Numbers) -> str | None:
    """Why outcomes that are nearly all the same are refused: a normal interval for them is far too narrow."""
    ones, zeros = float(values.sum()), float(len(values) - values.sum())
    if min(ones, zeros) >= FEWEST_OF_EACH:
        return None
    return (
        f"its outcomes are nearly all the same (they add up to {ones:g} of {len(values)}), and a normal interval would "
        f"be far too narrow: at least {FEWEST_OF_EACH} of each are needed; take the sequences of an analysis"
    )


def _half_width(error: float, confidence: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(0.5 * (1.0 + confidence))) * error


def _mean(units: AnalysedUnits, k: int, j: int, found: _Found, confidence: float) -> WeightedMean:
    head = (units.arms[k], _named(units, j), found.known, found.missing, found.least)
    if found.aipw is None:
        return WeightedMean(*head, None, None, None, None, found.refused)
    mean, error = found.aipw
    half = _half_width(error, confidence)
    return WeightedMean(*head, found.ipw, mean, error, (max(0.0, mean - half), min(1.0, mean + half)))


def _differences(
    units: AnalysedUnits, control: int, found: dict[tuple[int, int], _Found], confidence: float
) -> Iterator[WeightedDifference]:
    for (k, j), own in found.items():
        if k == control:
            continue
        other = found[control, j]
        head = (units.arms[k], units.arms[control], _named(units, j))
        if own.aipw is None or other.aipw is None:
            of_control = f"of the control: {other.refused}"
            yield WeightedDifference(*head, None, None, None, own.refused or of_control)
            continue
        difference, error = own.aipw.mean - other.aipw.mean, float(np.hypot(own.aipw.error, other.aipw.error))
        half = _half_width(error, confidence)
        yield WeightedDifference(
            *head, difference, error, (max(-1.0, difference - half), min(1.0, difference + half))
        )  # fmt: skip


def _assumptions(units: AnalysedUnits, means: tuple[WeightedMean, ...]) -> Iterator[str]:
    yield from of_one_stratum(units)
    yield (
        "an interval is asymptotic: it holds at a number of units that was fixed before, as that grows, not at any "
        "look, and not where the outcomes ended the trial"
    )
    yield "units come from one population, and which arm a unit is given does not change the outcomes of others"
    yield from of_unseen(units)
    if any(each.missing for each in means):
        yield "units of which an endpoint is not known are left out: they are taken to be like the others"
    estimated: Counts = np.flatnonzero(~units.exact)
    if estimated.size:
        yield f"chances of {estimated.size:,} units are estimated from draws, each to a standard error of at most 0.016"
