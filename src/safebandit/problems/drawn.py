"""Scenarios drawn at random from a stated law, so that a design is not tuned to a few truths."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.naming import call_by_name, read_number
from safebandit.errors import InstanceError
from safebandit.problems.limits import check_unit
from safebandit.problems.scenario import Scenario

# One truth: mean rewards, or None, and mean risks.
Drawn = tuple[Numbers | None, Numbers]
Law = Callable[[np.random.Generator], Drawn]

MOST_SCENARIOS = 10_000
# So often risks are drawn until they are as wanted.
MOST_TRIES = 20_000
_RANGE = re.compile(r"\s*(.+?)\s*\.\.\s*(.+?)\s*")


def uniform(arms: int = 5, mu: str = "0..1", nu: str = "0..1") -> Law:
    """Every mean is uniform on its range, independent of all others."""
    return _means(arms, mu, nu, in_order=False)


def rising(arms: int = 5, mu: str = "0..1", nu: str = "0..1") -> Law:
    """Means are uniform on their ranges, and then put in order: both rise with the dose."""
    return _means(arms, mu, nu, in_order=True)


def _means(arms: Any, mu: Any, nu: Any, *, in_order: bool) -> Law:
    count, ends = _read_arms(arms), (_read_range("mu", mu), _read_range("nu", nu))

    def law(rng: np.random.Generator) -> Drawn:
        rewards, risks = (rng.uniform(low, high, count) for low, high in ends)
        return (np.sort(rewards), np.sort(risks)) if in_order else (rewards, risks)

    return law


def pseudo_uniform(arms: int = 5, target: float = 0.3) -> Law:
    """Risks that rise with the dose, with every dose equally often the nearest to the target; no rewards.

    The algorithm of Clertant and O'Quigley (2017): a dose j is drawn; M ~ Beta(max(K - j, 1/2), 1) gives the bound
    target + (1 - target) M; ordered uniform risks below it are drawn until dose j is the one nearest to the target.
    """
    count, aim = _read_arms(arms), check_unit("target", target)
    if not 0.0 < aim < 1.0:
        raise InstanceError(f"target must lie inside (0, 1), got {target}")

    def law(rng: np.random.Generator) -> Drawn:
        j = int(rng.integers(count))
        bound = aim + (1.0 - aim) * rng.beta(max(count - 1 - j, 0.5), 1.0)
        for _ in range(MOST_TRIES):
            risks = np.sort(rng.uniform(0.0, bound, count))
            if int(np.argmin(np.abs(risks - aim))) == j:
                return None, risks
        raise InstanceError(
            f"no risks of {count} arms were found of which number {j} is nearest to {aim:g}, in {MOST_TRIES:,} tries; "
            "take fewer arms"
        )

    return law


LAWS: dict[str, Callable[..., Law]] = {"uniform": uniform, "rising": rising, "pseudo-uniform": pseudo_uniform}


def random_scenarios(law: str, count: int, seed: int = 0, **timing: Any) -> list[Scenario]:
    """So many scenarios drawn by a law; the first ones stay when more are drawn.

    Laws: `uniform:arms=5,mu=0..1,nu=0..0.6`; `rising`, with the same parameters; `pseudo-uniform:arms=5,target=0.3`.
    `timing` are a scenario's accrual, delays and losses.

    >>> [scenario.name for scenario in random_scenarios("rising:arms=4", 2, seed=1)]
    ['rising 1', 'rising 2']
    """
    drawn: Law = call_by_name(law, LAWS, "law of scenarios", InstanceError)
    wanted = int(read_number("count", count, int, InstanceError))
    if not 1 <= wanted <= MOST_SCENARIOS:
        raise InstanceError(f"count must lie between 1 and {MOST_SCENARIOS:,}, got {count}")
    number = int(read_number("seed", seed, int, InstanceError))
    if number < 0:
        raise InstanceError(f"seed must be at least 0, got {seed}")
    name = law.partition(":")[0].strip()
    made = []
    for i in range(wanted):
        rewards, risks = drawn(np.random.default_rng(np.random.SeedSequence(number, spawn_key=(i,))))
        mu = None if rewards is None else rewards.tolist()
        made.append(Scenario(f"{name} {i + 1}", mu=mu, nu=risks.tolist(), **timing))
    return made


def _read_arms(arms: Any) -> int:
    count = int(read_number("arms", arms, int, InstanceError))
    if not 1 <= count <= 1000:
        raise InstanceError(f"arms must lie between 1 and 1000, got {arms}")
    return count


def _read_range(key: str, given: Any) -> tuple[float, float]:
    ends = _RANGE.fullmatch(str(given))
    if ends is None:
        raise InstanceError(f"{key} must be a range such as 0..0.6, got {given!r}")
    low, high = check_unit(key, ends[1]), check_unit(key, ends[2])
    if low > high:
        raise InstanceError(f"{key} must run from the smaller number to the larger, got {given!r}")
    return low, high
