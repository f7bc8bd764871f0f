"""`safebandit trial new` and `amend`: what a trial is created with, and what is changed of that later."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from safebandit.cli.completion import complete_policy
from safebandit.cli.extras import live_packages
from safebandit.cli.live import (
    DATABASE,
    Actor,
    Database,
    Desk,
    Name,
    Reason,
    checked_actor,
    open_ledger,
    read_design_flag,
    read_features,
    read_strata,
    write,
)
from safebandit.cli.output import Json, print_document
from safebandit.cli.problem import names, one_or_more
from safebandit.cli.trial_second import Propose, propose_to
from safebandit.errors import TrialError

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
    desk = Desk(name, db, actor, json)
    if propose:
        propose_to("amend", desk, reason=reason, **changes)
    else:
        write(desk, "amended", lambda ledger, who: ledger.amend(name, reason=reason, actor=who, **changes))


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
