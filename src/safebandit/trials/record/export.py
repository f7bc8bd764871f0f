"""A trial for other programs: one row per unit as CSV or Parquet, or the whole log as JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from safebandit.errors import ConflictError, TrialError
from safebandit.trials.concealment import concealed_settings
from safebandit.trials.contexts import ranges_of
from safebandit.trials.document import document_parts
from safebandit.trials.events import canonical
from safebandit.trials.record.database import events, units
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.store import as_written, read_log, trial_row
from safebandit.trials.second_person import is_told
from safebandit.trials.settings import Settings
from safebandit.trials.strata import levels_of
from safebandit.trials.texts import no_formula
from safebandit.version import __version__

KINDS = ("csv", "parquet", "json")
# Units that are in memory at once.
PAGE = 5000
# The place of the eligible arms in a row.
ELIGIBLE_AT = 4


def export(ledger: Ledger, name: str, kind: str, *, whole: bool = False) -> bytes:
    """The bytes of a file, as `write_export` writes it."""
    sink = io.BytesIO()
    write_export(ledger, name, kind, sink, whole=whole)
    return sink.getvalue()


def write_export(ledger: Ledger, name: str, kind: str, sink: IO[bytes], *, whole: bool = False) -> None:
    """Write a trial to a file, page by page: however long it is, little of it is in memory.

    csv and parquet have one row per unit: unit, round, arm, asked (the time), the arms that were eligible for it (with
    ; between them, and nothing where all were; a column only where there are such units), every factor of its stratum,
    every number of its context, reward, every risk, given_up, pending, void (it never got its arm, and counts as
    nothing), the propensity of the arm that it was given, and the version of the settings. In csv a text that begins
    with = + - @ or an apostrophe has an apostrophe before it. json is the settings and the log, as
    `safebandit.trials.document`
    says; `Trial.from_json` reads it. Until the trial is closed, the seed and the places in the random stream are left
    out, as they would tell which arms come next; `whole` has them all the same, for who owns the database.
    """
    if kind not in KINDS:
        raise TrialError(f"a trial is exported as one of {', '.join(KINDS)}, got {str(kind)[:80]!r}")
    with ledger.reading() as connection:
        row = trial_row(connection, name)
        with as_written(f'trial "{name}"'):
            told = _is_told(row, whole)
            if kind == "json":
                for part in document_parts(name, row._mapping, read_log(connection, name), whole=told):
                    sink.write(part.encode())
            else:
                write = _write_parquet if kind == "parquet" else _write_csv
                write(sink, *_units_of(connection, row, name, told))


def _is_told(row: Any, whole: bool) -> bool:
    """Whether nothing is left out; in a trial that asks for a second person to unseal it, not because one wants it."""
    state = json.loads(row.state)
    if is_told(row.status, state.get("unsealed", ())):
        return True
    if whole and "unseal" in state["settings"].get("second_person", ()):
        raise ConflictError(
            f'trial "{row.name}" is exported whole before it is closed only when two people unsealed its stream; '
            "propose it, and another person approves it"
        )
    return whole


def _units_of(connection: sa.Connection, row: Any, name: str, whole: bool) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """One row per unit, with what the event in which it asked says of it, page by page."""
    settings = Settings.from_dict(json.loads(row.state)["settings"])
    fields = (units.c.id, units.c.round, units.c.arm, units.c.outcome, units.c.lost_at, units.c.pending,
              units.c.voided_at, units.c.context, units.c.stratum)  # fmt: skip
    asked = sa.and_(events.c.trial == units.c.trial, events.c.number == units.c.asked_at)
    wanted = sa.select(*fields, events.c.time, events.c.body).join(events, asked)
    ordered = wanted.where(units.c.trial == name).order_by(units.c.round)
    masked = _masked(connection, name)
    told = settings.to_dict() if whole else concealed_settings(settings.to_dict())
    about = {"trial": name, "software": __version__, "hash": row.hash, "settings": canonical(told)}
    schema = _schema(settings, about, masked)
    pages = connection.execution_options(yield_per=PAGE).execute(ordered).partitions()
    return schema, (_page([_shown(_row(each), masked) for each in page], schema) for page in pages)


def _masked(connection: sa.Connection, name: str) -> bool:
    """Whether only some arms were eligible for a unit that has one."""
    # In a text, quotes have a stroke before them: this is the field, and no word of anybody.
    said = events.c.body.contains('"eligible":[', autoescape=True)
    found = sa.select(events.c.number).where(events.c.trial == name, events.c.kind == "asked", said).limit(1)
    return connection.execute(found).first() is not None


def _shown(row: tuple[Any, ...], masked: bool) -> tuple[Any, ...]:
    return row if masked else (*row[:ELIGIBLE_AT], *row[ELIGIBLE_AT + 1 :])


def _page(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = [pa.array(column, pa.string() if field.name == "asked" else field.type)
               for column, field in zip(zip(*rows, strict=True), schema, strict=True)]  # fmt: skip
    times = schema.get_field_index("asked")
    columns[times] = pc.cast(columns[times], schema.field(times).type)
    return pa.table(columns, schema=schema)


def _schema(settings: Settings, about: dict[str, str], masked: bool) -> pa.Schema:
    risks = settings.risks
    # Their columns begin with "risk", so that Instance.from_data finds them.
    telling = all(name.startswith("risk") for name in risks)
    named = ["risk"] if len(risks) == 1 else [name if telling else f"risk {name}" for name in risks]
    fields: list[tuple[str, Any]] = [
        ("unit", pa.string()),
        ("round", pa.int64()),
        ("arm", pa.string()),
        ("asked", pa.timestamp("us", tz="UTC")),
        *([("eligible", pa.string())] if masked else []),
        *((f"stratum {name}", pa.string()) for name, _ in settings.factors),
        *((f"context {each.name}", pa.float64()) for each in ranges_of(settings.context)),
        ("reward", pa.float64()),
        *((name, pa.float64()) for name in named),
        ("given_up", pa.bool_()),
        ("pending", pa.bool_()),
        ("void", pa.bool_()),
        ("propensity", pa.float64()),
        ("version", pa.int64()),
    ]
    return pa.schema(fields, metadata={f"safebandit.{key}": value for key, value in about.items()})


def _row(row: Any) -> tuple[Any, ...]:
    decision = json.loads(row.body)
    propensity = decision["arms"][row.arm]["propensity"]
    outcome = json.loads(row.outcome)
    void = row.voided_at is not None
    given_up = row.lost_at is not None and not void
    return (
        row.id,
        row.round,
        row.arm,
        row.time,
        ";".join(decision["eligible"]) if "eligible" in decision else None,
        *levels_of(row.stratum or "").values(),
        *([] if row.context is None else json.loads(row.context)),
        *outcome,
        given_up,
        bool(row.pending),
        void,
        propensity,
        decision["version"],
    )


def _write_parquet(sink: IO[bytes], schema: pa.Schema, pages: Iterator[pa.Table]) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(sink, schema) as writer:
        for page in pages:
            writer.write_table(page)


def _write_csv(sink: IO[bytes], schema: pa.Schema, pages: Iterator[pa.Table]) -> None:
    """Texts in quotes, numbers as they read back exactly, nothing where a value is not known."""
    from pyarrow import csv

    names = [no_formula(name) for name in schema.names]
    kinds = [pa.string() if pa.types.is_timestamp(field.type) else field.type for field in schema]
    with csv.CSVWriter(sink, pa.schema(list(zip(names, kinds, strict=True)))) as writer:
        for page in pages:
            writer.write_table(pa.table([_as_text(page[name]) for name in schema.names], names=names))


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column, format="%Y-%m-%dT%H:%M:%SZ")
    if pa.types.is_string(column.type):
        return pa.chunked_array(
            [[None if text is None else no_formula(text) for text in column.to_pylist()]], pa.string()
        )
    return column
