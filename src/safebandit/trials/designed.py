"""The settings of a trial by a design: it says all of them but the seed, and an amendment is one of the design."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from safebandit.errors import SafebanditError, TrialError
from safebandit.trials.design import USUAL, Design
from safebandit.trials.events import canonical

if TYPE_CHECKING:
    from safebandit.trials.settings import Settings


def read_design(design: Any, arms: Any = None) -> Design:
    """A design: itself, or as a document or a text says it."""
    if isinstance(design, str):
        from safebandit.trials.designs import design_from_text

        return design_from_text(design, arms=arms)
    if isinstance(design, Mapping):
        return _from_document({**design, **({} if arms is None else {"arms": arms})})
    if not isinstance(design, Design):
        raise TrialError(f"a design is a Design, its text such as boin:target=.25, or its document, got {design!r}")
    if arms is not None:
        raise TrialError(f"the design has its arms, {', '.join(design.arms)}; leave arms out")
    return design


def _from_document(document: Mapping[str, Any]) -> Design:
    """A design from what anyone may have sent."""
    try:
        return Design.from_dict(document)
    except SafebanditError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as problem:
        raise TrialError(f"the design cannot be read: {problem}") from None


def kept_design(document: Any) -> Design:
    """The design of settings that are kept: read for every list of trials, and so remembered."""
    return _kept_design(canonical(document))


@functools.lru_cache(maxsize=256)
def _kept_design(text: str) -> Design:
    return Design.from_dict(json.loads(text))


def read_changes(design: Any, said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a design that an amendment changes; one that is named twice is refused."""
    if design is None:
        return dict(said)
    if not isinstance(design, Mapping):
        raise TrialError(f"an amendment of a design is a table of the fields that change, got {design!r}")
    for name in said:
        if name in design:
            raise TrialError(f"{name} is changed twice, by itself and in the design; say it once")
    return {**design, **said}


def settings_of(design: Design) -> dict[str, Any]:
    """The settings that a design says."""
    return {
        "arms": design.arms,
        "limits": design.limits,
        "risks": design.risks,
        "policy": design.policy,
        "pending_cap": design.pending_cap,
        "lost": design.lost,
        "title": design.title,
        "ids": design.ids,
        "second_person": design.second_person,
        "design": design,
    }


def check_settings(settings: Settings, design: Design) -> None:
    """Refuse settings that say other than their design, as a log that somebody wrote may."""
    for name, said in settings_of(design).items():
        if getattr(settings, name) != said:
            raise TrialError(
                f"{name} of a trial must be what its design says, {said!r}, got {getattr(settings, name)!r}"
            )
    for what, arm in (("first", design.first), ("control", design.control)):
        if arm in settings.withdrawn:
            raise TrialError(
                f"{what} of the design is {arm!r}: it cannot be withdrawn; change {what} of the design first"
            )


def amended_design(design: Design, changes: Mapping[str, Any], *, add: Sequence[str] = ()) -> Design:
    """A design with some of its fields changed, by their names; new arms come behind those that are there."""
    arms: Any = changes.get("arms", design.arms)
    arms = list(arms) if isinstance(arms, list | tuple) else [arms]
    if tuple(arms[: len(design.arms)]) != design.arms:
        raise TrialError(
            f"arms of a trial keep their places, and new ones come behind them, got {', '.join(map(str, arms))}; "
            "withdraw an arm that is no longer to be given"
        )
    return _from_document({**design.to_dict(), **changes, "arms": [*arms, *add]})


def changed_fields(design: Design, other: Design) -> dict[str, Any]:
    """What another design says otherwise, for `amended_design`."""
    before, after = design.to_dict(), other.to_dict()
    usual = {name: USUAL[name] for name in before if name not in after}
    return {name: value for name, value in (usual | after).items() if before.get(name) != value}
