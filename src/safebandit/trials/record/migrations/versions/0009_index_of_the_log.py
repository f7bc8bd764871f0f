"""PostgreSQL looks into the log's index of units from the first unit on.

Of a table that it has not counted yet it takes reading all of it to be cheap, and it then reads every event to see
whether a unit is new: milliseconds after some hundred units. So it is told what that costs.
"""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Say what reading the unit of an event costs; SQLite takes the index as it is."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER FUNCTION asked_unit(text) COST 100000")
