"""Results: what simulated trials gave, as tables, intervals and a file that can be rerun from itself."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from safebandit.arms import Counts, Numbers
from safebandit.errors import ResultError, suggest
from safebandit.instances import Instance
from safebandit.kernel import Trials
from safebandit.limits import write_alpha
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMAT = 1
METRICS = ("regret", "unsafe_plays")
QUANTILES = {"median": 0.5, "q05": 0.05, "q95": 0.95, "q99": 0.99}
_METADATA = b"safebandit"


@dataclass(frozen=True, eq=False)
class Specification:
    """All that determines a result: run again, it gives the same bits."""

    instance: Instance
    policies: Mapping[str, str]
    horizon: int
    seed: int
    checkpoints: Counts
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        return {
            "instance": self.instance.to_dict(),
            "policies": dict(self.policies),
            "horizon": self.horizon,
            "seed": self.seed,
            "checkpoints": self.checkpoints.tolist(),
            "version": self.version,
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
        )


@dataclass(frozen=True, eq=False)
class Result:
    """The trials of every policy on one instance, in pairs: trial i met the same outcomes under each."""

    specification: Specification
    by_policy: Mapping[str, Trials]
    seconds: Mapping[str, float] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def policies(self) -> list[str]:
        """The policies, under the texts they were asked for by."""
        return list(self.by_policy)

    @property
    def trials(self) -> int:
        """How many trials each policy played."""
        return len(next(iter(self.by_policy.values())).regret)

    def of(self, policy: str) -> Trials:
        """The trials of one policy."""
        if policy not in self.by_policy:
            raise ResultError(f'the result has no policy "{policy}"; {suggest(policy, self.by_policy)}')
        return self.by_policy[policy]

    def final(self, policy: str, metric: str = "regret") -> Numbers:
        """A metric at the horizon, one number per trial: "regret" or "unsafe_plays"."""
        return self.curve(policy, metric)[:, -1]

    def curve(self, policy: str, metric: str = "regret") -> Numbers:
        """A metric at every checkpoint (columns) of every trial (rows)."""
        if metric not in METRICS:
            raise ResultError(f'unknown metric "{metric}"; {suggest(metric, METRICS)}')
        return np.asarray(getattr(self.of(policy), metric), float)

    def unsafe_by_risk(self, policy: str) -> Counts:
        """Plays at the horizon of arms that are unsafe in each risk (columns), one row per trial.

        An arm that is unsafe in two risks counts in both, and once in "unsafe_plays".
        """
        unsafe = self.specification.instance.unsafe_by_risk
        counted: Counts = self.of(policy).plays @ unsafe.T.astype(np.int64)
        return counted

    def _by_risk(self, policy: str) -> dict[str, Counts]:
        """The same by the risks' names; nothing where there is but one risk, which "unsafe_plays" is about."""
        names = self.specification.instance.risks
        if len(names) == 1:
            return {}
        return dict(zip(names, self.unsafe_by_risk(policy).T, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """The summary as the command line's JSON has it."""
        specification = self.specification
        return {
            "instance": specification.instance.to_dict(),
            "alpha": write_alpha(specification.instance.alpha),
            "horizon": specification.horizon,
            "trials": self.trials,
            "seed": specification.seed,
            "policies": {policy: self._policy_summary(policy) for policy in self.policies},
        }

    def _policy_summary(self, policy: str) -> dict[str, Any]:
        trials = self.of(policy)
        by_risk = {risk: describe(plays) for risk, plays in self._by_risk(policy).items()}
        return {
            **{metric: describe(self.final(policy, metric)) for metric in METRICS},
            **({"unsafe_by_risk": by_risk} if by_risk else {}),
            "plays": trials.plays.mean(axis=0).tolist(),
            "none_permissible": float(trials.none_permissible.mean()),
            "held": float(trials.held.mean()),
            "rounds_per_second": self.rounds_per_second(policy),
        }

    def rounds_per_second(self, policy: str) -> float | None:
        """Rounds per second of one core's time; None where the result was not timed."""
        seconds = self.seconds.get(policy, 0.0)
        return self.trials * self.specification.horizon / seconds if seconds > 0 else None

    def summary(self) -> pd.DataFrame:
        """One row per policy: regret and unsafe plays at the horizon, mean plays per arm, rounds with no choice."""
        import pandas as pd

        table = pd.DataFrame.from_dict(self.summary_rows(), orient="index")
        table.columns = pd.MultiIndex.from_tuples(list(next(iter(self.summary_rows().values()))))
        table.index.name = "policy"
        return table

    def summary_rows(self) -> dict[str, dict[tuple[str, str], float]]:
        """The same without pandas, by policy and by pairs such as ("regret", "mean")."""
        rows = {}
        for policy in self.policies:
            document = self._policy_summary(policy)
            row = {(metric, name): value for metric in METRICS for name, value in document[metric].items()}
            for risk, numbers in document.get("unsafe_by_risk", {}).items():
                row |= {(f"unsafe_plays {risk}", name): value for name, value in numbers.items()}
            names = self.specification.instance.arms
            row |= {("plays", arm): plays for arm, plays in zip(names, document["plays"], strict=True)}
            row |= {("rounds", name): document[name] for name in ("none_permissible", "held")}
            rows[policy] = row
        return rows

    def per_trial(self) -> pd.DataFrame:
        """One row per policy and trial: regret, unsafe plays, rounds with no permissible arm, plays per arm."""
        import pandas as pd

        frames = []
        for policy, trials in self.by_policy.items():
            columns = {metric: getattr(trials, metric)[:, -1] for metric in METRICS}
            columns |= {f"unsafe_plays {risk}": plays for risk, plays in self._by_risk(policy).items()}
            columns |= {"none_permissible": trials.none_permissible, "held": trials.held}
            columns |= {f"plays {arm}": trials.plays[:, k] for k, arm in enumerate(self.specification.instance.arms)}
            frames.append(pd.DataFrame({"policy": policy, "trial": np.arange(self.trials), **columns}))
        return pd.concat(frames, ignore_index=True)

    def quantiles(self, policy: str, metric: str = "regret", levels: Any = (0.05, 0.5, 0.95)) -> Numbers:
        """Quantiles over the trials (rows: levels) at every checkpoint (columns)."""
        return np.quantile(self.curve(policy, metric), levels, axis=0)

    def compare(self, policy: str, other: str, metric: str = "regret", confidence: float = 0.95) -> dict[str, float]:
        """The paired difference `policy` - `other` at the horizon, with its t interval.

        `below` is the share of trials in which `policy` had less, ties counted half.
        """
        from scipy import stats

        if not 0.0 < confidence < 1.0:
            raise ResultError(f"confidence must lie inside (0, 1), got {confidence}")
        first, second = self.final(policy, metric), self.final(other, metric)
        difference = first - second
        spread = _standard_error(difference)
        reach = float(stats.t.ppf(0.5 + confidence / 2, max(1, len(difference) - 1))) * spread
        mean = float(difference.mean())
        below = float((first < second).mean() + 0.5 * (first == second).mean())
        return {"difference": mean, "se": spread, "low": mean - reach, "high": mean + reach, "below": below}

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file that holds every trial and the complete specification; all of it or nothing."""
        import pyarrow.parquet as pq

        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            pq.write_table(self._table(), partial)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        return path

    def _table(self) -> pa.Table:
        import pyarrow as pa

        document = {
            "format": FORMAT,
            "trials": self.trials,
            "specification": self.specification.to_dict(),
            "seconds": dict(self.seconds),
        }
        tables = []
        for policy, trials in self.by_policy.items():
            columns: dict[str, Any] = {
                "policy": _text_column(policy, self.trials),
                "trial": _column(np.arange(self.trials)),
            }
            for name, values in trials._asdict().items():
                columns[name] = _column(values)
            tables.append(pa.Table.from_arrays(list(columns.values()), names=list(columns)))
        return pa.concat_tables(tables).replace_schema_metadata({_METADATA: json.dumps(document)})

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
            by_policy = _read_trials(table, specification, document["trials"])
        except (KeyError, TypeError, ValueError) as problem:
            raise ResultError(f"{path} does not hold what a result holds: {problem}") from None
        return Result(specification, by_policy, document.get("seconds", {}))

    def same_trials(self, other: Result) -> bool:
        """Whether both hold the same policies and trials, bit for bit."""
        if self.policies != other.policies or self.trials != other.trials:
            return False
        pairs = ((self.by_policy[policy], other.by_policy[policy]) for policy in self.policies)
        return all(np.array_equal(a, b) for mine, yours in pairs for a, b in zip(mine, yours, strict=True))


def describe(values: Numbers | Counts) -> dict[str, float]:
    """Mean, standard error, median, quantiles and the worst of many trials."""
    return {
        "mean": float(np.mean(values)),
        "se": _standard_error(values),
        **{name: float(np.quantile(values, level)) for name, level in QUANTILES.items()},
        "max": float(np.max(values)),
    }


def _standard_error(values: Numbers | Counts) -> float:
    # One trial says nothing about the spread; 0 would claim that it does.
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _column(values: Any) -> Any:
    """An Arrow column from its bytes; pyarrow's own conversion would import pandas, 70 MB, to look at an array."""
    import pyarrow as pa

    flat = np.ascontiguousarray(values)
    kind = pa.float64() if flat.dtype == np.float64 else pa.int64()
    column = pa.Array.from_buffers(kind, flat.size, [None, pa.py_buffer(flat)])
    for size in reversed(flat.shape[1:]):
        column = pa.FixedSizeListArray.from_arrays(column, size)
    return column


def _text_column(text: str, count: int) -> Any:
    """The same text in every row, also from bytes."""
    import pyarrow as pa

    word = text.encode()
    offsets = np.arange(count + 1, dtype=np.int32) * len(word)
    return pa.Array.from_buffers(pa.utf8(), count, [None, pa.py_buffer(offsets), pa.py_buffer(word * count)])


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


def _read_trials(table: pa.Table, specification: Specification, trials: int) -> dict[str, Trials]:
    if table.num_rows != trials * len(specification.policies):
        raise ValueError(f"{table.num_rows} rows, {trials * len(specification.policies)} expected")
    risks = len(specification.instance.limits)
    by_policy = {}
    for i, policy in enumerate(specification.policies):
        part = table.slice(i * trials, trials).combine_chunks()
        columns = []
        for name in Trials._fields:
            column, shape = part.column(name).combine_chunks(), [trials]
            while column.type.num_fields == 1:
                column, shape = column.flatten(), [trials, -1]
            if name == "risk" and risks > 1:
                shape = [trials, risks, -1]
            columns.append(column.to_numpy(zero_copy_only=False).reshape(shape).copy())
        by_policy[policy] = Trials(*columns)
    return by_policy
