"""What to expect of a trial before it begins: its exact configuration, run many times against a supposed truth."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from safebandit.arms import Numbers
from safebandit.errors import InstanceError, SimulationError
from safebandit.instances import Instance
from safebandit.limits import check_unit, plain_alpha
from safebandit.naming import read_number
from safebandit.record.rehearsed_run import DeskInMemory, Run, RunInProgress, Supposition, draw_fates
from safebandit.record.settings import Settings
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd

MOST_UNITS = 10**7
STATISTICS = ("mean", "se", "q05", "q95")


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

    def quantities(self) -> dict[str, Numbers]:
        """Every number that was counted, run by run."""
        instance = self.supposed.instance
        plays = np.array([run.plays for run in self.runs], float)
        harms = np.array([run.harms for run in self.runs], float)
        named = {f"plays of {arm}": plays[:, k] for k, arm in enumerate(instance.arms)}
        for j, risk in enumerate(instance.risks):
            label = "harms" if len(instance.risks) == 1 else f"harms ({risk})"
            named[label] = harms[:, j].sum(axis=1)
            named |= {f"{label} of {arm}": harms[:, j, k] for k, arm in enumerate(instance.arms)}
        named |= {
            "rewards": self._column("rewards"),
            "regret": plays @ instance.costs,
            "unsafe plays": plays[:, instance.unsafe_arms].sum(axis=1),
            "units that waited": self._column("waited"),
            "arrivals waited in all": self._column("waits"),
            "units that got no arm": self._column("without_arm"),
            "units given up": self._column("given_up"),
        }
        return named

    def chances(self) -> dict[str, float | None]:
        """With what chance the trial ever holds because no arm is permissible, ends so, and gives the best safe arm
        more often than any other (None where no arm is safe).
        """
        best = self.supposed.instance.best_arm
        most = None
        if best is not None:
            plays = np.array([run.plays for run in self.runs])
            others = np.delete(plays, best, axis=1).max(axis=1, initial=0)
            most = float((plays[:, best] > others).mean())
        held = self._column("held_after") >= 0
        return {
            "hold": float(held.mean()),
            "end held": float((held & (self._column("without_arm") > 0)).mean()),
            "best arm most": most,
        }

    def held_after(self) -> dict[str, float] | None:
        """How many units had an arm when the trial first held because none was permissible, in the runs that did."""
        after = self._column("held_after")
        return _statistics(after[after >= 0]) if (after >= 0).any() else None

    def table(self) -> pd.DataFrame:
        """A row per quantity: mean, standard error, 5 % and 95 % quantiles over the runs."""
        import pandas as pd

        rows = {name: _statistics(values) for name, values in self.quantities().items()}
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(STATISTICS))

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
            "quantities": {name: _statistics(values) for name, values in self.quantities().items()},
            "chances": self.chances(),
            "held_after": self.held_after(),
        }

    def __str__(self) -> str:
        return f"{self.table().round(2).to_string()}\n{json.dumps(self.chances())}"

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
    return RunInProgress(DeskInMemory(replace(settings, seed=own)), supposed, fates).play()


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
