"""The cost of a round under every policy, against the number of arms and against the horizon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from safebandit.problems import Instance
from safebandit.simulation.simulate import simulate
from speed.limit import BareLoop
from speed.problems import SEED, drug_trial, many_arms
from speed.size import Size
from speed.spread import Spread

BARE = "bare loop"
# A trial that may be long is tried at horizons that grow by so much, the first a little longer than one play per arm.
GROWTH = 4
FIRST_RUNG = 1 / 64
SHORTEST = 1_000
# With more arms than this, fewer rounds are played in proportion.
FEW_ARMS = 5


@dataclass(frozen=True)
class Cell:
    """One policy on one instance: nanoseconds per round, its own and the bare loop's, and their ratio.

    `played` is less than `horizon` where the whole would take too long, and 0 where even the first rounds would.
    """

    policy: str
    instance: str
    arms: int
    horizon: int
    played: int
    cost: Spread | None
    limit: Spread | None
    share: Spread | None

    @property
    def name(self) -> str:
        """What was played: two runs compare what goes by the same name."""
        return f"{self.policy}, {self.instance}, T = {self.played:,}"


def bare_loop_alone(size: Size) -> Iterator[Cell]:
    """The limit itself, wherever policies are compared with it."""
    problems = [(many_arms(count), size.arms_horizon) for count in size.arms]
    problems += [(drug_trial(), horizon) for horizon in size.horizons]
    for instance, horizon in problems:
        bare = BareLoop(instance, horizon=horizon)
        cost = Spread.of([bare.nanoseconds(rounds=size.bare_rounds) for _ in range(size.repeats)])
        yield Cell(BARE, instance.name, len(instance.mu), horizon, len(bare.told), cost, cost, None)


def against_arms(policies: Sequence[str], size: Size) -> Iterator[Cell]:
    """Every policy at every number of arms, over one horizon."""
    costs: dict[str, tuple[int, float]] = {}
    for count in size.arms:
        instance = many_arms(count)
        bare = BareLoop(instance, horizon=size.arms_horizon)
        for policy in policies:
            if policy in costs:
                arms, cost = costs[policy]
                # At worst the cost of a round grows with the square of the number of arms.
                expected = cost * (count / arms) ** 2
            else:
                expected = 0.0
            cell = measure(policy, instance, bare, horizon=size.arms_horizon, size=size, expected=expected)
            if cell.cost is not None:
                costs[policy] = count, cell.cost.median
            yield cell


def against_horizon(policies: Sequence[str], size: Size) -> Iterator[Cell]:
    """Every policy over every horizon, on the drug trial."""
    instance = drug_trial()
    for horizon in size.horizons:
        bare = BareLoop(instance, horizon=horizon)
        for policy in policies:
            yield measure(policy, instance, bare, horizon=horizon, size=size)


def measure(
    policy: str, instance: Instance, bare: BareLoop, *, horizon: int, size: Size, expected: float = 0.0
) -> Cell:
    """One cell; each repeat times the bare loop and then the policy. `expected` is a guess of nanoseconds per round."""

    def seconds(rounds: int, trials: int = 1) -> float:
        result = simulate(instance, policy, horizon=rounds, trials=trials, seed=SEED, workers=1, checkpoints=[])
        return result.seconds[policy]

    arms = len(instance.mu)
    # Compile; a policy with a budget needs one of at least a harm.
    seconds(100)
    played, once = affordable(seconds, arms=arms, horizon=horizon, longest=size.longest, expected=expected)
    if played == 0:
        return Cell(policy, instance.name, arms, horizon, 0, None, None, None)
    # Fixed by the cell alone: trials differ in cost, so that runs can be compared only over the same ones.
    trials = max(1, size.rounds * FEW_ARMS // (horizon * max(FEW_ARMS, arms)))
    costs, limits = [], []
    if trials == 1 and once > size.patience / size.repeats:
        # A slow trial is not played again only to be timed.
        costs.append(1e9 * once / played)
        limits.append(bare.nanoseconds(rounds=size.bare_rounds))
    began = time.process_time()
    while len(costs) < size.repeats and (not costs or time.process_time() - began + trials * once < size.patience):
        limits.append(bare.nanoseconds(rounds=size.bare_rounds))
        costs.append(1e9 * seconds(played, trials) / (trials * played))
    shares = [limit / cost for limit, cost in zip(limits, costs, strict=True)]
    return Cell(
        policy, instance.name, arms, horizon, played, Spread.of(costs), Spread.of(limits), Spread.of(shares)
    )  # fmt: skip


def affordable(
    seconds: Callable[[int], float], *, arms: int, horizon: int, longest: float, expected: float = 0.0
) -> tuple[int, float]:
    """The longest horizon up to the one wanted whose trial takes at most about `longest` seconds, and what it took.

    >>> affordable(lambda rounds: rounds / 1_000, arms=2, horizon=50_000, longest=60.0)
    (50000, 50.0)
    >>> affordable(lambda rounds: rounds / 1_000, arms=2, horizon=50_000, longest=20.0)
    (17000, 17.0)
    >>> affordable(lambda rounds: rounds / 1_000, arms=2, horizon=50_000, longest=20.0, expected=1e12)
    (0, 0.0)
    """
    start = max(arms, SHORTEST)
    beyond = start * FIRST_RUNG
    # The first play of each arm costs little.
    if 1e-9 * expected * beyond > longest:
        return 0, 0.0
    played, took = 0, 0.0
    while played < horizon:
        rung = min(horizon, round(start + beyond))
        if played > 0 and took * (rung - start) / (played - start) > longest:
            break
        played, took = rung, seconds(rung)
        beyond *= GROWTH
    return played, took
