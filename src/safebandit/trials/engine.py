"""The engine of a trial: a request is checked against the state, written as an event, and applied.

A trial in memory and a trial in a database are this engine on another store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from safebandit.errors import ConflictError, DamagedError, TrialError
from safebandit.trials import approval, drafts
from safebandit.trials.answers import Allocation, Receipt
from safebandit.trials.contexts import AnyContext, by_name, context_words, ranges_of
from safebandit.trials.events import NO_ARM, Draft, kind_of, now, seal, stamp
from safebandit.trials.looks import consequences, measured, selection
from safebandit.trials.second_person import HOURS
from safebandit.trials.settings import Settings
from safebandit.trials.state import TrialState
from safebandit.trials.store import MemoryStore, Store
from safebandit.trials.strata import AnyStratum, stratum_names
from safebandit.trials.texts import check_text, is_keepable, read_unit_id
from safebandit.trials.units import Unit
from safebandit.waits import WAITS

# Who acts where no person does.
SOFTWARE = "safebandit"


class Engine:
    """One trial. Every request is checked before anything changes: one that is refused leaves no trace."""

    def __init__(self, state: TrialState, store: Store) -> None:
        self.state = state
        self.store = store

    def create(self, *, actor: str) -> Receipt:
        """Begin the trial; each rule of a design is measured once before, so that one that cannot be is refused."""
        measured(self.state)
        selection(self.state)
        return self.append(drafts.create(self.state.settings), actor)

    def ask(
        self,
        id: str | int,
        *,
        context: AnyContext | None = None,
        eligible: Sequence[str] | None = None,
        stratum: AnyStratum | None = None,
        actor: str,
    ) -> Allocation:
        """Give a unit its arm, of the `eligible` ones where some are named; the one that it has already, if it has one:
        then what it asked with need not be told again.
        """
        # Before anything is decided: a decision that is then refused would have moved the random numbers.
        check_text("actor", actor)
        found = find_unit(self.state.aliases, self.store, id)
        if found is not None and found.voided_at is not None:
            raise ConflictError(
                f"unit {found.id!r} was voided in event {found.voided_at}, and its id cannot be used again; "
                "give the unit another id"
            )
        if found is not None:
            self._check_context(found, context)
            self._check_eligible(found, eligible)
            self._check_stratum(found, stratum)
            return self._decided(("asked",), found.asked_at, found)
        unit = read_unit_id(id)
        drafts.check_id(self.state, unit)
        settings, who = self.state.settings, f"unit {unit!r}"
        told = settings.read_context(who, context)
        mask = settings.read_eligible(who, eligible)
        part = settings.read_stratum(who, stratum)
        stands_at = self.state.stands_for(told, mask, part)
        if stands_at is not None and self.state.status == "open":
            # Nothing has happened since that could change it: asking again is no new evidence.
            return self._decided(tuple(NO_ARM), stands_at)._replace(unit=unit)
        draft = drafts.ask(self.state, unit, told, mask, part)
        done = self.append(draft, actor)
        return _answer(draft.kind, draft.body, done.event, new=True)

    def tell(self, id: str | int, *, reward: Any = None, risk: Any = None, actor: str) -> Receipt:
        """Say what happened to a unit: reward and risk together, or each when it is known."""
        return self.append(drafts.tell(self.state, self._unit(id), reward, risk), actor)

    def correct(self, id: str | int, *, reason: str, reward: Any = None, risk: Any = None, actor: str) -> Receipt:
        """Put another outcome in the place of one that was told."""
        return self.append(drafts.correct(self.state, self._unit(id), reward, risk, reason), actor)

    def give_up(self, id: str | int, *, reason: str, actor: str) -> Receipt:
        """No longer wait for a unit's outcome."""
        return self.append(drafts.give_up(self.state, self._unit(id), reason), actor)

    def void(self, id: str | int, *, reason: str, actor: str) -> Receipt:
        """Count a unit that never got its arm as nothing; its id cannot be used again."""
        return self.append(drafts.void(self.state, self._unit(id), reason), actor)

    def amend(self, *, reason: str, actor: str, **changes: Any) -> Receipt:
        """Change alpha, policy (by its text), arms (`add`, `withdraw`), pending_cap, ids, control, control_floor,
        second_person or fields of the `design`, from now on.
        """
        return self.append(drafts.amend(self.state, reason, changes), actor)

    def propose(self, request: str, *, person: str, hours: float = HOURS, actor: str, **said: Any) -> Receipt:
        """Propose to `amend`, `correct`, `unseal`, `void` or `give_up`, with what these take, for a second person to
        approve in time; the event's number is the proposal's.
        """
        expires = approval.read_hours(hours)
        if request == "amend":
            draft = drafts.amend(self.state, said.pop("reason"), said, alone=False)
        elif request == "correct":
            told = said.get("reward"), said.get("risk"), said["reason"]
            draft = drafts.correct(self.state, self._unit(said["id"]), *told, alone=False)
        elif request in approval.OF_UNITS:
            draft = approval.remove(self.state, request, self._unit(said["id"]), said["reason"])
        elif request == "unseal":
            draft = drafts.unseal(self.state, said["what"], said["reason"])
        else:
            raise TrialError(f"a proposal is to {', '.join(approval.KINDS)}, got {request!r}")
        return self.append(approval.propose(self.state, draft, person=person, expires=expires), actor)

    def approve(self, number: int, *, person: str, actor: str) -> Receipt:
        """Do what somebody else proposed, exactly that."""
        draft = approval.again(self.state, approval.found(self.state, number), self._unit)
        return self.append(approval.approve(self.state, number, draft, person=person, at=now()), actor)

    def refuse(self, number: int, *, reason: str, person: str, actor: str) -> Receipt:
        """Decline a proposal, or withdraw one's own."""
        return self.append(approval.refuse(self.state, number, reason, person=person), actor)

    def set_status(self, change: str, *, reason: str, actor: str) -> Receipt:
        """`pause`, `resume` or `close` the trial; `route` all units to the control, or `unroute` them."""
        return self.append(drafts.set_status(self.state, change, reason), actor)

    def ready(self) -> Engine:
        """Before anything else is written: note in the log that outcomes were counted anew, if other formulas had."""
        if self.state.recounted:
            self.append(drafts.recount(self.state), SOFTWARE)
        return self

    def append(self, draft: Draft | None, actor: str) -> Receipt:
        """Write a draft that was checked, and do what it says; nothing where there is none."""
        state = self.state
        if draft is None:
            return Receipt(state.number, False)
        check_text("actor", actor)
        time, body = stamp(draft.to_write, after=state.time)
        event = seal(state.name, state.number + 1, time, actor, draft.kind, body, state.hash)
        # As `apply` does, without reading again what was written just now.
        state.do(event.number, draft.kind, draft.body, self.store)
        state.hash, state.time = event.hash, event.time
        self.store.append(event)
        for following in consequences(state, draft.kind):
            self.append(following, SOFTWARE)
        return Receipt(event.number, True)

    def _check_context(self, unit: Unit, context: AnyContext | None) -> None:
        """Refuse another context than that by which a unit has its arm; what that was is not told to whoever asks."""
        if context is not None:
            told = self.state.settings.read_context(f"unit {unit.id!r}", context)
            if list(told) != unit.context:
                got = context_words(by_name(told, self.state.settings.context))
                raise ConflictError(
                    f"unit {unit.id!r} has its arm since event {unit.asked_at} by another context, got {got}; ask "
                    "without one for the arm that it has"
                )

    def _check_eligible(self, unit: Unit, eligible: Sequence[str] | None) -> None:
        """Refuse other eligible arms than those by which a unit has its arm; what these were is not told."""
        mask = self.state.settings.read_eligible(f"unit {unit.id!r}", eligible)
        if mask is not None and list(mask) != self.store.event(unit.asked_at).content.get("eligible"):
            raise ConflictError(
                f"unit {unit.id!r} has its arm since event {unit.asked_at}, and other arms were eligible for it then, "
                f"got {', '.join(mask)}; ask without them for the arm that it has"
            )

    def _check_stratum(self, unit: Unit, stratum: AnyStratum | None) -> None:
        """Refuse another stratum than that of a unit which has its arm."""
        if stratum is not None:
            told = self.state.settings.read_stratum(f"unit {unit.id!r}", stratum)
            if told != unit.stratum:
                raise ConflictError(
                    f"unit {unit.id!r} has its arm since event {unit.asked_at} in another stratum, got {told}; ask "
                    "without one for the arm that it has"
                )

    def _unit(self, id: str | int) -> Unit:
        unit = find_unit(self.state.aliases, self.store, id)
        if unit is None:
            raise TrialError(f"no unit {read_unit_id(id)!r} was given an arm; ask for it first")
        return unit

    def _decided(self, kinds: tuple[str, ...], number: int, unit: Unit | None = None) -> Allocation:
        """What was decided in an event, if that is the event that the tables beside the log take it for."""
        event = self.store.event(number)
        if event.kind in kinds:
            given = _answer(event.kind, event.content, number, new=False)
            if unit is None or (given.unit, given.arm) == (unit.id, unit.arm):
                return given
        raise DamagedError(f"event {number} is not the one that gave this answer; verify the trial")


def find_unit(aliases: Mapping[str, str], store: Store, id: str | int) -> Unit | None:
    """The unit of this id, however it was typed; `aliases` lead to ids that were taken before they had one spelling."""
    if not aliases:
        return store.unit(read_unit_id(id))
    # As it was typed then: two that were told apart then are still two.
    earlier = store.unit(id) if isinstance(id, str) and is_keepable(id) else None
    unit = read_unit_id(id) if earlier is None else earlier.id
    return earlier or store.unit(unit) or store.unit(aliases.get(unit, unit))


def _answer(kind: str, content: Mapping[str, Any], number: int, *, new: bool) -> Allocation:
    waiting = kind_of(kind, content) == "waiting"
    return Allocation(content["unit"], content["arm"], content["why"], content["round"], number, new, waiting)


def warm_up(settings: Settings) -> None:
    """Compile what deciding and learning need, once per machine and policy, so that the first unit does not wait."""
    with WAITS.preparing(settings.policy.partition(":")[0]):
        _practise(settings)


def _practise(settings: Settings) -> None:
    practice = Engine(TrialState("practice", replace(settings, ids="")), MemoryStore())
    practice.create(actor=SOFTWARE)
    context = {each.name: each.low for each in ranges_of(settings.context)} or None
    stratum = next(iter(stratum_names(settings.factors)), None)
    if practice.ask("1", context=context, stratum=stratum, actor=SOFTWARE).arm is not None:
        reward = 0.0 if settings.rewarded else None
        practice.tell("1", reward=reward, risk=dict.fromkeys(settings.risks, 0.0), actor=SOFTWARE)
    if settings.design is not None:
        measured(practice.state)
        selection(practice.state)
