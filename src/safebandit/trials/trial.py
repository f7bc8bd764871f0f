"""A trial in this process: ask which arm the next unit gets, tell what happened, in any order, and be told why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from safebandit.errors import TrialError
from safebandit.problems.limits import Alpha, AnyAlpha, plain_alpha
from safebandit.sources import formulas_hash
from safebandit.trials import version_0_1_0
from safebandit.trials.allocator import Allocator
from safebandit.trials.answers import Allocation, Receipt
from safebandit.trials.contexts import AnyContext, by_name, context_words
from safebandit.trials.decision_words import explain
from safebandit.trials.design import Design
from safebandit.trials.document import is_of_version_0_1_0, read_document, write_document
from safebandit.trials.engine import Engine
from safebandit.trials.events import Event, canonical
from safebandit.trials.explanation import Explanation
from safebandit.trials.outcomes import AnyRisk
from safebandit.trials.progress import progress
from safebandit.trials.replay import Difference, Replay, Verification
from safebandit.trials.second_person import HOURS
from safebandit.trials.settings import Settings, read_settings
from safebandit.trials.state import TrialState
from safebandit.trials.store import MemoryStore
from safebandit.trials.strata import AnyStratum
from safebandit.trials.texts import check_name, check_text

# The name and the actor of a trial that was given none.
NAME, ACTOR = "trial", "local"


class Trial:
    """An experiment in progress, kept in memory; a record keeps it by the same engine in a database.

    >>> trial = Trial(["placebo", "low", "high"], alpha=0.2, policy="tsbu", seed=7)
    >>> unit = trial.ask()
    >>> trial.tell(unit.id, reward=1, risk=0)
    Receipt(event=3, new=True)
    >>> trial.explain().chosen in trial.arms
    True

    Units have ids, texts of yours that may have to match a pattern (`ids`); without one they are numbered. An arm is
    given out only while its units with unknown risk are fewer than those with known risk (`pending_cap` are always
    allowed, by default what fits the `delay`, the number of units that arrive before an outcome is known), so that
    unresolved units do not pile up on an untested arm. While no arm is permissible, the trial holds, unless its policy
    says otherwise (`when_none`). Without a policy it takes the one that is recommended for so many planned `units`.
    `lost` is what the unknown risk of a unit that is given up counts as, "harm" or "ignore"; `actor` is who acts, as
    the log says.

    A trial by a `design` (a `Design`, its text or its document) has all of that from it, stops by its rules, and then
    gives no more arms.

    >>> trial = Trial(Design(["low", "high"], alpha=0.3, policy="docb", units=1), seed=7)
    >>> _ = trial.tell(trial.ask("patient 1").id, reward=1, risk=0)
    >>> trial.status, trial.stopped["rule"]
    ('stopped', 'most units')

    With several risks, alpha has a number for each; they are told in order, or by name and piece by piece.

    >>> trial = Trial(2, alpha=[0.3, 0.2], risks=["toxicity", "nausea"], seed=7)
    >>> unit = trial.ask("patient 1")
    >>> trial.tell("patient 1", reward=1, risk={"nausea": 0})
    Receipt(event=3, new=True)
    >>> trial.pending
    {'patient 1': '0'}

    The `control` is one of the arms; with a `control_floor` it is given with at least that chance at every unit, while
    its gate is open, whatever the policy.

    >>> trial = Trial(["placebo", "drug"], alpha=0.2, policy="docb", control="placebo", control_floor=0.2, seed=7)
    >>> unit = trial.ask()
    >>> trial.log[-1].content["arms"]["placebo"]["propensity"] >= 0.2
    True

    With `strata`, factors with their levels, units of each stratum are decided by what is known of that one alone.

    >>> trial = Trial(["placebo", "drug"], alpha=0.2, strata={"site": ["a", "b"]}, seed=7)
    >>> unit = trial.ask("patient 1", stratum={"site": "b"})

    Units may have a `context`, numbers that are known before they get an arm, each with its range; and arms `features`,
    a row of numbers for each. Policies that go by features decide by both; others keep the context, and do not look at
    it.

    >>> trial = Trial(["low", "high"], alpha=0.3, policy="docb", context=["age:18..90", "smoker"], seed=7)
    >>> unit = trial.ask("patient 1", context={"age": 44, "smoker": 0})
    >>> trial.log[-1].content["context"]
    {'age': 44.0, 'smoker': 0.0}
    """

    def __init__(
        self,
        arms: Sequence[str] | int | Design | None = None,
        alpha: AnyAlpha | None = None,
        policy: Any = None,
        *,
        design: Any = None,
        seed: int | None = None,
        risks: Sequence[str] | None = None,
        pending_cap: int | None = None,
        delay: int = 0,
        lost: str = "harm",
        title: str = "",
        ids: str = "",
        units: int | None = None,
        context: Sequence[str] | None = None,
        features: Any = None,
        control: str | None = None,
        control_floor: float = 0.0,
        strata: Mapping[str, Sequence[str]] | None = None,
        second_person: Sequence[str] = (),
        name: str = NAME,
        actor: str = ACTOR,
    ) -> None:
        said = {
            "alpha": alpha, "policy": policy, "risks": risks, "pending_cap": pending_cap, "delay": delay, "lost": lost,
            "title": title, "ids": ids, "units": units, "context": context, "features": features,
            "control": control, "control_floor": control_floor, "strata": strata,
            "second_person": second_person,
        }  # fmt: skip
        if isinstance(arms, Design):
            arms, design = None, arms if design is None else (arms, design)
        settings = read_settings(arms, design=design, seed=seed, **said)
        self._begin(TrialState(check_name(name), settings), MemoryStore(), actor)
        self._engine.create(actor=self.actor)

    def _begin(self, state: TrialState, store: MemoryStore, actor: str) -> None:
        self._store = store
        self._engine = Engine(state, store)
        self.actor = check_text("actor", actor)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._engine.state.settings

    @property
    def name(self) -> str:
        """The trial's name, as its log says it."""
        return self._engine.state.name

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that may be given."""
        return self.settings.active

    @property
    def risks(self) -> tuple[str, ...]:
        """The names of the risks."""
        return self.settings.risks

    @property
    def limits(self) -> tuple[float, ...]:
        """The tolerated mean of every risk."""
        return self.settings.limits

    @property
    def alpha(self) -> Alpha:
        """The tolerated mean risk; with several risks, all of them."""
        return plain_alpha(self.limits)

    @property
    def seed(self) -> int:
        """What fixes all random numbers."""
        return self.settings.seed

    @property
    def status(self) -> str:
        """`open`, `paused`, `stopped` or `closed`."""
        return self._engine.state.status

    @property
    def routed(self) -> dict[str, Any] | None:
        """Since which `event` every unit is given the control, by which `rule`, if not by a person, and `why`."""
        routed = self._engine.state.routed
        return None if routed is None else dict(routed)

    @property
    def design(self) -> Design | None:
        """The design in force, where the trial has one."""
        return self.settings.design

    @property
    def stopped(self) -> dict[str, Any] | None:
        """By which `rule` the trial has stopped, `why`, in which `event`, and what is `selected`; None before."""
        stop = self._engine.state.stop
        return None if stop is None else dict(stop)

    @property
    def selected(self) -> str | None:
        """The arm that is selected by what is known now; None before the trial has stopped, and where none is."""
        stop = self._engine.state.stop
        return None if stop is None else stop["selected"]

    @property
    def dropped(self) -> tuple[str, ...]:
        """The arms that rules of the design have dropped."""
        return tuple(self._engine.state.dropped_arms)

    def progress(self) -> dict[str, Any] | None:
        """How far a trial by a design is: its cohort, its next look, and how near every stopping rule is."""
        return progress(self._engine.state)

    @property
    def round(self) -> int:
        """The round that the next unit given an arm will be, from 1."""
        return self._engine.state.round

    @property
    def pending(self) -> dict[str, str]:
        """Units whose reward or risk is not known yet, with their arms."""
        return {unit.id: unit.arm for unit in self._store.units() if unit.pending}

    @property
    def log(self) -> list[Event]:
        """Every event from the first on, each with the hash of the one before."""
        return list(self._store.log)

    @property
    def _allocator(self) -> Allocator:
        return self._engine.state.allocator

    def ask(
        self,
        id: str | int | None = None,
        *,
        context: AnyContext | None = None,
        eligible: Sequence[str] | None = None,
        stratum: AnyStratum | None = None,
    ) -> Allocation:
        """Give a unit its arm, or say why none is given; asked again, it is the same arm.

        Without an id it is a new unit, which gets the number of its round. While no arm can be given, because none is
        permissible (`held`) or all wait for outcomes (`waiting`), asking again changes nothing until something is told,
        corrected, given up, voided or amended. Where the policy goes by the unit's `context` (numbers by name, or all
        in order), that holds for this context: a unit of another one is decided anew. `eligible` are the arms that
        this unit may be given, where that is not all of them: no arm is given for these alone, and other units are
        decided anew. In a trial with strata a unit says its `stratum`, and is decided by what is known of that one.
        """
        unit = self._next_id() if id is None else id
        return self._engine.ready().ask(
            unit, context=context, eligible=eligible, stratum=stratum, actor=self.actor
        )  # fmt: skip

    def _next_id(self) -> str:
        number = self.round
        while self._store.unit(str(number)) is not None:
            number += 1
        return str(number)

    def tell(self, id: str | int, *, reward: float | None = None, risk: AnyRisk | None = None) -> Receipt:
        """Say what happened to a unit: reward and risk together, or each when it is known.

        Several risks are told as numbers in order or by name, {"nausea": 0}; None stands for what is not known yet.
        A value that is known already changes nothing when it is told again; another value is refused.
        """
        return self._engine.ready().tell(id, reward=reward, risk=risk, actor=self.actor)

    def correct(
        self, id: str | int, *, reason: str, reward: float | None = None, risk: AnyRisk | None = None
    ) -> Receipt:  # fmt: skip
        """Put another outcome in the place of one that was told; decisions made before stand."""
        return self._engine.ready().correct(id, reason=reason, reward=reward, risk=risk, actor=self.actor)

    def give_up(self, id: str | int, *, reason: str) -> Receipt:
        """No longer wait for a unit's outcome."""
        return self._engine.ready().give_up(id, reason=reason, actor=self.actor)

    def void(self, id: str | int, *, reason: str) -> Receipt:
        """Count a unit that never got its arm as nothing: no play, not pending, no harm; its id cannot be used again.

        It keeps its round, and random numbers stay where they are. A unit of which something was told is refused.
        """
        return self._engine.ready().void(id, reason=reason, actor=self.actor)

    def amend(self, *, reason: str, **changes: Any) -> Receipt:
        """Change alpha, policy (by its text), arms (`add`, `withdraw`), pending_cap, ids, control, control_floor,
        second_person or fields of the `design`, from now on.
        """
        return self._engine.ready().amend(reason=reason, actor=self.actor, **changes)

    def propose(self, request: str, *, person: str, hours: float = HOURS, **said: Any) -> Receipt:
        """Propose to "amend", to "correct", "void" or "give_up" (`id`) after the end, or to "unseal" (`what`), where
        the trial's `second_person` asks for it; the rest is as these take it. The event is the proposal's number.
        """
        return self._engine.ready().propose(request, person=person, hours=hours, actor=self.actor, **said)

    def approve(self, number: int, *, person: str) -> Receipt:
        """Do what another person proposed, exactly that; refused where it would now do something else."""
        return self._engine.ready().approve(number, person=person, actor=self.actor)

    def refuse(self, number: int, *, reason: str, person: str) -> Receipt:
        """Decline a proposal, or withdraw one's own."""
        return self._engine.ready().refuse(number, reason=reason, person=person, actor=self.actor)

    @property
    def proposals(self) -> dict[int, dict[str, Any]]:
        """Proposals that wait for a second person, by their numbers."""
        return {int(number): dict(each) for number, each in self._engine.state.proposals.items()}

    def pause(self, *, reason: str) -> Receipt:
        """Give no arms until the trial is resumed; outcomes are still taken."""
        return self._engine.ready().set_status("pause", reason=reason, actor=self.actor)

    def resume(self, *, reason: str) -> Receipt:
        """Give arms again."""
        return self._engine.ready().set_status("resume", reason=reason, actor=self.actor)

    def route(self, *, reason: str) -> Receipt:
        """Give every unit the control, as long as its gate is open; outcomes still count."""
        return self._engine.ready().set_status("route", reason=reason, actor=self.actor)

    def unroute(self, *, reason: str) -> Receipt:
        """Decide by the policy again."""
        return self._engine.ready().set_status("unroute", reason=reason, actor=self.actor)

    def close(self, *, reason: str) -> Receipt:
        """Give no more arms, ever; outcomes are still taken."""
        return self._engine.ready().set_status("close", reason=reason, actor=self.actor)

    def explain(
        self,
        *,
        context: AnyContext | None = None,
        eligible: Sequence[str] | None = None,
        stratum: AnyStratum | None = None,
    ) -> Explanation:
        """What is known of every arm now, who is permissible, and which arm the next new unit gets, and why.

        Where the policy goes by the unit's context, it is needed, as `ask` takes it; `eligible` are the arms that the
        unit may be given, if not all, and `stratum` is needed where there are strata.
        """
        state, settings = self._engine.state, self.settings
        needed = context is not None or self._allocator.context_size > 0
        told = settings.read_context("an explanation", context) if needed else ()
        mask = settings.read_eligible("an explanation", eligible)
        part = settings.read_stratum("an explanation", stratum)
        allocator, stands_at = state.decider(part), state.stands_for(told, mask, part)
        now = allocator.position
        if stands_at is not None:
            # A hold stands as it was decided: with a risk that is drawn, another draw could end it.
            allocator.position = version_0_1_0.stream_words(self._store.event(stands_at).content) or now
        with allocator.only(mask):
            explained = explain(allocator, state.clock(part), context=settings.scaled(told))
        allocator.position = now
        if told:
            explained = replace(explained, context=context_words(by_name(told, settings.context)))
        if state.stop is not None:
            return replace(explained, chosen=None, why=f"the trial has stopped, by the rule {state.stop['rule']}")
        return explained

    def to_json(self) -> str:
        """The whole trial as a text; `from_json` goes on exactly as this one would."""
        return write_document(self.name, self._engine.state.to_row(), self._store.log)

    @staticmethod
    def from_json(text: str, *, actor: str = ACTOR) -> Trial:
        """A trial as `to_json` left it, or as a record exported it; every hash is checked, and every step.

        A policy of your own must be there by its name. `verify` makes all decisions again.
        """
        document = read_document(text)
        try:
            if is_of_version_0_1_0(document):
                state, store = version_0_1_0.read_saved(document, name=NAME)
            else:
                state, store = _read_log(document)
        except (LookupError, TypeError, AttributeError, OverflowError, ValueError) as problem:
            raise TrialError(f"the saved trial does not hold together: {problem}") from None
        trial = Trial.__new__(Trial)
        trial._begin(state, store, actor)
        return trial

    def replay(self) -> list[Difference]:
        """Make every decision of the log again; where one comes out otherwise, say so.

        After a difference the logged arm is taken, so that each decision is judged on what was known then.
        """
        replay = Replay(self.name)
        for event in self._store.log:
            replay.read(event)
        return replay.differences

    def verify(self, *, expected: str | None = None) -> Verification:
        """Recompute the trial from its first event on: every hash, every step, every decision, and what it knows now.

        `expected` is the hash of some event, as it was noted elsewhere.
        """
        replay = Replay(self.name, expected=expected)
        found = replay.verify(self._store.log)
        if not found.holds:
            return found
        problem = replay.end_problem(self._engine.state.to_row())
        if problem is None and list(replay.store.units()) != list(self._store.units()):
            problem = "the units are not what the log gives"
        return found if problem is None else found._replace(failed=found.events, problem=problem)


def _read_log(head: dict[str, Any]) -> tuple[TrialState, MemoryStore]:
    replay = Replay(check_name(head["trial"]), decide=False)
    for event in (Event(**fields) for fields in head["events"]):
        problem = replay.read(event)
        if problem is not None:
            raise ValueError(problem)
        replay.store.append(event)
    state = replay.state
    if replay.missing is not None:
        raise ValueError(replay.missing)
    if state is None or (head["number"], head["hash"]) != (state.number, state.hash):
        raise ValueError(f"event {head['number']} was saved, but the log ends with event {replay.number}")
    if canonical(head["settings"]) != canonical(state.settings.to_dict()):
        raise ValueError("its settings are not those of its log")
    state.position = head["stream"]
    state.recounted = replay.formulas_in_force != formulas_hash()
    return state, replay.store
