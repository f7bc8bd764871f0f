"""Events in words, for the log that people read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from safebandit.outcomes import outcome_names
from safebandit.record.events import Event

KINDS = ("created", "asked", "held", "told", "corrected", "given up", "amended", "paused", "resumed", "closed")


def event_words(event: Event, risks: Sequence[str]) -> str:
    """What happened, in a line."""
    content = event.content
    unit, reason = content.get("unit", ""), content.get("reason", "")
    match event.kind:
        case "created":
            settings = content["settings"]
            said = f"arms {_shown(settings['arms'])}; alpha {_shown(settings['alpha'])}; policy {settings['policy']}"
        case "asked":
            said = f"{unit} gets {content['arm']}"
        case "held":
            said = f"{unit} gets no arm: {content['cause']}"
        case "told":
            said = f"{unit}: {_outcome(content['outcome'], risks)}"
        case "corrected":
            before = _outcome(content["before"], risks)
            said = f"{unit}: {_outcome(content['outcome'], risks)} (was {before}); {reason}"
        case "given up":
            said = f"{unit}: an unknown risk counts as {content['counts_as']}; {reason}"
        case "amended":
            changes = "; ".join(f"{name} {_shown(value)}" for name, value in content["changes"].items())
            said = f"version {content['version']}: {changes}; {reason}"
        case _:
            said = reason
    return said


def _outcome(outcome: Sequence[float | None], risks: Sequence[str]) -> str:
    named = zip(outcome_names(risks), outcome, strict=True)
    return ", ".join(f"{name} {value:g}" for name, value in named if value is not None) or "nothing"


def _shown(value: Any) -> str:
    return ", ".join(str(part) for part in value) if isinstance(value, list) else str(value)
