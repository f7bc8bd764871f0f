"""Units have a context: the numbers that they asked with, where the trial declares some."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add a column; units that are there have no context."""
    op.add_column("units", sa.Column("context", sa.Text))
