"""Instances with contexts: every unit has numbers of its own, and which arms are safe, or best, depends on them."""

from __future__ import annotations

from typing import Any, NoReturn

from safebandit.errors import InstanceError
from safebandit.problems.instance import Instance


class InContexts(Instance):
    """A problem in which means depend on the context of the unit; `mu` and `nu` are means over all contexts.

    Regret and unsafe plays are counted round by round, against the best arm that is safe in that context; a round in
    whose context no arm is safe has mu* = 0. What is true of an arm in every round is not defined here, and refused.
    """

    @property
    def in_contexts(self) -> bool:
        """That every unit has a context."""
        return True

    def _check_feasible(self) -> None:
        """That no arm is safe in some context is no error."""

    def mark(self, k: int) -> str:  # noqa: ARG002
        """Nothing: no arm is best, or unsafe, in all contexts."""
        return ""

    def with_safe_set(self, safe_set: str) -> Instance:
        """Refused: safe sets are of means that are the same in every round."""
        raise InstanceError(f'an instance with contexts has an alpha for each risk, got the safe set "{safe_set}"')

    def draw(self, arm: int, count: int, *, seed: int = 0) -> Any:  # noqa: ARG002
        """Refused: an outcome needs a context."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InstanceError(
            f'the instance "{self.name}" has contexts: which arms are safe, and which is best, depends on the unit; '
            "simulate it, or take an instance without contexts"
        )

    def _undefined(self) -> Any:
        self._refuse()

    unsafe = property(_undefined)
    unsafe_by_risk = property(_undefined)
    unsafe_arms = property(_undefined)
    best_arm = property(_undefined)
    best_arms = property(_undefined)
    best_mean = property(_undefined)
    efficiency_gaps = property(_undefined)
    safety_gaps = property(_undefined)
    costs = property(_undefined)
