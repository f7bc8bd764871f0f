"""`safebandit person`: who may sign in, and what they may do in which project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.cli.extras import live_packages
from safebandit.cli.flags import Command
from safebandit.cli.live import DATABASE, Actor, Database, checked_actor, open_ledger
from safebandit.cli.output import Json, plain_table, print_document, print_plain

if TYPE_CHECKING:
    from safebandit.service.people import People

person_app = typer.Typer(
    name="person", help="People: who may sign in, and their roles in projects.", rich_markup_mode=None
)
Id = Annotated[str, typer.Argument(help="The person's id, as `safebandit person list` shows it.")]
Given = Annotated[
    list[str] | None,
    typer.Option("--role", help="A role in the project default, or in another: knee=viewer (repeated); installation."),
]


@person_app.command(cls=Command)
def new(
    name: Annotated[str, typer.Argument(help="Their name, as the logs will have it.")],
    email: Annotated[str | None, typer.Option(help="The address by which the identity provider knows them.")] = None,
    role: Given = None,
    db: Database = DATABASE,
    actor: Actor = None,
) -> None:
    """Invite a person; with the address of one who is there, give them the roles."""
    with _people(db, create=True) as known:
        from safebandit.service.roles import parse_roles

        made, new = known.invite(name, email=email, given=parse_roles(role or []), actor=checked_actor(actor))
    typer.echo(f'person {made.id}, "{made.name}": {_shown(made)}' + ("" if new else " (was there already)"))


@person_app.command("list", cls=Command)
def list_people(db: Database = DATABASE, json: Json = False) -> None:
    """List people: id, name, address, roles."""
    with _people(db) as known:
        found = known.all()
    if json:
        print_document({"people": [{**each._asdict(), "roles": dict(each.roles)} for each in found]})
        return
    table = plain_table("id", "name", "address", "roles", "since", "state")
    for each in found:
        state = "removed" if each.removed else "has signed in" if each.subject else "invited"
        table.add_row(each.id, each.name, each.email or "-", _shown(each), each.created[:19], state)
    print_plain(table)


@person_app.command(cls=Command)
def role(
    id: Id,
    give: Annotated[
        list[str] | None, typer.Option(help="A role to give: viewer, knee=viewer (repeated); installation.")
    ] = None,
    take: Annotated[
        list[str] | None, typer.Option(help="A project whose role to take: knee, default (repeated); installation.")
    ] = None,
    db: Database = DATABASE,
    actor: Actor = None,
) -> None:
    """Give a person roles in projects, or take them."""
    with _people(db) as known:
        from safebandit.service.roles import EVERYWHERE, parse_roles

        taken = {EVERYWHERE if each == "installation" else each: None for each in take or []}
        found = known.give(id, {**parse_roles(give or []), **taken}, actor=checked_actor(actor))
    typer.echo(f'person {found.id}, "{found.name}": {_shown(found)}')


@person_app.command(cls=Command)
def remove(id: Id, db: Database = DATABASE, actor: Actor = None) -> None:
    """Take all roles, keys and sessions from a person, for good; what they did stays in the logs."""
    with _people(db) as known:
        gone = known.remove(id, actor=checked_actor(actor))
    typer.echo(f'person {gone.id}, "{gone.name}", can no longer come in')


def _shown(person: Any) -> str:
    from safebandit.service.roles import show_roles

    return show_roles(person.roles) or "no role"


@contextmanager
def _people(db: str, *, create: bool = False) -> Iterator[People]:
    """The people of a database, which is closed again."""
    with live_packages("person"):
        from safebandit.service.keys import Keys
        from safebandit.service.people import People
    with open_ledger(db, create=create) as ledger:
        yield People(ledger, Keys(ledger))
