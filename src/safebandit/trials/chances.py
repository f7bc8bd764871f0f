"""With what chance each arm is given next: how that is known, and how a log notes it."""

from __future__ import annotations

from typing import NamedTuple

# How many decisions are drawn to estimate the chances of the arms: the standard error is at most 0.016.
CHANCE_DRAWS = 1000

# How chances are noted: how many draws were made for them, or to what an integral is right, follows.
ESTIMATED = "estimated"
INTEGRATED = "integrated, right to"
# How chances were noted that do not count the decision itself.
DRAWS_ALONE = f"{ESTIMATED} from {CHANCE_DRAWS} draws"


class Chances(NamedTuple):
    """With what chance each arm is given next, and how that is known: by so many `draws`, or by an integral that is
    right to `error`, or exactly, where both are 0.
    """

    arms: tuple[float, ...]
    held: float
    draws: int
    error: float = 0.0

    @property
    def how(self) -> str:
        """How they are known, in words."""
        if self.draws == 0:
            return f"{INTEGRATED} {self.error:g}" if self.error > 0.0 else "exact"
        counted = "" if self.draws == CHANCE_DRAWS else ", this decision among them"
        return f"{ESTIMATED} from {self.draws} draws{counted}"

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
