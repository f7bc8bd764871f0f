"""`safebandit alert`: who is told, on which channel, when something happens in a trial."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from json import dumps, loads
from typing import Annotated, Any

import typer

from safebandit.cli.extras import live_packages
from safebandit.cli.flags import Command
from safebandit.cli.live import DATABASE, Actor, Database, open_ledger
from safebandit.cli.output import Json, plain_table, print_plain
from safebandit.errors import TrialError

alert_app = typer.Typer(
    name="alert", help="Alerts by webhook or e-mail: new, list, remove, test, log.", rich_markup_mode=None
)
Id = Annotated[str, typer.Argument(help="The alert's id, as `safebandit alert list` shows it.")]
# How long `test` waits for a service to send.
TEST_SECONDS = 15.0


@alert_app.command(cls=Command)
def new(
    webhook: Annotated[str | None, typer.Option(help="The address that messages are posted to.")] = None,
    email: Annotated[str | None, typer.Option(help="The address that e-mail is sent to.")] = None,
    trial: Annotated[str | None, typer.Option(help="The trial; without one, all of a project, later ones too.")] = None,
    project: Annotated[str | None, typer.Option(help="The project.  [default: the trial's, or default]")] = None,
    about: Annotated[
        str | None,
        typer.Option(help="hold, waiting, stop, guard, verification, amendment, with commas.  [default: all of them]"),
    ] = None,
    role: Annotated[
        str,
        typer.Option(help="The channel is told what a key of this role may know."),
    ] = "operator",
    patience: Annotated[
        float | None, typer.Option(help="Seconds after which a trial or a unit has waited too long.")
    ] = None,
    quiet: Annotated[
        float, typer.Option(help="Seconds between two messages of a kind of a trial; what happens meanwhile is one.")
    ] = 300.0,
    db: Database = DATABASE,
    actor: Actor = None,
) -> None:
    """Make an alert, and print the secret that its webhook is signed with: the only time that it can be seen."""
    if (webhook is None) == (email is None):
        raise TrialError(f"give --webhook or --email, got {'neither' if webhook is None else 'both'}")
    channel, target = ("webhook", webhook) if webhook is not None else ("email", email)
    kinds = None if about is None else [part.strip() for part in about.split(",")]
    with _alerts(db) as (alerts, _):
        made, secret = alerts.create(
            channel,
            target,
            project=project,
            trial=trial,
            kinds=kinds,
            role=role,
            patience=patience,
            quiet=quiet,
            actor=actor,
        )
    whom = f'all trials of "{made.project}"' if trial is None else f'trial "{trial}"'
    typer.echo(f"alert {made.id} to {made.address}: {', '.join(made.kinds)} of {whom}", err=secret is not None)
    if secret is not None:
        typer.echo("it is signed with this secret, shown once:", err=True)
        typer.echo(secret)


@alert_app.command("list", cls=Command)
def list_alerts(db: Database = DATABASE, json: Json = False) -> None:
    """List the alerts: what each is about and whom it tells; never a secret."""
    with _alerts(db) as (alerts, _):
        known = alerts.all()
    if json:
        typer.echo(dumps([{**_without_target(each), "address": each.address} for each in known]))
        return
    table = plain_table("id", "trial", "about", "to", "role", "patience", "works")
    for each in known:
        patience = "-" if each.patience is None else f"{each.patience:g} s"
        works = "yes" if each.removed is None else "removed"
        table.add_row(
            each.id,
            each.trial or f"all of {each.project}",
            ", ".join(each.kinds),
            each.address,
            each.role,
            patience,
            works,
        )
    print_plain(table)


@alert_app.command(cls=Command)
def remove(id: Id, db: Database = DATABASE, actor: Actor = None) -> None:
    """Send nothing more for an alert, for good; what waits to be sent is given up."""
    with _alerts(db) as (alerts, _):
        gone = alerts.remove(id, actor=actor)
    typer.echo(f"alert {gone.id} to {gone.address} is removed")


@alert_app.command("test", cls=Command)
def send_test(id: Id, db: Database = DATABASE) -> int:
    """Have a service that runs on this database send a test, and say what became of it; exit status 1: it failed."""
    with _alerts(db) as (alerts, outbox):
        from safebandit.service.alerts.outbox import BEGUN

        alert = alerts.get(id)
        if alert.removed is not None:
            raise TrialError(f"alert {id} was removed, and sends nothing; make a new one")
        message = outbox.test(alert)
        until = time.monotonic() + TEST_SECONDS
        while message.state == "waiting" and message.said in (None, BEGUN) and time.monotonic() < until:
            time.sleep(0.1)
            message = outbox.get(message.id)
    if message.state == "sent":
        typer.echo(f"sent to {alert.address}: {message.said}")
        return 0
    problem = message.said or "nobody has tried: start a service on this database"
    typer.echo(f"not sent to {alert.address}: {problem}", err=True)
    return 1


@alert_app.command(cls=Command)
def log(
    id: Annotated[str | None, typer.Argument(help="The alert; without one, all.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many messages, the newest.")] = 100,
    before: Annotated[str | None, typer.Option(help="Only what is older than the message of this id.")] = None,
    db: Database = DATABASE,
    json: Json = False,
) -> None:
    """Print what was sent, waits to be sent or was given up, newest first."""
    with _alerts(db) as (alerts, outbox):
        if id is not None:
            alerts.get(id)
        found = outbox.log(None if id is None else [id], before=before, limit=limit + 1)
    found, older = found[:limit], len(found) > limit
    if json:
        typer.echo(dumps([{**each._asdict(), "body": loads(each.body)} for each in found]))
        return
    table = plain_table("time", "alert", "message", "state", "attempts", "said", right=("attempts",))
    for each in found:
        time_made = datetime.fromtimestamp(each.made, UTC).isoformat(timespec="seconds")[:19]
        message = loads(each.body)["data"]["message"]
        table.add_row(time_made, each.alert, message, each.state, str(each.attempts), each.said or "")
    print_plain(table)
    if older:
        typer.echo(f"older ones: add --before {found[-1].id}", err=True)


def _without_target(alert: Any) -> dict[str, Any]:
    return {name: value for name, value in alert._asdict().items() if name != "target"}


@contextmanager
def _alerts(db: str) -> Iterator[tuple[Any, Any]]:
    with live_packages("alert"):
        from safebandit.service.alerts.outbox import Outbox
        from safebandit.service.alerts.rules import Alerts
    with open_ledger(db) as ledger:
        yield Alerts(ledger), Outbox(ledger.engine)
