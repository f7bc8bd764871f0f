"""Past outcomes as an instance: read a table of arm, reward, risk and count what was seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from safebandit.errors import InstanceError, suggest

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("arm", "reward", "risk")
MISSING_RISK = ("refuse", "drop", "worst")
Outcomes = list[list[list[float]]]


def read_outcomes(data: Any, missing_risk: str) -> tuple[list[str], Outcomes]:
    """The arms, in order of first appearance, and for each its distinct outcomes with their shares."""
    if missing_risk not in MISSING_RISK:
        raise InstanceError(f'missing_risk must be one of {", ".join(MISSING_RISK)}, got "{missing_risk}"')
    table = _with_risks(_numbers(_read_table(data)), missing_risk)
    names = list(dict.fromkeys(table["arm"]))
    outcomes: Outcomes = []
    for name in names:
        counts = table[table["arm"] == name].groupby(["reward", "risk"], sort=True).size()
        total = int(counts.sum())
        outcomes.append([[reward, risk, int(n) / total] for (reward, risk), n in counts.items()])
    return [str(name) for name in names], outcomes


def _read_table(data: Any) -> pd.DataFrame:
    import pandas as pd

    if not isinstance(data, pd.DataFrame | str | Path):
        raise InstanceError(f"data must be a file or a table with columns {', '.join(COLUMNS)}, got {data!r}")
    table = data.copy() if isinstance(data, pd.DataFrame) else _read_file(Path(data))
    for column in COLUMNS:
        if column not in table.columns:
            raise InstanceError(f'the data have no column "{column}"; {suggest(column, map(str, table.columns))}')
    if table.empty:
        raise InstanceError("the data have no rows; give at least one outcome per arm")
    if table["arm"].isna().any():
        raise InstanceError(f"every row needs an arm, row {int(table['arm'].isna().argmax()) + 1} has none")
    return table


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


def _numbers(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    for column in ("reward", "risk"):
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


def _with_risks(table: pd.DataFrame, missing_risk: str) -> pd.DataFrame:
    missing = table["risk"].isna()
    if not missing.any():
        return table
    if missing_risk == "refuse":
        row = int(missing.to_numpy().argmax())
        raise InstanceError(
            f"{int(missing.sum())} of {len(table)} rows have no risk (first: row {row + 1}); a missing risk never "
            'counts as safe: say missing_risk="drop" to leave them out or "worst" to count them as risk 1'
        )
    if missing_risk == "worst":
        return table.fillna({"risk": 1.0})
    kept = table[~missing]
    lost = set(table["arm"]) - set(kept["arm"])
    if lost:
        raise InstanceError(f'no row with a risk is left for arm "{min(map(str, lost))}"; use missing_risk="worst"')
    return kept
