"""Past outcomes as an instance: read a table of arm, reward, risk and count what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safebandit.errors import InstanceError, suggest
from safebandit.names import read_name
from safebandit.problems.limits import list_risk_names

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("arm", "reward", "risk")
MISSING_RISK = ("refuse", "drop", "worst")


class Past(NamedTuple):
    """What was seen: the arms in order of first appearance, the risks, and each arm's distinct outcomes with shares."""

    arms: list[str]
    risks: tuple[str, ...]
    outcomes: list[list[list[float]]]


def read_outcomes(data: Any, missing_risk: str, risks: Sequence[str] | None = None) -> Past:
    """Count the outcomes in a file or a table; `risks` names the columns of the risks."""
    if missing_risk not in MISSING_RISK:
        raise InstanceError(f'missing_risk must be one of {", ".join(MISSING_RISK)}, got "{missing_risk}"')
    table = _read_table(data)
    columns = _risk_columns(table, risks)
    table = _with_risks(_numbers(table, columns), columns, missing_risk)
    names = list(dict.fromkeys(table["arm"]))
    outcomes = []
    for name in names:
        counts = table[table["arm"] == name].groupby(["reward", *columns], sort=True).size()
        total = int(counts.sum())
        outcomes.append([[*outcome, int(n) / total] for outcome, n in counts.items()])
    return Past([str(name) for name in names], tuple(map(str, columns)), outcomes)


def _read_table(data: Any) -> pd.DataFrame:
    import pandas as pd

    if not isinstance(data, pd.DataFrame | str | Path):
        raise InstanceError(f"data must be a file or a table with columns {', '.join(COLUMNS)}, got {data!r}")
    table = data.copy() if isinstance(data, pd.DataFrame) else _read_file(Path(data))
    for column in ("arm", "reward"):
        _check_column(table, column)
    if table.empty:
        raise InstanceError("the data have no rows; give at least one outcome per arm")
    if table["arm"].isna().any():
        raise InstanceError(f"every row needs an arm, row {int(table['arm'].isna().argmax()) + 1} has none")
    spelt = {arm: read_name("an arm's name", str(arm), InstanceError) for arm in set(table["arm"])}
    table["arm"] = table["arm"].map(spelt)
    return table


def _check_column(table: pd.DataFrame, column: str) -> None:
    if column not in table.columns:
        raise InstanceError(f'the data have no column "{column}"; {suggest(column, map(str, table.columns))}')


def _risk_columns(table: pd.DataFrame, risks: Sequence[str] | None) -> list[str]:
    """The columns that were named; by default `risk`, or else all whose names begin with "risk"."""
    if risks is None:
        begin_so = [column for column in table.columns if str(column).startswith("risk")]
        columns = ["risk"] if "risk" in begin_so or not begin_so else begin_so
    else:
        columns = list(list_risk_names(risks))
    for column in columns:
        _check_column(table, column)
        if column in ("arm", "reward"):
            raise InstanceError(f'a risk needs a column of its own, got "{column}"')
    return columns


def _read_file(path: Path) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    if not path.is_file():
        raise InstanceError(f"there is no file {path}")
    if path.stat().st_size == 0:
        raise InstanceError(f"{path} is empty; it needs the columns {', '.join(COLUMNS)}")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return pd.read_parquet(path)
        return pd.read_csv(path, dtype={"arm": str}, skipinitialspace=True)
    except (ValueError, OSError, pa.ArrowException) as problem:
        raise InstanceError(f"{path} cannot be read as a table: {str(problem).splitlines()[0]}") from None


def _numbers(table: pd.DataFrame, risks: list[str]) -> pd.DataFrame:
    import pandas as pd

    for column in ("reward", *risks):
        numbers = pd.to_numeric(table[column], errors="coerce").astype(float)
        unreadable = numbers.isna() & table[column].notna()
        outside = ~numbers.between(0, 1) & numbers.notna()
        for wrong, rule in ((unreadable, "be a number"), (outside, "lie in [0, 1]")):
            if wrong.any():
                row = int(wrong.to_numpy().argmax())
                value = table[column].iloc[row]
                shown = repr(value) if isinstance(value, str) else value
                raise InstanceError(f"{column} must {rule}, row {row + 1} has {shown}")
        table[column] = numbers
    if table["reward"].isna().any():
        row = int(table["reward"].isna().to_numpy().argmax())
        raise InstanceError(f"every row needs a reward, row {row + 1} has none")
    return table


def _with_risks(table: pd.DataFrame, risks: list[str], missing_risk: str) -> pd.DataFrame:
    missing = table[risks].isna()
    if not missing.to_numpy().any():
        return table
    if missing_risk == "refuse":
        column = next(name for name in risks if missing[name].any())
        row = int(missing[column].to_numpy().argmax())
        what = "risk" if risks == ["risk"] else f'risk "{column}"'
        raise InstanceError(
            f"{int(missing[column].sum())} of {len(table)} rows have no {what} (first: row {row + 1}); a missing risk "
            'never counts as safe: say missing_risk="drop" to leave them out or "worst" to count them as risk 1'
        )
    if missing_risk == "worst":
        return table.fillna(dict.fromkeys(risks, 1.0))
    kept = table[~missing.any(axis=1)]
    lost = set(table["arm"]) - set(kept["arm"])
    if lost:
        every = "a risk" if len(risks) == 1 else "every risk"
        raise InstanceError(f'no row with {every} is left for arm "{min(map(str, lost))}"; use missing_risk="worst"')
    return kept
