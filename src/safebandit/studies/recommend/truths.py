"""The truths that candidates are played on: drawn from a stated prior, one for every trial, or given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.errors import SimulationError, suggest
from safebandit.problems import Instance, as_instance
from safebandit.problems.limits import AnyAlpha, plain_alpha, read_limits, show_alpha, write_alpha
from safebandit.simulation.simulate import at_least

# Behind a trial's number, this is the seed of its truth: the trial's own streams have the number alone.
TRUTH = 1


class Prior(NamedTuple):
    """How the means of one truth are drawn: rewards from [0, 1), risks from [0, most), a row for each risk."""

    about: str
    draw: Callable[[np.random.Generator, int, Numbers], tuple[Numbers, Numbers]]


def _uniform(rng: np.random.Generator, arms: int, most: Numbers) -> tuple[Numbers, Numbers]:
    return rng.random(arms), rng.random((len(most), arms)) * most[:, None]


def _ordered(rng: np.random.Generator, arms: int, most: Numbers) -> tuple[Numbers, Numbers]:
    mu, nu = _uniform(rng, arms, most)
    return np.sort(mu), np.sort(nu, axis=1)


_DRAWN = "mean rewards uniform on 0 to 1, mean risks uniform on 0 to twice alpha (at most 1)"
PRIORS = {
    "uniform": Prior(f"{_DRAWN}, drawn again until an arm is safe", _uniform),
    "ordered": Prior(
        f"{_DRAWN}, both rising from arm to arm as with doses, drawn again until an arm is safe", _ordered
    ),
}


@dataclass(frozen=True)
class Drawn:
    """A truth of its own for every trial, from a prior."""

    prior: str
    arms: tuple[str, ...]
    limits: tuple[float, ...]

    @property
    def about(self) -> str:
        """What the truths are, in words."""
        return f"random truths: {PRIORS[self.prior].about}"

    def of_trial(self, trial: int, seed: int) -> Instance:
        """The truth of a trial, fixed by its number and the seed."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(trial, TRUTH)))
        limits = np.array(self.limits)
        while True:
            mu, nu = PRIORS[self.prior].draw(rng, len(self.arms), np.minimum(1.0, 2.0 * limits))
            if (nu <= limits[:, None]).all(axis=0).any():
                return Instance.bernoulli(mu, nu, plain_alpha(self.limits), arms=self.arms, name=f"truth {trial}")

    def to_dict(self) -> dict[str, Any]:
        return {
            "prior": self.prior,
            "about": self.about,
            "arms": len(self.arms),
            "alpha": write_alpha(plain_alpha(self.limits)),
        }


@dataclass(frozen=True)
class Given:
    """Instances that somebody named: trial i is played on number i, and round again where there are fewer."""

    instances: tuple[Instance, ...]

    @property
    def arms(self) -> tuple[str, ...]:
        return self.instances[0].arms

    @property
    def limits(self) -> tuple[float, ...]:
        return self.instances[0].limits

    @property
    def about(self) -> str:
        """What the truths are, in words."""
        names = ", ".join(one.name + (f" ({one.origin})" if one.origin else "") for one in self.instances)
        return f"given truths: {names}"

    def of_trial(self, trial: int, seed: int) -> Instance:  # noqa: ARG002
        """The truth of a trial, fixed by its number."""
        return self.instances[trial % len(self.instances)]

    def to_dict(self) -> dict[str, Any]:
        return {
            "about": self.about,
            "arms": len(self.arms),
            "alpha": write_alpha(plain_alpha(self.limits)),
            "instances": [one.to_dict() for one in self.instances],
        }


def read_truths(arms: Any, alpha: AnyAlpha | None, prior: str, instances: Any) -> Drawn | Given:
    """Truths from a prior for so many arms, or those that are given."""
    if instances is not None:
        if arms is not None:
            raise SimulationError(f"given truths have their own arms, got arms={arms} beside them; leave it out")
        return _given([instances] if isinstance(instances, Instance | str) else instances, alpha)
    if arms is None or alpha is None:
        what, example = ("arms, how many there are", "arms=5") if arms is None else ("alpha", "alpha=0.2")
        raise SimulationError(f"random truths need {what}: give {example}, or a truth of your own")
    if prior not in PRIORS:
        raise SimulationError(f'unknown prior "{prior}"; {suggest(prior, PRIORS)}')
    count = at_least("arms", arms, 2, "arms to choose among")
    return Drawn(prior, tuple(map(str, range(count))), read_limits(alpha, None, SimulationError))


def _given(instances: Sequence[Instance | str], alpha: AnyAlpha | None) -> Given:
    read = tuple(as_instance(one) for one in instances)
    if not read:
        raise SimulationError("at least one truth is needed, got none; give an instance, or arms and alpha")
    if alpha is not None:
        read = tuple(one.with_alpha(alpha) for one in read)
    for one in read[1:]:
        if (one.arms, one.limits) != (read[0].arms, read[0].limits):
            raise SimulationError(
                f'truths must have the same arms and alpha: "{read[0].name}" has {_shape(read[0])}, '
                f'"{one.name}" has {_shape(one)}'
            )
    return Given(read)


def _shape(one: Instance) -> str:
    return f"arms {', '.join(one.arms)} and alpha {show_alpha(one.alpha)}"
