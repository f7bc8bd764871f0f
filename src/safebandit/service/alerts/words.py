"""What a message says: that something happened in a trial and where its log has it; more to a channel that may read.

No message has the id of a unit, and none what is concealed: whoever may see those finds them in the log, by the event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from safebandit.service.alerts.rules import Alert
from safebandit.trials.concealment import without_numbers


class Happened(NamedTuple):
    """Something that happened, once or several times: in which events, first and last, when, and what they say."""

    kind: str
    trial: str | None
    first: int
    last: int
    times: int
    time: str
    content: Mapping[str, Any]


_SAYS = {
    "hold": "holds{where}: no arm is permissible",
    "waiting": "waits too long",
    "stop": "has stopped by a rule of its design",
    "guard": "is paused, or gives every unit its control, by a rule of its design",
    "verification": "fails verification",
    "amendment": "was amended",
    "test": "is fine: this is only a test of an alert",
}


def describe(alert: Alert, happened: Happened, *, late: bool) -> dict[str, Any]:
    """The content of a message; `late`: those who only read are to see sums later than they are."""
    reads = alert.may("log") or (alert.may("read") and not late)
    more = _details(happened, reads=reads, logs=alert.may("log"))
    all_of_it = "the database" if happened.kind == "verification" else "safebandit"
    whom = all_of_it if happened.trial is None else f'trial "{happened.trial}"'
    often = "" if happened.times == 1 else f" ({happened.times} times since event {happened.first})"
    said = more.pop("said", None)
    strata = "; ".join(more.get("strata", ()))
    where = f" in the stratum {strata}" if strata else ""
    message = f"{whom} {_SAYS[happened.kind].format(where=where)}{'' if said is None else f': {said}'}{often}"
    data = {
        "alert": alert.id,
        "trial": happened.trial,
        "kind": happened.kind,
        "message": message,
        "first_event": happened.first,
        "event": happened.last,
        "times": happened.times,
        **more,
    }
    return {"type": f"trial.{happened.kind}", "timestamp": happened.time, "data": data}


def _details(happened: Happened, *, reads: bool, logs: bool) -> dict[str, Any]:
    content = happened.content
    match happened.kind:
        case "hold":
            why = str(content.get("why", ""))
            strata = content.get("strata")
            where = {} if strata is None else {"strata": list(strata)}
            return {"why": why if reads else without_numbers(why), **where}
        case "waiting":
            return {"said": content["said"], "seconds": content["seconds"]}
        case "stop" | "guard" if reads:
            more = ("selected", "why_selected") if happened.kind == "stop" else ()
            return {name: content.get(name) for name in ("rule", "why", *more)}
        case "verification" if logs:
            return {"problem": content["problem"]}
        case "amendment":
            # What changed may name a design's rules or an arm, and the reason is a person's own words.
            told = {"reason": content.get("reason"), "changed": sorted(content.get("changes", {}))} if logs else {}
            return {"version": content.get("version"), **told}
    return {}
