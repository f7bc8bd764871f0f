"""The door: which policies play which instances, how long and how often, checked before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from safebandit.core.naming import split_call
from safebandit.core.policies import POLICIES, policy_from_text
from safebandit.errors import PolicyError, SafebanditError
from safebandit.problems import Instance
from safebandit.simulation.execution import ready_for
from safebandit.simulation.simulate import Policies, at_least, name_policies
from safebandit.studies.arena.collection import Member, chosen_entries
from safebandit.studies.play import Simulation

BASELINE = "tsbu"
QUICK_HORIZON, QUICK_TRIALS = 300, 4
# The growth of regret is measured over the last tenfold of the rounds.
DECADE, PER_DECADE = 10, 5


@dataclass(frozen=True)
class ArenaSettings:
    """What was asked for; None stands for what the collection says."""

    baseline: str = BASELINE
    horizon: int | None = None
    trials: int | None = None
    seed: int = 1
    quick: bool = False


@dataclass(frozen=True)
class Task:
    """One instance to play: the policies as they play it, by label, and why the others cannot."""

    entry: Member
    horizon: int
    trials: int
    policies: Mapping[str, Any]
    cannot: Mapping[str, str]

    @property
    def simulation(self) -> Simulation:
        """What is simulated."""
        times = checkpoints(self.horizon)
        return Simulation(self.entry.name, self.entry.instance, self.policies, self.horizon, self.trials, times)


def checkpoints(horizon: int) -> list[int]:
    """Five rounds in every tenfold, counted back from the horizon.

    >>> checkpoints(1000)[-6:]
    [100, 158, 251, 398, 631, 1000]
    """
    times = {round(horizon * DECADE ** (-k / PER_DECADE)) for k in range(PER_DECADE * len(str(horizon)))}
    return sorted(times - {0})


def make_plan(instances: Sequence[str], policies: Policies | None, settings: ArenaSettings) -> list[Task]:
    """Every instance with its policies; a mistake in a name or a number is an error here.

    >>> [task.policies for task in make_plan(["one-safe"], ["docb", "pess"], ArenaSettings())]
    [{'tsbu': 'tsbu', 'docb': 'docb', 'pess': 'pess:safe_arm=#0'}]
    """
    entries = chosen_entries(instances)
    chosen = _with_baseline(policies, settings.baseline)
    at_least("seed", settings.seed, 0, "a whole number that fixes all random numbers")
    horizons = [_setting("horizon", settings.horizon, QUICK_HORIZON if settings.quick else e.horizon) for e in entries]
    trials = [_setting("trials", settings.trials, QUICK_TRIALS if settings.quick else e.trials) for e in entries]
    return [_task(*one, chosen) for one in zip(entries, horizons, trials, strict=True)]


def least_risky_arm(instance: Instance) -> int:
    """The arm whose largest risk lies furthest below what is tolerated."""
    excess = np.atleast_2d(instance.nu) - np.reshape(instance.alpha, (-1, 1))
    return int(np.argmin(excess.max(axis=0)))


def _setting(what: str, asked: int | None, usual: int) -> int:
    return usual if asked is None else at_least(what, asked, 1, f"{what} of every instance")


def _with_baseline(policies: Policies | None, baseline: str) -> dict[str, Any]:
    """The policies by label: the catalogue's if none is asked for, the baseline always."""
    asked = name_policies(list(POLICIES) if policies is None else policies)
    for policy in (*asked.values(), baseline):
        if isinstance(policy, str):
            policy_from_text(policy)
    return asked if baseline in asked else {baseline: baseline, **asked}


def _task(entry: Member, horizon: int, trials: int, chosen: Mapping[str, Any]) -> Task:
    playing, cannot = {}, {}
    for label, policy in chosen.items():
        fitted = _fitted(policy, entry.instance)
        try:
            ready_for(fitted, entry.instance, horizon)
        except SafebanditError as reason:
            cannot[label] = str(reason)
        else:
            playing[label] = fitted
    if not playing:
        raise PolicyError(f'no policy can play the instance "{entry.name}": {next(iter(cannot.values()))}')
    return Task(entry, horizon, trials, playing, cannot)


def _fitted(policy: Any, instance: Instance) -> Any:
    """A policy by name that must know a safe arm, and is not told which, is told the one of least risk."""
    if not isinstance(policy, str):
        return policy
    name, given = split_call(policy, PolicyError)
    if name not in POLICIES or "safe_arm" in given:
        return policy
    if "safe_arm" not in inspect.signature(POLICIES[name].constructor).parameters:
        return policy
    return f"{policy}{',' if given else ':'}safe_arm=#{least_risky_arm(instance)}"
