"""What may be written into a trial's log, and what is: every request is checked against the state, then drafted."""

from __future__ import annotations

import contextlib
import math
from array import array
from collections.abc import Mapping
from typing import Any

from safebandit.core.arms import Numbers
from safebandit.core.policies import WAIT, Decision
from safebandit.core.policies.interface import DONE
from safebandit.errors import ConflictError, StoppedError, TrialError
from safebandit.sources import formulas_hash
from safebandit.trials.allocator import Allocator, Position
from safebandit.trials.chances import DRAWS_ALONE, ESTIMATED, Chances
from safebandit.trials.contexts import Context, by_name
from safebandit.trials.decision_words import reason_of
from safebandit.trials.design import Design
from safebandit.trials.designed import changed_fields
from safebandit.trials.eligibility import Mask
from safebandit.trials.events import Draft
from safebandit.trials.noted_arms import note_arms
from safebandit.trials.outcomes import outcome_names, read_outcome
from safebandit.trials.patterns import matches
from safebandit.trials.second_person import CONCEALED_PARTS
from safebandit.trials.settings import Settings
from safebandit.trials.state import TrialState
from safebandit.trials.strata import levels_of
from safebandit.trials.texts import check_text
from safebandit.trials.units import Unit
from safebandit.version import __version__

# No arm is given any more, ever.
ENDED = ("stopped", "closed")
# What a request to route units writes.
ROUTES = {"route": "routed", "unroute": "unrouted"}
# What a request for another status writes, and the status then.
STATUS_CHANGES = {"pause": ("paused", "paused"), "resume": ("resumed", "open"), "close": ("closed", "closed")}


def create(settings: Settings) -> Draft:
    """The first event of a trial."""
    return Draft("created", {"settings": settings.to_dict(), "software": __version__, "formulas": formulas_hash()})


def check_beginning(settings: Settings) -> None:
    """Refuse settings that only an amendment gives."""
    if settings.withdrawn:
        raise TrialError(f"a trial begins with all its arms, got withdrawn {', '.join(settings.withdrawn)}; amend it")


def ask(
    state: TrialState,
    unit: str,
    context: Context = (),
    eligible: Mask = None,
    stratum: str = "",
    *,
    noted: str | None = None,
) -> Draft:
    """Decide: an arm for the unit of this context and stratum, one of those `eligible` for it, or that none is given;
    with all that the decision rests on.

    The trial's random numbers move on; everything else changes when the event is applied. Where chances are estimated
    from draws, the decision is one of them; older logs did not count it. A decision that is made again has its chances
    as they were `noted`: older logs estimated some that are integrated now.
    """
    check_open(state)
    told = {
        **({"context": by_name(context, state.settings.context)} if context else {}),
        **({} if eligible is None else {"eligible": list(eligible)}),
        **({"stratum": levels_of(stratum)} if stratum else {}),
    }
    with contextlib.nullcontext() if eligible is None else state.decider(stratum).only(eligible):
        return _decided(state, unit, stratum, told, state.settings.scaled(context), noted)


def _decided(
    state: TrialState, unit: str, stratum: str, told: Mapping[str, Any], seen: Numbers | None, noted: str | None
) -> Draft:
    """The decision for a unit that asks with what it `told`; `seen` is its context as the policy sees it."""
    allocator, clock = state.decider(stratum), state.clock(stratum)
    before = allocator.position
    decision = allocator.decide(clock, context=seen)
    free = allocator.free
    drawn = noted is not None and noted.startswith(ESTIMATED)
    drew = before != allocator.position
    chances = allocator.chances(clock, state.decisions + 1, decision, context=seen, by_draws=drawn, drew=drew)
    if noted != DRAWS_ALONE:
        chances = chances.counting(decision.k)
    if not math.isfinite(math.fsum((*chances.arms, chances.held))):
        raise ValueError(f"a chance must be a number, got {chances.arms}")
    # The next number's: the chances of this decision are drawn from its own.
    decision = allocator.judged(decision, clock, aside=state.decisions + 2, context=seen)
    noted_arms = note_arms(
        allocator.arms, allocator.columns, decision.saw, array("d", chances.arms).tobytes(), free
    )  # fmt: skip
    body = {
        "unit": unit,
        **told,
        "round": state.round,
        "decision": state.decisions + 1,
        "arm": allocator.arms[decision.k] if decision.k >= 0 else None,
        "none_permissible": decision.none,
        **({"done": True} if decision.k == DONE else {}),
        **noted_arms.parts,
        **_grounds(state, allocator, decision, chances, before),
    }
    return Draft("asked" if decision.k >= 0 else "waiting" if decision.k == WAIT else "held", body, noted_arms.written)


def _grounds(
    state: TrialState, allocator: Allocator, decision: Decision, chances: Chances, before: Position
) -> dict[str, Any]:  # fmt: skip
    """What a decision rests on, beside what it saw of the arms; `before` is where the random numbers were."""
    return {
        "why": reason_of(allocator, decision),
        "propensities": chances.how,
        "held_propensity": chances.held,
        "version": state.version,
        "policy": state.settings.policy,
        "software": __version__,
        "formulas": formulas_hash(),
        "stream": list(before),
    }


def recount(state: TrialState) -> Draft:
    """That all outcomes were counted anew, because other formulas had counted them before; and where the random
    numbers are, from which these formulas go on.
    """
    body = {"software": __version__, "formulas": formulas_hash(), "stream": state.position}
    return Draft("recounted", body)


def tell(state: TrialState, unit: Unit, reward: Any, risk: Any) -> Draft | None:
    """What is news of a unit; None if all of it is known already. What contradicts the record is refused."""
    _check_not_void(unit)
    told = _read_outcome(state, unit, reward, risk)
    for j, (known, value) in enumerate(zip(unit.outcome, told, strict=True)):
        if known is not None and value is not None and known != value:
            raise ConflictError(
                f"unit {unit.id!r} already has {outcome_names(state.settings.risks)[j]} {known:g}, got {value:g}; "
                "correct it with a reason if that was wrong"
            )
    news = [value if known is None else None for known, value in zip(unit.outcome, told, strict=True)]
    if all(value is None for value in news):
        return None
    if unit.lost_at is not None:
        raise ConflictError(f"unit {unit.id!r} was given up in event {unit.lost_at}; correct it with a reason instead")
    return Draft("told", {"unit": unit.id, "outcome": news})


def correct(state: TrialState, unit: Unit, reward: Any, risk: Any, reason: str, *, alone: bool = True) -> Draft:
    """Another outcome in the place of one that was told, or of what a unit given up was missing; by one person `alone`,
    or as two want it.
    """
    _check_not_void(unit)
    if alone:
        _check_alone(state, "correct", "a correction")
    reason = check_text("reason", reason)
    told = _read_outcome(state, unit, reward, risk)
    for name, known, value in zip(outcome_names(state.settings.risks), unit.outcome, told, strict=True):
        if value is not None and known is None and unit.lost_at is None:
            raise ConflictError(f"unit {unit.id!r} has no {name} yet; tell it, there is nothing to correct")
    changed = [value if value != known else None for known, value in zip(unit.outcome, told, strict=True)]
    if all(value is None for value in changed):
        raise TrialError(f"unit {unit.id!r} has this outcome already; a correction gives another value")
    return Draft("corrected", {"unit": unit.id, "outcome": changed, "before": list(unit.outcome), "reason": reason})


def give_up(state: TrialState, unit: Unit, reason: str, *, alone: bool = True) -> Draft | None:
    """No longer wait for a unit's outcome; None if it was given up already. By one person `alone`, or as two want
    it.
    """
    _check_not_void(unit)
    reason = check_text("reason", reason)
    if unit.lost_at is not None:
        return None
    if not unit.pending:
        raise ConflictError(f"all of unit {unit.id!r} is known; only a unit that is waited for can be given up")
    if alone:
        _check_alone(state, "give_up", "to give a unit up")
    return Draft("given up", {"unit": unit.id, "counts_as": state.settings.lost, "reason": reason})


def void(state: TrialState, unit: Unit, reason: str, *, alone: bool = True) -> Draft | None:
    """Count a unit that never got its arm as nothing; None if it was voided already. By one person `alone`, or as two
    want it.
    """
    reason = check_text("reason", reason)
    if unit.voided_at is not None:
        return None
    if any(value is not None for value in unit.outcome):
        raise ConflictError(
            f"unit {unit.id!r} has an outcome, and so had its arm; only a unit of which nothing was told can be voided"
        )
    if alone:
        _check_alone(state, "void", "to void a unit")
    return Draft("voided", {"unit": unit.id, "reason": reason})


def needs_another(state: TrialState, request: str) -> bool:
    """Whether nobody does this alone: any amendment, and what is done to units of a trial that has ended."""
    return request in state.settings.second_person and (request == "amend" or state.status in ENDED)


def _check_alone(state: TrialState, request: str, what: str) -> None:
    """Refuse what nobody does alone in this trial."""
    if needs_another(state, request):
        when = "" if request == "amend" else f" after the trial is {state.status}"
        raise ConflictError(
            f"{what}{when} needs a second person in this trial; propose it, and another person approves it"
        )


def _read_outcome(state: TrialState, unit: Unit, reward: Any, risk: Any) -> list[float | None]:
    if reward is not None and not state.settings.rewarded:
        raise TrialError(
            f"units of this trial have no reward, got {reward!r} for unit {unit.id!r}; tell its risk alone"
        )
    return read_outcome(unit.id, reward, risk, state.settings.risks)


def _check_not_void(unit: Unit) -> None:
    if unit.voided_at is not None:
        raise ConflictError(f"unit {unit.id!r} was voided in event {unit.voided_at}, and counts as nothing")


def amend(state: TrialState, reason: str, changes: Mapping[str, Any], *, alone: bool = True) -> Draft:
    """New settings from now on; what was decided before stands. By one person `alone`, or as two want it."""
    if state.status in ENDED:
        raise ConflictError(f'trial "{state.name}" is {state.status}; a {state.status} trial cannot be amended')
    if alone:
        _check_alone(state, "amend", "an amendment")
    reason = check_text("reason", reason)
    if isinstance(changes.get("design"), Design) and state.settings.design is not None:
        changes = {**changes, "design": changed_fields(state.settings.design, changes["design"])}
    settings = state.settings.amended(**changes)
    if settings.factors != state.settings.factors:
        raise ConflictError(f'the strata of trial "{state.name}" stay as they are; create another trial for others')
    if state.routed is not None and settings.control_arm is None:
        raise ConflictError(f'trial "{state.name}" gives every unit its control, and needs one; unroute it first')
    # An alpha of 0 is a change too.
    asked = {key: value for key, value in changes.items() if value is not None and value not in ((), [])}
    given = {key: list(value) if isinstance(value, tuple) else value for key, value in asked.items()}
    body = {"settings": settings.to_dict(), "changes": given, "version": state.version + 1, "reason": reason}
    return Draft("amended", {**body, "software": __version__, "formulas": formulas_hash()})


def unseal(state: TrialState, what: str, reason: str) -> Draft:
    """That what is concealed until the end is shown from now on: the random `stream`, or `sums` that are shown late."""
    if what not in CONCEALED_PARTS:
        raise TrialError(f"what is unsealed is one of {', '.join(CONCEALED_PARTS)}, got {what!r}")
    if "unseal" not in state.settings.second_person:
        raise ConflictError(f'trial "{state.name}" cannot be unsealed: its second_person does not have "unseal"')
    if state.status == "closed" or what in state.unsealed:
        raise ConflictError(f'nothing of the {what} of trial "{state.name}" is concealed any more')
    return Draft("unsealed", {"what": what, "reason": check_text("reason", reason)})


def set_status(state: TrialState, change: str, reason: str) -> Draft | None:
    """`pause`: give no arms until the trial is resumed; `resume`: give arms again; `close`: give no more arms, ever;
    `route`: give every unit the control; `unroute`: decide by the policy again.

    Outcomes are still taken. None if the trial has this status already.
    """
    if change in ROUTES:
        return _set_route(state, change, reason)
    kind, status = STATUS_CHANGES[change]
    if state.status == status:
        return None
    if state.status == "closed":
        raise ConflictError(f'trial "{state.name}" is closed, and stays so')
    if state.status == "stopped" and change != "close":
        raise ConflictError(f'trial "{state.name}" has stopped by its design, and stays so; it can only be closed')
    return Draft(kind, {"reason": check_text("reason", reason)})


def _set_route(state: TrialState, change: str, reason: str) -> Draft | None:
    """Give every unit the control, or decide by the policy again; None if that is so already."""
    kind = ROUTES[change]
    if (state.routed is not None) == (kind == "routed"):
        return None
    if state.status in ENDED:
        raise ConflictError(f'trial "{state.name}" is {state.status}: no unit is given an arm any more')
    if state.settings.control_arm is None:
        raise ConflictError(f'trial "{state.name}" has no control that units could be routed to; amend it with one')
    return Draft(kind, {"reason": check_text("reason", reason)})


def check_id(state: TrialState, id: str) -> None:
    """Refuse the id of a new unit that is not what the trial's pattern says."""
    pattern = state.settings.ids
    if pattern and not matches(pattern, id):
        raise TrialError(f"a unit's id must match {pattern} in this trial, got {id!r}; check how it was typed")


def check_open(state: TrialState) -> None:
    """Refuse to give arms in a trial that is paused, has stopped or is closed, or to more units than its design has."""
    if state.status == "stopped" and state.stop is not None:
        raise StoppedError(
            f'trial "{state.name}" has stopped by its design: no more units are given arms',
            f"by the rule {state.stop['rule']}; selected: {state.stop['selected'] or 'no arm'}",
        )
    if state.status != "open":
        remedy = "resume it" if state.status == "paused" else "create another one"
        raise ConflictError(f'trial "{state.name}" is {state.status}: no units are given arms; {remedy}')
    design = state.settings.design
    if design is not None and state.units >= design.units:
        raise ConflictError(
            f'trial "{state.name}" has given arms to all {design.units} units of its design; it stops when all is '
            "known of them"
        )
