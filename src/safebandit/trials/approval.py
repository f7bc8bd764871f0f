"""What needs a second person: one proposes it, another approves or declines it, and what was approved is done.

A proposal is an event that holds all that would be done. When another person approves it, the request is checked
again: where it would now give anything else than what was proposed, it is refused. The software then writes exactly
that, in an event that follows the approval. All of it is made of the state alone, so that whoever replays the log makes
it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from safebandit.errors import ConflictError, NotFoundError, TrialError
from safebandit.sources import formulas_hash
from safebandit.trials import drafts
from safebandit.trials.events import Draft, canonical, is_time
from safebandit.trials.second_person import MOST_HOURS
from safebandit.trials.state import TrialState
from safebandit.trials.texts import check_text
from safebandit.trials.units import Unit
from safebandit.version import __version__

# What is written once a request is approved.
KINDS = {"amend": "amended", "correct": "corrected", "unseal": "unsealed", "void": "voided", "give_up": "given up"}
# What is done to a unit, for nothing but a reason.
OF_UNITS: dict[str, Callable[..., Draft | None]] = {"void": drafts.void, "give_up": drafts.give_up}
# So many proposals may be open at once.
MOST_OPEN = 50


def read_hours(hours: Any) -> str:
    """The time until which a proposal that is made now can be approved."""
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 < hours <= MOST_HOURS:
        raise TrialError(f"hours until a proposal expires must lie in (0, {MOST_HOURS:g}], got {hours!r}")
    return (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def propose(state: TrialState, draft: Draft, *, person: str, expires: str) -> Draft:
    """That somebody proposes what this draft says."""
    request = next(name for name, kind in KINDS.items() if kind == draft.kind)
    if not is_time(expires):
        raise TrialError(f"a proposal expires at a time, got {expires!r}")
    if len(state.proposals) >= MOST_OPEN:
        raise ConflictError(f"{MOST_OPEN} proposals are open already; decline those that nobody will approve")
    person = check_text("person", person)
    return Draft("proposed", {"request": request, "gives": _gives(draft), "person": person, "expires": expires})


def again(state: TrialState, proposal: Mapping[str, Any], find: Callable[[str], Unit]) -> Draft:
    """What a proposal would write now; refused where it can no longer be done."""
    gives = proposal["gives"]
    if proposal["request"] == "amend":
        return drafts.amend(state, gives["reason"], gives["changes"], alone=False)
    if proposal["request"] == "correct":
        reward, *risks = gives["outcome"]
        risk = risks[0] if len(risks) == 1 else risks
        return drafts.correct(state, find(gives["unit"]), reward, risk, gives["reason"], alone=False)
    if proposal["request"] in OF_UNITS:
        return remove(state, proposal["request"], find(gives["unit"]), gives["reason"])
    return drafts.unseal(state, gives["what"], gives["reason"])


def remove(state: TrialState, request: str, unit: Unit, reason: str) -> Draft:
    """That a unit is voided or given up, as two people want it; refused where it is already."""
    draft = OF_UNITS[request](state, unit, reason, alone=False)
    if draft is None:
        raise ConflictError(f"unit {unit.id!r} was {KINDS[request]} already; there is nothing to propose")
    return draft


def approve(state: TrialState, number: int, draft: Draft, *, person: str, at: str) -> Draft:
    """That another person approves a proposal, of which `draft` is what it would write now."""
    proposal = found(state, number)
    if check_text("person", person) == proposal["person"]:
        raise ConflictError(f"proposal {number} needs a second person, got {person!r}, who proposed it; ask another")
    if not is_time(at) or at >= proposal["expires"]:
        raise ConflictError(f"proposal {number} could be approved until {proposal['expires']}; propose it again")
    if canonical(_gives(draft)) != canonical(proposal["gives"]):
        raise ConflictError(
            f"the trial has changed since event {number}: what was proposed there would now do something else; "
            "propose it again"
        )
    return Draft("approved", {"proposal": number, "person": person, "at": at})


def refuse(state: TrialState, number: int, reason: str, *, person: str) -> Draft:
    """That a proposal is not to be done: who made it withdraws it, another person declines it."""
    own = check_text("person", person) == found(state, number)["person"]
    body = {"proposal": number, "person": person, "reason": check_text("reason", reason)}
    return Draft("withdrawn" if own else "declined", body)


def found(state: TrialState, number: int) -> dict[str, Any]:
    """A proposal that is open."""
    if str(number) not in state.proposals:
        raise NotFoundError(f'trial "{state.name}" has no open proposal {number}; list them to see their numbers')
    return dict(state.proposals[str(number)])


def granted(state: TrialState) -> list[Draft]:
    """What follows from an approval: exactly what was approved."""
    if state.granted is None:
        return []
    number, proposal = state.granted
    body = {**proposal["gives"], "proposal": number}
    if proposal["request"] == "amend":
        body["settings"] = {**body["settings"], "seed": state.settings.seed}
        body |= {"software": __version__, "formulas": formulas_hash()}
    return [Draft(KINDS[proposal["request"]], body)]


def _gives(draft: Draft) -> dict[str, Any]:
    """What a draft would do, without which software wrote it, and without the seed, which is concealed."""
    told = {name: value for name, value in draft.body.items() if name not in ("software", "formulas")}
    if "settings" in told:
        told["settings"] = {name: value for name, value in told["settings"].items() if name != "seed"}
    return told
