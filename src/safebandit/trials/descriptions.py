"""Events of a trial's log in words."""

from __future__ import annotations

import json
from typing import Any

from safebandit.problems.limits import show_alpha
from safebandit.trials.contexts import context_words
from safebandit.trials.events import Event
from safebandit.trials.outcomes import outcome_names
from safebandit.trials.settings import Settings
from safebandit.trials.strata import stratum_names

KINDS = (
    "created", "asked", "held", "waiting", "told", "corrected", "given up", "voided", "amended", "paused", "resumed",
    "routed", "unrouted", "closed", "recounted", "dropped", "stopped", "selected", "proposed", "approved", "declined",
    "withdrawn", "unsealed",
)  # fmt: skip

# Of the database's own log.
REGISTERED = (
    "begun", "trial created", "project made", "person made", "person bound", "person removed", "roles given",
    "key made", "key rotated", "key revoked", "signed in", "alert made", "alert removed",
)  # fmt: skip


def describe(event: Event, risks: tuple[str, ...]) -> str:
    """An event in words."""
    content = event.content
    reason = f" ({content['reason']})" if "reason" in content else ""
    match event.kind:
        case "created":
            text = _describe_settings(Settings.from_dict(content["settings"]))
        case "asked":
            given = f"{content['arm']} in round {content['round']}"
            text = f"unit {content['unit']}{_context(content)} was given {given}: {content['why']}"
        case "held" | "waiting":
            text = f"unit {content['unit']}{_context(content)} was given no arm: {content['why']}"
        case "told":
            text = f"unit {content['unit']}: {_outcome(content['outcome'], risks)}"
        case "corrected":
            before = _outcome(content["before"], risks) or "nothing"
            text = f"unit {content['unit']}: {_outcome(content['outcome'], risks)} in the place of {before}{reason}"
        case "given up":
            text = f"unit {content['unit']}: a risk that is not known counts as {content['counts_as']}{reason}"
        case "voided":
            text = f"unit {content['unit']} never got its arm, and counts as nothing{reason}"
        case "amended":
            changes = "; ".join(f"{what}: {_plain(value)}" for what, value in content["changes"].items())
            text = f"version {content['version']}: {changes}{reason}"
        case _:
            text = _describe_other(event.kind, content)
    return text + _doubt(content)


def _context(content: dict[str, Any]) -> str:
    said = [context_words(content["context"])] if "context" in content else []
    said += [", ".join(f"{name} {level}" for name, level in content["stratum"].items())] if "stratum" in content else []
    said += [f"eligible: {', '.join(content['eligible'])}"] if "eligible" in content else []
    return f" ({'; '.join(said)})" if said else ""


def _describe_other(kind: str, content: dict[str, Any]) -> str:
    """What two people did, what the software wrote of its own accord, and what has nothing but a reason."""
    if kind in ("recounted", "dropped", "stopped", "selected"):
        return _describe_own(kind, content)
    if kind in ("proposed", "approved", "declined", "withdrawn"):
        return _describe_proposal(kind, content)
    if kind == "unsealed":
        return f"the {content['what']} may be read before the end ({content['reason']})"
    by_rule = f"by the rule {content['rule']}: {content['why']}" if "rule" in content else ""
    return str(content.get("reason", by_rule))


def _describe_proposal(kind: str, content: dict[str, Any]) -> str:
    if kind != "proposed":
        return f"proposal {content['proposal']}" + (f" ({content['reason']})" if "reason" in content else "")
    gives = content["gives"]
    outcome = f" to {_plain(gives['outcome'])}" if "outcome" in gives else ""
    what = gives.get("changes") or gives.get("what") or f"unit {gives.get('unit')}{outcome}"
    return f"to {content['request'].replace('_', ' ')}, until {content['expires']}: {_plain(what)} ({gives['reason']})"


def _describe_own(kind: str, content: dict[str, Any]) -> str:
    """What the software wrote of its own accord."""
    if kind == "recounted":
        return f"all outcomes were counted anew, by safebandit {content['software']}"
    if kind == "dropped":
        return f"{content['arm']} is given no more, by the rule {content['rule']}: {content['why']}"
    if kind == "stopped":
        return f"by the rule {content['rule']}: {content['why']}; selected: {content['selected'] or 'no arm'}"
    before, after = (content[name] or "no arm" for name in ("before", "after"))
    return f"{after} in the place of {before}, because of event {content['because_of']}, after the stop"


def describe_registered(event: Event) -> str:
    """An event of the database's own log in words; of a key never its hash."""
    content = event.content
    match event.kind:
        case "begun":
            there = f"{len(content['trials'])} trials and {len(content['keys'])} keys were there"
            text = f"by safebandit {content['software']}; {there}"
        case "trial created":
            text = f"{content['trial']}; its first event has the hash {content['hash']}"
        case "key made":
            until = "" if content["expires"] is None else f", until {content['expires']}"
            text = f"{content['id']} for {content['name']} ({_held(content)}{until})"
        case "key rotated":
            text = f"{content['id']}; the secret before works until {content['until']}"
        case "project made":
            text = content["name"] + (f": {content['title']}" if content["title"] else "")
        case "person made":
            text = f"{content['id']}: {content['name']}" + (f", {content['email']}" if content["email"] else "")
        case "person bound":
            text = f"{content['id']} is {content['subject']} of the identity provider"
        case "roles given":
            text = f"to {content['holder']}: {_held(content) or 'none'}"
        case "signed in":
            text = f"key {content['key']}" if "key" in content else f"person {content['person']}"
        case _:
            text = _alert(content) if event.kind == "alert made" else str(content["id"])
    return text + _doubt(content)


def _held(content: dict[str, Any]) -> str:
    """Roles in words; a key from before there were projects has one."""
    if "role" in content:
        return str(content["role"])
    whose = "" if content.get("person") is None else f"of person {content['person']}"
    return ", ".join([f"{role} in {project}" for project, role in content["roles"].items()] + [whose] * bool(whose))


def _alert(content: dict[str, Any]) -> str:
    about = f"all trials of {content['project']}" if content["trial"] is None else content["trial"]
    kinds = ", ".join(json.loads(content["kinds"]))
    return f"{content['id']} to {content['address']} ({content['role']}): {kinds} of {about}"


def _doubt(content: dict[str, Any]) -> str:
    said = content.get("clock")
    return "" if said is None else f" [the clock said {said}, before the event that this one follows]"


def _describe_settings(settings: Settings) -> str:
    arms = f"{len(settings.arms)} arm{'s' if len(settings.arms) != 1 else ''}"
    by = "" if settings.design is None else f", by a design of at most {settings.design.units} units"
    units = f", a context of {', '.join(settings.context)}" if settings.context else ""
    units += f", {len(stratum_names(settings.factors))} strata" if settings.factors else ""
    return f"{arms}, alpha {show_alpha(settings.limits)}, policy {settings.policy}{units}{by}"


def _outcome(values: list[float | None], risks: tuple[str, ...]) -> str:
    parts = zip(outcome_names(risks), values, strict=True)
    return ", ".join(f"{name} {value:g}" for name, value in parts if value is not None)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return ", ".join(_plain(each) for each in value) if isinstance(value, list) else str(value)
