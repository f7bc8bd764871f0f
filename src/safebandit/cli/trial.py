"""`safebandit trial`: live trials in a database, without a server; here are the commands about a trial's status."""

from __future__ import annotations

import typer

from safebandit.cli import (
    trial_analyse,
    trial_audit,
    trial_pending,
    trial_second,
    trial_settings,
    trial_show,
    trial_units,
    trial_weighted,
)
from safebandit.cli.flags import Command
from safebandit.cli.live import DATABASE, Actor, Database, Desk, Name, Reason, write
from safebandit.cli.output import Json
from safebandit.cli.rehearse import rehearse


def pause(name: Name, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Give no arms until the trial is resumed; outcomes are still taken."""
    _set_status("pause", "paused", reason, Desk(name, db, actor, json))


def resume(name: Name, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Give arms again."""
    _set_status("resume", "resumed", reason, Desk(name, db, actor, json))


def route(name: Name, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Give every unit the control, as long as it is permissible; outcomes are still taken, and count."""
    _set_status("route", "routed", reason, Desk(name, db, actor, json))


def unroute(name: Name, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Decide by the policy again, after `trial route` or a rule."""
    _set_status("unroute", "unrouted", reason, Desk(name, db, actor, json))


def close(name: Name, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Give no more arms, ever; outcomes are still taken."""
    _set_status("close", "closed", reason, Desk(name, db, actor, json))


def _set_status(change: str, past: str, reason: str, desk: Desk) -> None:
    write(desk, past, lambda ledger, who: ledger.set_status(desk.trial, change, reason=reason, actor=who))


trial_app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)


@trial_app.callback()
def options(context: typer.Context) -> None:
    """Run live trials in a database, without a server."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (
    trial_settings.new, trial_units.ask, trial_units.tell, trial_show.status, trial_show.explain,
    trial_units.correct, trial_units.give_up, trial_units.void, trial_settings.amend,
    pause, resume, route, unroute, close,
    trial_second.unseal, trial_second.proposals, trial_second.approve, trial_second.decline,
    trial_show.trials, trial_pending.pending, trial_analyse.analyse, trial_weighted.weighted, trial_weighted.what_if,
    trial_audit.log, trial_audit.verify, trial_audit.export, rehearse,
):  # fmt: skip
    trial_app.command("list" if command is trial_show.trials else None, cls=Command)(command)
