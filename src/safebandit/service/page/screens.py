"""Whole pages with what they show to whom; a form that was refused is shown again with its message and its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import Request, Response

from safebandit.core.policies import POLICIES
from safebandit.service.keys import Key
from safebandit.service.page import analysis_charts, charts, views
from safebandit.service.page.rendering import render
from safebandit.trials.concealment import without_numbers
from safebandit.trials.descriptions import describe
from safebandit.trials.reading import LOST
from safebandit.trials.record.overview import Overview

# The arms in the table of a trial's page; a page of its own has them all.
MOST_ARMS = 100
MOST_WAITING = 50
NEWEST = 12
PER_PAGE = 50


class Sent(NamedTuple):
    """A form that was sent: its name, and the message beside it; with what was typed if it was refused.

    `confirm` is a new unit that was not asked for yet: the form asks first whether it is meant.
    """

    form: str = ""
    message: str = ""
    refused: bool = False
    values: Mapping[str, Any] = {}
    confirm: str = ""

    def value(self, form: str, field: str) -> str:
        """What to show in a field."""
        return str(self.values.get(field, "")) if self.form == form else ""

    def filled(self, form: str) -> bool:
        """Whether the form has a unit from a list, and waits for the rest."""
        return bool(self.value(form, "unit")) and not self.message

    def values_of(self, form: str, field: str) -> list[str]:
        """What was ticked in a group of boxes."""
        if self.form != form or not (self.refused or self.confirm):
            return []
        listed = getattr(self.values, "getlist", None)
        return [str(value) for value in listed(field)] if listed else []


def trials_screen(request: Request, key: Key, *, sent: Sent | None = None, status: int = 200) -> Response:
    """The list of trials."""
    return render(
        request,
        "trials.html",
        status,
        **_list_context(request, key),
        sent=sent or Sent(),
        lost=LOST,
        policies=sorted(POLICIES),
    )


def trials_live(request: Request, key: Key, after: str) -> Response:
    """The part of the list that changes, if it has."""
    return live(request, "trials_live.html", _list_context(request, key), after)


def _list_context(request: Request, key: Key) -> dict[str, Any]:
    listed = views.heads(request.app.state.ledger, key.where("list"))
    return {"key": key, "trials": listed, "mark": f"{len(listed)}-{sum(each.number for each in listed)}"}


def trial_screen(request: Request, key: Key, name: str, *, sent: Sent | None = None, status: int = 200) -> Response:
    """A trial: what is known of it, and forms for what the key may do."""
    head = views.head(request.app.state.ledger, name)
    context = _trial_context(request, key, head)
    return render(request, "trial.html", status, **context, sent=sent or Sent(), policies=sorted(POLICIES))


def trial_live(request: Request, key: Key, name: str, after: str) -> Response:
    """The part of a trial's page that changes, if it has."""
    ledger = request.app.state.ledger
    if views.unchanged(ledger, name, after):
        return Response(status_code=204)
    context = _trial_context(request, key, views.head(ledger, name), fresh=False)
    return live(request, "trial_parts.html", context, after)


def live(request: Request, template: str, context: dict[str, Any], after: str) -> Response:
    """The part of a page that changes, unless its mark is the one that is shown already."""
    if context["mark"] == after:
        return Response(status_code=204)
    response = render(request, template, **context)
    response.headers["X-Mark"] = context["mark"]
    return response


def _trial_context(request: Request, key: Key, head: views.Head, *, fresh: bool = True) -> dict[str, Any]:
    """What a trial's page shows; only what the key may see is read."""
    ledger = request.app.state.ledger
    context: dict[str, Any] = {"key": key, "head": head, "mark": str(head.number), "glance": None, "waiting": None}
    if key.may("read"):
        glance, number = _glance(request, key, head, fresh=fresh)
        # Whichever was read first: what was written between the two is still to be shown.
        mark = str(min(head.number, number))
        context |= {"mark": mark, **_glance_context(glance, single=key.may("log"))}
    if key.may("log") or key.may("tell"):
        # Who may not read the log sees the units that were asked for with the same key.
        asker = None if key.may("log") else key.actor
        context["waiting"] = views.waiting(ledger, head, asker=asker, most=MOST_WAITING)
    if key.may("log"):
        context["log"] = worded(views.log(ledger, head.name, most=NEWEST), head)
    if context["glance"] is None or request.app.state.outlook.delayed(key, head.name):
        head = head._replace(holding=head.holding and without_numbers(head.holding))
    context["hold"] = _hold(head, context["glance"])
    return context


def _glance(request: Request, key: Key, head: views.Head, *, fresh: bool = True) -> tuple[views.Glance, int]:
    """A trial at a glance as this key may see it, and the event up to which it was read."""
    outlook, ledger = request.app.state.outlook, request.app.state.ledger
    if outlook.delayed(key, head.name):
        return views.past_glance(ledger, outlook.overview(head.name, delayed=True)), head.number
    glance = views.glance_at(ledger, head, fresh=fresh)
    return glance, glance.overview.events


def _glance_context(glance: views.Glance, *, single: bool) -> dict[str, Any]:
    seen, allocation = glance
    if not single:
        allocation = views.without_last_part(allocation, seen.rounds)
    allocation = charts.bounded(allocation)
    arms = seen.arms
    if len(arms) > MOST_ARMS:
        arms = sorted(arms, key=lambda arm: -arm.plays)[:MOST_ARMS]
    return {
        "glance": seen,
        "arms": arms,
        "shares": charts.allocation_panel(allocation, seen.arms),
        "allocation": allocation,
        "spans": allocation.spans(seen.rounds),
        "counts": list(zip(*allocation.arms.values(), strict=True)),
        "panels": [charts.reward_panel(seen), *charts.risk_panels(seen)],
        "chances": chances_shown(seen),
    }


def chances_shown(seen: Overview) -> bool:
    """Whether the chances are told: where one is 1, it would say which arm comes next."""
    return any(arm.propensity is not None for arm in seen.arms)


class Hold(NamedTuple):
    """Why a trial gives no arm: red where none is permissible, amber where it waits for outcomes.

    It `stops` the trial unless the policy's rule gives an arm all the same.
    """

    red: bool
    heading: str
    why: str
    stops: bool = True


def _hold(head: views.Head, seen: Overview | None) -> Hold | None:
    if head.status != "open":
        return None
    if head.by_context:
        why = head.holding or head.waiting
        heading = "The last unit that asked was given no arm"
        remedy = "That was decided for its context: another unit is decided when it asks."
        return None if why is None else Hold(head.holding is not None, heading, f"{_sentence(why)} {remedy}", False)
    if head.red:
        why = _sentence(str(head.holding).removeprefix("no arm is permissible: "))
        remedy = "It goes on when an amendment, or an outcome told late, makes an arm permissible."
        return Hold(True, "On hold: no arm is permissible", f"{why} {remedy}")
    if seen is not None and not any(arm.permissible for arm in seen.arms):
        reasons = "; ".join(f"{arm.arm}: {arm.why}" for arm in [arm for arm in seen.arms if arm.active][:5])
        stops = all(arm.propensity == 0 for arm in seen.arms if arm.active)
        heading = "On hold: no arm is permissible" if stops else "No arm is permissible: the policy's rule gives one"
        return Hold(True, heading, reasons, stops)
    if head.waiting:
        return Hold(False, "Waiting for outcomes", _sentence(f"{head.waiting}; tell those first"))
    return None


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def arms_screen(request: Request, key: Key, name: str) -> Response:
    """Every arm of a trial, however many."""
    ledger = request.app.state.ledger
    head = views.head(ledger, name)
    seen = _glance(request, key, head)[0].overview
    chances = chances_shown(seen)
    return render(request, "arms.html", key=key, head=head, glance=seen, arms=seen.arms, chances=chances)


def analysis_screen(request: Request, key: Key, name: str) -> Response:
    """What may be said of the arms, as late as this key may see their sums."""
    outlook = request.app.state.outlook
    head, delayed = views.head(request.app.state.ledger, name), outlook.delayed(key, name)
    found = outlook.analysis(name, delayed=delayed)
    # Look by look single outcomes could be told: the picture over time is for those who see them anyway.
    paths = analysis_charts.path_panels(found) if key.may("log") else None
    panels = analysis_charts.now_panels(found)
    return render(
        request, "analysis.html", key=key, head=head, found=found, delayed=delayed, panels=panels, paths=paths
    )


def log_screen(request: Request, key: Key, name: str, before: int | None) -> Response:
    """A page of the log."""
    ledger = request.app.state.ledger
    head = views.head(ledger, name)
    events = views.log(ledger, name, before=before, most=PER_PAGE)
    return render(request, "log.html", key=key, head=head, log=worded(events, head), before=before)


def units_screen(request: Request, key: Key, name: str, *, unit: str = "", before: int | None = None) -> Response:
    """A page of the units, or one that was looked for."""
    ledger = request.app.state.ledger
    head = views.head(ledger, name)
    found = [ledger.unit(name, unit)] if unit else views.listed(ledger, name, before=before, most=PER_PAGE)
    older = not unit and bool(found) and found[-1].round > 1
    return render(request, "units.html", key=key, head=head, units=found, unit=unit, before=before, older=older)


def worded(events: list[Any], head: views.Head) -> list[tuple[Any, str]]:
    """Pair events with the words that describe them."""
    return [(event, describe(event, head.settings.risks)) for event in events]
