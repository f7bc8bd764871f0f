"""Past outcomes as an instance: read a table of arm, reward, risk and count what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safebandit.errors import InstanceError, suggest
from safebandit.names import read_name
from safebandit.problems.cells import are_missing, read_numbers
from safebandit.problems.limits import list_risk_names
from safebandit.problems.tables import Table, read_file

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("arm", "reward", "risk")
MISSING_RISK = ("refuse", "drop", "worst")


class Past(NamedTuple):
    """What was seen: the arms in order of first appearance, the risks, each arm's distinct outcomes with shares.

    `origin` says in a line where it comes from: how many rows, how they were read, what became of missing risks.
    """

    arms: list[str]
    risks: tuple[str, ...]
    outcomes: list[list[list[float]]]
    origin: str


def read_outcomes(
    data: Any,
    missing_risk: str,
    risks: Sequence[str] | None = None,
    columns: Mapping[str, str] | str | None = None,
) -> Past:
    """Count the outcomes in a file or a table.

    `risks` names the columns of the risks, and `columns` those that go by another name: {"arm": "dose"} or "arm=dose".
    """
    if missing_risk not in MISSING_RISK:
        raise InstanceError(f'missing_risk must be one of {", ".join(MISSING_RISK)}, got "{missing_risk}"')
    renamed = _read_columns(columns, risks)
    table = _read_table(data, renamed)
    names = _risk_columns(table.rows, risks)
    table = _with_numbers(table, names)
    # Before any row is dropped: the order of the arms is that of the data.
    arms = list(dict.fromkeys(table.rows["arm"]))
    kept, fate = _with_risks(table, names, missing_risk)
    outcomes = []
    for arm in arms:
        counts = kept[kept["arm"] == arm].groupby(["reward", *names], sort=True).size()
        total = int(counts.sum())
        outcomes.append([[*outcome, int(n) / total] for outcome, n in counts.items()])
    file = f"{Path(data).name}: " if isinstance(data, str | Path) else ""
    origin = file + ", ".join([f"{len(table.rows):,} rows", *table.reading, *fate])
    return Past([str(arm) for arm in arms], tuple(map(str, names)), outcomes, origin)


def _read_columns(columns: Mapping[str, str] | str | None, risks: Sequence[str] | None) -> dict[str, str]:
    """The columns that go by another name in the data, by ours."""
    if isinstance(columns, str):
        pairs = [part.partition("=") for part in columns.split(",")]
        if not all(sign for _, sign, _ in pairs):
            raise InstanceError(f'columns must say which is which, such as "arm=dose,reward=response", got "{columns}"')
        listed = [(ours.strip(), theirs.strip()) for ours, _, theirs in pairs]
    else:
        listed = [(str(ours), str(theirs)) for ours, theirs in (columns or {}).items()]
    known = [*COLUMNS, *(() if risks is None else list_risk_names(risks))]
    for ours, _ in listed:
        if ours not in known:
            raise InstanceError(f'columns has no place for "{ours}"; {suggest(ours, known)}')
    for what, names in (("a name", [ours for ours, _ in listed]), ("a column", [theirs for _, theirs in listed])):
        if len(set(names)) < len(names):
            raise InstanceError(f"columns must use {what} once, got {', '.join('='.join(pair) for pair in listed)}")
    return dict(listed)


def _read_table(data: Any, renamed: Mapping[str, str]) -> Table:
    import pandas as pd

    if not isinstance(data, pd.DataFrame | str | Path):
        raise InstanceError(f"data must be a file or a table with columns {', '.join(COLUMNS)}, got {data!r}")
    wanted = [renamed.get(column, column) for column in COLUMNS[:2]]
    table = Table(data.copy()) if isinstance(data, pd.DataFrame) else read_file(Path(data), wanted)
    table = table._replace(rows=_rename(table.rows, renamed))
    for column in COLUMNS[:2]:
        _check_column(table.rows, column)
    if table.rows.empty:
        raise InstanceError("the data have no rows; give at least one outcome per arm")
    missing = are_missing(table.rows["arm"]).to_numpy()
    if missing.any():
        raise InstanceError(f"every row needs an arm, {table.place(int(missing.argmax()))} has none")
    spelt = {arm: read_name("an arm's name", str(arm), InstanceError) for arm in set(table.rows["arm"])}
    table.rows["arm"] = table.rows["arm"].map(spelt)
    return table


def _rename(rows: pd.DataFrame, renamed: Mapping[str, str]) -> pd.DataFrame:
    for column in renamed.values():
        if column not in rows.columns:
            raise InstanceError(f'the data have no column "{column}"; {suggest(column, map(str, rows.columns))}')
    # A column that has our name by itself makes way for the one that was named.
    taken = [ours for ours, theirs in renamed.items() if ours in rows.columns and ours not in renamed.values()]
    return rows.drop(columns=taken).rename(columns={theirs: ours for ours, theirs in renamed.items()})


def _check_column(rows: pd.DataFrame, column: str) -> None:
    found = list(rows.columns).count(column)
    if found == 0:
        known = suggest(column, map(str, rows.columns))
        raise InstanceError(f'the data have no column "{column}"; {known}; say which it is: columns="{column}=..."')
    if found > 1:
        raise InstanceError(f'the data have {found} columns "{column}"; give them names that differ')


def _risk_columns(rows: pd.DataFrame, risks: Sequence[str] | None) -> list[str]:
    """The columns that were named; by default `risk`, or else all whose names begin with "risk"."""
    if risks is None:
        begin_so = [column for column in rows.columns if str(column).startswith("risk")]
        columns = ["risk"] if "risk" in begin_so or not begin_so else begin_so
    else:
        columns = list(list_risk_names(risks))
    for column in columns:
        _check_column(rows, column)
        if column in ("arm", "reward"):
            raise InstanceError(f'a risk needs a column of its own, got "{column}"')
    return columns


def _with_numbers(table: Table, risks: list[str]) -> Table:
    rows, commas = table.rows.copy(), False
    for column in ("reward", *risks):
        numbers = read_numbers(rows[column])
        unreadable = numbers.isna() & ~are_missing(rows[column])
        outside = ~numbers.between(0, 1) & numbers.notna()
        for wrong, rule, remedy in (
            (unreadable, "be a number", "; write 0.5, 0,5 or yes and no, one way throughout"),
            (outside, "lie in [0, 1]", ""),
        ):
            if wrong.any():
                row = int(wrong.to_numpy().argmax())
                value = rows[column].iloc[row]
                shown = repr(value) if isinstance(value, str) and remedy else value
                raise InstanceError(f"{column} must {rule}, {table.place(row)} has {shown}{remedy}")
        commas |= any(isinstance(cell, str) and "," in cell for cell in rows[column].unique())
        rows[column] = numbers
    missing = rows["reward"].isna().to_numpy()
    if missing.any():
        raise InstanceError(f"every row needs a reward, {table.place(int(missing.argmax()))} has none")
    return table._replace(rows=rows, reading=(*table.reading, *(["with decimal commas"] if commas else [])))


def _with_risks(table: Table, risks: list[str], missing_risk: str) -> tuple[pd.DataFrame, list[str]]:
    """The rows that count, and in words what became of those without a risk."""
    rows, missing = table.rows, table.rows[risks].isna()
    if not missing.to_numpy().any():
        return rows, []
    without = rows["arm"][missing.any(axis=1)]
    by_arm = ", ".join(f"{arm}: {n:,}" for arm, n in without.value_counts(sort=False).items())
    if missing_risk == "refuse":
        column = next(name for name in risks if missing[name].any())
        what = "risk" if risks == ["risk"] else f'risk "{column}"'
        raise InstanceError(
            f"{int(missing[column].sum())} of {len(rows)} rows have no {what} "
            f"(first: {table.place(int(missing[column].to_numpy().argmax()))}); a missing risk never counts as safe: "
            'say missing_risk="drop" to leave them out or missing_risk="worst" to count them as risk 1'
        )
    if missing_risk == "worst":
        return rows.fillna(dict.fromkeys(risks, 1.0)), [f"{len(without):,} without a risk counted as risk 1 ({by_arm})"]
    kept = rows[~missing.any(axis=1)]
    lost = set(rows["arm"]) - set(kept["arm"])
    if lost:
        every = "a risk" if len(risks) == 1 else "every risk"
        raise InstanceError(f'no row with {every} is left for arm "{min(map(str, lost))}"; use missing_risk="worst"')
    return kept, [f"{len(without):,} without a risk dropped ({by_arm})"]
