"""`safebandit trial ask`, `tell`, `correct`, `give-up` and `void`: one unit, or those of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from safebandit.cli.live import (
    DATABASE,
    NO_ARM_STATUS,
    Actor,
    Database,
    Desk,
    Name,
    Reason,
    checked_actor,
    open_ledger,
    read_context,
    read_risk,
    read_stratum,
    write,
)
from safebandit.cli.output import Json, print_document
from safebandit.cli.trial_batch import DONE, Each, File, Preview, ask_file, change_file, one_of
from safebandit.cli.trial_second import Propose, propose_to
from safebandit.errors import TrialError

Unit = Annotated[
    str | None, typer.Argument(help="The unit's id, any text of yours: it is the same unit whenever it is used.")
]
Reward = Annotated[float | None, typer.Option(help="Its reward, in [0, 1].")]
Risk = Annotated[
    list[str] | None,
    typer.Option(help="Its risk, in [0, 1]; of several risks all in order, 0,1, or each by name: nausea=0 (repeated)."),
]
Context = Annotated[
    list[str] | None,
    typer.Option(help="The context that it asks with: age=44, once for each number, or all in order, 44,80."),
]
Eligible = Annotated[
    list[str] | None, typer.Option(help="An arm that it may be given, if not all may be; may be repeated.")
]
Stratum = Annotated[
    list[str] | None, typer.Option(help="Its stratum, where the trial has strata: site=a, once for each factor.")
]


def ask(
    name: Name,
    unit: Unit = None,
    context: Context = None,
    eligible: Eligible = None,
    stratum: Stratum = None,
    file: File = None,
    each: Each = False,
    db: Database = DATABASE,
    actor: Actor = None,
    json: Json = False,
) -> int:
    """Give a unit its arm: the arm on stdout, why on stderr. A unit that has one gets the same again.

    With --file many units get theirs, in order, in one step: a table on stdout. The file has a column unit, and one
    for each number of the context and each factor of the strata; in a column eligible there may be the arms that a
    unit may be given, with ; between.

    Exit status 3: there is no arm to give; stdout stays empty, stderr says why: the trial holds, as no arm is
    permissible, or waits for outcomes.
    """
    asking = one_of(unit, file)
    if isinstance(asking, Path):
        return ask_file(Desk(name, db, actor, json), asking, each=each)
    who = checked_actor(actor)
    told: dict[str, Any] = {"context": read_context(context), "stratum": read_stratum(stratum)}
    with open_ledger(db) as ledger:
        given = ledger.ask(name, asking, **told, eligible=eligible or None, actor=who)
    if json:
        print_document({**given._asdict(), "held": given.held})
    elif given.arm is not None:
        typer.echo(given.arm)
        typer.echo(given.why if given.new else f"given before, in event {given.event}: {given.why}", err=True)
    else:
        typer.echo(f"{'hold' if given.held else 'waiting'}: {given.why}", err=True)
    return NO_ARM_STATUS if given.arm is None else 0


def tell(
    name: Name,
    unit: Unit = None,
    reward: Reward = None,
    risk: Risk = None,
    file: File = None,
    each: Each = False,
    preview: Preview = False,
    db: Database = DATABASE,
    actor: Actor = None,
    json: Json = False,
) -> int:
    """Say what happened to a unit, all of it or a part. The same again changes nothing; another value is refused.

    With --file it is told of many, in one step: columns unit, reward, and risk or one for each risk by its name; an
    empty cell says nothing.
    """
    told = {"reward": reward, "risk": read_risk(risk)}
    return _change("tell", Desk(name, db, actor, json), one_of(unit, file), told, each=each, preview=preview)


def correct(
    name: Name,
    reason: Reason,
    unit: Unit = None,
    reward: Reward = None,
    risk: Risk = None,
    file: File = None,
    each: Each = False,
    preview: Preview = False,
    propose: Propose = False,
    db: Database = DATABASE,
    actor: Actor = None,
    json: Json = False,
) -> int:
    """Put another outcome in the place of one that was told; decisions made before stand.

    With --file of many, in one step: columns as for `tell`, and one reason for all.
    """
    about, told = one_of(unit, file), {"reward": reward, "risk": read_risk(risk), "reason": reason}
    return _change("correct", Desk(name, db, actor, json), about, told, each=each, preview=preview, propose=propose)


def give_up(
    name: Name,
    reason: Reason,
    unit: Unit = None,
    file: File = None,
    each: Each = False,
    preview: Preview = False,
    propose: Propose = False,
    db: Database = DATABASE,
    actor: Actor = None,
    json: Json = False,
) -> int:
    """No longer wait for a unit's outcome; its unknown risk counts as the trial's rule says.

    With --file for those of many, in one step: a column unit.
    """
    about, told = one_of(unit, file), {"reason": reason}
    return _change("give_up", Desk(name, db, actor, json), about, told, each=each, preview=preview, propose=propose)


def void(
    name: Name,
    reason: Reason,
    unit: Unit = None,
    file: File = None,
    each: Each = False,
    preview: Preview = False,
    propose: Propose = False,
    db: Database = DATABASE,
    actor: Actor = None,
    json: Json = False,
) -> int:
    """Count a unit that never got its arm, such as a typing error, as nothing; its id cannot be used again.

    With --file many, in one step: a column unit.
    """
    about, told = one_of(unit, file), {"reason": reason}
    return _change("void", Desk(name, db, actor, json), about, told, each=each, preview=preview, propose=propose)


def _change(
    kind: str,
    desk: Desk,
    about: str | Path,
    told: dict[str, Any],
    *,
    each: bool,
    preview: bool,
    propose: bool = False,
) -> int:
    """Do this about one unit, or all units of a file; or propose it."""
    if isinstance(about, Path):
        if propose:
            raise TrialError("--propose is for one unit; leave --file out")
        return change_file(desk, kind, about, reason=told.get("reason", ""), each=each, preview=preview)
    if propose:
        propose_to(kind, desk, id=about, **told)
    else:
        write(desk, DONE[kind], lambda ledger, who: getattr(ledger, kind)(desk.trial, about, **told, actor=who))
    return 0
