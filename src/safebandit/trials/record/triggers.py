"""What keeps a log from being changed: triggers of the database, and whether they are there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa

REFUSAL = "events are only ever added"
# The tables that are logs, with what the names of their triggers begin with, and what makes a row another one.
LOGS = {"events": ("", ("trial", "number")), "registry": ("registry_", ("number",))}
# PostgreSQL's own marks of a trigger: for each row (1), before (2), delete (8), update (16), truncate (32).
_CHANGE, _TRUNCATE = 1 + 2 + 8 + 16, 2 + 32
_REFUSE = f" BEGIN RAISE EXCEPTION '{REFUSAL}'; END "


def sqlite_triggers(table: str) -> dict[str, str]:
    """The triggers of a log on SQLite, by name, as the database keeps their texts."""
    prefix, key = LOGS[table]
    refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    same = " AND ".join(f"{column} = NEW.{column}" for column in key)
    made = {}
    for change in ("UPDATE", "DELETE"):
        name = f"{prefix}no_{change.lower()}"
        made[name] = f"CREATE TRIGGER {name} BEFORE {change} ON {table} {refuse}"
    # REPLACE deletes without asking a trigger of deletes, so an existing number is refused before.
    made[f"{prefix}no_replace"] = (
        f"CREATE TRIGGER {prefix}no_replace BEFORE INSERT ON {table} "
        f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) {refuse}"
    )
    return made


def postgres_triggers(table: str) -> dict[str, str]:
    """The triggers of a log on PostgreSQL, by name; all call the function that the first migration made."""
    made = {
        "no_change": f"BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW",
        "no_truncate": f"BEFORE TRUNCATE ON {table}",
    }
    prefix = LOGS[table][0]
    return {
        prefix + name: f"CREATE TRIGGER {prefix}{name} {when} EXECUTE FUNCTION refuse_change()"
        for name, when in made.items()
    }


@contextlib.contextmanager
def changeable(connection: sa.Connection, table: str) -> Iterator[None]:
    """Let a log be changed within this transaction, at whose end its triggers are there again: for a new database."""
    if connection.dialect.name == "sqlite":
        made = sqlite_triggers(table)
        before = [f"DROP TRIGGER {name}" for name in made]
        after = list(made.values())
    else:
        before, after = ([f"ALTER TABLE {table} {word} TRIGGER USER"] for word in ("DISABLE", "ENABLE"))
    for statement in before:
        connection.exec_driver_sql(statement)
    yield
    for statement in after:
        connection.exec_driver_sql(statement)


def missing_trigger(connection: sa.Connection) -> str | None:
    """The first trigger that is not there as it was made, if any."""
    if connection.dialect.name == "sqlite":
        kept = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        found = {(row[0], row[1]) for row in kept}
        wanted = [each for table in LOGS for each in sqlite_triggers(table).items()]
        return next((name for name, text in wanted if (name, text) not in found), None)
    return _missing_on_postgres(connection)


def _missing_on_postgres(connection: sa.Connection) -> str | None:
    kept = connection.exec_driver_sql(
        "SELECT t.tgname, c.relname, t.tgtype, t.tgenabled, p.prosrc FROM pg_trigger t "
        "JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid "
        "WHERE NOT t.tgisinternal AND pg_table_is_visible(c.oid)"
    )
    # Enabled as "O" or "A": not for replication only, and not switched off.
    found = {(row[0], row[1], row[2], row[4]) for row in kept if _text(row[3]) in ("O", "A")}
    for table in LOGS:
        for name in postgres_triggers(table):
            kind = _TRUNCATE if name.endswith("truncate") else _CHANGE
            if (name, table, kind, _REFUSE) not in found:
                return name
    return None


def _text(mark: str | bytes) -> str:
    return mark.decode() if isinstance(mark, bytes) else mark
