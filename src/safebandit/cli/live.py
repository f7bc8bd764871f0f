"""What the commands of live trials share: the database, who acts, and how what is told of a unit is read."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from safebandit.cli.extras import live_packages
from safebandit.cli.output import print_document
from safebandit.errors import TrialError

if TYPE_CHECKING:
    from safebandit.trials.answers import Receipt
    from safebandit.trials.events import Event
    from safebandit.trials.record.ledger import Ledger

# The status of a command that was asked for an arm while there is none to give.
NO_ARM_STATUS = 3

Database = Annotated[
    str,
    typer.Option(
        "--db", envvar="SAFEBANDIT_DB", help="The database: a file, or an address such as postgresql://host/name."
    ),
]
Actor = Annotated[str | None, typer.Option(help="Who acts, as the log will say.  [default: your user name]")]
Name = Annotated[str, typer.Argument(help="The trial.")]
OneStratum = Annotated[
    list[str] | None,
    typer.Option("--stratum", help="One stratum alone: site=a, once for each factor.  [default: all, pooled]"),
]
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


class Desk(NamedTuple):
    """Where a command writes: the trial, its database, who acts, and whether the answer is JSON."""

    trial: str
    db: str
    actor: str | None
    json: bool


def write(desk: Desk, past: str, work: Callable[[Ledger, str | None], Receipt]) -> None:
    """Have something written, and say in which event; `past` is what is then done."""
    who = checked_actor(desk.actor)
    with open_ledger(desk.db) as ledger:
        done = work(ledger, who)
    if desk.json:
        print_document(done._asdict())
    else:
        typer.echo(f"{past}: event {done.event}" if done.new else "this was so already: nothing was written")


def read_risk(given: list[str] | None) -> float | list[float | None] | dict[str, float] | None:
    """What --risk says: a number, several separated by commas, or name=number, once for each.

    >>> read_risk(["0"]), read_risk(["0,1"]), read_risk(["toxicity=0", "nausea=1"])
    (0.0, [0.0, 1.0], {'toxicity': 0.0, 'nausea': 1.0})
    """
    found = _listed("--risk", "risk", given or [])
    if found is None or isinstance(found, dict):
        return found
    return found[0] if len(found) == 1 else list[float | None](found)


def read_context(given: list[str] | None) -> list[float] | dict[str, float] | None:
    """What --context says of a unit: name=number, once for each, or all numbers in order, separated by commas.

    >>> read_context(["age=44", "smoker=0"]), read_context(["44,0"])
    ({'age': 44.0, 'smoker': 0.0}, [44.0, 0.0])
    """
    return _listed("--context", "number of the context", given or [])


def read_stratum(given: list[str] | None) -> dict[str, str] | None:
    """What --stratum says of a unit: factor=level, once for each.

    >>> read_stratum(["site=a", "age=65+"])
    {'site': 'a', 'age': '65+'}
    """
    if not given:
        return None
    parts = [part.partition("=") for part in given]
    if not all(equals for _, equals, _ in parts) or len({name for name, _, _ in parts}) < len(parts):
        raise TrialError(f"--stratum must be factor=level, once for each factor, got {' '.join(given)}")
    return {name.strip(): level.strip() for name, _, level in parts}


def read_strata(given: list[str] | None) -> dict[str, list[str]] | None:
    """What --strata declares: a factor and its levels, once for each.

    >>> read_strata(["site=a,b", "age=<65,65+"])
    {'site': ['a', 'b'], 'age': ['<65', '65+']}
    """
    told = read_stratum(given)
    return (
        None if told is None else {name: [each.strip() for each in levels.split(",")] for name, levels in told.items()}
    )


def _listed(flag: str, what: str, given: list[str]) -> list[float] | dict[str, float] | None:
    """Numbers by name, or in order; None where there are none."""
    if not given:
        return None
    if all("=" in part for part in given):
        named = [part.rpartition("=") for part in given]
        if len({name for name, _, _ in named}) < len(named):
            raise TrialError(f"{flag} names a {what} twice, got {' '.join(given)}")
        return {name.strip(): _number(flag, what, part) for name, _, part in named}
    return [_number(flag, what, part) for text in given for part in text.split(",")]


def _number(flag: str, what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise TrialError(f'{flag} must be numbers, or name=number for each {what}, got "{text}"') from None


def read_features(given: str) -> Any:
    """What --features names: a file with a row for each arm, its name and its numbers; or rows of numbers in the order
    of the arms.

    >>> read_features("1,0.5; 1,2")
    [[1.0, 0.5], [1.0, 2.0]]
    """
    path = Path(given)
    if path.suffix != ".csv" and not path.is_file():
        return [[_feature(part) for part in row.split(",")] for row in given.split(";")]
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError) as problem:
        raise TrialError(f"--features cannot be read from {given}: {problem}") from None
    # A first row of words is a heading.
    rows = rows[1:] if rows and not any(map(_is_number, rows[0][1:])) else rows
    if len({row[0] for row in rows}) < len(rows):
        raise TrialError(f"--features has two rows for one arm in {path.name}; give each arm one")
    return {row[0]: [_feature(part) for part in row[1:]] for row in rows}


def _feature(text: str) -> float:
    if not _is_number(text):
        raise TrialError(f'--features must be a .csv file, or rows of numbers such as "1,0;1,2", got "{text}"')
    return float(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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


def read_events(ledger: Ledger, name: str, *, after: int = 0, kind: str | None = None) -> Iterator[Event]:
    """The events behind `after`, all or those of a kind, page by page: a long log need not fit in memory."""
    while page := list(ledger.events(name, after=after, limit=1000)):
        yield from (event for event in page if kind in (None, event.kind))
        after = page[-1].number
