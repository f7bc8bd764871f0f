"""Which policies play which instances, how long and how often, checked before anything runs."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from safebandit.core.naming import split_call
from safebandit.core.policies import POLICIES, policy_from_text
from safebandit.core.policies.catalogue import MOST_UNITS
from safebandit.errors import PolicyError, SafebanditError, SimulationError
from safebandit.problems import Instance
from safebandit.simulation.execution import ready_for
from safebandit.simulation.simulate import Policies, at_least, name_policies
from safebandit.studies.arena.collection import Member, at_limit, chosen_entries
from safebandit.studies.play import Simulation

BASELINE = "tsbu"
UNITS = (36, 100, 400, 2_000, 50_000)
# Longer trials have fewer; this many where they have at most so many units.
TRIALS = {100: 1_000, 400: 400}
LONG_TRIALS = 200
# Where nu* = alpha, rare long runs decide a long trial's mean, and 200 trials see too few of them.
LIMIT_TRIALS = 1_000
QUICK_UNITS, QUICK_TRIALS = (36, 1_000), 4
# Policies whose decisions take too long beyond so many units, where `recommended` hands over to others.
MADE_FOR = {"safe-ids": MOST_UNITS}
# Parameters that name an arm of which something is known.
KNOWN_ARMS = ("safe_arm", "baseline")
# The growth of regret is measured over the last tenfold of the rounds.
DECADE, PER_DECADE = 10, 5


@dataclass(frozen=True)
class ArenaSettings:
    """What was asked for; `trials` are those of every size, or one number per size; None: what a size usually has."""

    baseline: str = BASELINE
    units: tuple[int, ...] = UNITS
    trials: int | tuple[int, ...] | None = None
    seed: int = 1
    quick: bool = False


@dataclass(frozen=True)
class Task:
    """One instance to play at one size: the policies as they play it, by label, and why the others do not."""

    entry: Member
    units: int
    trials: int
    policies: Mapping[str, Any]
    cannot: Mapping[str, str]

    @property
    def simulation(self) -> Simulation:
        """What is simulated."""
        times = checkpoints(self.units)
        return Simulation(self.entry.name, self.entry.instance, self.policies, self.units, self.trials, times)


def checkpoints(units: int) -> list[int]:
    """Five rounds in every tenfold, counted back from the last.

    >>> checkpoints(1000)[-6:]
    [100, 158, 251, 398, 631, 1000]
    """
    times = {round(units * DECADE ** (-k / PER_DECADE)) for k in range(PER_DECADE * len(str(units)))}
    return sorted(times - {0})


def read_settings(
    units: int | Sequence[int] | None = None,
    *,
    baseline: str = BASELINE,
    trials: int | Sequence[int] | None = None,
    seed: int = 1,
    quick: bool = False,
) -> ArenaSettings:
    """The settings of an arena, its sizes in order; a number that cannot be is an error here.

    >>> read_settings([400, 36], trials=[50, 1_000])
    ArenaSettings(baseline='tsbu', units=(36, 400), trials=(1000, 50), seed=1, quick=False)
    """
    if units is None:
        units = QUICK_UNITS if quick else UNITS
    given = [at_least("units", size, 1, "units of every trial") for size in _several(units)]
    sizes = tuple(sorted(given))
    if not sizes:
        raise SimulationError("units must name at least one size, got none; leave it out for the usual ones")
    for one, other in itertools.pairwise(sizes):
        if one == other:
            raise SimulationError(f"units name every size once, got {one:,} twice; leave one of them out")
    at_least("seed", seed, 0, "a whole number that fixes all random numbers")
    if trials is None:
        return ArenaSettings(baseline, sizes, None, seed, quick)
    counts = [at_least("trials", count, 1, "trials of every instance") for count in _several(trials)]
    if len(counts) == 1:
        return ArenaSettings(baseline, sizes, counts[0], seed, quick)
    if len(counts) != len(sizes):
        raise SimulationError(f"trials must be one number, or one for each of {len(sizes)} sizes, got {len(counts)}")
    return ArenaSettings(
        baseline, sizes, tuple(count for _, count in sorted(zip(given, counts, strict=True))), seed, quick
    )


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def make_plan(instances: Sequence[str], policies: Policies | None, settings: ArenaSettings) -> list[Task]:
    """Every instance at every size with its policies, size by size; a mistake in a name is an error here.

    >>> [task.policies for task in make_plan(["one-safe"], ["docb", "pess"], ArenaSettings(units=(36,)))]
    [{'tsbu': 'tsbu', 'docb': 'docb', 'pess': 'pess:safe_arm=#0'}]
    """
    entries = chosen_entries(instances)
    chosen = _with_baseline(policies, settings.baseline)
    tasks = []
    for units in settings.units:
        # Who is asked for by name plays at any size.
        unfit = {label: most for label, most in MADE_FOR.items() if policies is None and units > most}
        tasks += [_task(entry, units, _trials(entry, units, settings), chosen, unfit) for entry in entries]
    return tasks


def _trials(entry: Member, units: int, settings: ArenaSettings) -> int:
    if isinstance(settings.trials, tuple):
        return settings.trials[settings.units.index(units)]
    if settings.trials is not None or settings.quick:
        return settings.trials or QUICK_TRIALS
    if units > MOST_UNITS and at_limit(entry.instance):
        return LIMIT_TRIALS
    return next((trials for most, trials in TRIALS.items() if units <= most), LONG_TRIALS)


def least_risky_arm(instance: Instance) -> int:
    """The arm whose largest risk lies furthest below what is tolerated."""
    excess = np.atleast_2d(instance.nu) - np.reshape(instance.alpha, (-1, 1))
    return int(np.argmin(excess.max(axis=0)))


def _with_baseline(policies: Policies | None, baseline: str) -> dict[str, Any]:
    """The policies by label: the catalogue's if none is asked for, the baseline always."""
    asked = name_policies(_without_features() if policies is None else policies)
    for policy in (*asked.values(), baseline):
        if isinstance(policy, str):
            policy_from_text(policy)
    return asked if baseline in asked else {baseline: baseline, **asked}


def _without_features() -> list[str]:
    """The catalogue's policies but those that go by features, which no instance of the collection has."""
    return [name for name in POLICIES if not getattr(policy_from_text(name), "by_features", False)]


def _task(entry: Member, units: int, trials: int, chosen: Mapping[str, Any], unfit: Mapping[str, int]) -> Task:
    playing, cannot = {}, {}
    for label, policy in chosen.items():
        if label in unfit:
            cannot[label] = f"not made for this size: for up to {unfit[label]:,} units"
            continue
        fitted = _fitted(policy, entry.instance)
        try:
            ready_for(fitted, entry.instance, units)
        except SafebanditError as reason:
            cannot[label] = str(reason)
        else:
            playing[label] = fitted
    if not playing:
        raise PolicyError(f'no policy can play the instance "{entry.name}": {next(iter(cannot.values()))}')
    return Task(entry, units, trials, playing, cannot)


def _fitted(policy: Any, instance: Instance) -> Any:
    """A policy by name that must know a safe arm, or a baseline, and is not told which is told the least risky one."""
    if not isinstance(policy, str):
        return policy
    name, given = split_call(policy, PolicyError)
    if name not in POLICIES:
        return policy
    asked = [key for key in KNOWN_ARMS if key in inspect.signature(POLICIES[name].constructor).parameters]
    if not asked or asked[0] in given:
        return policy
    return f"{policy}{',' if given else ':'}{asked[0]}=#{least_risky_arm(instance)}"
