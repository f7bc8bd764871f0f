"""Trials of a design on a scenario, simulated by the code that a live trial runs: in chunks, on threads or others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import REWARD, Counts, Memory, Numbers
from safebandit.core.book import Book, Chance, new_book
from safebandit.core.called import called
from safebandit.core.conduct import Conduct
from safebandit.core.dispatch import Formula, formulas_to_send, take_formulas
from safebandit.core.kernels import kernels_for, memory_for
from safebandit.core.selection.interface import NONE_SELECTED
from safebandit.core.streams import streams_of
from safebandit.core.timing import Timing
from safebandit.core.trials import LOOK, advance_for
from safebandit.problems.scenario import Scenario
from safebandit.simulation.execution import check_sources, kinds_of
from safebandit.sources import sources
from safebandit.trials.design import CAUSES, Design
from safebandit.trials.planned_strata import PlannedStratum, in_scenario, packed
from safebandit.trials.strata import stratum_seed
from safebandit.waits import WAITS

# The trials of one chunk have about so many units: progress moves, and Ctrl-C is soon heard.
CHUNK_UNITS = 100_000
MOST_TRIALS = 1_000
# Streams behind those of the arms: what is heard of a unit, how late, when units arrive, and of which stratum they are.
LOSSES, DELAYS, ARRIVALS, STRATA = 0, 1, 2, 3
MORE_STREAMS = 4


class Runs(NamedTuple):
    """What simulated trials (rows) came to.

    `plays_in` are the plays by stratum of the truth, then arm. `rewards` and `harms` (a layer per risk) are true
    outcomes by arm, heard of or not; `reward_plays` to `risk_totals` what was known when the trial ended, outcomes that
    were still to come included. `selected` is the arm that is selected then (-1: none), `selected_at_stop` the one when
    it stopped; `cause` why it stopped, a place in the design's `causes`; `duration` the days until then. `excluded` is
    whether an arm was ever not permissible or dropped. `waited` are units that did not get an arm at once, `waits` the
    days that they waited, `without_arm` those that never got one; `held_after` the units that had an arm when first
    none was permissible, -1 if that never was. `routed` is whether a rule gave every unit the control.
    `seconds` is the processor time that all of them took.
    """

    plays: Counts
    plays_in: Counts
    rewards: Numbers
    harms: Numbers
    reward_plays: Counts
    reward_totals: Numbers
    risk_plays: Counts
    risk_totals: Numbers
    selected: Counts
    selected_at_stop: Counts
    cause: Counts
    size: Counts
    duration: Numbers
    excluded: Counts
    dropped: Counts
    looks: Counts
    waited: Counts
    waits: Numbers
    without_arm: Counts
    given_up: Counts
    held_after: Counts
    routed: Counts
    seconds: float

    @property
    def trials(self) -> int:
        """How many there are."""
        return len(self.size)


class Plan(NamedTuple):
    """All that the trials of one design on one scenario share, as compiled code takes it; nothing is selected where
    there is no `selection`.
    """

    policy: Any
    conduct: Conduct
    rules: tuple[Any, ...]
    # What happens where each rule is reached.
    then: tuple[str, ...]
    selection: Any
    law: Any
    timing: Timing
    limits: tuple[float, ...]
    seed: int
    # The arms' numbers among those that random numbers are drawn for, and how many those are.
    places: tuple[int, ...]
    streams: int
    stop: Counts
    # Those of the truth, and whether each is decided apart.
    strata: tuple[PlannedStratum, ...] = ()
    apart: bool = False
    formulas: Sequence[Formula] = ()
    sources: str = ""
    label: str = ""


def simulate_design(
    design: Design,
    scenario: Scenario,
    *,
    trials: int | range = 1_000,
    seed: int = 0,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Runs:
    """Trials of a design on a scenario; the same bits however many workers there are.

    A live trial of the same design and the same seed decides as trial 0 does. `progress` is told how many trials are
    done, of how many.
    """
    wanted = range(trials) if isinstance(trials, int) else trials
    return play(plan_of(design, scenario, seed), wanted, workers=workers, executor=executor, progress=progress)


def plan_of(design: Design, scenario: Scenario, seed: int) -> Plan:
    """A design on a scenario as compiled code takes it."""
    policy, count = design.prepared(), len(design.arms)
    law, strata = in_scenario(design.strata, scenario)
    kinds = {kind for value in (policy, design.select, *design.stop) for kind in kinds_of(value)}
    sent = [formula for kind in sorted(kinds, key=str) for formula in formulas_to_send(kind)]
    return Plan(
        policy, design.conduct(), tuple(design.stop), design.then, design.select, law, scenario.timing(),
        design.limits, seed, tuple(range(count)), count, np.zeros(1, np.int64), strata, bool(design.strata), sent,
        sources(), design.policy.partition(":")[0],
    )  # fmt: skip


def play(
    plan: Plan,
    trials: range,
    *,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Runs:
    """Play trials in chunks; Ctrl-C keeps those before the first that is unfinished."""
    make_ready(plan)
    size = max(1, min(MOST_TRIALS, -(-len(trials) // workers), CHUNK_UNITS // plan.conduct.units))
    chunks = [trials[i : i + size] for i in range(0, len(trials), size)]
    run = play_chunk if executor is None else play_elsewhere
    pool = executor or ThreadPoolExecutor(workers)
    futures: list[Future[Runs | None]] = []
    try:
        futures = [pool.submit(run, plan, chunk) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            if future.result() is not None and progress is not None:
                progress(chunk.stop - trials.start, len(trials))
    except KeyboardInterrupt:
        if not _finished(futures):
            raise KeyboardInterrupt("interrupted before any trial was finished") from None
    finally:
        # Heard by threads only; other processes have a copy, and end the chunk that they are at.
        plan.stop[0] = 1
        for future in futures:
            future.cancel()
        if executor is None:
            pool.shutdown(wait=True, cancel_futures=True)
        plan.stop[0] = 0
    return joined(_finished(futures))


def _finished(futures: Sequence[Future[Runs | None]]) -> list[Runs]:
    """What was played before the first chunk that was not."""
    found: list[Runs] = []
    for future in futures:
        runs = future.result() if future.done() and not future.cancelled() else None
        if runs is None:
            break
        found.append(runs)
    return found


def joined(parts: Sequence[Runs]) -> Runs:
    """Runs one after the other as one."""
    *arrays, seconds = zip(*parts, strict=True)
    return Runs._make([*map(np.concatenate, arrays), sum(seconds)])


def play_elsewhere(plan: Plan, trials: range) -> Runs | None:
    """A chunk as an executor plays it, perhaps in another process: by the same sources or not at all."""
    check_sources(plan.sources)
    take_formulas(plan.formulas)
    make_ready(plan)
    return play_chunk(plan, trials)


def make_ready(plan: Plan) -> None:
    """Compile all that a plan needs: no trial is played."""
    with WAITS.preparing(plan.label or "formulas"):
        room = Room(plan, range(1))
        nothing = np.zeros(0, np.int64)
        room.advance(nothing, closing=False)
        for rule in plan.rules:
            room.measure(rule, nothing)
        room.select(nothing)


def play_chunk(plan: Plan, trials: range) -> Runs | None:
    """Play some trials to their end; None where it was stopped before."""
    began = time.thread_time()
    room = Room(plan, trials)
    if not room.play():
        return None
    runs = room.runs()
    return runs._replace(seconds=time.thread_time() - began)


class Room:
    """Where trials are played side by side, a row for each."""

    def __init__(self, plan: Plan, trials: range) -> None:
        self.plan = plan
        count, arms, risks = len(trials), len(plan.places), len(plan.limits)
        states, keys = streams_of(plan.seed, trials, plan.streams + MORE_STREAMS)
        places = list(plan.places)
        more = [np.ascontiguousarray(states[:, 1 + plan.streams + each]) for each in (LOSSES, DELAYS, ARRIVALS, STRATA)]
        self.chance = Chance(np.ascontiguousarray(states[:, 1:][:, places]), *more)
        self.memory: Memory = memory_for(
            plan.policy, np.ascontiguousarray(keys[:, places]), np.ascontiguousarray(states[:, 0]), plan.limits
        )
        # Rules are measured by it, and where strata decide nothing else notes it.
        self.memory.courses["upwards"] = plan.conduct.upwards
        self.deciders = self._deciders(trials)
        self.book: Book = new_book(count, plan.conduct.units, arms, risks, packed(plan.strata, apart=plan.apart))
        self._conduct = plan.conduct.packed()
        self.cause = np.zeros(count, np.int64)
        self.duration = np.zeros(count)
        self.selected_at_stop = np.full(count, NONE_SELECTED)
        self._policy, self._advance = called(plan.policy), advance_for(plan.law)

    def _deciders(self, trials: range) -> Memory:
        """Who decides in each stratum of each trial, behind one another: by random numbers of its own, as in a live
        trial; the trial itself where strata are not decided apart.
        """
        plan, places = self.plan, list(self.plan.places)
        if not plan.apart:
            return self.memory
        made = [streams_of(stratum_seed(plan.seed, each.name), trials, plan.streams) for each in plan.strata]
        keys = np.stack([keys[:, places] for _, keys in made], axis=1).reshape(-1, len(places))
        streams = np.stack([states[:, 0] for states, _ in made], axis=1).reshape(-1)
        return memory_for(plan.policy, keys, streams, plan.limits)

    def _rows_of_deciders(self, rows: Counts) -> Counts:
        """The rows of those who decide in some trials: of their strata, or of the trials themselves."""
        each = np.arange(len(self.plan.strata) if self.plan.apart else 1)
        return np.asarray((rows[:, None] * len(each) + each).ravel(), np.int64)

    def advance(self, rows: Counts, *, closing: bool) -> Counts:
        """Play the trials of these rows as far as their next look or their end, and say which it is."""
        plan, answers = self.plan, np.zeros(len(rows), np.int64)
        self._advance(
            self._policy, self._conduct, plan.law, plan.timing, self.memory, self.deciders, self.book, self.chance,
            rows, answers, closing,
        )  # fmt: skip
        return answers

    def measure(self, rule: Any, rows: Counts) -> Numbers:
        """How near a rule is in the trials of these rows."""
        found = np.empty((len(rows), len(self.plan.places)))
        kernels_for(rule).measure(rule, self.memory, rows, found)
        return found

    def select(self, rows: Counts) -> Counts:
        """What is selected in the trials of these rows."""
        chosen = np.full(len(rows), NONE_SELECTED)
        if self.plan.selection is None:
            return chosen
        kernels_for(self.plan.selection).select(self.plan.selection, self.memory, rows, chosen)
        return chosen

    def play(self) -> bool:
        """Play all trials from look to look, then hear what is still due; False where that was stopped."""
        rows = np.arange(len(self.cause))
        while len(rows):
            if self.plan.stop[0] != 0:
                return False
            answers = self.advance(rows, closing=False)
            ended, looking = answers != LOOK, rows[answers == LOOK]
            self._end(rows[ended], answers[ended])
            rows = looking[~self.look(looking)]
        self.advance(np.arange(len(self.cause)), closing=True)
        return True

    def look(self, rows: Counts) -> Any:
        """Measure the rules in order: arms are dropped, units are routed to the control, and the first rule that stops
        a trial ends it. A rule that pauses it ends it, too, after all others: nobody is there who would resume it.
        """
        ended, paused = np.zeros(len(rows), bool), np.full(len(rows), -1)
        # Rules come behind the causes that every trial has.
        for cause, (rule, then) in enumerate(zip(self.plan.rules, self.plan.then, strict=True), len(CAUSES)):
            there = rows[~ended]
            if not len(there):
                break
            reached = self.measure(rule, there) >= rule.level
            if rule.drops:
                self.memory.arms["dropped"][there] |= reached
                apart = self._rows_of_deciders(there)
                self.deciders.arms["dropped"][apart] |= np.repeat(reached, len(apart) // len(there), axis=0)
                continue
            places = np.flatnonzero(~ended)[reached.any(axis=1)]
            if then == "route":
                self.memory.courses["routed"][rows[places]] = 1
                self.deciders.courses["routed"][self._rows_of_deciders(rows[places])] = 1
            elif then == "pause":
                paused[places] = np.where(paused[places] < 0, cause, paused[places])
            else:
                self._end(rows[places], np.full(len(places), cause))
                ended[places] = True
        left = np.flatnonzero(~ended & (paused >= 0))
        self._end(rows[left], paused[left])
        ended[left] = True
        return ended

    def _end(self, rows: Counts, causes: Counts) -> None:
        self.cause[rows] = causes
        self.duration[rows] = self.book.clocks["now"][rows]
        self.selected_at_stop[rows] = self.select(rows)

    def _plays_in(self, plays: Counts) -> Counts:
        """How often each arm was given in each stratum; without strata all units are of one."""
        if not self.plan.strata:
            return plays[:, None].copy()
        counts = np.zeros((len(plays), len(self.plan.strata), plays.shape[1]), np.int64)
        trials, numbers = np.nonzero(self.book.units["arm"] >= 0)
        given = self.book.units[trials, numbers]
        np.add.at(counts, (trials, given["stratum"], given["arm"]), 1)
        return counts

    def runs(self) -> Runs:
        """What the trials came to."""
        arms, seen, course = self.memory.arms, self.memory.quantities, self.memory.courses
        clocks, sums, harms = self.book.clocks, self.book.sums, self.book.harms["value"].swapaxes(1, 2)
        plays, dropped = arms["asked"].copy(), arms["dropped"].copy()
        size = course["given"].copy()
        return Runs(
            plays, self._plays_in(plays), sums["reward"].copy(), harms.copy(), seen["plays"][:, :, REWARD].copy(),
            seen["total"][:, :, REWARD].copy(),
            seen["plays"][:, :, 1:].swapaxes(1, 2).copy(), seen["total"][:, :, 1:].swapaxes(1, 2).copy(),
            self.select(np.arange(len(size))), self.selected_at_stop, self.cause, size, self.duration,
            sums["excluded"] | dropped, dropped, course["looks"].copy(), clocks["waited"].copy(),
            clocks["waits"].copy(), clocks["arrived"] - size, clocks["given_up"].copy(), clocks["held_after"].copy(),
            course["routed"].copy(), 0.0,
        )  # fmt: skip
