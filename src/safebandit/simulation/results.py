"""Results: what simulated trials gave, as tables, intervals and a file that can be rerun from itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from safebandit.core.arms import Counts, Numbers
from safebandit.core.kernels import Trials
from safebandit.errors import ResultError, suggest
from safebandit.files import written_whole
from safebandit.problems import Instance
from safebandit.problems.limits import write_alpha
from safebandit.simulation.collecting import Collected, summaries_in, trials_in
from safebandit.simulation.listing import columns_of, document_of, row_of, unsafe_of
from safebandit.simulation.sketches import ACCURACY
from safebandit.simulation.summaries import METRICS, Paired, Summary, Whole, field_widths, fields_of, standard_error
from safebandit.simulation.tables import read_summaries, read_trials, summaries_table, trials_table
from safebandit.simulation.tails import median_interval, near_limit, why_wide, wide_interval
from safebandit.sources import sources
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.figure import Figure

FORMAT = 1
_METADATA = b"safebandit"


@dataclass(frozen=True, eq=False)
class Specification:
    """All that determines a result: run again by the same sources, it gives the same bits.

    `version` and `sources` are those that made it; files of older versions do not name their sources.
    """

    instance: Instance
    policies: Mapping[str, str]
    horizon: int
    seed: int
    checkpoints: Counts
    version: str = __version__
    sources: str | None = field(default_factory=sources)

    @property
    def is_current(self) -> bool:
        """Whether the version and the sources that made the result are those of this process."""
        return (self.version, self.sources) == (__version__, sources())

    def to_dict(self) -> dict[str, Any]:
        return {
            "instance": self.instance.to_dict(),
            "policies": dict(self.policies),
            "horizon": self.horizon,
            "seed": self.seed,
            "checkpoints": self.checkpoints.tolist(),
            "version": self.version,
            "sources": self.sources,
        }

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Specification:
        return Specification(
            Instance.from_dict(document["instance"]),
            document["policies"],
            document["horizon"],
            document["seed"],
            np.array(document["checkpoints"], np.int64),
            document["version"],
            document.get("sources"),
        )


@dataclass(frozen=True, eq=False)
class Result:
    """The trials of every policy on one instance, in pairs: trial i met the same outcomes under each.

    Of every policy there are all trials, or a summary of them, which answers all that asks for no single trial.
    """

    specification: Specification
    by_policy: Collected
    seconds: Mapping[str, float] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def policies(self) -> list[str]:
        """The policies, under the texts they were asked for by."""
        return list(self.by_policy)

    @property
    def keep(self) -> str:
        """What is kept: "trials", every one, or a "summary" of them."""
        return "summary" if summaries_in(self.by_policy) else "trials"

    @property
    def trials(self) -> int:
        """How many trials each policy played."""
        collected = next(iter(self.by_policy.values()))
        return collected.trials if isinstance(collected, Summary) else len(collected.regret)

    @property
    def quantile_accuracy(self) -> float:
        """How far a quantile may be off, relative to itself: not at all, unless only a summary was collected."""
        return ACCURACY if self.keep == "summary" else 0.0

    def of(self, policy: str) -> Trials:
        """The trials of one policy."""
        collected = self._collected(policy)
        if isinstance(collected, Summary):
            raise ResultError(
                f"the result keeps a summary of its {self.trials} trials, not each of them; "
                'simulate it again with keep="trials"'
            )
        return collected

    def _collected(self, policy: str) -> Trials | Summary:
        if policy not in self.by_policy:
            raise ResultError(f'the result has no policy "{policy}"; {suggest(policy, self.by_policy)}')
        return self.by_policy[policy]

    def about(self, policy: str) -> Whole | Summary:
        """What is known of one policy's trials, by field: means and quantiles, whatever was collected."""
        collected = self._collected(policy)
        return (
            collected
            if isinstance(collected, Summary)
            else Whole(fields_of(collected, unsafe_of(self.specification.instance)))
        )

    def final(self, policy: str, metric: str = "regret") -> Numbers:
        """A metric at the horizon, one number per trial: "regret" or "unsafe_plays"."""
        return self.curve(policy, metric)[:, -1]

    def curve(self, policy: str, metric: str = "regret") -> Numbers:
        """A metric at every checkpoint (columns) of every trial (rows)."""
        _check_metric(metric)
        return np.asarray(getattr(self.of(policy), metric), float)

    def mean(self, policy: str, metric: str = "regret") -> Numbers:
        """The mean of a metric over the trials, at every checkpoint."""
        _check_metric(metric)
        return self.about(policy).mean(metric)

    def unsafe_by_risk(self, policy: str) -> Counts:
        """Plays at the horizon of arms that are unsafe in each risk (columns), one row per trial.

        An arm that is unsafe in two risks counts in both, and once in "unsafe_plays".
        """
        unsafe = self.specification.instance.unsafe_by_risk
        counted: Counts = self.of(policy).plays @ unsafe.T.astype(np.int64)
        return counted

    def to_dict(self) -> dict[str, Any]:
        """The summary as the command line's JSON has it."""
        specification = self.specification
        accuracy = {"quantile_accuracy": self.quantile_accuracy} if self.keep == "summary" else {}
        return {
            "instance": specification.instance.to_dict(),
            "alpha": write_alpha(specification.instance.alpha),
            "horizon": specification.horizon,
            "trials": self.trials,
            "seed": specification.seed,
            **accuracy,
            "policies": {
                policy: {
                    **document_of(self.about(policy), specification.instance),
                    "rounds_per_second": self.rounds_per_second(policy),
                }
                for policy in self.policies
            },
        }

    def rounds_per_second(self, policy: str) -> float | None:
        """Rounds per second of one core's time; None where the result was not timed."""
        seconds = self.seconds.get(policy, 0.0)
        return self.trials * self.specification.horizon / seconds if seconds > 0 else None

    def plot(self) -> Figure:
        """Regret and unsafe plays of every policy against time, with the middle 90 % of the trials."""
        from safebandit.simulation.plots import curves

        return curves(self)

    def summary(self) -> pd.DataFrame:
        """One row per policy: regret, unsafe plays, reward and risk at the horizon; means by arm and of rounds."""
        import pandas as pd

        rows = self.summary_rows()
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.columns = pd.MultiIndex.from_tuples(list(next(iter(rows.values()))))
        table.index.name = "policy"
        return table

    def summary_rows(self) -> dict[str, dict[tuple[str, str], float]]:
        """The summary as plain numbers, by policy and by pairs such as ("regret", "mean")."""
        return {policy: row_of(self.about(policy), self.specification.instance) for policy in self.policies}

    def per_trial(self) -> pd.DataFrame:
        """One row per policy and trial: regret, unsafe plays, reward, risk, rounds of no choice, and all by arm."""
        import pandas as pd

        frames = []
        for policy in self.policies:
            columns = columns_of(self.of(policy), self.specification.instance)
            frames.append(pd.DataFrame({"policy": policy, "trial": np.arange(self.trials), **columns}))
        return pd.concat(frames, ignore_index=True)

    def quantiles(self, policy: str, metric: str = "regret", levels: Any = (0.05, 0.5, 0.95)) -> Numbers:
        """Quantiles over the trials (rows: levels) at every checkpoint (columns), up to `quantile_accuracy`."""
        _check_metric(metric)
        wanted = np.asarray(levels, float)
        if not ((wanted >= 0.0) & (wanted <= 1.0)).all():
            raise ResultError(f"the levels of quantiles must lie in [0, 1], got {levels}")
        return self.about(policy).quantiles(metric, wanted)

    def compare(self, policy: str, other: str, metric: str = "regret", confidence: float = 0.95) -> dict[str, Any]:
        """The paired difference `policy` - `other` at the horizon, with its t interval, `low` to `high`.

        `below` is the share of trials in which `policy` had less, ties counted half. `remark` says why the t interval
        covers too little, where it does; `wide_low` to `wide_high` holds whatever the tail, and so does the interval of
        the median. Of a summary there are neither: they need every trial.
        """
        from scipy import stats

        if not 0.0 < confidence < 1.0:
            raise ResultError(f"confidence must lie inside (0, 1), got {confidence}")
        mean, spread, below = self._paired(policy, other, metric)
        reach = float(stats.t.ppf(0.5 + confidence / 2, max(1, self.trials - 1))) * spread
        found = {"difference": mean, "se": spread, "low": mean - reach, "high": mean + reach, "below": below}
        whole = self.keep == "trials"
        difference = self.final(policy, metric) - self.final(other, metric) if whole else None
        # Unsafe plays are not what a best arm that is shut out costs.
        near = spread > 0.0 and metric == "regret" and self.near_limit
        remark = why_wide(difference, near=near)
        if difference is None:
            rest = '; simulate it again with keep="trials" for an interval that holds' if remark else ""
            return {**found, "remark": remark + rest}
        most = self.most(metric)
        wide = wide_interval(difference, -most, most, confidence)
        median = median_interval(difference, confidence)
        return {
            **found, "wide_low": wide[0], "wide_high": wide[1], "median": float(np.median(difference)),
            "median_low": median[0], "median_high": median[1],
            "remark": f"{remark}; go by wide_low to wide_high, or by the median" if remark else "",
        }  # fmt: skip

    @property
    def near_limit(self) -> bool:
        """Whether the best arm's risk cannot be told from alpha in these rounds: rare long runs carry mean regret."""
        return near_limit(self.specification.instance, self.specification.horizon)

    def most(self, metric: str) -> float:
        """The most that a trial can come to; a round that is held costs mu*."""
        instance, horizon = self.specification.instance, float(self.specification.horizon)
        # In contexts the most that a round can cost is not known, and at most 1.
        if metric == "unsafe_plays" or instance.in_contexts:
            return horizon
        held = any(self.of(policy).held.any() for policy in self.policies)
        return horizon * max(float(instance.costs.max()), instance.best_mean if held else 0.0)

    def _paired(self, policy: str, other: str, metric: str) -> Paired:
        _check_metric(metric)
        collected = self._collected(policy)
        if isinstance(collected, Summary):
            self._collected(other)
            return collected.paired(metric, self.policies.index(other))
        first, second = self.final(policy, metric), self.final(other, metric)
        difference = first - second
        below = float((first < second).mean() + 0.5 * (first == second).mean())
        return Paired(float(difference.mean()), standard_error(difference), below)

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file that holds all that was kept and the complete specification; all of it or nothing."""
        import pyarrow.parquet as pq

        path = Path(path)
        with written_whole(path) as partial:
            pq.write_table(self._table(), partial)
        return path

    def _table(self) -> pa.Table:
        document = {
            "format": FORMAT,
            "keep": self.keep,
            "trials": self.trials,
            "specification": self.specification.to_dict(),
            "seconds": dict(self.seconds),
        }
        summaries = summaries_in(self.by_policy)
        table = summaries_table(summaries) if summaries else trials_table(trials_in(self.by_policy))
        return table.replace_schema_metadata({_METADATA: json.dumps(document)})

    @staticmethod
    def load(path: str | Path) -> Result:
        """Read a file that `save` wrote."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = Path(path)
        if not path.is_file():
            raise ResultError(f"there is no file {path}")
        try:
            table = pq.read_table(path)
        except (pa.ArrowInvalid, OSError):
            raise ResultError(f"{path} is not a result, or was cut short; simulate it again") from None
        document = _document(path, table.schema.metadata or {})
        try:
            specification = Specification.from_dict(document["specification"])
            by_policy = _read(table, specification, document)
        except (KeyError, TypeError, ValueError) as problem:
            raise ResultError(f"{path} does not hold what a result holds: {problem}") from None
        return Result(specification, by_policy, document.get("seconds", {}))

    def same_trials(self, other: Result) -> bool:
        """Whether both hold the same policies and trials, bit for bit."""
        if self.policies != other.policies or self.trials != other.trials:
            return False
        pairs = ((self.by_policy[policy], other.by_policy[policy]) for policy in self.policies)
        return all(_same(mine, yours) for mine, yours in pairs)


def _check_metric(metric: str) -> None:
    if metric not in METRICS:
        raise ResultError(f'unknown metric "{metric}"; {suggest(metric, METRICS)}')


def _same(mine: Trials | Summary, yours: Trials | Summary) -> bool:
    if isinstance(mine, Summary) or isinstance(yours, Summary):
        return isinstance(mine, Summary) and isinstance(yours, Summary) and mine.same(yours)
    return all(np.array_equal(a, b) for a, b in zip(mine, yours, strict=True))


def _document(path: Path, metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    if _METADATA not in metadata:
        raise ResultError(f"{path} is a Parquet file but not a result of safebandit")
    try:
        document: dict[str, Any] = dict(json.loads(metadata[_METADATA]))
    except (TypeError, ValueError):
        raise ResultError(f"{path} does not hold the specification that a result holds; simulate it again") from None
    if document.get("format") != FORMAT:
        raise ResultError(
            f"{path} has format {document.get('format')}, this version reads format {FORMAT}; "
            "read it with the version that wrote it, or simulate it again"
        )
    return document


def _read(table: pa.Table, specification: Specification, document: Mapping[str, Any]) -> Collected:
    instance, policies, trials = specification.instance, list(specification.policies), document["trials"]
    # Files that say nothing about it keep every trial.
    keep = document.get("keep", "trials")
    if keep == "trials":
        return read_trials(table, policies, trials, len(instance.limits))
    if keep != "summary":
        raise ValueError(f'it keeps "{keep}"')
    sizes = len(specification.checkpoints), len(instance.arms), len(instance.limits), len(policies)
    widths = field_widths(*sizes, in_contexts=instance.in_contexts)
    return read_summaries(table, policies, trials, widths)
