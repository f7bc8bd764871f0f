"""Projects: groups of trials whose members do not see each other's."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from safebandit.errors import ConflictError, NotFoundError
from safebandit.trials.events import now
from safebandit.trials.record.database import database_errors, projects
from safebandit.trials.record.registry import register
from safebandit.trials.texts import DEFAULT, check_project, check_text

if TYPE_CHECKING:
    from safebandit.trials.record.ledger import Ledger


class Project(NamedTuple):
    """A project; `default` has the trials from before there were projects, and was never made."""

    name: str
    title: str
    created: str | None


def make_project(ledger: Ledger, name: str, *, actor: str, title: str = "") -> Project:
    """Make a project; one of this name is refused, whoever made it."""
    made = Project(check_project(name), check_text("title", title, empty=True), now())
    with database_errors(), ledger.engine.begin() as connection:
        if _is_there(connection, name):
            raise ConflictError(f'there is a project "{name}" already; give another name')
        connection.execute(projects.insert(), made._asdict())
        register(connection, "project made", made._asdict(), actor=actor)
    return made


def all_projects(ledger: Ledger) -> list[Project]:
    """Every project, in the order of their names."""
    with ledger.reading() as connection:
        rows = [Project(*row) for row in connection.execute(sa.select(projects))]
    return sorted([Project(DEFAULT, "", None), *rows])


def check_there(connection: sa.Connection, name: str) -> None:
    """Refuse a project that was never made."""
    if not _is_there(connection, name):
        raise unknown_project(name)


def unknown_project(name: str) -> NotFoundError:
    """The error for a project that is not there, or not for who asks."""
    return NotFoundError(f'there is no project "{name[:40]}"; an admin of the installation makes one')


def in_projects(name: sa.ColumnElement[str], projects: Collection[str]) -> sa.ColumnElement[bool]:
    """A condition: a trial of this name belongs to one of these projects."""
    bare = [sa.not_(name.contains(":"))] if DEFAULT in projects else []
    return sa.or_(sa.false(), *bare, *(name.like(f"{each}:%") for each in sorted(projects)))


def _is_there(connection: sa.Connection, name: str) -> bool:
    found = sa.select(projects.c.name).where(projects.c.name == name)
    return name == DEFAULT or connection.scalar(found) is not None
