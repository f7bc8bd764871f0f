"""The arms of a live trial: what has been seen of them, which one comes next, and with what chances.

`decide` moves the random numbers on. `consider` decides without a trace, `judge` asks the policy whatever the conduct
would do, `judged` puts that beside a decision that the conduct made, and `chances` says how likely each arm was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import CHANCE, INDEX, PERMISSIBLE, REWARD, RISKS, Counts, Features, Numbers
from safebandit.core.called import called
from safebandit.core.conduct import DROPPED, FREE, MASKED, Conduct, plain_conduct
from safebandit.core.kernels import Told, kernels_for, meet_unit, memory_for, no_contexts, write_bars
from safebandit.core.live import Live, decide_at, give_at, learn_at, place, room_to_tell
from safebandit.core.policies import HOLD, WAIT, Decision, Setup, prepare
from safebandit.core.policies.interface import sizes
from safebandit.core.policies.propensities import Law, Situation, law_of, least_given_law
from safebandit.core.selection.interface import NONE_SELECTED
from safebandit.core.streams import STATE, trial_streams
from safebandit.errors import TrialError
from safebandit.sources import formulas_hash
from safebandit.trials.chances import CHANCE_DRAWS, Chances

# The answers of a decision that are no arm: HOLD, WAIT and DONE.
ANSWERS = 3

# A live trial's memory has one row.
_ONLY_ROW = np.zeros(1, np.int64)

# What is known of one play: the reward and every risk; None where it is not known.
Outcome = tuple[float | None, ...]

# Where a trial's random numbers are: the words of its stream.
Position = tuple[int, ...]


class Given(NamedTuple):
    """The units that were given arms: how many each arm was, the arm of the last (-1: none), and how many are in the
    present cohort, which began in round `cohort_from`.
    """

    arms: Counts
    last: int
    cohort: int
    cohort_from: int


class Allocator:
    """Arms, limits and a policy, with the compiled memory of what was seen.

    `places` are the arms' numbers in their trial, from 0: an arm's random numbers do not depend on the other arms.
    `conduct` is how units are given arms around the policy; by default one after the other. `units` is how many are
    planned, where that is known. `features` are those of the arms, and how many numbers the context of a unit has;
    contexts are scaled here, to 0..1, and every question needs one where the policy goes by it.
    """

    def __init__(
        self,
        arms: Sequence[str],
        limits: tuple[float, ...],
        policy: Any,
        *,
        risks: tuple[str, ...],
        seed: int,
        places: Sequence[int] | None = None,
        conduct: Conduct | None = None,
        units: int | None = None,
        features: Features | None = None,
    ) -> None:
        self.arms = tuple(arms)
        self.limits = limits
        self.risks = risks
        self.seed = seed
        self.conduct = plain_conduct() if conduct is None else conduct
        self._packed = self.conduct.packed()
        self.policy = prepare(policy, Setup(self.arms, limits, "hold", units=units, features=features))
        self._called = called(self.policy)
        self._kernels = kernels_for(self._called)
        chosen = list(range(len(self.arms)) if places is None else places)
        streams = trial_streams(seed, 0, max(chosen) + 1)
        self.columns: tuple[str, ...] = getattr(self.policy, "columns", ())
        self.memory = memory_for(self.policy, streams.keys[None, chosen], streams.policy, limits, features)
        # The table that a decision writes, and the last one read from it; of its columns those that are cleared before
        # each decision (the others stay true until an outcome comes, see `keeps_table`); and of every arm whether
        # nothing spoke against it then.
        self._table = self.memory.table["value"]
        self._saw = self._read_table(self._table.tobytes())
        self._rewritten = self._table[:, : RISKS if getattr(self.policy, "keeps_table", False) else None]
        self._available = self.memory.arms["available"][0]
        self._words = self.memory.streams.view(np.uint64)
        self._has_numbers = sizes(self.policy, len(self.arms), len(limits)).trial > 0
        self._answers = np.zeros(ANSWERS + len(self.arms), np.int64)
        # How many numbers of a context the policy goes by: none where it goes by no features.
        by_features = features is not None and getattr(self.policy, "by_features", False)
        self.context_size = features.context if features is not None and by_features else 0
        self._kernels.begin(self._called, self.memory)
        # Where compiled code finds all of this, and room for what is told of one unit.
        self._one_told = room_to_tell(len(limits))
        self._news, self._known = self._one_told.news["value"][0], self._one_told.known["value"][0]
        self._place = place(Live(self._called, self._packed, self.memory, self._one_told))
        self._address = self._place.ctypes.data
        # Rules are measured by it, and after a recount perhaps before any decision, which notes it too.
        self.memory.courses["upwards"] = self.conduct.upwards

    def _meet(self, context: Numbers | None) -> None:
        """Set the features of every arm for the unit in question."""
        if self.context_size:
            meet_unit(self.memory.features, self.memory.arm_features, self._read_context(context))

    def _read_context(self, context: Numbers | None) -> Numbers:
        if context is None or len(context) != self.context_size:
            raise TrialError(
                f"this policy goes by the unit's context of {self.context_size} numbers, got "
                f"{'none' if context is None else len(context)}; give context="
            )
        return np.asarray(context, float)

    @contextmanager
    def only(self, eligible: Sequence[str] | None) -> Iterator[None]:
        """Meanwhile, a unit may be given these arms alone; None: all of them."""
        if eligible is not None:
            self.memory.arms["masked"][0] = [arm not in eligible for arm in self.arms]
        try:
            yield
        finally:
            self.memory.arms["masked"][0] = 0

    def decide(self, t: int, conduct: Conduct | None = None, *, context: Numbers | None = None) -> Decision:
        """The decision of round t and all numbers behind it; the trial's random numbers move on."""
        self._meet(context)
        self._rewritten.fill(np.nan)
        rules = self._packed if conduct is None else conduct.packed()
        k, none = self._ask(rules, t, 1, self._answers)
        saw = self._table.tobytes()
        if saw != self._saw.saw:
            self._saw = self._read_table(saw)
        decision = Decision(k, none, *self._saw[2:])
        return decision._replace(k=HOLD, none=True) if self._none_for_mask(decision) else decision

    def _read_table(self, saw: bytes) -> Decision:
        """What was written into the table, as a decision has it."""
        table, last = np.frombuffer(saw).reshape(self._table.shape), RISKS + len(self.limits)
        own = dict(zip(self.columns, table.T[last:], strict=True)) if self.columns else {}
        permissible = table[:, PERMISSIBLE]
        # Where nothing was written, the policy was not asked.
        by_policy = not all(map(math.isnan, permissible.tolist()))
        return Decision(
            HOLD, False, permissible == 1.0, table[:, INDEX], table[:, RISKS:last], table[:, CHANCE], own, self.arms,
            by_policy, saw,
        )  # fmt: skip

    def _none_for_mask(self, decision: Decision) -> bool:
        """Whether a unit that would wait has no arm to wait for: of those that are eligible for it none is permissible.

        A policy knows nothing of eligible arms: those that are permissible may be given to others.
        """
        if decision.k != WAIT or not decision.by_policy or not self.memory.arms["masked"].any():
            return False
        shut = (self.memory.arms["masked"][0] != 0) | (self.memory.arms["dropped"][0] != 0)
        return not (decision.permissible & ~shut).any()

    def _ask(self, rules: Any, t: int, draws: int, counts: Counts) -> tuple[int, bool]:
        """Have the policy decide so many times. Its own numbers are made by outcomes alone: where it computes in their
        room, they are as before.
        """
        own = self.memory.numbers.copy() if self._has_numbers else None
        if draws == 1 and rules is self._packed:
            answer = decide_at(self._address, t)
            counts[answer[0]] += 1
        else:
            answer = self._kernels.decide(self._called, rules, self.memory, t, draws, counts)
        if own is not None:
            self.memory.numbers[:] = own
        return answer

    def consider(
        self, t: int, *, aside: int | None = None, conduct: Conduct | None = None, context: Numbers | None = None
    ) -> Decision:
        """The decision of round t and all numbers behind it; nothing changes.

        With `aside` it is made with random numbers of their own, as one of those that are drawn for the chances of
        decision number `aside`: then it does not tell what is decided when a unit asks.
        """
        before = self.memory.streams.copy()
        if aside is not None:
            self.memory.streams[:] = trial_streams(self.seed, aside, 1).policy
        decision = self.decide(t, conduct, context=context)
        self.memory.streams[:] = before
        return decision

    def judge(self, t: int, *, aside: int, context: Numbers | None = None) -> Decision:
        """What the policy itself says of every arm in round t, whether or not it is asked; nothing changes."""
        alone = self.conduct._replace(cohort=1, waits=False, first=-1, burn_in=0)
        return self.consider(t, aside=aside, conduct=alone, context=context)

    def judged(self, decision: Decision, t: int, *, aside: int, context: Numbers | None = None) -> Decision:
        """A decision with what the policy says of every arm, where the trial's conduct decided instead of it."""
        if decision.by_policy:
            return decision
        seen = self.judge(t, aside=aside, context=context)
        return seen._replace(k=decision.k, none=decision.none, by_policy=False)

    def chances(
        self,
        t: int,
        number: int,
        decision: Decision | None = None,
        *,
        context: Numbers | None = None,
        by_draws: bool = False,
        drew: bool | None = None,
    ) -> Chances:
        """The chance of each arm in round t: exact where nothing is drawn or the policy tells the chances that it draws
        by, else by integration where its law is known (not with `by_draws`), else from draws of decision `number`. A
        `decision` of this round that was made saves making it again, where it is known whether it `drew`.

        The draws come from a stream of their own, so that the trial's own random numbers are not touched.
        """
        tells = getattr(self.policy, "exact_chances", False)
        if tells and decision is not None and decision.by_policy and decision.k >= 0 and not decision.none:
            return Chances(tuple(decision.probabilities.tolist()), 0.0, 0)
        if decision is not None and drew is False:
            return Chances(tuple(float(k == decision.k) for k in range(len(self.arms))), float(decision.k < 0), 0)
        if decision is not None and drew and not tells and not by_draws:
            law = self._law(t, decision.permissible, decision.indices, by_policy=decision.by_policy)
            if law is not None:
                return Chances(law.arms, law.held, 0, law.error)
        self._meet(context)
        before, counts = self.memory.streams.copy(), np.zeros(ANSWERS + len(self.arms), np.int64)
        saw = self._table
        self._rewritten.fill(np.nan)
        _, none = self._ask(self._packed, t, 1, counts)
        if self.memory.streams.tobytes() != before.tobytes():
            if not none and tells and not np.isnan(saw[:, PERMISSIBLE]).all():
                self.memory.streams[:] = before
                return Chances(tuple(saw[:, CHANCE].tolist()), 0.0, 0)
            seen = self._read_table(saw.tobytes())
            law = None if by_draws else self._law(t, seen.permissible, seen.indices, by_policy=seen.by_policy)
            if law is not None:
                self.memory.streams[:] = before
                return Chances(law.arms, law.held, 0, law.error)
            counts[:] = 0
            self.memory.streams[:] = trial_streams(self.seed, number, 1).policy
            self._ask(self._packed, t, CHANCE_DRAWS, counts)
            self.memory.streams[:] = before
        total = int(counts.sum())
        shares = (counts / total).tolist()
        return Chances(tuple(shares[:-ANSWERS]), sum(shares[-ANSWERS:]), 0 if total == 1 else total)

    def _law(self, t: int, permissible: NDArray[np.bool_], indices: Numbers, *, by_policy: bool) -> Law | None:
        """The chances in round t without draws, where they are known, by what a decision that drew saw of every arm."""
        arms, seen, burn_in = self.memory.arms[0], self.memory.quantities[0], self.conduct.burn_in
        if burn_in > 0 and not by_policy and self.memory.courses["given"][0] < burn_in:
            return least_given_law(arms)
        return law_of(self.policy, Situation(t, arms, seen, permissible, indices, bool(self.conduct.upwards)))

    def give(self, k: int, t: int) -> int:
        """Count the unit of round t, which is given arm k and of which all is pending; its play's number, from 0."""
        return give_at(self._address, k, t)

    def learn(
        self,
        k: int,
        play: int,
        t: int,
        known: Outcome,
        news: Outcome,
        *,
        lost: bool = False,
        context: Numbers | None = None,
    ) -> None:
        """Count what is new of a play of arm k, the one of round t, given what was known of it before; of one that is
        `lost` nothing more is waited for.
        """
        # None becomes NaN.
        self._news[:], self._known[:] = news, known
        if self.context_size:
            meet_unit(self.memory.features, self.memory.arm_features, self._read_context(context))
        learn_at(self._address, k, play, t, lost)

    def count(self, given: Given, told: Told) -> None:
        """Count units of which nothing is counted yet, and all that was told of them."""
        self.memory.arms["asked"][0] = given.arms
        self.memory.quantities["pending"][0] = given.arms[:, None]
        if not self.conduct.rewarded:
            self.memory.quantities["pending"][0, :, REWARD] = 0
        course = self.memory.courses[0]
        course["given"], course["last"] = given.arms.sum(), given.last
        course["cohort"], course["cohort_from"] = given.cohort, given.cohort_from
        # Contexts are kept whatever the policy; one that does not go by them has no room for them.
        known = told if self.context_size else told._replace(contexts=no_contexts(len(told.arms)))
        if len(told.arms):
            self._kernels.learn(self._called, self._packed, self.memory, known)

    @property
    def course(self) -> dict[str, int]:
        """How the trial has gone so far, as `core/arms.py` says."""
        return {name: int(self.memory.courses[name][0]) for name in self.memory.courses.dtype.names or ()}

    @property
    def looks(self) -> int:
        """How often it was time to look at the data."""
        return int(self.memory.courses["looks"][0]) if len(self.conduct.looks) else 0

    @property
    def free(self) -> tuple[int, ...]:
        """Of every arm, whether nothing spoke against giving it when a decision was last made."""
        return tuple(self._available.tolist())

    def bars(self) -> list[int]:
        """What speaks against giving each arm now, as `core/conduct.py` says."""
        out = np.zeros(len(self.arms), np.int64)
        write_bars(self._packed, self.memory, out)
        return list(map(int, out.tolist()))

    def may_give(self, k: int) -> bool:
        """Whether arm k can be what a decision gives now: a cohort that has begun goes on, whatever is pending."""
        course, bar = self.course, self.bars()[k]
        goes_on = 0 < course["cohort"] < self.conduct.cohort and k == course["last"]
        begins = course["given"] == 0 and k == self.conduct.first
        return bar == FREE or (bar not in (DROPPED, MASKED) and (goes_on or begins))

    def drop(self, k: int, *, dropped: bool = True) -> None:
        """Give arm k no more, for good."""
        self.memory.arms["dropped"][0, k] = dropped

    def route(self, routed: bool) -> None:
        """Give every unit the control, or decide by the policy again."""
        self.memory.courses["routed"] = routed

    @property
    def routed(self) -> bool:
        """Whether every unit is given the control."""
        return bool(self.memory.courses["routed"][0])

    @property
    def dropped(self) -> list[bool]:
        """Of every arm, whether it was dropped."""
        return [bool(each) for each in self.memory.arms["dropped"][0]]

    def measure(self, rule: Any) -> list[float]:
        """How near a stopping rule is, for every arm; NaN where it says nothing."""
        found = np.full((1, len(self.arms)), np.nan)
        kernels_for(rule).measure(rule, self.memory, _ONLY_ROW, found)
        return [float(each) for each in found[0]]

    def select(self, rule: Any) -> str | None:
        """The arm that a selection rule selects now, if any."""
        chosen = np.full(1, NONE_SELECTED, np.int64)
        kernels_for(rule).select(rule, self.memory, _ONLY_ROW, chosen)
        return None if chosen[0] == NONE_SELECTED else self.arms[int(chosen[0])]

    @property
    def position(self) -> Position:
        """Where the random numbers are; an allocator of the same counts, put there, decides alike."""
        return tuple(self._words.tolist())

    @position.setter
    def position(self, words: Position) -> None:
        for name, word in zip(STATE.names or (), words, strict=True):
            self.memory.streams[name] = word

    def to_bytes(self) -> bytes:
        """All that was counted, for `from_bytes` of an allocator of the same arms, limits and policy."""
        asked = np.ascontiguousarray(self.memory.arms["asked"])
        return formulas_hash().encode() + b"".join(part.tobytes() for part in (asked, *self._counted()))

    def from_bytes(self, data: bytes) -> bool:
        """Take over what another counted; False where that was written by other formulas, which may count otherwise."""
        head, asked = formulas_hash().encode(), np.zeros(len(self.arms), np.int64)
        parts = [asked, *self._counted()]
        if data[: len(head)] != head or len(data) != len(head) + sum(part.nbytes for part in parts):
            return False
        place = len(head)
        for part in parts:
            part[...] = np.frombuffer(data, part.dtype, part.size, place).reshape(part.shape)
            place += part.nbytes
        self.memory.arms["asked"] = asked
        self._table.fill(np.nan)
        return True

    def _counted(self) -> tuple[Any, ...]:
        """What outcomes change: the quantities with their own numbers, the policy's own, and the trial's course."""
        return self.memory.bytes, self.memory.numbers, self.memory.courses
