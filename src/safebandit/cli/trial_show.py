"""`safebandit trial list`, `status` and `explain`: how things stand, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.cli.live import DATABASE, Database, Name, open_ledger, read_context, read_events, read_stratum
from safebandit.cli.output import Json, figure, plain_table, print_document, print_plain
from safebandit.errors import NotFoundError, TrialError

if TYPE_CHECKING:
    from safebandit.trials.events import Event
    from safebandit.trials.record.ledger import Ledger
    from safebandit.trials.settings import Settings


def trials(db: Database = DATABASE, json: Json = False) -> None:
    """List the trials of a database."""
    with open_ledger(db) as ledger:
        rows = [_line(ledger, name) for name in ledger.names()]
    if json:
        print_document({"trials": rows})
        return
    table = plain_table("trial", "status", "units", "pending", "title", right=("units", "pending"))
    for row in rows:
        status = "holds" if row["holding"] else "waits" if row["waiting"] else row["status"]
        where = row["holding_in"] if row["holding"] else row["waiting_in"]
        status += f" in {'; '.join(where)}" if where else ""
        table.add_row(row["name"], status, f"{row['units']:,}", f"{row['pending']:,}", row["title"])
    print_plain(table)


def _line(ledger: Ledger, name: str) -> dict[str, Any]:
    """A trial in the list; it holds, or waits, where one of its strata does."""
    from safebandit.trials.record.standing import Standings

    state = ledger.state(name)
    with ledger.reading() as connection:
        stand = Standings(ledger).now(connection, name, state.number, state.holds) if state.status == "open" else []
    return {
        "name": state.name,
        "title": state.settings.title,
        "status": state.status,
        "units": state.units,
        "pending": state.waiting,
        "holding": any(each.held for each in stand),
        "waiting": any(not each.held for each in stand),
        "holding_in": [each.stratum for each in stand if each.held and each.stratum],
        "waiting_in": [each.stratum for each in stand if not each.held and each.stratum],
    }


_PERMISSIBLE = {True: "yes", False: "no", None: "by context"}


def status(name: Name, db: Database = DATABASE, json: Json = False) -> None:
    """Show a trial at a glance: what is known of each arm and which are permissible; never which one comes next."""
    found = _overview(db, name)
    if json:
        print_document(found)
        return
    _print_head(found)
    by_risk = _by_risk(found["risks"])
    numbers = ["plays", "pending", "reward", "credible"]
    numbers += [heading for risk in by_risk for heading in (f"risk{risk}", f"credible{risk}")]
    table = plain_table("arm", *numbers, "permissible", right=tuple(numbers))
    for arm in found["arms"]:
        risks = zip(arm["mean_risk"], arm["risk_interval"], strict=True)
        cells = [cell for mean, interval in risks for cell in (figure(mean), _interval(interval))]
        permissible = "by stratum" if found["factors"] else _PERMISSIBLE[arm["permissible"]]
        permissible = permissible if arm["active"] else "withdrawn"
        table.add_row(
            arm["arm"], f"{arm['plays']:,}", f"{arm['pending']:,}", figure(arm["mean_reward"]),
            _interval(arm["reward_interval"]), *cells, permissible,
        )  # fmt: skip
    print_plain(table)
    print_plain(f"intervals of means: {found['intervals']}; `safebandit trial analyse` has ones for any look")
    _print_strata(found)
    _print_rules(found)
    for each in (each for each in found["expected"] if each["regret"] is not None):
        print_plain(
            f"theory, if the means were so: after {each['horizon']:,} units a regret of {each['regret']:.1f} and "
            f"{each['unsafe_plays']:.1f} unsafe plays (leading terms)"
        )
    print_plain(f"event {found['events']:,}, {found['time']}, hash {found['hash']}")


def explain(
    name: Name,
    unit: Annotated[str | None, typer.Argument(help="The unit whose decision is explained.")] = None,
    context: Annotated[
        list[str] | None, typer.Option(help="Without a unit: the context that one would ask with, as in `trial ask`.")
    ] = None,
    eligible: Annotated[list[str] | None, typer.Option(help="Without a unit: an arm that one may be given.")] = None,
    stratum: Annotated[
        list[str] | None, typer.Option(help="Without a unit: the stratum of one, as in `trial ask`.")
    ] = None,
    db: Database = DATABASE,
    json: Json = False,
) -> None:
    """Say why a unit was given its arm, as it was recorded then; without a unit, why each arm is permissible or not."""
    asked = {"context": read_context(context), "stratum": read_stratum(stratum), "eligible": eligible or None}
    told = {flag: value for flag, value in asked.items() if value is not None}
    if unit is not None and told:
        raise TrialError(f"unit {unit!r} is explained by what it asked with; leave --{next(iter(told))} out")
    if unit is not None:
        with open_ledger(db) as ledger:
            state = ledger.state(name)
            event, voided_at = _decision(ledger, name, unit)
        if json:
            from safebandit.trials.concealment import show_event
            from safebandit.trials.second_person import is_told

            print_document(show_event(event, closed=is_told(state.status, state.unsealed)))
        else:
            _print_decision(event, state.settings)
            if voided_at is not None:
                print_plain(f"voided in event {voided_at}: it never got its arm, and counts as nothing", style="bold")
        return
    found = _overview(db, name, told)
    if json:
        print_document(found)
        return
    _print_head(found)
    table = plain_table("arm", "why")
    for arm in found["arms"]:
        table.add_row(arm["arm"], arm["why"])
    print_plain(table)


def _overview(db: str, name: str, told: dict[str, Any] | None = None) -> dict[str, Any]:
    with open_ledger(db) as ledger:
        from safebandit.trials.record.overview import overview

        return overview(ledger, name, **(told or {})).to_dict()


def _print_head(found: dict[str, Any]) -> None:
    title = f": {found['title']}" if found["title"] else ""
    alpha = ", ".join(f"{limit:g}" for limit in found["alpha"])
    voided = f", {found['voided']:,} voided" if found["voided"] else ""
    print_plain(f"{found['name']}{title}")
    print_plain(
        f"{found['status']}, {found['units']:,} units, {found['pending']:,} pending{voided}; alpha {alpha}, policy "
        f"{found['policy']}, version {found['version']} of the settings"
    )
    _print_progress(found)
    if found["context"]:
        print_plain(f"units ask with a context: {', '.join(found['context'])}")
    if found["factors"]:
        listed = "; ".join(f"{name}: {', '.join(levels)}" for name, levels in found["factors"].items())
        print_plain(f"strata, each decided by its own units: {listed}")
    if found["control"]:
        floor = f", with a chance of at least {found['control_floor']:g}" if found["control_floor"] else ""
        print_plain(f"control: {found['control']}{floor}")
    for guard, words in (("paused_by", "paused"), ("routed", "every unit is given the control")):
        if found[guard] is not None:
            rule = f", by the rule {found[guard]['rule']}" if found[guard]["rule"] else ""
            print_plain(f"{words} since event {found[guard]['event']}{rule}: {found[guard]['why']}", style="bold")
    last = "the last unit that asked " if found["by_context"] else ""
    if found["holding"] is not None:
        print_plain(f"{last}holds: {found['holding']}", style="bold red")
    if found["waiting"] is not None:
        print_plain(f"{last}waits: {found['waiting']}", style="bold")


def _print_progress(found: dict[str, Any]) -> None:
    """How far a trial by a design is, and what it came to."""
    so_far, stop = found["progress"], found["stopped"]
    if so_far is None:
        return
    parts = [f"at most {so_far['most_units']:,} units"]
    if so_far["cohort"] is not None:
        cohort = so_far["cohort"]
        parts.append(f"cohort on {cohort['arm']}: {cohort['given']} of {cohort['of']} units")
    if so_far["next_look"] is not None:
        parts.append(f"next look at {so_far['next_look']:,} settled units, now {so_far['settled']:,}")
    if so_far["dropped"]:
        parts.append(f"dropped: {', '.join(so_far['dropped'])}")
    print_plain(f"by a design: {'; '.join(parts)}")
    if stop is not None:
        print_plain(f"stopped in event {stop['event']}, by the rule {stop['rule']}: {stop['why']}", style="bold")
        late = "" if stop["selected_at"] == stop["event"] else f" (since event {stop['selected_at']}, after the stop)"
        print_plain(f"selected: {found['selected'] or 'no arm'}{late}; {stop['why_selected']}", style="bold")


def _print_strata(found: dict[str, Any]) -> None:
    """Every arm in every stratum."""
    if not found["strata"]:
        return
    by_risk = [f"risk{risk}" for risk in _by_risk(found["risks"])]
    numbers = ("plays", "reward", *by_risk)
    table = plain_table("stratum", "arm", *numbers, "permissible", right=numbers)
    for part in found["strata"]:
        for arm in part["arms"]:
            means = [figure(mean) for mean in (arm["mean_reward"], *arm["mean_risk"])]
            table.add_row(part["stratum"], arm["arm"], f"{arm['plays']:,}", *means, _PERMISSIBLE[arm["permissible"]])
    print_plain("above, all strata together; each by itself:")
    print_plain(table)
    for part in found["strata"]:
        if part["holding"] is not None:
            print_plain(f"{part['stratum']} gives no arm: {part['holding']}", style="bold red")


def _print_rules(found: dict[str, Any]) -> None:
    """Every stopping rule of a design, and how near it is."""
    rules = found["progress"]["rules"] if found["progress"] else []
    if not rules:
        return
    table = plain_table("rule", "does", "measure", "reached at", "nearest arm", right=("measure", "reached at"))
    for rule in rules:
        table.add_row(rule["name"], rule["word"], figure(rule["measure"]), figure(rule["level"]), rule["arm"] or "-")
    print_plain(table)


def _decision(ledger: Ledger, name: str, unit: str) -> tuple[Event, int | None]:
    """The event in which a unit was given its arm, or the last in which it asked and was given none; and the one in
    which it was voided.
    """
    try:
        found = ledger.unit(name, unit)
        return ledger.event(name, found.asked_at), found.voided_at
    except NotFoundError:
        from safebandit.names import normal
        from safebandit.trials.events import NO_ARM

        decided = (event for event in read_events(ledger, name) if event.kind in NO_ARM)
        mine = [event for event in decided if normal(event.content["unit"]) == normal(unit)]
        if not mine:
            raise
        return mine[-1], None


def _print_decision(event: Event, settings: Settings) -> None:
    from safebandit.trials.contexts import context_words
    from safebandit.trials.events import NO_ARM, kind_of

    content = event.content
    arm = content["arm"] if content["arm"] is not None else f"no arm ({NO_ARM[kind_of(event.kind, content)]})"
    print_plain(f"unit {content['unit']!r}, round {content['round']}: {arm}")
    if "context" in content:
        print_plain(f"context: {context_words(content['context'])}")
    if "stratum" in content:
        print_plain(f"stratum: {', '.join(f'{name} {level}' for name, level in content['stratum'].items())}")
    if "eligible" in content:
        print_plain(f"eligible: {', '.join(content['eligible'])}")
    print_plain(f"why: {content['why']}")
    bounds = [f"risk index{risk}" for risk in _by_risk(settings.risks)]
    own = content.get("own", {})
    numbers = ("reward index", *bounds, *own, "propensity")
    table = plain_table("arm", "permissible", "free", *numbers, right=numbers)
    for name in (arm for arm in settings.arms if arm in content["arms"]):
        seen = content["arms"][name]
        flags = ("yes" if seen[flag] else "no" for flag in ("permissible", "available"))
        others = (values[name] for values in own.values())
        indices = (seen["reward_index"], *seen["risk_index"], *others, seen["propensity"])
        table.add_row(name, *flags, *(figure(value) for value in indices))
    print_plain(table)
    print_plain(f"propensities: {content['propensities']}; that none is given: {content['held_propensity']:g}")
    print_plain(f"policy {content['policy']}, version {content['version']} of the settings")
    print_plain(f"safebandit {content['software']}, formulas {content['formulas']}")
    print_plain(f"event {event.number}, {event.time}, by {event.actor}, hash {event.hash}")


def _by_risk(risks: Sequence[str]) -> list[str]:
    return [""] if len(risks) == 1 else [f" {name}" for name in risks]


def _interval(ends: tuple[float, float] | None) -> str:
    return "-" if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"
