"""The request that an event was written for, made again from what the event says, to be compared with it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from safebandit.errors import ConflictError
from safebandit.trials import approval, drafts
from safebandit.trials.events import Draft
from safebandit.trials.state import TrialState
from safebandit.trials.store import Store
from safebandit.trials.units import Unit

_CHANGES = {kind: change for change, (kind, _) in drafts.STATUS_CHANGES.items()}
_CHANGES |= {kind: change for change, kind in drafts.ROUTES.items()}


def draft_again(state: TrialState, store: Store, kind: str, content: Mapping[str, Any]) -> Draft | None:
    """The draft of the request that an event was written for."""
    if kind == "amended":
        return drafts.amend(state, content["reason"], content["changes"])
    if kind in _CHANGES:
        return drafts.set_status(state, _CHANGES[kind], content["reason"])
    if kind in ("proposed", "approved", "declined", "withdrawn"):
        return _proposal_again(state, store, kind, content)
    if kind not in ("told", "corrected", "given up", "voided"):
        raise ConflictError(f"an event of the kind {kind!r} cannot be there")
    return _unit_again(state, store, kind, content)


def _unit_again(state: TrialState, store: Store, kind: str, content: Mapping[str, Any]) -> Draft | None:
    unit = _unit(store, content["unit"])
    if kind == "given up":
        return drafts.give_up(state, unit, content["reason"])
    if kind == "voided":
        return drafts.void(state, unit, content["reason"])
    reward, *risks = content["outcome"]
    risk = risks[0] if len(risks) == 1 else risks
    if kind == "told":
        return drafts.tell(state, unit, reward, risk)
    return drafts.correct(state, unit, reward, risk, content["reason"])


def _proposal_again(state: TrialState, store: Store, kind: str, content: Mapping[str, Any]) -> Draft:
    person = content["person"]
    if kind == "proposed":
        draft = approval.again(state, content, functools.partial(_unit, store))
        return approval.propose(state, draft, person=person, expires=content["expires"])
    number = content["proposal"]
    if kind == "approved":
        draft = approval.again(state, approval.found(state, number), functools.partial(_unit, store))
        return approval.approve(state, number, draft, person=person, at=content["at"])
    return approval.refuse(state, number, content["reason"], person=person)


def _unit(store: Store, id: str) -> Unit:
    unit = store.unit(id)
    if unit is None:
        raise ConflictError(f"unit {id!r} is told of, but was never given an arm")
    return unit
