"""Which systems answer, with how many units and how often, checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from safebandit.core.policies import policy_from_text, policy_to_text
from safebandit.core.policies.exploring import MdUcbe
from safebandit.core.policies.exploring.feasible import exploration
from safebandit.errors import SimulationError
from safebandit.simulation.simulate import at_least
from safebandit.studies.identify.truth import Truth
from safebandit.trials.design import Design

SYSTEMS = ("md-apt", "md-ucbe", "md-sar", "tf-lucb", "equal")
UNITS = (100, 200, 400, 800)
TRIALS = 2_000


class Plan(NamedTuple):
    """What is played: every system with each number of units, so many trials of each."""

    truth: Truth
    systems: tuple[str, ...]
    units: tuple[int, ...]
    trials: int
    seed: int

    @property
    def total(self) -> int:
        """The most units in all."""
        return len(self.systems) * sum(self.units) * self.trials

    def design(self, system: str, units: int) -> Design:
        """The design of one system with so many units."""
        instance = self.truth.instance
        return Design(
            instance.arms, list(instance.limits), _policy(system, units, self.truth), units, risks=instance.risks,
            select={"rule": "top-feasible", "safe_set": self.truth.text},
        )  # fmt: skip


def make_plan(truth: Truth, systems: Sequence[str] | str | None, units: Any, *, trials: int, seed: int) -> Plan:
    """A plan whose numbers and names are all in order; a mistake in one is an error here."""
    named = tuple([systems] if isinstance(systems, str) else SYSTEMS if systems is None else systems)
    if not named or len(set(named)) != len(named):
        raise SimulationError(f"systems must be one or more, each once, got {', '.join(named) or 'none'}")
    listed = [units] if isinstance(units, int) else list(units)
    sizes = tuple(
        sorted({at_least("units", each, len(truth.instance.arms), "one unit for every arm") for each in listed})
    )
    if not sizes:
        raise SimulationError("units must be one number or more, got none")
    trials = at_least("trials", trials, 2, "trials of every system, for a standard error")
    plan = Plan(truth, named, sizes, trials, at_least("seed", seed, 0, "a whole number that fixes all random numbers"))
    for system in named:
        plan.design(system, sizes[0])
    return plan


def _policy(system: str, units: int, truth: Truth) -> str:
    """A system as a policy of the safe set; MD-UCBE is told how hard the problem is, unless it is told how to explore,
    as its authors do.
    """
    policy = policy_from_text(system)
    if getattr(policy, "safe_set", "") is None and truth.text:
        policy = policy._replace(safe_set=truth.text)
    if isinstance(policy, MdUcbe) and policy.explore is None:
        policy = policy._replace(explore=exploration(units, len(truth.instance.arms), truth.hardness))
    return policy_to_text(policy)
