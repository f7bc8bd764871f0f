"""`safebandit key`: who may use the service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.extras import live_packages
from safebandit.cli.flags import Command
from safebandit.cli.live import DATABASE, Actor, Database, open_ledger
from safebandit.cli.output import Json, plain_table, print_plain

if TYPE_CHECKING:
    from safebandit.service.keys import Keys

key = typer.Typer(name="key", help="Keys of the service: create, list, rotate, revoke.", rich_markup_mode=None)


@key.command(cls=Command)
def new(
    name: Annotated[str, typer.Argument(help="Who will use it; it stands in the log beside what is done with it.")],
    role: Annotated[
        list[str] | None,
        typer.Option(
            help="admin, operator (ask and tell), viewer (no single units) or auditor (log and verify); in a project: "
            "knee=viewer (repeated); installation: its admin.  [default: operator]"
        ),
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="Whose key it is, by their id; without --role it has all of their roles.")
    ] = None,
    days: Annotated[float | None, typer.Option(help="Days until it expires; never, if not given.")] = None,
    db: Database = DATABASE,
    actor: Actor = None,
) -> None:
    """Create a key, and print it: the only time that it can be seen."""
    with _keys(db, create=True) as keys:
        from safebandit.service.roles import parse_roles

        made, text = keys.create(
            name, parse_roles(role or ([] if person else ["operator"])), person=person, days=days, actor=actor
        )
    until = f", until {made.expires}" if made.expires else ""
    may = made.role or f"what person {made.person} may"
    typer.echo(f'key {made.id} for "{made.name}" ({may}{until}), shown once:', err=True)
    typer.echo(text)


@key.command("list", cls=Command)
def list_keys(
    db: Database = DATABASE,
    json: Json = False,
) -> None:
    """List the keys: id, name, role and whether each works; never a secret."""
    with _keys(db) as keys:
        known = keys.all()
    if json:
        left = ("project",)
        shown = [{name: value for name, value in each._asdict().items() if name not in left} for each in known]
        typer.echo(dumps([{**each, "works": key.works} for each, key in zip(shown, known, strict=True)]))
        return
    table = plain_table("id", "name", "of", "roles", "made by", "created", "last used", "expires", "works")
    for each in known:
        state = "revoked" if each.revoked else ("yes" if each.works else "expired")
        times = each.created[:19], (each.used or "never")[:19], (each.expires or "never")[:19]
        whose = "a service" if each.person is None else f"person {each.person}"
        table.add_row(each.id, each.name, whose, each.role or "none", each.creator, *times, state)
    print_plain(table)


@key.command(cls=Command)
def rotate(
    id: Annotated[str, typer.Argument(help="The key's id, as `safebandit key list` shows it.")],
    overlap: Annotated[float, typer.Option(help="Hours that the secret before works yet.", min=0)] = 0.0,
    db: Database = DATABASE,
    actor: Actor = None,
) -> None:
    """Give a key another secret, and print it: the only time that it can be seen. Its id and its roles stay."""
    with _keys(db) as keys:
        made, text = keys.rotate(id, overlap_hours=overlap, actor=actor)
    typer.echo(f'key {made.id} of "{made.name}"; the secret before works until {made.old_until}, this one, shown once:',
               err=True)  # fmt: skip
    typer.echo(text)


@key.command(cls=Command)
def revoke(
    id: Annotated[str, typer.Argument(help="The key's id, as `safebandit key list` shows it.")],
    db: Database = DATABASE,
    actor: Actor = None,
) -> None:
    """Make a key worthless, at once and for good; a running service notices within a second."""
    with _keys(db) as keys:
        gone = keys.revoke(id, actor=actor)
    typer.echo(f'key {gone.id} of "{gone.name}" no longer works')


@contextmanager
def _keys(db: str, *, create: bool = False) -> Iterator[Keys]:
    """The keys of a database, which is closed again."""
    with live_packages("key"):
        from safebandit.service.keys import Keys
    with open_ledger(db, create=create) as ledger:
        yield Keys(ledger)
