"""The arms of a live trial: what has been seen of them, which one comes next, with what chances, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import CHANCE, INDEX, PERMISSIBLE, RISKS, Counts, Numbers, fits
from safebandit.core.kernels import kernels_for, memory_for
from safebandit.core.policies import Decision, Setup, prepare
from safebandit.core.streams import STATE, trial_streams
from safebandit.sources import formulas_hash
from safebandit.trials.explanation import Explanation, explain_decision, reason_of

# How many decisions are drawn to estimate the chances of the arms: the standard error is at most 0.016.
CHANCE_DRAWS = 1000

# What is known of one play: the reward and every risk; None where it is not known.
Outcome = tuple[float | None, ...]


# Where a trial's random numbers are: the words of its stream.
Position = tuple[int, ...]


class Told(NamedTuple):
    """What was told of plays, a row for each time that something was: the play's arm and number, its reward and risks
    as far as they are new (NaN: not told then), what was known of it before, and whether the rest was given up then.
    """

    arms: Counts
    plays: Counts
    news: Numbers
    known: Numbers
    lost: NDArray[np.bool_]


class Chances(NamedTuple):
    """With what chance each arm is given next, and how that is known: `draws` is 0 where it is exact."""

    arms: tuple[float, ...]
    held: float
    draws: int

    @property
    def how(self) -> str:
        """How they are known, in words."""
        if self.draws == 0:
            return "exact"
        counted = "" if self.draws == CHANCE_DRAWS else ", this decision among them"
        return f"estimated from {self.draws} draws{counted}"

    def counting(self, k: int) -> Chances:
        """The chances with the decision for arm k (negative: none) as one more draw, which it is.

        So an arm that is given never has a chance of 0. And its inverse is the right weight: where p is the chance of
        arm k, P(k is given) E[1 / share | k is given] = 1 - (1 - p)^(draws + 1), which is 1 but for rare arms.
        """
        if self.draws == 0:
            return self
        counts = [round(share * self.draws) for share in (*self.arms, self.held)]
        counts[k if k >= 0 else -1] += 1
        draws = self.draws + 1
        *arms, held = (count / draws for count in counts)
        return Chances(tuple(arms), held, draws)


class Allocator:
    """Arms, limits and a policy, with the compiled memory of what was seen.

    `places` are the arms' numbers in their trial, from 0: an arm's random numbers do not depend on the other arms.
    Of each arm and risk at most as many units may be pending as are known, or `pending_cap` where that is more.
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
        pending_cap: int = 1,
    ) -> None:
        self.arms = tuple(arms)
        self.limits = limits
        self.risks = risks
        self.seed = seed
        self.pending_cap = pending_cap
        self.policy = prepare(policy, Setup(self.arms, limits, "hold"))
        self._kernels = kernels_for(self.policy)
        chosen = list(range(len(self.arms)) if places is None else places)
        streams = trial_streams(seed, 0, max(chosen) + 1)
        self.columns: tuple[str, ...] = getattr(self.policy, "columns", ())
        self.memory = memory_for(self.policy, streams.keys[None, chosen], streams.policy, limits)
        self._kernels.begin(self.policy, self.memory)

    def decide(self, t: int) -> Decision:
        """The decision of round t and all numbers behind it; the trial's random numbers move on."""
        table = self.memory.table["value"]
        table[:] = np.nan
        k, none = self._kernels.decide(self.policy, self.memory, t, 1, np.zeros(2 + len(self.arms), np.int64))
        saw, last = table.copy(), RISKS + len(self.limits)
        own = dict(zip(self.columns, saw.T[last:], strict=True))
        return Decision(
            int(k), bool(none), saw[:, PERMISSIBLE] == 1.0, saw[:, INDEX], saw[:, RISKS:last], saw[:, CHANCE], own,
            self.arms,
        )  # fmt: skip

    def consider(self, t: int, *, aside: int | None = None) -> Decision:
        """The decision of round t and all numbers behind it; nothing changes.

        With `aside` it is made with random numbers of their own, as one of those that are drawn for the chances of
        decision number `aside`: then it does not tell what is decided when a unit asks.
        """
        before = self.memory.streams.copy()
        if aside is not None:
            self.memory.streams[:] = trial_streams(self.seed, aside, 1).policy
        decision = self.decide(t)
        self.memory.streams[:] = before
        return decision

    def explain(self, t: int) -> Explanation:
        """What is known of every arm, who is permissible, and which arm `decide` gives, and why; nothing changes."""
        decision = self.consider(t)
        return explain_decision(self.policy, decision, self.memory, t, self.limits, self.risks)

    def reason_of(self, decision: Decision) -> str:
        """Why this arm, or why none, in words."""
        return reason_of(self.policy, decision, self.limits, self.risks)

    def chances(self, t: int, number: int, decision: Decision | None = None) -> Chances:
        """The chance of each arm in round t: exact where nothing is drawn or the policy tells the chances that it draws
        by, else from draws of decision `number`. A `decision` of this round that was made saves making it again.

        The draws come from a stream of their own, so that the trial's own random numbers are not touched.
        """
        tells = getattr(self.policy, "tells_chances", False)
        if tells and decision is not None and decision.k >= 0 and not decision.none:
            return Chances(tuple(decision.probabilities.tolist()), 0.0, 0)
        before, counts = self.memory.streams.copy(), np.zeros(2 + len(self.arms), np.int64)
        _, none = self._kernels.decide(self.policy, self.memory, t, 1, counts)
        if self.memory.streams.tobytes() != before.tobytes():
            if not none and tells:
                self.memory.streams[:] = before
                return Chances(tuple(self.memory.table["value"][:, CHANCE].tolist()), 0.0, 0)
            counts[:] = 0
            self.memory.streams[:] = trial_streams(self.seed, number, 1).policy
            self._kernels.decide(self.policy, self.memory, t, CHANCE_DRAWS, counts)
            self.memory.streams[:] = before
        total = int(counts.sum())
        shares = (counts / total).tolist()
        return Chances(tuple(shares[:-2]), sum(shares[-2:]), 0 if total == 1 else total)

    def give(self, k: int) -> int:
        """Count a unit that is given arm k, of which all is pending; the number of its play, from 0."""
        arm = self.memory.arms[0, k]
        play = int(arm["asked"])
        arm["asked"] += 1
        self.memory.quantities[0, k]["pending"] += 1
        self._set_available(k)
        return play

    def take_back(self, k: int) -> None:
        """Count a unit of arm k, of which all is pending, as if it had never been given the arm."""
        self.memory.arms[0, k]["asked"] -= 1
        self.memory.quantities[0, k]["pending"] -= 1
        self._set_available(k)

    def learn(self, k: int, play: int, known: Outcome, news: Outcome, *, lost: bool = False) -> None:
        """Count what is new of a play of arm k, given what was known of it before; of one that is `lost` nothing more
        is waited for.
        """
        told, before = (
            np.array([[math.nan if value is None else value for value in part]]) for part in (news, known)
        )  # fmt: skip
        self._learn(Told(np.array([k]), np.array([play]), told, before, np.array([lost])))
        self._set_available(k)

    def count(self, given: Counts, told: Told) -> None:
        """Count so many units of every arm, of which nothing is counted yet, and all that was told of them."""
        self.memory.arms["asked"][0] = given
        self.memory.quantities["pending"][0] = given[:, None]
        self._learn(told)
        for k in range(len(self.arms)):
            self._set_available(k)

    def _learn(self, told: Told) -> None:
        self._kernels.learn(self.policy, self.memory, *told)

    def available(self, k: int) -> bool:
        """Whether arm k may be given now: not while too many of its units wait for their risk."""
        return bool(self.memory.arms["available"][0, k])

    def _set_available(self, k: int) -> None:
        risks = self.memory.quantities[0, k, 1:]
        counts = zip(risks["pending"].tolist(), risks["plays"].tolist(), strict=True)
        self.memory.arms["available"][0, k] = all(fits(*count, self.pending_cap) for count in counts)

    @property
    def position(self) -> Position:
        """Where the random numbers are; an allocator of the same counts, put there, decides alike."""
        return tuple(int(word) for word in self.memory.streams[0])

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
        for k in range(len(self.arms)):
            self._set_available(k)
        return True

    def _counted(self) -> tuple[Any, ...]:
        """What outcomes change: the quantities with their own numbers, and the policy's own."""
        return self.memory.bytes, self.memory.numbers
