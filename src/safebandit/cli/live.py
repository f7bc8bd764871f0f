"""What the commands of live trials share: the database, who acts, how outcomes are read, how answers are shown."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.cli.extras import live_packages
from safebandit.errors import TrialError

if TYPE_CHECKING:
    from rich.table import Table

    from safebandit.trials.events import Event
    from safebandit.trials.record.ledger import Ledger

# The status of a command that was asked for an arm while there is none to give.
NO_ARM = 3

Database = Annotated[
    str,
    typer.Option(
        "--db", envvar="SAFEBANDIT_DB", help="The database: a file, or an address such as postgresql://host/name."
    ),
]
Actor = Annotated[str | None, typer.Option(help="Who acts, as the log will say.  [default: your user name]")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]
Name = Annotated[str, typer.Argument(help="The trial.")]
Reason = Annotated[str, typer.Option(help="Why, in a few words; it is kept in the log.")]
DATABASE = "trials.db"


@contextlib.contextmanager
def open_ledger(database: str, *, create: bool = False) -> Iterator[Ledger]:
    """The record in this database; only where `create` says so is a new file made."""
    with live_packages("trial"):
        from safebandit.trials.record.ledger import Ledger
    try:
        with Ledger(database, create=create) as ledger:
            yield ledger
    except KeyboardInterrupt:
        typer.echo("interrupted: what was begun is in the record or is not; see `safebandit trial log`", err=True)
        raise typer.Exit(130) from None


def checked_actor(actor: str | None) -> str | None:
    """A name that can be kept; None stands for the user."""
    with live_packages("trial"):
        from safebandit.trials.texts import check_text
    return None if actor is None else check_text("actor", actor)


def read_risk(given: list[str] | None) -> float | list[float | None] | dict[str, float] | None:
    """What --risk says: a number, several separated by commas, or name=number, once for each.

    >>> read_risk(["0"]), read_risk(["0,1"]), read_risk(["toxicity=0", "nausea=1"])
    (0.0, [0.0, 1.0], {'toxicity': 0.0, 'nausea': 1.0})
    """
    if not given:
        return None
    if all("=" in part for part in given):
        named = [part.rpartition("=") for part in given]
        if len({name for name, _, _ in named}) < len(named):
            raise TrialError(f"--risk names a risk twice, got {' '.join(given)}")
        return {name.strip(): _number(part) for name, _, part in named}
    numbers = [_number(part) for text in given for part in text.split(",")]
    return numbers[0] if len(numbers) == 1 else list[float | None](numbers)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise TrialError(f'--risk must be numbers, or name=number for each risk, got "{text}"') from None


def read_design_flag(given: str, arms: bool = False) -> Any:
    """What --design names: a file, or a design by its text, which has its arms from --arms."""
    from safebandit.trials.design_file import read_design_file

    path = Path(given)
    if path.suffix != ".toml" and not path.is_file():
        if arms:
            return given
        raise TrialError(f'--design is a design file such as dose.toml, or a design by name with --arms, got "{given}"')
    if arms:
        raise TrialError(f"--arms is for a design by name; {path.name} has its arms: leave --arms out")
    return read_design_file(path).design


@contextlib.contextmanager
def counting_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr where it is a terminal, else nothing."""
    from rich.progress import Progress

    from safebandit.cli.show import console

    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda *_: None
        return
    with Progress(console=screen, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def tell(done: int, total: int) -> None:
            # The bar costs more than an event; a hundred steps are enough for the eye.
            if done == total or done % max(1, total // 100) == 0:
                bar.update(task, completed=done, total=total)

        yield tell


def plain_table(headings: list[str], *, right: tuple[str, ...] = ()) -> Table:
    """A table without lines, with these headings; its rows are added by `add`."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        justify: Any = "right" if heading in right else "left"
        table.add_column(heading, justify=justify, overflow="fold")
    return table


def add(table: Table, *cells: str) -> None:
    """Add a row of texts."""
    table.add_row(*cells)


def figure(value: Any) -> str:
    """A number as people read it; a dash for what does not exist."""
    if value is None or isinstance(value, str):
        return value or "-"
    return "-" if math.isnan(value) else f"{value:.4g}"


def print_plain(what: Any, *, style: str | None = None) -> None:
    """A line or a table on stdout."""
    from safebandit.cli.show import console

    console().print(what, style=style, soft_wrap=isinstance(what, str))


def print_document(document: dict[str, Any]) -> None:
    """One JSON document on stdout."""
    from safebandit.cli.show import print_json

    print_json([document])


def read_events(ledger: Ledger, name: str, *, after: int = 0, kind: str | None = None) -> Iterator[Event]:
    """The events behind `after`, all or those of a kind, page by page: a long log need not fit in memory."""
    while page := list(ledger.events(name, after=after, limit=1000)):
        yield from (event for event in page if kind in (None, event.kind))
        after = page[-1].number
