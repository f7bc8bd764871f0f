"""How Alembic runs the migrations: in the transaction that opens the database."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context

connection: sa.Connection = context.config.attributes["connection"]
if connection.dialect.name == "postgresql":
    # Of several processes that start at once, one migrates and the others wait.
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(5071974)"))
context.configure(connection=connection)
context.run_migrations()
