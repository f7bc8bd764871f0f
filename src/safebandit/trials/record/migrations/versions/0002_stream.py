"""The place of a trial's random stream is its words alone; version 0.1.0 kept [words, bar, work]."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Rewrite the states that are kept beside the log; events are never touched."""
    trials = sa.table("trials", sa.column("name"), sa.column("state"))
    connection = op.get_bind()
    for name, text in connection.execute(sa.select(trials.c.name, trials.c.state)).all():
        state = json.loads(text)
        state["position"], _, _ = state["position"]
        # As the package writes it: keys in order, no spaces.
        written = json.dumps(state, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        connection.execute(trials.update().where(trials.c.name == name).values(state=written))
