"""Units can be voided; a trial that waits for outcomes is no longer one that holds; ids have one spelling."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from safebandit.names import normal

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add a column, and rewrite the states that are kept beside the log; events are never touched."""
    op.add_column("units", sa.Column("voided_at", sa.BigInteger))
    trials = sa.table("trials", sa.column("name"), sa.column("state"))
    connection = op.get_bind()
    for name, text in connection.execute(sa.select(trials.c.name, trials.c.state)).all():
        state = json.loads(text)
        if _waits(connection, name, state["held_at"]):
            state["held_at"], state["waits_at"] = None, state["held_at"]
        aliases = _aliases(connection, name)
        if aliases:
            state["aliases"] = aliases
        # As the package writes it: keys in order, no spaces.
        written = json.dumps(state, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        if written != text:
            connection.execute(trials.update().where(trials.c.name == name).values(state=written))


def _waits(connection: sa.Connection, trial: str, number: int | None) -> bool:
    """Whether the event that gave no arm says that arms wait for outcomes."""
    events = sa.table("events", sa.column("trial"), sa.column("number"), sa.column("body"))
    wanted = sa.select(events.c.body).where(events.c.trial == trial, events.c.number == number)
    body = None if number is None else connection.scalar(wanted)
    return body is not None and json.loads(body).get("cause") == "waiting for outcomes"


def _aliases(connection: sa.Connection, trial: str) -> dict[str, str]:
    """The ids that are not in their one spelling, by that, in the order in which they were taken."""
    units = sa.table("units", sa.column("trial"), sa.column("id"), sa.column("round"))
    taken = connection.scalars(sa.select(units.c.id).where(units.c.trial == trial).order_by(units.c.round))
    aliases: dict[str, str] = {}
    for unit in taken:
        if normal(unit) != unit:
            aliases.setdefault(normal(unit), unit)
    return aliases
