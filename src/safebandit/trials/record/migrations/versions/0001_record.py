"""The record: trials, events that cannot be changed, units, keys and sessions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

REFUSAL = "events are only ever added"


def upgrade() -> None:
    """Make the tables, and the triggers that keep the log."""
    op.create_table(
        "trials",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("time", sa.String(27), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("memory", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("trial", sa.String(64), sa.ForeignKey("trials.name"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("time", sa.String(27), nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "units",
        sa.Column("trial", sa.String(64), sa.ForeignKey("trials.name"), primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("arm", sa.Text, nullable=False),
        sa.Column("round", sa.BigInteger, nullable=False),
        sa.Column("play", sa.BigInteger, nullable=False),
        sa.Column("asked_at", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("told_at", sa.Text, nullable=False),
        sa.Column("lost_at", sa.BigInteger),
        sa.Column("pending", sa.Boolean, nullable=False),
        sa.UniqueConstraint("trial", "round", name="one_unit_per_round"),
    )
    waiting = sa.column("pending") == sa.true()
    op.create_index(
        "units_pending", "units", ["trial", "round"], sqlite_where=waiting, postgresql_where=waiting
    )  # fmt: skip
    op.create_table(
        "keys",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("created", sa.String(27), nullable=False),
        sa.Column("expires", sa.String(27)),
        sa.Column("revoked", sa.String(27)),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(16), sa.ForeignKey("keys.id"), nullable=False),
        sa.Column("expires", sa.String(27), nullable=False),
    )
    _keep_the_log(op.get_bind().dialect.name)


def _keep_the_log(dialect: str) -> None:
    if dialect == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER no_{change.lower()} BEFORE {change} ON events "
                f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
            )
        # REPLACE deletes without asking a trigger of deletes, so an existing number is refused before.
        op.execute(
            "CREATE TRIGGER no_replace BEFORE INSERT ON events "
            "WHEN EXISTS (SELECT 1 FROM events WHERE trial = NEW.trial AND number = NEW.number) "
            f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
        )
        return
    op.execute(
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )
    op.execute("CREATE TRIGGER no_truncate BEFORE TRUNCATE ON events EXECUTE FUNCTION refuse_change()")
