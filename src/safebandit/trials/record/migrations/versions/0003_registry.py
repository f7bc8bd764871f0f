"""The database's own log, of trials and keys; and an index of the units that the log says were given arms."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from safebandit.trials.events import NOTHING, seal, stamp
from safebandit.trials.record.triggers import postgres_triggers, sqlite_triggers
from safebandit.version import __version__

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table and its triggers, and begin the log with what is there."""
    registry = op.create_table(
        "registry",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("time", sa.String(27), nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    connection = op.get_bind()
    on_sqlite = connection.dialect.name == "sqlite"
    for statement in (sqlite_triggers if on_sqlite else postgres_triggers)("registry").values():
        op.execute(statement)
    # A body that was damaged is no JSON: verification names it, so that nothing must fail here.
    unit = "(CASE WHEN json_valid(body) THEN json_extract(body, '$.unit') END)" if on_sqlite else "asked_unit(body)"
    if not on_sqlite:
        op.execute(
            "CREATE FUNCTION asked_unit(body text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS "
            "$$ BEGIN RETURN body::json ->> 'unit'; EXCEPTION WHEN others THEN RETURN NULL; END $$"
        )
    op.execute(f"CREATE INDEX events_asked ON events (trial, {unit}) WHERE kind = 'asked'")
    time, body = stamp({"software": __version__, **_there(connection)}, after="")
    event = seal("", 1, time, "safebandit", "begun", body, NOTHING)
    connection.execute(registry.insert(), {key: value for key, value in event._asdict().items() if key != "trial"})


def _there(connection: sa.Connection) -> dict[str, Any]:
    first = connection.execute(sa.text("SELECT trial, hash FROM events WHERE number = 1 ORDER BY trial"))
    columns = ("id", "name", "role", "hash", "created", "expires", "revoked")
    keys = connection.execute(sa.text(f"SELECT {', '.join(columns)} FROM keys ORDER BY created, id"))
    return {
        "trials": {row.trial: row.hash for row in first},
        "keys": [dict(zip(columns, row, strict=True)) for row in keys],
    }
