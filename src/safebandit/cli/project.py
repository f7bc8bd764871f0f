"""`safebandit project`: groups of trials whose members do not see each other's."""

from __future__ import annotations

from typing import Annotated

import typer

from safebandit.cli.extras import live_packages
from safebandit.cli.flags import Command
from safebandit.cli.live import DATABASE, Actor, Database, checked_actor, open_ledger
from safebandit.cli.output import Json, plain_table, print_document, print_plain

project_app = typer.Typer(
    name="project", help="Projects: groups of trials that are seen by their members alone.", rich_markup_mode=None
)


@project_app.command(cls=Command)
def new(
    name: Annotated[str, typer.Argument(help="Small letters, digits and dashes; it stands before its trials' names.")],
    title: Annotated[str, typer.Option(help="A line for people.")] = "",
    db: Database = DATABASE,
    actor: Actor = None,
) -> None:
    """Make a project; its trials are called NAME:TRIAL."""
    with live_packages("project"):
        from safebandit.trials.record.ledger import local_actor
        from safebandit.trials.record.projects import make_project

    who = checked_actor(actor) or local_actor()
    with open_ledger(db, create=True) as ledger:
        made = make_project(ledger, name, title=title, actor=who)
    typer.echo(f'made the project "{made.name}"; create its trials as {made.name}:NAME')


@project_app.command("list", cls=Command)
def list_projects(db: Database = DATABASE, json: Json = False) -> None:
    """List the projects, with how many trials each has."""
    with live_packages("project"):
        from safebandit.trials.record.projects import all_projects
        from safebandit.trials.texts import project_of

    with open_ledger(db) as ledger:
        known, names = all_projects(ledger), ledger.names()
    counted = [{**each._asdict(), "trials": sum(project_of(name) == each.name for name in names)} for each in known]
    if json:
        print_document({"projects": counted})
        return
    table = plain_table("project", "title", "made", "trials", right=("trials",))
    for each in counted:
        table.add_row(each["name"], each["title"], (each["created"] or "always there")[:19], str(each["trials"]))
    print_plain(table)
