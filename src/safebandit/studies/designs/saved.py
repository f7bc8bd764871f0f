"""Operating characteristics in a file: every trial, and the specification from which it can be played again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from safebandit.errors import BadValueError, ResultError
from safebandit.files import written_whole
from safebandit.problems.scenario import Scenario
from safebandit.studies.designs.results import Characteristics, Played
from safebandit.trials.design import Design
from safebandit.trials.simulated import Runs

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
_METADATA = b"safebandit characteristics"
_FIELDS = [name for name in Runs._fields if name != "seconds"]
# Fields that files of the same format may lack.
_NEW = ("routed", "plays_in")


def save(found: Characteristics, path: Path) -> Path:
    """Write all trials, one row each with its design and scenario, and the specification beside them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    document = {
        "format": FORMAT,
        "specification": found.specification(),
        "seconds": [float(each.runs.seconds) for each in found.played],
        "shapes": [{name: _shape(each.runs, name) for name in _FIELDS} for each in found.played],
    }
    tables = [_table(each) for each in found.played]
    table = pa.concat_tables(tables).replace_schema_metadata({_METADATA: json.dumps(document)})
    with written_whole(path) as partial:
        pq.write_table(table, partial)
    return path


def _shape(runs: Runs, name: str) -> list[int]:
    return list(getattr(runs, name).shape[1:])


def _table(each: Played) -> pa.Table:
    import pyarrow as pa

    count = len(each.runs.size)
    columns: dict[str, Any] = {
        "design": pa.array([each.label] * count, pa.string()),
        "scenario": pa.array([each.scenario.name] * count, pa.string()),
        "trial": pa.array(np.arange(count)),
    }
    for name in _FIELDS:
        values = getattr(each.runs, name)
        columns[name] = pa.array(values) if values.ndim == 1 else _lists(values.reshape(count, -1))
    return pa.table(columns)


def _lists(rows: Any) -> Any:
    """One list per trial: cells may differ in their number of arms."""
    import pyarrow as pa

    offsets = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, pa.array(rows.ravel()))


def holds_characteristics(path: Path) -> bool:
    """Whether a file is one that `save` wrote, by what it says of itself."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return _METADATA in (pq.read_schema(path).metadata or {})
    except (pa.ArrowInvalid, OSError):
        return False


def load(path: Path) -> Characteristics:
    """Read a file that `save` wrote; anything else is refused in one line."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise ResultError(f"there is no file {path}")
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError):
        raise ResultError(f"{path} holds no operating characteristics, or was cut short; run it again") from None
    metadata = table.schema.metadata or {}
    if _METADATA not in metadata:
        raise ResultError(f"{path} is a Parquet file but holds no operating characteristics")
    document = json.loads(metadata[_METADATA])
    if document.get("format") != FORMAT:
        raise ResultError(f"{path} has format {document.get('format')}, this version reads format {FORMAT}")
    try:
        return _read(table, document)
    except (BadValueError, KeyError, TypeError, ValueError) as problem:
        raise ResultError(f"{path} does not hold what operating characteristics hold: {problem}") from None


def _read(table: pa.Table, document: dict[str, Any]) -> Characteristics:
    said = document["specification"]
    scenarios = {each.name: each for each in map(Scenario.from_dict, said["scenarios"])}
    trials, played = said["trials"], []
    if table.num_rows != trials * len(said["cells"]):
        raise ValueError(f"{table.num_rows} rows, not {trials} for each of {len(said['cells'])} designs on scenarios")
    for number, cell in enumerate(said["cells"]):
        part = table.slice(number * trials, trials)
        shapes = document["shapes"][number]
        fields = {name: _array(part, name, shapes[name]) for name in _FIELDS if name in shapes or name not in _NEW}
        # Files of before had none of these.
        fields = {"routed": np.zeros(part.num_rows, np.int64), "plays_in": fields["plays"][:, None]} | fields
        runs = Runs(**fields, seconds=document["seconds"][number])
        played.append(Played(cell["design"], scenarios[cell["scenario"]], Design.from_dict(cell["as"]), runs))
    return Characteristics(played, said["seed"], said["version"], said["sources"])


def _array(part: pa.Table, name: str, shape: list[int]) -> Any:
    column = part.column(name).combine_chunks()
    flat = column.flatten() if shape else column
    return flat.to_numpy(zero_copy_only=False).reshape(part.num_rows, *shape)
