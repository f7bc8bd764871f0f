"""The command line. Each command is a file here; the heavy imports are inside them, so that it starts at once."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Annotated, Any

import typer

from safebandit.cli.alert import alert_app
from safebandit.cli.arena import arena
from safebandit.cli.bounds import bounds
from safebandit.cli.catalogue import instances, policies, rules
from safebandit.cli.db import db_app
from safebandit.cli.design import design_app
from safebandit.cli.doses import doses
from safebandit.cli.flags import Command, UsageError
from safebandit.cli.identify import identify
from safebandit.cli.key import key
from safebandit.cli.next_steps import with_next_step
from safebandit.cli.paper import paper
from safebandit.cli.person import person_app
from safebandit.cli.project import project_app
from safebandit.cli.recommend import recommend
from safebandit.cli.results import extend, rerun, show
from safebandit.cli.serve import serve
from safebandit.cli.simulate import simulate
from safebandit.cli.trial import trial_app
from safebandit.cli.validate import validate
from safebandit.errors import DamagedError, SafebanditError
from safebandit.version import __version__
from safebandit.waits import WAITS

# Exit statuses: a request that cannot be done, and a database whose bytes are not those that were written.
MISTAKE, DAMAGED = 2, 4
# So many objects are made, less those that are freed, before garbage is looked for: loaded modules hold hundreds
# of thousands, none of them garbage, and Python's own 700 would look through them for a tenth of a command's time.
GARBAGE = 50_000

BEGIN = f"""safebandit {__version__}: adaptive experiments that keep every choice safe.

Where to begin:
  safebandit simulate --instance drug-trial --alpha .21    compare policies on five doses of a drug, some seconds
  safebandit design new dose.toml --kind dose-finding      a commented design; then: safebandit design run dose.toml
  safebandit trial new knee --arms low,high --alpha .2     a live trial; then: safebandit trial ask knee "patient 1"
                                                           (needs more packages: pip install "safebandit[live]")

All commands: safebandit --help. Names in your shell, by Tab: safebandit --install-completion.
Is this installation right? safebandit validate"""

UsageMistake: Any = next(base for base in UsageError.__mro__ if base.__name__ == "ClickException")

app = typer.Typer(
    name="safebandit",
    help="Adaptive experiments that keep every choice safe.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    simulate, show, extend, rerun, recommend, identify, doses, bounds, paper, arena, policies, rules, instances, serve,
    validate,
):  # fmt: skip
    app.command(cls=Command)(command)
app.add_typer(design_app, name="design")
app.add_typer(trial_app, name="trial")
app.add_typer(project_app)
app.add_typer(person_app)
app.add_typer(key)
app.add_typer(alert_app)
app.add_typer(db_app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"safebandit {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Adaptive experiments that keep every choice safe."""


def main() -> None:
    """Run a command; a mistake gives one line and exit status 2, a damaged database 4, Ctrl-C 130."""
    gc.set_threshold(GARBAGE)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name that the terminal's encoding lacks is shown by its number.
        sys.stdout.reconfigure(errors="backslashreplace")
    if "--json" not in sys.argv:
        WAITS.announce(lambda line: typer.echo(line, err=True))
    if not sys.argv[1:] and not os.environ.get("_SAFEBANDIT_COMPLETE"):
        typer.echo(BEGIN)
        sys.exit(0)
    try:
        status = app(sys.argv[1:], standalone_mode=False, prog_name="safebandit")
    except SafebanditError as mistake:
        _fail(
            f"{type(mistake).__name__}: {with_next_step(str(mistake))}",
            DAMAGED if isinstance(mistake, DamagedError) else MISTAKE,
        )
    except UsageMistake as mistake:
        context = getattr(mistake, "ctx", None)
        command = context.command_path if context else "safebandit"
        _fail(f"{mistake.format_message().rstrip('.')}; see {command} --help")
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("interrupted: no trial was finished, nothing was kept", err=True)
        sys.exit(130)
    except OSError as mistake:
        _fail(f"{mistake.strerror}: {mistake.filename}")
    else:
        sys.exit(status or 0)


def _fail(message: str, status: int = MISTAKE) -> None:
    typer.echo(" ".join(message.split()), err=True)
    sys.exit(status)
