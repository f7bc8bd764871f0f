"""`sb.analyse`: what a trial says of every arm, of each against the control, and what may be claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from safebandit.core.arms import Counts, Numbers
from safebandit.errors import TrialError
from safebandit.trials.analysis import words
from safebandit.trials.analysis.corrected import Corrected
from safebandit.trials.analysis.corrected_trial import correct_trial
from safebandit.trials.analysis.endpoints import REWARD, RISK, said_of
from safebandit.trials.analysis.evidence import Claim, judged, larger_evidence, limit_evidence
from safebandit.trials.analysis.paths import Path, Sequence, difference_path, mean_path, read_sequence
from safebandit.trials.analysis.units import AnalysedUnits, read_control, read_units
from safebandit.trials.recounting import HARM
from safebandit.trials.strata import AnyStratum

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Estimate:
    """An endpoint of an arm: how many units were given it, of how many it is known, and its mean.

    `interval` is a confidence sequence at the last look, `worst` what it would be if each outcome that is not known
    were the one, or the other, that moves an end outwards. Of `missing` units it is not known; `given_up` units are no
    longer waited for. `limit` is None where there is none, and so are the e-values.
    """

    arm: str
    endpoint: str
    units: int
    known: int
    missing: int
    given_up: int
    mean: float | None
    interval: tuple[float, float]
    worst: tuple[float, float]
    limit: float | None
    e_above: float | None
    e_below: float | None
    path: Path = field(repr=False)


@dataclass(frozen=True)
class Comparison:
    """An endpoint of an arm less that of the control, with a confidence sequence, and e-values for either side."""

    arm: str
    control: str
    endpoint: str
    difference: float | None
    interval: tuple[float, float]
    e_above: float
    e_below: float
    path: Path = field(repr=False)


@dataclass(frozen=True)
class Analysis:
    """What is known of a trial's arms now, valid at any look and under any rule that gave the arms.

    `claims` are all that could be claimed; those that `stand` do so together. `assumptions` say what all of it rests
    on. `sentences` say it in words. `corrected` has means without the bias of the design,
    if they were asked for.
    """

    trial: str
    units: int
    sequence: Sequence
    control: str | None
    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]
    claims: tuple[Claim, ...]
    assumptions: tuple[str, ...]
    corrected: Corrected | None = None

    @property
    def confidence(self) -> float:
        """How sure each sequence is; claims together err by the rest."""
        return self.sequence.confidence

    @property
    def known(self) -> int:
        """How many outcomes are known, of all arms and endpoints."""
        return sum(each.known for each in self.estimates)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is known of every arm, and what may be claimed, in words."""
        return tuple(words.sentences(self))

    def estimate(self, arm: str, endpoint: str = REWARD) -> Estimate:
        """What is known of one endpoint of one arm."""
        return said_of(self.estimates, endpoint, arm)

    def table(self) -> pd.DataFrame:
        """One row per arm and endpoint."""
        return _frame(self.estimates)

    def comparison_table(self) -> pd.DataFrame:
        """One row per arm and endpoint, each against the control."""
        return _frame(self.comparisons)

    def claim_table(self) -> pd.DataFrame:
        """One row per claim."""
        import pandas as pd

        return pd.DataFrame([{**asdict(claim), "claim": claim.what} for claim in self.claims])

    def plot(self) -> Figure:
        """Every arm's means and sequences over its known outcomes, a panel for each endpoint."""
        from safebandit.trials.analysis.pictures import picture

        return picture(self)

    def to_dict(self, *, paths: bool = True) -> dict[str, Any]:
        """As JSON has it; without `paths` for those who are not to see single outcomes, as the first looks show."""
        return {
            "trial": self.trial,
            "units": self.units,
            "confidence": self.confidence,
            "sequence": self.sequence.words,
            "control": self.control,
            "estimates": [_plain(each, paths) for each in self.estimates],
            "comparisons": [_plain(each, paths) for each in self.comparisons],
            "claims": [{**asdict(claim), "claim": claim.what} for claim in self.claims],
            "sentences": list(self.sentences),
            "assumptions": list(self.assumptions),
            **({} if self.corrected is None else {"corrected": self.corrected.to_dict()}),
        }


def analyse(
    source: Any,
    name: str | None = None,
    *,
    confidence: float = 0.95,
    control: str | None = None,
    kind: str = "mixture",
    planned: int | None = None,
    alpha: Any = None,
    lost: str | None = None,
    stratum: AnyStratum | None = None,
    corrected: int = 0,
    delay: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Analysis:
    """Estimates, confidence sequences and evidence for every arm, at any look and under any rule that gave the arms.

    The source is a `Trial`, a record with the name of a trial, or a table of units (a file as `safebandit trial export`
    writes it), which needs `alpha` for claims about risks and says not what was `lost`. Of a trial with strata it is
    about one `stratum`, or about all of them pooled. Sequences are mixtures, or by
    "betting" (`kind`), which is narrower where outcomes vary little; a mixture is narrowest near `planned` outcomes of
    an arm, by default an even share of a design's units. Choose these before you see data.

    With `corrected`, means are also corrected for the bias of the design, by so many simulated trials in each of two
    steps (2,000 are plenty), which `seed` fixes; outcomes are known `delay` arrivals later there.

    >>> from safebandit.trials.trial import Trial
    >>> trial = Trial(["placebo", "drug"], alpha=0.2, policy="docb", seed=7)
    >>> analyse(trial).sentences
    ('nothing is known yet: no outcome was told',)
    """
    said = {"alpha": alpha, "lost": lost}
    units = read_units(source, name, chances=False, stratum=stratum, **said)
    if units.by_context:
        raise TrialError(
            "this policy, or one before an amendment, gives arms by the unit's context, so that an arm's mean moves "
            "with whom it is given to, and no sequence holds for it; take safebandit trial weighted, or export the "
            "units for a model of your own"
        )
    place = read_control(units, control)
    if planned is None and kind == "mixture" and units.planned is not None:
        planned = -(-units.planned // len(units.arms))
    sequence = read_sequence(confidence, kind, planned)
    found = {(k, j): _told(units, k, j) for k in range(len(units.arms)) for j in _endpoints(units)}
    estimates = tuple(_estimate(units, k, j, found[k, j][0], sequence) for k, j in found)
    comparisons = () if place is None else tuple(_compared(units, place, found, sequence))
    claims = judged([*_claims(estimates, comparisons)], 1.0 - sequence.confidence)
    known = None if place is None else units.arms[place]
    without_bias = None
    if corrected:
        told = {"confidence": sequence.confidence, "delay": delay, "trials": corrected, "seed": seed}
        without_bias = correct_trial(source, name, units, **told, progress=progress)
    assumed = tuple(words.assumptions(units, sequence, estimates, bool(comparisons)))
    return Analysis(units.name, units.size, sequence, known, estimates, comparisons, claims, assumed, without_bias)


def _endpoints(units: AnalysedUnits) -> range:
    return range(0 if units.rewarded else 1, 1 + len(units.risks))


def _named(units: AnalysedUnits, j: int) -> str:
    if j == 0:
        return REWARD
    return RISK if len(units.risks) == 1 else units.risks[j - 1]


def _told(units: AnalysedUnits, k: int, j: int, unseen: float = HARM) -> tuple[Numbers, Counts]:
    """The known outcomes of an arm, in the order in which they were told, and when that was.

    Risks that nobody saw, of units given up, count as `unseen` where they count: as what speaks against a claim.
    """
    column, told = (units.reward if j == 0 else units.risk[:, j - 1]), units.told[:, j]
    if j > 0 and units.unseen is not None and units.lost == "harm":
        column = np.where(units.unseen[:, j - 1], unseen, column)
    rows = np.flatnonzero((units.arm == k) & ~np.isnan(column))
    rows = rows[np.argsort(told[rows], kind="stable")]
    return column[rows], told[rows]


def _estimate(units: AnalysedUnits, k: int, j: int, values: Numbers, sequence: Sequence) -> Estimate:
    path = mean_path(values, sequence)
    given = int((units.arm == k).sum())
    missing = given - len(values)
    low, high = path.ends
    # Whatever nobody saw could be 0 or 1: all units are counted, at both extremes.
    least, most = float(_told(units, k, j, 0.0)[0].sum()), float(values.sum()) + missing
    worst = min(low, sequence.bounds(given, least)[0]), max(high, sequence.bounds(given, most)[1])
    limit = None if j == 0 or np.isnan(units.limits[j - 1]) else float(units.limits[j - 1])
    above, below = None, None
    if limit is not None:
        above = limit_evidence(_told(units, k, j, 0.0)[0], limit, sequence.kind)[0]
        below = limit_evidence(values, limit, sequence.kind)[1]
    lost = int((units.given_up & (units.arm == k)).sum())
    mean = float(values.mean()) if len(values) else None
    return Estimate(
        units.arms[k], _named(units, j), given, len(values), missing, lost, mean, (low, high),
        worst if missing or least < values.sum() else (low, high), limit, above, below, path,
    )  # fmt: skip


def _compared(
    units: AnalysedUnits, control: int, found: Mapping[tuple[int, int], tuple[Numbers, Counts]], sequence: Sequence
) -> Iterator[Comparison]:
    for (k, j), (values, when) in found.items():
        if k == control:
            continue
        others, other_when = found[control, j]
        path = difference_path(values, when, others, other_when, sequence)
        difference = float(values.mean() - others.mean()) if len(values) and len(others) else None
        yield Comparison(
            units.arms[k], units.arms[control], _named(units, j), difference, path.ends,
            larger_evidence(_told(units, k, j, 0.0)[0], others),
            larger_evidence(_told(units, control, j, 0.0)[0], values), path,
        )  # fmt: skip


def _claims(estimates: tuple[Estimate, ...], comparisons: tuple[Comparison, ...]) -> Iterator[Claim]:
    for each in estimates:
        if each.limit is not None and each.e_above is not None and each.e_below is not None:
            yield Claim(each.arm, each.endpoint, True, each.limit, each.e_above)
            yield Claim(each.arm, each.endpoint, False, each.limit, each.e_below)
    for pair in comparisons:
        yield Claim(pair.arm, pair.endpoint, True, pair.control, pair.e_above)
        yield Claim(pair.arm, pair.endpoint, False, pair.control, pair.e_below)


def _plain(each: Estimate | Comparison, paths: bool) -> dict[str, Any]:
    """The fields of a row; its path as lists."""
    fields = {name: value for name, value in vars(each).items() if name != "path"}
    if not paths:
        return {**fields, "path": None}
    path = {name: [None if np.isnan(value) else value for value in column.tolist()]
            for name, column in vars(each.path).items()}  # fmt: skip
    return {**fields, "path": path}


def _frame(rows: tuple[Estimate, ...] | tuple[Comparison, ...]) -> pd.DataFrame:
    import pandas as pd

    kept = [{name: value for name, value in vars(each).items() if name != "path"} for each in rows]
    for row in kept:
        for name in ("interval", "worst"):
            if name in row:
                ends = row.pop(name)
                row |= {"low" if name == "interval" else "worst_low": ends[0],
                        "high" if name == "interval" else "worst_high": ends[1]}  # fmt: skip
    return pd.DataFrame(kept)
