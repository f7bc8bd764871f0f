"""Alerts: who is told when something happens in a trial, how far each has read the logs, and what was sent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

# As `safebandit.trials.record.database` has it.
NAME_LENGTH = 100


def upgrade() -> None:
    """Make the tables; there are no alerts yet."""
    op.create_table(
        "alerts",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("project", sa.String(32), nullable=False),
        sa.Column("trial", sa.String(NAME_LENGTH), sa.ForeignKey("trials.name")),
        sa.Column("kinds", sa.Text, nullable=False),
        sa.Column("channel", sa.String(16), nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("patience", sa.Float),
        sa.Column("quiet", sa.Float, nullable=False),
        sa.Column("secret", sa.Text),
        sa.Column("created", sa.String(27), nullable=False),
        sa.Column("removed", sa.String(27)),
    )
    op.create_table(
        "alert_positions",
        sa.Column("alert", sa.String(16), sa.ForeignKey("alerts.id"), primary_key=True),
        sa.Column("trial", sa.String(NAME_LENGTH), sa.ForeignKey("trials.name"), primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("unit_told", sa.BigInteger, nullable=False),
        sa.Column("wait_told", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("alert", sa.String(16), sa.ForeignKey("alerts.id"), nullable=False),
        sa.Column("trial", sa.String(NAME_LENGTH)),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("made", sa.Float, nullable=False),
        sa.Column("due", sa.Float, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("said", sa.Text),
        sa.Column("done", sa.Float),
    )
    waiting = sa.column("state") == "waiting"
    op.create_index("messages_waiting", "messages", ["due"], sqlite_where=waiting, postgresql_where=waiting)
    op.create_index("messages_of_alert", "messages", ["alert", "trial", "kind", "made"])
    op.create_table(
        "leases",
        sa.Column("name", sa.String(16), primary_key=True),
        sa.Column("holder", sa.String(64), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
    )
