"""`safebandit trial`: live trials in a database, without a server; here are the commands that write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from safebandit.cli import trial_analyse, trial_audit, trial_pending, trial_second, trial_show, trial_weighted
from safebandit.cli.completion import complete_policy
from safebandit.cli.extras import live_packages
from safebandit.cli.flags import Command
from safebandit.cli.live import (
    DATABASE,
    NO_ARM,
    Actor,
    Database,
    Json,
    Name,
    Reason,
    checked_actor,
    open_ledger,
    print_document,
    read_context,
    read_design_flag,
    read_features,
    read_risk,
    read_strata,
    read_stratum,
)
from safebandit.cli.problem import names, one_or_more
from safebandit.cli.rehearse import rehearse
from safebandit.cli.trial_batch import Each, File, Preview, ask_file, change_file, one_of
from safebandit.cli.trial_second import Propose
from safebandit.errors import TrialError

Unit = Annotated[str, typer.Argument(help="The unit's id, any text of yours: it is the same unit whenever it is used.")]
OneUnit = Annotated[
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
Policy = Annotated[
    str | None, typer.Option(help="A policy by name, such as tsbu:schedule=theory.", autocompletion=complete_policy)
]
Alpha = typer.Option(help="The tolerated mean risk, or one for every risk: .3,.2")
PendingCap = typer.Option(
    help="How many units of an arm may wait for their risk before any is known.  [default: what fits --delay]"
)
Ids = typer.Option(help="A pattern that the id of a new unit must match, such as P-[0-9]{4}; no groups.")
Control = typer.Option(help="The arm that all units can be routed to (`trial route`).")
ControlFloor = typer.Option(help="The least chance of the control at every unit, while it is permissible.")


def new(
    name: Annotated[str, typer.Argument(help="The trial's name: letters, digits, dots, dashes, underscores.")],
    arms: Annotated[str | None, typer.Option(help="Names of the arms, separated by commas.")] = None,
    alpha: Annotated[str | None, Alpha] = None,
    design: Annotated[
        str | None,
        typer.Option(help="A design file (.toml), or a design by name with --arms: boin:target=.25,units=30."),
    ] = None,
    risks: Annotated[str | None, typer.Option(help="Names of the risks, separated by commas.")] = None,
    policy: Policy = None,
    seed: Annotated[
        int | None, typer.Option(help="Fixes all random numbers.  [default: a random one, kept in the log]")
    ] = None,
    pending_cap: Annotated[int | None, PendingCap] = None,
    delay: Annotated[int, typer.Option(help="So many more units arrive before a unit's risk is known.")] = 0,
    lost: Annotated[
        str, typer.Option(help="What the unknown risk of a unit that is given up counts as: harm or ignore.")
    ] = "harm",
    title: Annotated[str, typer.Option(help="A line for people.")] = "",
    ids: Annotated[str, Ids] = "",
    units: Annotated[
        int | None, typer.Option(help="How many units are planned: policies are chosen and set by it.")
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            help="A number that every unit asks with, and its range: age:18..90 (repeated); without one 0..1."
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Features of the arms: a .csv file with an arm's name and numbers in a row, or 1,0;1,2."),
    ] = None,
    control: Annotated[str | None, Control] = None,
    control_floor: Annotated[float, ControlFloor] = 0.0,
    strata: Annotated[
        list[str] | None,
        typer.Option(help="A factor of the strata and its levels: site=a,b (repeated); each decides by its own units."),
    ] = None,
    second_person: Annotated[
        str, typer.Option(help="What nobody may do alone, with commas: amend,correct,unseal,void,give_up.")
    ] = "",
    db: Database = DATABASE,
    actor: Actor = None,
    json: Json = False,
) -> None:
    """Create a trial; the database too, if it does not exist."""
    with live_packages("trial"):
        import safebandit.trials.record.ledger  # noqa: F401  before anything is compiled for nothing
        from safebandit.trials.concealment import concealed_settings
        from safebandit.trials.engine import warm_up
        from safebandit.trials.settings import read_settings
        from safebandit.trials.texts import check_name
    if design is None and (arms is None or alpha is None):
        raise TrialError("a trial needs --arms and --alpha, or a --design that says them")
    settings = read_settings(
        None if arms is None else names(arms), alpha=None if alpha is None else one_or_more("alpha", alpha),
        design=None if design is None else read_design_flag(design, arms is not None),
        risks=None if risks is None else names(risks), policy=policy, seed=seed, pending_cap=pending_cap, delay=delay,
        lost=lost, title=title, ids=ids, units=units, context=context or None,
        features=None if features is None else read_features(features), control=control, control_floor=control_floor,
        strata=read_strata(strata), second_person=_listed(second_person),
    )  # fmt: skip
    who = checked_actor(actor)
    check_name(name)
    with open_ledger(db, create=True) as ledger:
        done = ledger.create(name, settings, actor=who)
    warm_up(settings)
    if json:
        print_document({"trial": name, "event": done.event, "settings": concealed_settings(settings.to_dict())})
    else:
        done_so = "created" if done.new else "there already, the same"
        cap = f"pending cap {settings.pending_cap}"
        typer.echo(f'{done_so} "{name}": {len(settings.arms)} arms, policy {settings.policy}, {cap}')
    if design is None and pending_cap is None and delay == 0:
        typer.echo(
            "this cap fits outcomes that are known before the next unit arrives; if they come later, units will wait: "
            "say --delay, how many more arrive meanwhile, or --pending-cap (`trial amend` changes it)", err=True,
        )  # fmt: skip


def ask(
    name: Name,
    unit: OneUnit = None,
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
    one_of(unit, file)
    if unit is None or file is not None:
        return ask_file(name, Path(str(file)), each=each, db=db, actor=actor, json=json)
    who = checked_actor(actor)
    told: dict[str, Any] = {"context": read_context(context), "stratum": read_stratum(stratum)}
    with open_ledger(db) as ledger:
        given = ledger.ask(name, unit, **told, eligible=eligible or None, actor=who)
    if json:
        print_document({**given._asdict(), "held": given.held})
    elif given.arm is not None:
        typer.echo(given.arm)
        typer.echo(given.why if given.new else f"given before, in event {given.event}: {given.why}", err=True)
    else:
        typer.echo(f"{'hold' if given.held else 'waiting'}: {given.why}", err=True)
    return NO_ARM if given.arm is None else 0


def tell(
    name: Name,
    unit: OneUnit = None,
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
    one_of(unit, file)
    if unit is None or file is not None:
        return change_file(name, "tell", Path(str(file)), each=each, preview=preview, db=db, actor=actor, json=json)
    risks = read_risk(risk)
    _write(db, actor, json, "told", lambda ledger, who: ledger.tell(name, unit, reward=reward, risk=risks, actor=who))
    return 0


def correct(
    name: Name,
    reason: Reason,
    unit: OneUnit = None,
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
    one_of(unit, file)
    _check_proposed(propose, file)
    if unit is None or file is not None:
        many: dict[str, Any] = {"reason": reason, "each": each, "preview": preview}
        return change_file(name, "correct", Path(str(file)), **many, db=db, actor=actor, json=json)
    told = {"reward": reward, "risk": read_risk(risk), "reason": reason}
    if propose:
        trial_second.propose(db, actor, json, name, "correct", id=unit, **told)
        return 0
    _write(db, actor, json, "corrected", lambda ledger, who: ledger.correct(name, unit, **told, actor=who))
    return 0


def _check_proposed(propose: bool, file: Path | None) -> None:
    if propose and file is not None:
        raise TrialError("--propose is for one unit; leave --file out")


def give_up(
    name: Name,
    reason: Reason,
    unit: OneUnit = None,
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
    one_of(unit, file)
    _check_proposed(propose, file)
    if unit is None or file is not None:
        many: dict[str, Any] = {"reason": reason, "each": each, "preview": preview}
        return change_file(name, "give_up", Path(str(file)), **many, db=db, actor=actor, json=json)
    if propose:
        trial_second.propose(db, actor, json, name, "give_up", id=unit, reason=reason)
        return 0
    _write(db, actor, json, "given up", lambda ledger, who: ledger.give_up(name, unit, reason=reason, actor=who))
    return 0


def void(
    name: Name,
    reason: Reason,
    unit: OneUnit = None,
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
    one_of(unit, file)
    _check_proposed(propose, file)
    if unit is None or file is not None:
        many: dict[str, Any] = {"reason": reason, "each": each, "preview": preview}
        return change_file(name, "void", Path(str(file)), **many, db=db, actor=actor, json=json)
    if propose:
        trial_second.propose(db, actor, json, name, "void", id=unit, reason=reason)
        return 0
    _write(db, actor, json, "voided", lambda ledger, who: ledger.void(name, unit, reason=reason, actor=who))
    return 0


def amend(
    name: Name,
    reason: Reason,
    alpha: Annotated[str | None, Alpha] = None,
    policy: Policy = None,
    add: Annotated[
        list[str] | None, typer.Option(help="A new arm, or one that was withdrawn; may be repeated.")
    ] = None,
    withdraw: Annotated[list[str] | None, typer.Option(help="An arm to give no more; may be repeated.")] = None,
    pending_cap: Annotated[
        int | None, typer.Option(help="How many units of an arm may wait for their risk before any is known.")
    ] = None,
    ids: Annotated[str | None, Ids] = None,
    control: Annotated[str | None, Control] = None,
    control_floor: Annotated[float | None, ControlFloor] = None,
    design: Annotated[
        str | None, typer.Option(help="A design file (.toml), in the place of the trial's design.")
    ] = None,
    second_person: Annotated[
        str | None, typer.Option(help="What nobody may do alone, with commas: amend,correct,...; empty: nothing.")
    ] = None,
    propose: Propose = False,
    db: Database = DATABASE,
    actor: Actor = None,
    json: Json = False,
) -> None:
    """Change alpha, policy, arms, rules or the design from now on; what was decided before stands."""
    changes: dict[str, Any] = {
        "alpha": None if alpha is None else one_or_more("alpha", alpha),
        "policy": policy,
        "add": tuple(add or ()),
        "withdraw": tuple(withdraw or ()),
        "pending_cap": pending_cap,
        "ids": ids,
        "control": control,
        "control_floor": control_floor,
        "design": None if design is None else read_design_flag(design),
        "second_person": None if second_person is None else _listed(second_person),
    }
    if propose:
        trial_second.propose(db, actor, json, name, "amend", reason=reason, **changes)
        return
    _write(db, actor, json, "amended", lambda ledger, who: ledger.amend(name, reason=reason, actor=who, **changes))


def pause(name: Name, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Give no arms until the trial is resumed; outcomes are still taken."""
    _set_status(name, "pause", "paused", reason, db, actor, json)


def resume(name: Name, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Give arms again."""
    _set_status(name, "resume", "resumed", reason, db, actor, json)


def route(name: Name, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Give every unit the control, as long as it is permissible; outcomes are still taken, and count."""
    _set_status(name, "route", "routed", reason, db, actor, json)


def unroute(name: Name, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Decide by the policy again, after `trial route` or a rule."""
    _set_status(name, "unroute", "unrouted", reason, db, actor, json)


def close(name: Name, reason: Reason, db: Database = DATABASE, actor: Actor = None, json: Json = False) -> None:
    """Give no more arms, ever; outcomes are still taken."""
    _set_status(name, "close", "closed", reason, db, actor, json)


def _set_status(name: str, change: str, past: str, reason: str, db: str, actor: str | None, json: bool) -> None:
    _write(db, actor, json, past, lambda ledger, who: ledger.set_status(name, change, reason=reason, actor=who))


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _write(db: str, actor: str | None, json: bool, past: str, request: Any) -> None:
    who = checked_actor(actor)
    with open_ledger(db) as ledger:
        done = request(ledger, who)
    if json:
        print_document(done._asdict())
    else:
        typer.echo(f"{past}: event {done.event}" if done.new else "this was so already: nothing was written")


trial_app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)


@trial_app.callback()
def options(context: typer.Context) -> None:
    """Run live trials in a database, without a server."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (
    new, ask, tell, trial_show.status, trial_show.explain, correct, give_up, void, amend, pause, resume,
    route, unroute, close,
    trial_second.unseal, trial_second.proposals, trial_second.approve, trial_second.decline,
    trial_show.trials, trial_pending.pending, trial_analyse.analyse, trial_weighted.weighted, trial_weighted.what_if,
    trial_audit.log, trial_audit.verify, trial_audit.export, rehearse,
):  # fmt: skip
    trial_app.command("list" if command is trial_show.trials else None, cls=Command)(command)
