"""What is kept of trials as an Arrow table, and back; results write it to Parquet.

Every trial: a row per policy and trial. A summary: a row per policy and field, with the running sums of its columns,
and of its sketch the bins that are not empty, numbered through all columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safebandit.core.kernels import Trials
from safebandit.simulation.moments import Moments
from safebandit.simulation.sketches import COLUMN_BITS, Sketch
from safebandit.simulation.summaries import SKETCHED, TOTALS, Summary

if TYPE_CHECKING:
    import pyarrow as pa

_SUMS = ("sum", "sum_rest", "squares", "squares_rest")
_SKETCH = ("bins", "counts", "least", "most")


def trials_table(by_policy: Mapping[str, Trials]) -> pa.Table:
    """Every trial of every policy."""
    import pyarrow as pa

    tables = []
    for policy, trials in by_policy.items():
        count = len(trials.regret)
        columns: dict[str, Any] = {"policy": _text_column([policy] * count), "trial": _column(np.arange(count))}
        for name, values in trials._asdict().items():
            columns[name] = _column(values)
        tables.append(pa.Table.from_arrays(list(columns.values()), names=list(columns)))
    return pa.concat_tables(tables)


def read_trials(table: pa.Table, policies: Sequence[str], trials: int, risks: int) -> dict[str, Trials]:
    """The trials of every policy; a ValueError where the table cannot be theirs."""
    if table.num_rows != trials * len(policies):
        raise ValueError(f"{table.num_rows} rows, {trials * len(policies)} expected")
    by_policy = {}
    for i, policy in enumerate(policies):
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


def summaries_table(by_policy: Mapping[str, Summary]) -> pa.Table:
    """The summaries of every policy."""
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    for policy, summary in by_policy.items():
        for name, moments in summary.moments.items():
            sums = dict(zip(_SUMS, moments.sums, strict=True))
            rows.append({"policy": policy, "field": name, **sums, **_sketch_row(summary.sketches.get(name))})
    names = list(rows[0])
    columns = [_text_column([row[name] for row in rows]) for name in names[:2]]
    columns += [_list_column([row[name] for row in rows]) for name in names[2:]]
    return pa.Table.from_arrays(columns, names=names)


def _sketch_row(sketch: Sketch | None) -> dict[str, NDArray[Any]]:
    sketch = Sketch(0, whole=False) if sketch is None else sketch
    return dict(zip(_SKETCH, (*sketch.counted(), sketch.least, sketch.most), strict=True))


def read_summaries(
    table: pa.Table, policies: Sequence[str], trials: int, widths: Mapping[str, int]
) -> dict[str, Summary]:
    """The summaries of every policy, whose fields have so many columns; a ValueError where they cannot be theirs."""
    fields = set(table.column("field").to_pylist())
    widths = {name: width for name, width in widths.items() if name not in TOTALS or name in fields}
    rows = [(policy, name) for policy in policies for name in widths]
    if list(zip(*(table.column(name).to_pylist() for name in ("policy", "field")), strict=True)) != rows:
        raise ValueError(f"{table.num_rows} rows, and not those of {len(rows)} fields")
    lists = {name: _read_lists(table.column(name).combine_chunks()) for name in (*_SUMS, *_SKETCH)}
    by_policy = {policy: Summary() for policy in policies}
    for row, (policy, name) in enumerate(rows):
        sums = np.array([lists[part][row] for part in _SUMS], float)
        if sums.shape != (len(_SUMS), widths[name]):
            raise ValueError(f"{sums.shape[-1]} columns of {name}, {widths[name]} expected")
        by_policy[policy].moments[name] = Moments(widths[name], trials, sums)
        if name in SKETCHED:
            by_policy[policy].sketches[name] = _read_sketch(
                name, [lists[part][row] for part in _SKETCH], trials, widths
            )
    return by_policy


def _read_sketch(name: str, parts: Sequence[NDArray[Any]], trials: int, widths: Mapping[str, int]) -> Sketch:
    bins, counts, least, most = parts
    held = np.bincount(bins >> COLUMN_BITS, counts, minlength=widths[name])
    if held.tolist() != [trials] * widths[name] or len(least) != widths[name] or len(most) != widths[name]:
        raise ValueError(f"the bins of {name} do not hold {trials} trials in each of {widths[name]} columns")
    return Sketch.of_counted(bins, counts, least, most, whole=SKETCHED[name])


def _column(values: Any) -> Any:
    """An Arrow column from its bytes; pyarrow's own conversion would import pandas, 70 MB, to look at an array."""
    import pyarrow as pa

    flat = np.ascontiguousarray(values)
    kind = pa.float64() if flat.dtype == np.float64 else pa.int64()
    column = pa.Array.from_buffers(kind, flat.size, [None, pa.py_buffer(flat)])
    for size in reversed(flat.shape[1:]):
        column = pa.FixedSizeListArray.from_arrays(column, size)
    return column


def _list_column(lists: Sequence[NDArray[Any]]) -> Any:
    """Lists of any lengths, also from bytes."""
    import pyarrow as pa

    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    parts = pa.Array.from_buffers(pa.int32(), len(offsets), [None, pa.py_buffer(offsets)])
    return pa.ListArray.from_arrays(parts, _column(np.concatenate(lists)))


def _read_lists(column: Any) -> list[NDArray[Any]]:
    ends = column.offsets.to_numpy()
    return [part.copy() for part in np.split(column.values.to_numpy(), ends[1:-1])]


def _text_column(texts: Sequence[str]) -> Any:
    """Texts, also from bytes."""
    import pyarrow as pa

    words = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int32)
    return pa.Array.from_buffers(pa.utf8(), len(words), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(words))])
