"""Units have a stratum: the one that they asked in, where the trial declares some."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add a column; units that are there have no stratum."""
    op.add_column("units", sa.Column("stratum", sa.Text))
