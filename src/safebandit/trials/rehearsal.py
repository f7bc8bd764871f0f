"""What to expect of a trial before it begins: its exact configuration, run many times against a supposed truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.naming import read_number
from safebandit.errors import InstanceError, SimulationError
from safebandit.problems import Instance
from safebandit.problems.limits import check_unit, plain_alpha
from safebandit.trials.rehearsed_run import MemoryDesk, Run, RunInProgress, Supposition, draw_fates
from safebandit.trials.settings import Settings
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd

MOST_UNITS = 10**7
STATISTICS = ("mean", "se", "q05", "q95")
# The totals as tables name them.
WORDS = {
    "rewards": "rewards",
    "regret": "regret",
    "unsafe_plays": "unsafe plays",
    "waited": "units that waited",
    "waits": "arrivals waited in all",
    "without_arm": "units that got no arm",
    "given_up": "units given up",
}


@dataclass(frozen=True)
class Rehearsal:
    """Runs of a trial against a supposed truth; `interrupted` where fewer were finished than wanted.

    Harms are risk outcomes of 1, whether anyone hears of them or not. Regret and unsafe plays are those of the units
    that were given an arm.
    """

    settings: Settings
    supposed: Supposition
    seed: int
    runs: list[Run]
    interrupted: bool = False

    @property
    def plays(self) -> Numbers:
        """How often each arm (columns) was given, run by run."""
        return np.array([run.plays for run in self.runs], float)

    @property
    def harms(self) -> Numbers:
        """How many harms there were: by run, risk and arm."""
        return np.array([run.harms for run in self.runs], float)

    def totals(self) -> dict[str, Numbers]:
        """What is counted over all arms, run by run."""
        instance = self.supposed.instance
        return {
            "rewards": self._column("rewards"),
            "regret": self.plays @ instance.costs,
            "unsafe_plays": self.plays[:, instance.unsafe_arms].sum(axis=1),
            "waited": self._column("waited"),
            "waits": self._column("waits"),
            "without_arm": self._column("without_arm"),
            "given_up": self._column("given_up"),
        }

    def chances(self) -> dict[str, float | None]:
        """With what chance the trial ever holds because no arm is permissible, ends so, and gives the best safe arm
        more often than any other (None where no arm is safe).
        """
        best = self.supposed.instance.best_arm
        most = None
        if best is not None:
            others = np.delete(self.plays, best, axis=1).max(axis=1, initial=0)
            most = float((self.plays[:, best] > others).mean())
        held = self._column("held_after") >= 0
        return {
            "hold": float(held.mean()),
            "end_held": float((held & (self._column("without_arm") > 0)).mean()),
            "best_arm_most": most,
        }

    def held_after(self) -> dict[str, float] | None:
        """How many units had an arm when the trial first held because none was permissible, in the runs that did."""
        after = self._column("held_after")
        return _statistics(after[after >= 0]) if (after >= 0).any() else None

    def table(self) -> pd.DataFrame:
        """A row per quantity: mean, standard error, 5 % and 95 % quantiles over the runs."""
        import pandas as pd

        arms, risks = self.supposed.instance.arms, self.supposed.instance.risks
        rows = {f"plays of {arm}": self.plays[:, k] for k, arm in enumerate(arms)}
        for j, risk in enumerate(risks):
            label = "harms" if len(risks) == 1 else f"harms ({risk})"
            rows[label] = self.harms[:, j].sum(axis=1)
            rows |= {f"{label} of {arm}": self.harms[:, j, k] for k, arm in enumerate(arms)}
        rows |= {WORDS[name]: values for name, values in self.totals().items()}
        summed = {label: _statistics(values) for label, values in rows.items()}
        return pd.DataFrame.from_dict(summed, orient="index", columns=list(STATISTICS))

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        instance, supposed = self.supposed.instance, self.supposed
        names = ("units", "reward_delay", "risk_delay", "missing", "missing_risk", "give_up_after")
        best = instance.best_arm
        return {
            "settings": {key: value for key, value in self.settings.to_dict().items() if key != "seed"},
            "supposed": {
                "mu": instance.mu.tolist(),
                "nu": instance.nu.tolist(),
                "best_arm": None if best is None else instance.arms[best],
                "unsafe_arms": [instance.arms[k] for k in instance.unsafe_arms],
                **{name: getattr(supposed, name) for name in names},
            },
            "seed": self.seed,
            "times": len(self.runs),
            "interrupted": self.interrupted,
            "software": __version__,
            "plays": {arm: _statistics(self.plays[:, k]) for k, arm in enumerate(instance.arms)},
            "harms": {risk: self._harms_of(j) for j, risk in enumerate(instance.risks)},
            **{name: _statistics(values) for name, values in self.totals().items()},
            "chances": self.chances(),
            "held_after": self.held_after(),
        }

    def _harms_of(self, j: int) -> dict[str, Any]:
        harms = self.harms[:, j]
        arms = {arm: _statistics(harms[:, k]) for k, arm in enumerate(self.supposed.instance.arms)}
        return {"all": _statistics(harms.sum(axis=1)), "arms": arms}

    def _column(self, name: str) -> Numbers:
        return np.array([getattr(run, name) for run in self.runs], float)


def _statistics(values: Numbers) -> dict[str, float]:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    low, high = np.quantile(values, [0.05, 0.95])
    return dict(zip(STATISTICS, (float(values.mean()), float(error), float(low), float(high)), strict=True))


def rehearse(
    settings: Settings,
    *,
    mu: Sequence[float],
    nu: Sequence[Any],
    units: int = 200,
    times: int = 300,
    delay: int = 0,
    reward_delay: int | None = None,
    risk_delay: int | None = None,
    missing: float = 0.0,
    missing_risk: float = 0.0,
    give_up_after: int = 100,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Rehearsal:
    """Run a trial of these settings against a supposed truth, many times, by the code that decides in a real one.

    `mu` and `nu` are the means of the arms that may be given, `nu` with a row per risk where there are several;
    outcomes are independent bits. Ctrl-C keeps the runs that were finished.

    >>> settings = Settings.read(["placebo", "drug"], alpha=0.3, policy="docb")
    >>> rehearsed = rehearse(settings, mu=[0.3, 0.6], nu=[0.1, 0.2], units=50, times=10)
    >>> rehearsed.chances()["hold"]
    0.0
    """
    supposed = Supposition(
        _truth(settings, mu, nu),
        _count("units", units, 1, MOST_UNITS),
        _count("reward_delay", delay if reward_delay is None else reward_delay, 0, MOST_UNITS),
        _count("risk_delay", delay if risk_delay is None else risk_delay, 0, MOST_UNITS),
        check_unit("missing", missing, SimulationError),
        check_unit("missing_risk", missing_risk, SimulationError),
        _count("give_up_after", give_up_after, 1, MOST_UNITS),
    )
    loses = supposed.missing > 0 or supposed.missing_risk > 0
    if loses and supposed.give_up_after <= max(supposed.reward_delay, supposed.risk_delay):
        raise SimulationError(
            f"give_up_after must be more than the delays ({supposed.reward_delay}, {supposed.risk_delay}), got "
            f"{give_up_after}; nobody is given up while an outcome may still come"
        )
    wanted = _count("times", times, 1, 10**6)
    number = _count("seed", seed, 0, 2**63 - 1)
    runs: list[Run] = []
    try:
        for i in range(wanted):
            runs.append(_run(settings, supposed, np.random.SeedSequence(number, spawn_key=(i,))))
            if progress is not None:
                progress(i + 1, wanted)
    except KeyboardInterrupt:
        if not runs:
            raise
    return Rehearsal(settings, supposed, number, runs, interrupted=len(runs) < wanted)


def _run(settings: Settings, supposed: Supposition, seeds: np.random.SeedSequence) -> Run:
    # Each run has a seed of its own below 2^63, as every trial has.
    own = int(seeds.generate_state(1, np.uint64)[0] >> np.uint64(1))
    fates = draw_fates(supposed, np.random.default_rng(seeds.spawn(1)[0]))
    return RunInProgress(MemoryDesk(replace(settings, seed=own)), supposed, fates).play()


def _truth(settings: Settings, mu: Sequence[float], nu: Sequence[Any]) -> Instance:
    arms, risks = settings.active, settings.risks
    if len(mu) != len(arms):
        raise InstanceError(f"mu must have one number per arm ({', '.join(arms)}), got {len(mu)}")
    rows = list(nu) if len(nu) > 0 and np.ndim(nu[0]) > 0 else [nu]
    if len(rows) != len(risks):
        raise InstanceError(f"nu must have one row per risk ({', '.join(risks)}), got {len(rows)}")
    return Instance.bernoulli(
        mu, rows if len(rows) > 1 else rows[0], plain_alpha(settings.limits),
        arms=arms, risks=risks, allow_infeasible=True,
    )  # fmt: skip


def _count(what: str, value: Any, least: int, most: int) -> int:
    number = int(read_number(what, value, int, SimulationError))
    if not least <= number <= most:
        raise SimulationError(f"{what} must lie between {least:,} and {most:,}, got {value}")
    return number
