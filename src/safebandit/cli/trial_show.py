"""`safebandit trial`: the commands that read, and change nothing."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.cli.live import (
    DATABASE,
    Database,
    Json,
    Name,
    add,
    counting_bar,
    figure,
    needs_live_packages,
    open_ledger,
    plain_table,
)
from safebandit.errors import NotFoundError, TrialError

if TYPE_CHECKING:
    from safebandit.record.events import Event
    from safebandit.record.ledger import Ledger
    from safebandit.record.settings import Settings


def trials(db: Database = DATABASE, json: Json = False) -> None:
    """List the trials of a database."""
    with open_ledger(db) as ledger:
        states = [ledger.state(name) for name in ledger.names()]
    rows = [
        {
            "name": state.name,
            "title": state.settings.title,
            "status": state.status,
            "units": state.units,
            "pending": state.waiting,
            "holding": state.status == "open" and state.last_kind == "held",
        }
        for state in states
    ]
    if json:
        _print_json({"trials": rows})
        return
    table = plain_table(["trial", "status", "units", "pending", "title"], right=("units", "pending"))
    for row in rows:
        status = "holds" if row["holding"] else row["status"]
        add(table, row["name"], status, f"{row['units']:,}", f"{row['pending']:,}", row["title"])
    _print(table)


def status(name: Name, db: Database = DATABASE, json: Json = False) -> None:
    """Show a trial at a glance: what is known of each arm, and which arms are permissible; never which one comes next."""
    found = _overview(db, name)
    if json:
        _print_json(found)
        return
    _print_head(found)
    by_risk = _by_risk(found["risks"])
    numbers = ["plays", "pending", "reward", "95 %"]
    numbers += [heading for risk in by_risk for heading in (f"risk{risk}", f"95 %{risk}")]
    table = plain_table(["arm", *numbers, "permissible"], right=tuple(numbers))
    for arm in found["arms"]:
        risks = zip(arm["mean_risk"], arm["risk_interval"], strict=True)
        cells = [cell for mean, interval in risks for cell in (figure(mean), _interval(interval))]
        permissible = "withdrawn" if not arm["active"] else "yes" if arm["permissible"] else "no"
        add(
            table, arm["arm"], f"{arm['plays']:,}", f"{arm['pending']:,}", figure(arm["mean_reward"]),
            _interval(arm["reward_interval"]), *cells, permissible,
        )  # fmt: skip
    _print(table)
    for each in found["expected"]:
        _print(
            f"theory, if the means were so: after {each['horizon']:,} units a regret of {each['regret']:.1f} and "
            f"{each['unsafe_plays']:.1f} unsafe plays (leading terms)"
        )
    _print(f"event {found['events']:,}, {found['time']}, hash {found['hash']}")


def explain(
    name: Name,
    unit: Annotated[str | None, typer.Argument(help="The unit whose decision is explained.")] = None,
    db: Database = DATABASE,
    json: Json = False,
) -> None:
    """Say why a unit was given its arm, as it was recorded then; without a unit, why each arm is permissible or not."""
    if unit is not None:
        with open_ledger(db) as ledger:
            event = _decision(ledger, name, unit)
            settings = ledger.state(name).settings
        if json:
            _print_json(event.to_dict())
        else:
            _print_decision(event, settings)
        return
    found = _overview(db, name)
    if json:
        _print_json(found)
        return
    _print_head(found)
    table = plain_table(["arm", "why"])
    for arm in found["arms"]:
        add(table, arm["arm"], arm["why"])
    _print(table)


def log(
    name: Name,
    after: Annotated[int, typer.Option(help="Begin behind the event of this number.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="At most so many events.")] = 100,
    kind: Annotated[str | None, typer.Option(help="Only events of this kind: asked, told, held, amended, ...")] = None,
    db: Database = DATABASE,
    json: Json = False,
) -> None:
    """Print a trial's log, oldest first."""
    with needs_live_packages("trial"):
        from safebandit.record.words import KINDS, event_words
    if kind is not None and kind not in KINDS:
        raise TrialError(f"--kind must be one of {', '.join(KINDS)}, got {kind!r}")
    with open_ledger(db) as ledger:
        risks = ledger.state(name).settings.risks
        with contextlib.closing(ledger.events(name, after=after)) as events:
            found = list(itertools.islice(_of_kind(events, kind), limit + 1))
    shown = found[:limit]
    if json:
        _print_json({"trial": name, "events": [event.to_dict() for event in shown], "more": len(found) > limit})
        return
    table = plain_table(["event", "time", "actor", "kind", "what"], right=("event",))
    for event in shown:
        add(table, f"{event.number}", event.time, event.actor, event.kind, event_words(event, risks))
    _print(table)
    if len(found) > limit:
        typer.echo(f"there is more: --after {shown[-1].number}", err=True)


def verify(
    name: Name,
    expect: Annotated[str | None, typer.Option(help="The hash of the last event, as it was noted elsewhere.")] = None,
    db: Database = DATABASE,
    json: Json = False,
) -> int:
    """Recompute a trial from its first event: every hash, every decision, and the state. Exit status 1: something fails."""
    with open_ledger(db) as ledger:
        from safebandit.record.verification import verify as recompute

        with counting_bar("verifying") as progress:
            found = recompute(ledger, name, expected=expect, progress=progress)
    if json:
        _print_json({**found._asdict(), "holds": found.holds})
    elif found.holds:
        typer.echo(
            f"{found.events} events hold, with {found.decisions} decisions made again; the last hash is {found.hash}"
        )
    else:
        typer.echo(f"event {found.failed} fails: {found.problem}")
    return 0 if found.holds else 1


def export(
    name: Name,
    out: Annotated[Path | None, typer.Option(help="The file: .csv, .parquet or .json.")] = None,
    kind: Annotated[str | None, typer.Option(help="csv, parquet or json; without --out, on stdout.")] = None,
    db: Database = DATABASE,
) -> None:
    """Write a trial for other programs: one row per unit (csv, parquet), or the whole log (json)."""
    if out is None and kind is None:
        raise TrialError("an export needs a file or a kind; give --out units.csv, or --kind csv for stdout")
    chosen = kind if kind is not None or out is None else out.suffix.lower().removeprefix(".")
    with open_ledger(db) as ledger:
        from safebandit.record.export import export as make

        data = make(ledger, name, str(chosen))
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        out.write_bytes(data)
        typer.echo(f"wrote {out}", err=True)


def _overview(db: str, name: str) -> dict[str, Any]:
    """The overview, without the propensities: of a policy that draws nothing they say which arm comes next."""
    with open_ledger(db) as ledger:
        from safebandit.record.overview import overview

        found = overview(ledger, name).to_dict()
    del found["propensities"]
    for arm in found["arms"]:
        del arm["propensity"]
    return found


def _print_head(found: dict[str, Any]) -> None:
    title = f": {found['title']}" if found["title"] else ""
    alpha = ", ".join(f"{limit:g}" for limit in found["alpha"])
    _print(f"{found['name']}{title}")
    _print(
        f"{found['status']}, {found['units']:,} units, {found['pending']:,} pending; alpha {alpha}, policy "
        f"{found['policy']}, version {found['version']} of the settings"
    )
    if found["holding"] is not None:
        _print(f"holds: {found['holding']}", style="bold red" if found["red"] else "bold")


def _decision(ledger: Ledger, name: str, unit: str) -> Event:
    """The event in which a unit was given its arm, or the last in which it was held."""
    try:
        return ledger.event(name, ledger.unit(name, unit).asked_at)
    except NotFoundError:
        with contextlib.closing(ledger.events(name, newest_first=True)) as events:
            held = next((event for event in _of_kind(events, "held") if event.content["unit"] == unit), None)
        if held is None:
            raise
        return held


def _print_decision(event: Event, settings: Settings) -> None:
    content = event.content
    arm = content["arm"] if content["arm"] is not None else f"no arm ({content['cause']})"
    _print(f"unit {content['unit']!r}, round {content['round']}: {arm}")
    _print(f"why: {content['why']}")
    bounds = [f"risk index{risk}" for risk in _by_risk(settings.risks)]
    numbers = ("reward index", *bounds, "propensity")
    table = plain_table(["arm", "permissible", "free", *numbers], right=numbers)
    for name in (arm for arm in settings.arms if arm in content["arms"]):
        seen = content["arms"][name]
        flags = ("yes" if seen[flag] else "no" for flag in ("permissible", "available"))
        indices = (seen["reward_index"], *seen["risk_index"], seen["propensity"])
        add(table, name, *flags, *(figure(value) for value in indices))
    _print(table)
    _print(f"propensities: {content['propensities']}; that none is given: {content['held_propensity']:g}")
    _print(f"policy {content['policy']}, version {content['version']} of the settings")
    _print(f"safebandit {content['software']}, formulas {content['formulas']}")
    _print(f"event {event.number}, {event.time}, by {event.actor}, hash {event.hash}")


def _of_kind(events: Iterator[Event], kind: str | None) -> Iterator[Event]:
    return (event for event in events if kind in (None, event.kind))


def _by_risk(risks: Sequence[str]) -> list[str]:
    return [""] if len(risks) == 1 else [f" {name}" for name in risks]


def _interval(ends: tuple[float, float] | None) -> str:
    return "-" if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"


def _print(what: Any, *, style: str | None = None) -> None:
    from safebandit.cli.show import console

    # Brackets in a name are shown, not obeyed.
    console().print(what, markup=False, style=style)


def _print_json(document: dict[str, Any]) -> None:
    from safebandit.cli.show import print_json

    print_json([document])
