"""The arms of a live trial: what has been seen of them, which one comes next, with what chances, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.recfunctions import repack_fields

from safebandit.core.arms import EVERY, new_memory, risk_fields
from safebandit.core.kernels import kernels_for
from safebandit.core.policies import prepare, widths
from safebandit.core.streams import STATE, trial_streams
from safebandit.sources import formulas_hash
from safebandit.trials.explanation import Decision, Explanation, consider, explain_state, reason_of

# How many decisions are drawn to estimate the chances of the arms: the standard error is at most 0.016.
CHANCE_DRAWS = 1000

# What is known of one play: the reward and every risk; None where it is not known.
Outcome = tuple[float | None, ...]


# Where a trial's random numbers are: the words of its stream.
Position = tuple[int, ...]


class Chances(NamedTuple):
    """With what chance each arm is given next, and how that is known: `draws` is 0 where it is exact."""

    arms: tuple[float, ...]
    held: float
    draws: int

    @property
    def exact(self) -> bool:
        """Whether the chances were computed, not estimated from draws."""
        return self.draws == 0


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
        self.policy = prepare(policy, self.arms, "hold", limits=limits)
        self._kernels = kernels_for(self.policy)
        chosen = list(range(len(self.arms)) if places is None else places)
        streams = trial_streams(seed, 0, max(chosen) + 1)
        self.memory = new_memory(streams.keys[chosen], streams.policy, widths(self.policy), len(limits))
        self._risk_fields = risk_fields(len(limits))
        self._counted = ["asked", "reward", *self._risk_fields]
        self._known = (self.policy, self.memory, self.limits)
        self._kernels.begin(*self._known)

    def decide(self, t: int) -> Decision:
        """The decision of round t and all numbers behind it; the trial's random numbers move on."""
        decision = self.consider(t)
        self._kernels.decide(*self._known, t)
        return decision

    def explain(self, t: int) -> Explanation:
        """What is known of every arm, who is permissible, and which arm `decide` gives, and why; nothing changes."""
        return explain_state(self.policy, self.memory, t, self.limits, self.arms, self.risks)

    def consider(self, t: int) -> Decision:
        """The decision of round t and all numbers behind it; nothing changes."""
        self.memory.notes["changed"], self.memory.notes["bar"] = EVERY, 0.0
        return consider(self.policy, self.memory, t, self.limits)

    def reason_of(self, decision: Decision) -> str:
        """Why this arm, or why none, in words."""
        return reason_of(decision, self.limits, self.arms, self.risks)

    def chances(self, t: int, number: int) -> Chances:
        """The chance of each arm in round t: exact where nothing is drawn, else from draws of decision `number`.

        The draws come from a stream of their own, so that the trial's own random numbers are not touched.
        """
        copied = self.memory.copy()
        before = copied.streams.tobytes()
        k, _ = self._kernels.decide(self.policy, copied, self.limits, t)
        counts = np.zeros(2 + len(self.arms), np.int64)
        if copied.streams.tobytes() == before:
            counts[k] = 1
        else:
            copied.streams[:] = trial_streams(self.seed, number, 1).policy
            self._kernels.count_choices(self.policy, copied, self.limits, t, CHANCE_DRAWS, counts)
        total = int(counts.sum())
        shares = (counts / total).tolist()
        return Chances(tuple(shares[:-2]), sum(shares[-2:]), 0 if total == 1 else total)

    def give(self, k: int) -> int:
        """Count a unit that is given arm k, of which all is pending; the number of its play, from 0."""
        arm = self.memory.arms[k]
        play = int(arm["asked"])
        arm["asked"] += 1
        for name in ("reward", *self._risk_fields):
            arm[name]["pending"] += 1
        self._set_available(k)
        return play

    def learn(self, k: int, play: int, known: Outcome, news: Outcome) -> None:
        """Count what is new of a play of arm k, given what was known of it before."""
        arm = self.memory.arms[k]
        for name, value in zip(("reward", *self._risk_fields), news, strict=True):
            if value is not None:
                arm[name]["pending"] -= 1
        told, before = ([math.nan if value is None else value for value in part] for part in (news, known))
        self._kernels.learn(*self._known, k, play, told[0], tuple(told[1:]), before[0], tuple(before[1:]))
        self._set_available(k)

    def give_up(self, k: int, known: Outcome) -> None:
        """No longer wait for what is not known of a play of arm k."""
        arm = self.memory.arms[k]
        for name, value in zip(("reward", *self._risk_fields), known, strict=True):
            if value is None:
                arm[name]["pending"] -= 1
        self._set_available(k)

    def _set_available(self, k: int) -> None:
        arm = self.memory.arms[k]
        risks = [arm[name] for name in self._risk_fields]
        arm["available"] = all(risk["pending"] < max(self.pending_cap, risk["plays"]) for risk in risks)
        # A unit that is pending changes what an index sees, too; what was noted of arms no longer holds.
        self.memory.notes["changed"] = EVERY

    @property
    def position(self) -> Position:
        """Where the random numbers are; an allocator of the same counts, put there, decides alike."""
        return tuple(int(word) for word in self.memory.streams[0])

    @position.setter
    def position(self, words: Position) -> None:
        for name, word in zip(STATE.names or (), words, strict=True):
            self.memory.streams[name] = word
        self.memory.notes["changed"] = EVERY

    def to_bytes(self) -> bytes:
        """All that was counted, for `from_bytes` of an allocator of the same arms, limits and policy."""
        counted = self.memory.arms[self._counted]
        return formulas_hash().encode() + repack_fields(counted).tobytes()

    def from_bytes(self, data: bytes) -> bool:
        """Take over what another counted; False where that was written by other formulas, which may count otherwise."""
        arms, head = self.memory.arms, formulas_hash().encode()
        packed = repack_fields(arms[self._counted]).dtype
        if data[: len(head)] != head or len(data) != len(head) + packed.itemsize * len(arms):
            return False
        counted = np.frombuffer(data, packed, offset=len(head))
        for name in self._counted:
            arms[name] = counted[name]
        for k in range(len(arms)):
            self._set_available(k)
        return True
