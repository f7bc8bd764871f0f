"""Whether an event is what its request gives when made again; what other versions wrote otherwise is no difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safebandit.sources import formulas_hash
from safebandit.trials import version_0_1_0
from safebandit.trials.chances import INTEGRATED
from safebandit.trials.events import DECISIONS, NO_ARM, Draft, Event, canonical
from safebandit.version import __version__


def other_formulas(content: Mapping[str, Any]) -> str:
    """That others made an event, where they did."""
    if content.get("formulas", formulas_hash()) == formulas_hash():
        return ""
    made = f"formulas {content['formulas']} of safebandit {content.get('software')}"
    return f" (it was decided by {made}, these are {formulas_hash()} of {__version__})"


def different_parts(draft: Draft, event: Event, content: Mapping[str, Any]) -> str:
    """The parts of an event that another draft of the same request has otherwise; nothing where they are the same."""
    if draft.kind == event.kind and canonical(draft.body) == event.body:
        return ""
    if "cause" in content and draft.kind in NO_ARM:
        # Written before the two had kinds of their own.
        draft = Draft("held", {**draft.body, "cause": NO_ARM[draft.kind]})
    mine = {**draft.body, **{key: content[key] for key in ("software", "formulas", "clock") if key in content}}
    older = event.kind in DECISIONS and version_0_1_0.decided(content)
    if older:
        mine = version_0_1_0.as_noted(mine, content)
    if str(content.get("propensities")).startswith(INTEGRATED):
        mine = _within_error(mine, content)
    made_by = (content.get("software", __version__), content.get("formulas", formulas_hash()))
    if older or made_by != (__version__, formulas_hash()):
        # Another version may say the same in other words, or say more.
        mine = {key: value for key, value in mine.items() if key in content}
        mine |= {key: content[key] for key in ("why", "why_selected") if key in content}
    if draft.kind == event.kind and (canonical(mine) == event.body or canonical(_signed(mine, content)) == event.body):
        return ""
    parts = sorted(key for key in {*mine, *content} if mine.get(key) != content.get(key))
    return ", ".join(parts) or "kind"


def _within_error(mine: dict[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """A draft of a decision with the integrated chances that an event has, where they are as near as an integral says:
    another version or another machine may sum it up otherwise.
    """
    error, theirs = float(content["propensities"].removeprefix(INTEGRATED)), content["arms"]
    arms = {
        arm: {**saw, "propensity": theirs[arm]["propensity"]}
        if arm in theirs and abs(saw["propensity"] - theirs[arm]["propensity"]) <= error
        else saw
        for arm, saw in mine["arms"].items()
    }
    near = abs(mine["held_propensity"] - content["held_propensity"]) <= error
    return {**mine, "arms": arms, **({"held_propensity": content["held_propensity"]} if near else {})}


def _signed(mine: Any, theirs: Any) -> Any:
    """A draft with the signs of zeros that an event has: -0.0 was once kept as it was told."""
    if isinstance(mine, dict) and isinstance(theirs, Mapping):
        return {key: _signed(value, theirs.get(key)) for key, value in mine.items()}
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        return [_signed(*pair) for pair in zip(mine, theirs, strict=True)]
    return theirs if isinstance(mine, float) and isinstance(theirs, float) and mine == theirs == 0.0 else mine
