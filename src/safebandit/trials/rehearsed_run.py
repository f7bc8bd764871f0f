"""One run of a rehearsal: units arrive one by one, are given arms, and what happens to them is told late, or never.

Time is counted in arrivals. With a delay of d, d more units arrive before a unit's outcome is told; 0 is before the
next. A unit that gets no arm waits, in order of arrival, until something is told.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from safebandit.core.arms import Counts
from safebandit.problems import Instance
from safebandit.trials import drafts
from safebandit.trials.engine import Engine
from safebandit.trials.events import Draft
from safebandit.trials.settings import Settings
from safebandit.trials.state import TrialState
from safebandit.trials.store import MemoryStore
from safebandit.trials.units import Unit

REASON = "nothing was heard of it"


@dataclass(frozen=True)
class Supposition:
    """What is supposed true: the arms' means, how many units arrive, after how many arrivals outcomes are told, with
    what chance all of a unit's outcome (`missing`) or its risks (`missing_risk`) never are, and when it is given up.
    """

    instance: Instance
    units: int
    reward_delay: int
    risk_delay: int
    missing: float
    missing_risk: float
    give_up_after: int


class Fate(NamedTuple):
    """What will happen to one unit, whichever arm it is given: a uniform number for each part of its outcome, and which
    parts will be heard of.
    """

    draws: list[float]
    reward_heard: bool
    risk_heard: bool


def draw_fates(supposed: Supposition, rng: np.random.Generator) -> list[Fate]:
    """The fates of all units of a run."""
    draws = rng.random((supposed.units, 1 + len(supposed.instance.limits))).tolist()
    losses = rng.random((supposed.units, 2))
    heard = losses[:, 0] >= supposed.missing
    risks = heard & (losses[:, 1] >= supposed.missing_risk)
    return [Fate(*fate) for fate in zip(draws, heard.tolist(), risks.tolist(), strict=True)]


class Desk(Protocol):
    """Where a run asks and tells: a state in memory, or a ledger."""

    def ask(self, unit: str) -> tuple[str | None, bool]:
        """The unit's arm (None: it is held), and whether no arm was permissible."""

    def tell(self, unit: str, reward: float | None, risk: list[float | None] | None) -> None:
        """Say what happened to a unit."""

    def give_up(self, unit: str) -> None:
        """No longer wait for a unit's outcome."""

    @property
    def holds(self) -> bool:
        """Whether the last unit that asked was held, and nothing has happened since."""


class MemoryDesk:
    """A trial's state in memory: the drafts of its engine are applied, and not written into a log."""

    def __init__(self, settings: Settings) -> None:
        self.state = TrialState("rehearsal", settings)
        self.store = MemoryStore()
        self._do(drafts.create(settings))

    def ask(self, unit: str) -> tuple[str | None, bool]:
        """Decide as a trial decides; only what it would note of its reasons is left out."""
        draft = drafts.ask(self.state, unit, explained=False)
        self._do(draft)
        return draft.body["arm"], draft.body["none_permissible"]

    def tell(self, unit: str, reward: float | None, risk: list[float | None] | None) -> None:
        """Say what happened to a unit."""
        told = risk[0] if risk is not None and len(risk) == 1 else risk
        self._do(drafts.tell(self.state, self._unit(unit), reward, told))

    def give_up(self, unit: str) -> None:
        """No longer wait for a unit's outcome."""
        self._do(drafts.give_up(self.state, self._unit(unit), REASON))

    @property
    def holds(self) -> bool:
        """Whether the last unit that asked was held, and nothing has happened since."""
        return self.state.held_at is not None

    def _unit(self, id: str) -> Unit:
        unit = self.store.unit(id)
        if unit is None:
            raise LookupError(f"unit {id} has no arm")
        return unit

    def _do(self, draft: Draft | None) -> None:
        if draft is not None:
            self.state.do(self.state.number + 1, draft.kind, draft.body, self.store)


def warm_up(settings: Settings) -> None:
    """Compile what deciding and learning need, once per machine and policy, so that the first unit does not wait."""
    practice = Engine(TrialState("practice", settings), MemoryStore())
    practice.create(actor="practice")
    if not practice.ask("1", actor="practice").held:
        risks = dict.fromkeys(settings.risks, 0.0)
        practice.tell("1", reward=0.0, risk=risks, actor="practice")


class Run(NamedTuple):
    """What a run came to. Harms have a row per risk; a harm counts whether it is heard of or not.

    `waited` are the units that did not get an arm when they arrived, `waits` the arrivals that they waited in all,
    `without_arm` those that never got one. `held_after` is how many units had an arm when first none was permissible
    and the trial held; -1 if it never did.
    """

    plays: Counts
    harms: Counts
    rewards: int
    waited: int
    waits: int
    without_arm: int
    given_up: int
    held_after: int


class RunInProgress:
    """A run from the first arrival to the last outcome."""

    def __init__(self, desk: Desk, supposed: Supposition, fates: list[Fate]) -> None:
        instance = supposed.instance
        self._desk, self._supposed, self._fates = desk, supposed, fates
        self._means = np.vstack([instance.mu, instance.risk_means]).T.tolist()
        self._places = {arm: k for k, arm in enumerate(instance.arms)}
        self._plays = [0] * len(instance.arms)
        self._harms = [[0] * len(instance.arms) for _ in instance.limits]
        self._rewards = self._waited = self._waits = self._given_up = 0
        self._held_after = -1
        self._queue: deque[int] = deque()
        # What is told of whom (None: the unit is given up), by the arrival before which it is told.
        self._due: defaultdict[int, list[tuple[str, tuple[float | None, list[float | None] | None] | None]]]
        self._due = defaultdict(list)

    def play(self) -> Run:
        """Let all units arrive, and wait for what is still to be told."""
        now = 0
        while now < self._supposed.units or self._due:
            now += 1
            self._hear(now)
            if now <= self._supposed.units:
                self._queue.append(now)
            self._serve(now)
        return Run(
            np.array(self._plays), np.array(self._harms), self._rewards, self._waited, self._waits,
            len(self._queue), self._given_up, self._held_after,
        )  # fmt: skip

    def _hear(self, now: int) -> None:
        for unit, told in self._due.pop(now, ()):
            if told is None:
                self._given_up += 1
                self._desk.give_up(unit)
            else:
                self._desk.tell(unit, *told)

    def _serve(self, now: int) -> None:
        """Give arms to those who wait, in order, until one is held; while nothing was told nobody asks again."""
        while self._queue and not self._desk.holds:
            arrived = self._queue[0]
            arm, none = self._desk.ask(str(arrived))
            if arm is None:
                if none and self._held_after < 0:
                    self._held_after = sum(self._plays)
                break
            self._queue.popleft()
            self._waits += now - arrived
            self._happen(now, arrived, self._places[arm])
        self._waited += bool(self._queue) and self._queue[-1] == now

    def _happen(self, now: int, arrived: int, k: int) -> None:
        """Draw the outcome of a unit that was given arm k, and put down when it will be told."""
        fate, supposed = self._fates[arrived - 1], self._supposed
        reward, *risks = [1.0 * (u < mean) for u, mean in zip(fate.draws, self._means[k], strict=True)]
        self._plays[k] += 1
        self._rewards += int(reward)
        for harms, risk in zip(self._harms, risks, strict=True):
            harms[k] += int(risk)
        unit, later, listed = str(arrived), now + 1, list[float | None](risks)
        if fate.reward_heard and fate.risk_heard and supposed.reward_delay == supposed.risk_delay:
            self._due[later + supposed.reward_delay].append((unit, (reward, listed)))
            return
        if fate.reward_heard:
            self._due[later + supposed.reward_delay].append((unit, (reward, None)))
        if fate.risk_heard:
            self._due[later + supposed.risk_delay].append((unit, (None, listed)))
        if not (fate.reward_heard and fate.risk_heard):
            self._due[later + supposed.give_up_after].append((unit, None))
