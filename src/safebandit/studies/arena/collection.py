"""The collection: the instances that every policy is tried on, each with the reason why it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from safebandit.errors import InstanceError, suggest
from safebandit.problems import Instance, instance_by_name

# The instance whose one unsafe arm's plays are drawn against the two theory lines, where there are enough of them.
SLOPE = "dominated-slope"
RANDOM_INSTANCES = 8
_RANDOM_SEED = 2_023


@dataclass(frozen=True)
class Member:
    """A member of the collection: an instance, its group, and why it is there."""

    name: str
    group: str
    reason: str
    make: Callable[[], Instance]

    @cached_property
    def instance(self) -> Instance:
        """The problem itself, under the name that the collection gives it."""
        return replace(self.make(), name=self.name)


def at_limit(instance: Instance) -> bool:
    """Whether nu* = alpha: a risk of the best arm sits exactly at what is tolerated.

    >>> at_limit(instance_by_name("bayes-schedules")), at_limit(instance_by_name("drug-trial"))
    (True, False)
    """
    return bool(np.any(instance.nu[..., instance.best_arm] == np.asarray(instance.alpha)))


def random_instance(number: int) -> Instance:
    """Bits with K uniform on 2 to 10 and mu, nu, alpha uniform on [0, 1], to three digits, drawn until one is safe."""
    rng = np.random.default_rng([_RANDOM_SEED, number])
    while True:
        arms = int(rng.integers(2, 11))
        mu, nu = rng.random((2, arms)).round(3)
        alpha = round(float(rng.random()), 3)
        if (nu <= alpha).any():
            return Instance.bernoulli(mu, nu, alpha)


def many_arms(count: int = 50, alpha: float = 0.3) -> Instance:
    """Bits with mu and nu uniform on [0, 1], to three digits."""
    mu, nu = np.random.default_rng([_RANDOM_SEED, count]).random((2, count)).round(3)
    return Instance.bernoulli(mu, nu, alpha)


def chosen_entries(names: Sequence[str] = ()) -> list[Member]:
    """Entries by name, in the collection's order; all of them if none is named."""
    for name in names:
        if name not in COLLECTION:
            raise InstanceError(f'unknown instance "{name}" of the arena; {suggest(name, COLLECTION)}')
    return [entry for entry in COLLECTION.values() if not names or entry.name in names]


def _bits(
    mu: Sequence[float], nu: Sequence[float], alpha: float, correlation: float | Sequence[float] = 0.0
) -> Callable[[], Instance]:
    return lambda: Instance.bernoulli(mu, nu, alpha, correlation=correlation)


def _beta(deviation: float) -> Callable[[], Instance]:
    return lambda: Instance.beta([0.4, 0.5, 0.6], [0.3, 0.4, 0.5], 0.45, deviation=deviation)


def _named(name: str, alpha: float | None = None) -> Callable[[], Instance]:
    return lambda: instance_by_name(name, alpha)


def _random(number: int) -> Member:
    reason = f"draw {number} from the law: K uniform on 2..10; mu, nu, alpha uniform; an arm is safe"
    return Member(f"random-{number}", "random", reason, lambda: random_instance(number))


def _paper() -> list[Member]:
    return [
        Member("drug-trial-21", "paper", "five doses, alpha 0.21: the paper's main trial", _named("drug-trial")),
        Member(
            "drug-trial-19", "paper", "five doses, alpha 0.19: two safety gaps are small",
            _named("drug-trial", 0.19),
        ),
        Member("two-arm-example", "paper", "a harmless arm and a certain harm", _named("two-arm-example")),
        Member(
            "policy-case-1", "paper", "several optimal mixtures, one of them a single arm at alpha",
            _named("policy-case-1"),
        ),
        Member(
            "policy-case-2", "paper", "one optimal mixture, a single arm at alpha",
            _named("policy-case-2"),
        ),
        Member("gaps-large", "paper", "gaps of 0.2 around an arm at alpha", _named("gaps-large")),
        Member(
            "gaps-small", "paper", "gaps of 0.2 with smaller gaps of 0.02, around an arm at alpha",
            _named("gaps-small"),
        ),
        Member(
            "bayes-schedules", "paper", "mu = nu = (.4, .5, .6): the best arm's risk sits at alpha",
            _named("bayes-schedules"),
        ),
        Member(
            "naive-sampling-60", "paper", "the best arm's risk lies 0.1 below alpha, where sampled risks do better",
            _named("naive-sampling", 0.6),
        ),
    ]  # fmt: skip


def _dominated() -> list[Member]:
    return [
        Member(
            "dominated-two", "dominated", "two arms that are worse and unsafe: both kinds of evidence count",
            _bits([0.5, 0.3, 0.3], [0.3, 0.7, 0.7], 0.5),
        ),
        Member(
            SLOPE, "dominated", "one dominated arm: which theory line its plays follow, in millions of rounds",
            _bits([0.5, 0.3], [0.3, 0.7], 0.5),
        ),
        Member(
            "dominated-five", "dominated", "five dominated arms, at different distances",
            _bits([0.5, 0.3, 0.3, 0.35, 0.25, 0.2], [0.3, 0.7, 0.65, 0.7, 0.75, 0.6], 0.5),
        ),
        Member(
            "dominated-near", "dominated", "dominated arms with small gaps of both kinds",
            _bits([0.5, 0.45, 0.45, 0.4], [0.3, 0.55, 0.6, 0.55], 0.5),
        ),
        Member(
            "dominated-opposed", "dominated", "R = 1 - S exactly: the two kinds of evidence are one",
            _bits([0.6, 0.45, 0.4], [0.4, 0.55, 0.6], 0.5, -1.0),
        ),
        Member(
            "dominated-comonotone", "dominated", "R = S exactly on the dominated arms",
            _bits([0.7, 0.6, 0.55], [0.4, 0.6, 0.55], 0.5, [0.0, 1.0, 1.0]),
        ),
    ]  # fmt: skip


def _limit() -> list[Member]:
    dominated = ([0.5, 0.4, 0.3], [0.5, 0.6, 0.7], 0.5)
    return [
        Member(
            "limit-dominated", "limit", "nu* = alpha and all other arms dominated",
            _bits(*dominated),
        ),
        Member(
            "limit-opposed", "limit", "the same with R = 1 - S exactly: an unlucky best arm looks bad in both",
            _bits(*dominated, -1.0),
        ),
        Member(
            "limit-hazard", "limit", "mu = nu = (.4, .5), opposed as far as can be: bad luck starves the best arm",
            _bits([0.4, 0.5], [0.4, 0.5], 0.5, [-2.0 / 3.0, -1.0]),
        ),
        Member(
            "limit-comonotone", "limit", "mu = nu = (.4, .5, .6) with R = S exactly: a lucky reward is a risk",
            _bits([0.4, 0.5, 0.6], [0.4, 0.5, 0.6], 0.5, 1.0),
        ),
    ]  # fmt: skip


def _shapes() -> list[Member]:
    trio = ([0.5, 0.6, 0.7], [0.2, 0.3, 0.45], 0.35)
    return [
        Member(
            "gaps-tiny", "gaps", "gaps of 0.02 in reward and risk: hard to settle",
            _bits([0.5, 0.48, 0.52], [0.28, 0.29, 0.32], 0.3),
        ),
        Member(
            "gaps-one-tiny", "gaps", "one nearly optimal arm among clear ones",
            _bits([0.6, 0.59, 0.3, 0.8], [0.2, 0.2, 0.1, 0.6], 0.4),
        ),
        Member("many-arms-50", "arms", "fifty arms, mu and nu uniform, alpha 0.3", many_arms),
        Member("independent", "dependence", "reward and risk independent: to compare the next two with", _bits(*trio)),
        Member("correlated", "dependence", "reward and risk correlated by 0.4: gain brings harm", _bits(*trio, 0.4)),
        Member("anti-correlated", "dependence", "reward and risk correlated by -0.4", _bits(*trio, -0.4)),
        Member("beta-narrow", "spread", "Beta laws of standard deviation 0.05: outcomes are not bits", _beta(0.05)),
        Member("beta-wide", "spread", "Beta laws of standard deviation 0.2", _beta(0.2)),
        Member(
            "rare-risk", "rare", "a rare, severe risk: means of 0.005 to 0.04, alpha 0.015",
            _bits([0.3, 0.5, 0.6, 0.7], [0.005, 0.01, 0.02, 0.04], 0.015),
        ),
        Member("two-risks", "risks", "five doses with two risks, each with its own limit", _named("dose-two-risks")),
        Member(
            "all-safe", "safe", "every arm is safe: what the gate costs where it is not needed",
            _bits([0.4, 0.5, 0.6], [0.05, 0.1, 0.1], 0.3),
        ),
        Member(
            "one-safe", "safe", "one arm is safe, and every other has more reward",
            _bits([0.3, 0.6, 0.7, 0.8], [0.1, 0.4, 0.5, 0.6], 0.25),
        ),
    ]  # fmt: skip


COLLECTION = {
    entry.name: entry
    for entry in (*_paper(), *_dominated(), *_limit(), *_shapes(), *map(_random, range(1, RANDOM_INSTANCES + 1)))
}
