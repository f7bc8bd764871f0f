"""Projects, people and their roles; keys have roles by project, a creator, a last use and can be rotated."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

# As `safebandit.trials.record.database` has it.
NAME_LENGTH = 100


def upgrade() -> None:
    """Make the tables; trials and keys that are there belong to the project "default", and events stay as they are."""
    _make_tables()
    connection = op.get_bind()
    keys = sa.table("keys", sa.column("id"), sa.column("role"), sa.column("creator"))
    roles = sa.table("roles", sa.column("holder"), sa.column("project"), sa.column("role"))
    for name, kind in (("person", sa.String(16)), ("old_hash", sa.String(64)), ("old_until", sa.String(27))):
        op.add_column("keys", sa.Column(name, kind))
    op.add_column("keys", sa.Column("used", sa.String(27)))
    op.add_column("keys", sa.Column("creator", sa.Text, nullable=False, server_default=""))
    for key, role in connection.execute(sa.select(keys.c.id, keys.c.role)).all():
        connection.execute(roles.insert().values(holder=key, project="default", role=role))
        if role == "admin":
            # Who could do everything still can: make projects, too.
            connection.execute(roles.insert().values(holder=key, project="*", role=role))
    for key, creator in _creators(connection).items():
        connection.execute(keys.update().where(keys.c.id == key).values(creator=creator))
    op.drop_column("keys", "role")


def _make_tables() -> None:
    op.create_table(
        "projects",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("created", sa.String(27), nullable=False),
    )
    op.create_table(
        "people",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("email", sa.Text, unique=True),
        sa.Column("subject", sa.Text, unique=True),
        sa.Column("created", sa.String(27), nullable=False),
        sa.Column("removed", sa.String(27)),
    )
    op.create_table(
        "roles",
        sa.Column("holder", sa.String(16), primary_key=True),
        sa.Column("project", sa.String(32), primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
    )
    # Browsers sign in again.
    op.drop_table("sessions")
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(16)),
        sa.Column("person", sa.String(16)),
        sa.Column("expires", sa.String(27), nullable=False),
        sa.Column("seen", sa.String(27), nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        # SQLite keeps texts of any length.
        for table, column in (("trials", "name"), ("events", "trial"), ("units", "trial")):
            op.alter_column(table, column, type_=sa.String(NAME_LENGTH))


def _creators(connection: sa.Connection) -> dict[str, str]:
    """Who made each key, as the database's own log says; of those from before it began nobody knows."""
    registry = sa.table("registry", sa.column("kind"), sa.column("actor"), sa.column("body"))
    made = connection.execute(sa.select(registry.c.actor, registry.c.body).where(registry.c.kind == "key made"))
    return {json.loads(body)["id"]: actor for actor, body in made.all()}
