"""What to expect of a trial before it begins: its exact configuration, run many times against a supposed truth.

Runs are compiled, on all cores, and decide by the policy's definition, as a live trial does. Run number i of a seed has
the random numbers of trial number i everywhere else: run 0 is the live trial of that seed, told the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.conduct import plain_conduct
from safebandit.core.delays import FIXED
from safebandit.core.naming import read_number
from safebandit.core.policies import Setup, prepare
from safebandit.core.timing import Timing
from safebandit.errors import InstanceError, SimulationError
from safebandit.names import normal
from safebandit.problems import Instance, as_instance
from safebandit.problems.limits import check_unit, plain_alpha
from safebandit.simulation.simulate import default_workers
from safebandit.simulation.summaries import standard_error
from safebandit.trials.planned_strata import in_equal_shares
from safebandit.trials.reading import fitting_cap
from safebandit.trials.settings import Settings
from safebandit.trials.simulated import Plan, Runs, play
from safebandit.trials.strata import stratum_names
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd

MOST_UNITS = 10**7
USUAL_UNITS = 200
# More units than this part of all that wait because of the cap are worth a warning.
MANY = 0.1
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


class Expected(NamedTuple):
    """How many units arrive, after how many more arrivals an outcome is heard, how often never, and when a unit is
    given up.
    """

    units: int
    reward_delay: int
    risk_delay: int
    missing: float
    missing_risk: float
    give_up_after: int


@dataclass(frozen=True)
class Rehearsal:
    """Runs of a trial against a supposed truth; `interrupted` where fewer were finished than wanted.

    Harms are the sums of risk outcomes, whether anyone hears of them or not; of bits, how many were 1. Regret and
    unsafe plays are those of the units that were given an arm.
    """

    settings: Settings
    instance: Instance
    scenario: Expected
    seed: int
    runs: Runs
    interrupted: bool = False

    @property
    def times(self) -> int:
        """How many runs were finished."""
        return self.runs.trials

    @property
    def plays(self) -> Numbers:
        """How often each arm (columns) was given, run by run."""
        return self.runs.plays.astype(float)

    @property
    def harms(self) -> Numbers:
        """How many harms there were: by run, risk and arm."""
        return self.runs.harms

    def totals(self) -> dict[str, Numbers]:
        """What is counted over all arms, run by run."""
        instance = self.instance
        return {
            "rewards": self.runs.rewards.sum(axis=1),
            "regret": self.plays @ instance.costs,
            "unsafe_plays": self.plays[:, instance.unsafe_arms].sum(axis=1),
            "waited": self._waited,
            "waits": self._column("waits"),
            "without_arm": self._without_arm,
            "given_up": self._column("given_up"),
        }

    def chances(self) -> dict[str, float | None]:
        """With what chance the trial ever holds because no arm is permissible, ends so, and gives the best safe arm
        more often than any other (None where no arm is safe, and where several are the best).
        """
        best, most = self._best_arm, None
        if best is not None:
            others = np.delete(self.plays, best, axis=1).max(axis=1, initial=0)
            most = float((self.plays[:, best] > others).mean())
        held = self._column("held_after") >= 0
        return {
            "hold": float(held.mean()),
            "end_held": float((held & (self._without_arm > 0)).mean()),
            "best_arm_most": most,
        }

    def endings(self) -> dict[str, float]:
        """Of a trial by a design, with what chance it ends by each cause."""
        design = self.settings.design
        causes = () if design is None else design.causes
        return {cause: float((self.runs.cause == i).mean()) for i, cause in enumerate(causes)}

    def selected(self) -> dict[str, float]:
        """Of a trial by a design, with what chance each arm is selected, and none."""
        if self.settings.design is None:
            return {}
        shares = {arm: float((self.runs.selected == k).mean()) for k, arm in enumerate(self.instance.arms)}
        return {**shares, "none": float((self.runs.selected < 0).mean())}

    def held_after(self) -> dict[str, float] | None:
        """How many units had an arm when the trial first held because none was permissible, in the runs that did."""
        after = self._column("held_after")
        return _statistics(after[after >= 0]) if (after >= 0).any() else None

    def warning(self) -> str | None:
        """What to say where many units wait because of the pending cap, with the remedy; None where they do not.

        It is counted in the runs that never held: there nobody waits for another reason.
        """
        if self.settings.design is not None:
            # Who waits for a cohort waits as the design says.
            return None
        cap, units = self.settings.pending_cap, self.scenario.units
        free = self._column("held_after") < 0
        waited = float(self._waited[free].mean()) / units if free.any() else 0.0
        if waited <= MANY:
            return None
        better = fitting_cap(self._wait(), len(self.settings.active))
        better = better if better > cap else 2 * cap
        return (
            f"{waited:.0%} of the units wait because at most {cap} of an arm may while nothing is known of it; with "
            f"such delays a pending cap of {better} fits (trial amend --pending-cap {better}), at the price of more "
            "units on untested arms"
        )

    def _wait(self) -> int:
        """How many more units arrive, on average, until a unit's risk is known or the unit is given up."""
        scenario = self.scenario
        lost = 1.0 - (1.0 - scenario.missing) * (1.0 - scenario.missing_risk)
        return round((1.0 - lost) * scenario.risk_delay + lost * scenario.give_up_after)

    def table(self) -> pd.DataFrame:
        """A row per quantity: mean, standard error, 5 % and 95 % quantiles over the runs."""
        import pandas as pd

        arms, risks = self.instance.arms, self.instance.risks
        rows = {f"plays of {arm}": self.plays[:, k] for k, arm in enumerate(arms)}
        for j, risk in enumerate(risks):
            label = "harms" if len(risks) == 1 else f"harms ({risk})"
            rows[label] = self.harms[:, j].sum(axis=1)
            rows |= {f"{label} of {arm}": self.harms[:, j, k] for k, arm in enumerate(arms)}
        rows |= {WORDS[name]: values for name, values in self.totals().items()}
        rows |= {} if self.settings.design is None else {"units": self._column("size")}
        summed = {label: _statistics(values) for label, values in rows.items()}
        return pd.DataFrame.from_dict(summed, orient="index", columns=list(STATISTICS))

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        instance = self.instance
        names = ("units", "reward_delay", "risk_delay", "missing", "missing_risk", "give_up_after")
        best = self._best_arm
        return {
            "settings": {key: value for key, value in self.settings.to_dict().items() if key != "seed"},
            "supposed": {
                "mu": instance.mu.tolist(),
                "nu": instance.nu.tolist(),
                "best_arm": None if best is None else instance.arms[best],
                "best_arms": [instance.arms[k] for k in instance.best_arms],
                "unsafe_arms": [instance.arms[k] for k in instance.unsafe_arms],
                **{name: getattr(self.scenario, name) for name in names},
            },
            "seed": self.seed,
            "times": self.times,
            "interrupted": self.interrupted,
            "software": __version__,
            "plays": {arm: _statistics(self.plays[:, k]) for k, arm in enumerate(instance.arms)},
            "harms": {risk: self._harms_of(j) for j, risk in enumerate(instance.risks)},
            **{name: _statistics(values) for name, values in self.totals().items()},
            "chances": self.chances(),
            "held_after": self.held_after(),
            **({} if self.settings.design is None else {"endings": self.endings(), "selected": self.selected()}),
            "warning": self.warning(),
        }

    @property
    def _best_arm(self) -> int | None:
        """The best arm, if there is one and no other is as good."""
        best = self.instance.best_arms.tolist()
        return best[0] if len(best) == 1 else None

    def _harms_of(self, j: int) -> dict[str, Any]:
        harms = self.harms[:, j]
        arms = {arm: _statistics(harms[:, k]) for k, arm in enumerate(self.instance.arms)}
        return {"all": _statistics(harms.sum(axis=1)), "arms": arms}

    @property
    def _without_arm(self) -> Numbers:
        """The units that never got an arm, whether they arrived before the end was certain or not; a trial by a design
        that has stopped wants no more.
        """
        if self.settings.design is not None:
            return self._column("without_arm")
        return self.scenario.units - self._column("size")

    @property
    def _waited(self) -> Numbers:
        """The units that did not get an arm when they arrived."""
        waited = self._column("waited")
        return waited if self.settings.design is not None else waited + self._without_arm

    def _column(self, name: str) -> Numbers:
        return np.asarray(getattr(self.runs, name), float)


def _statistics(values: Numbers) -> dict[str, float]:
    low, high = np.quantile(values, [0.05, 0.95])
    return dict(zip(STATISTICS, (float(values.mean()), standard_error(values), float(low), float(high)), strict=True))


def rehearse(
    settings: Settings,
    *,
    mu: Sequence[float] | None = None,
    nu: Sequence[Any] | None = None,
    instance: Instance | str | None = None,
    units: int | None = None,
    times: int = 300,
    delay: int = 0,
    reward_delay: int | None = None,
    risk_delay: int | None = None,
    missing: float = 0.0,
    missing_risk: float = 0.0,
    give_up_after: int = 100,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Rehearsal:
    """Run a trial of these settings against a supposed truth, many times, by the code that decides in a real one.

    The truth is `mu` and `nu`, the means of the arms that may be given (`nu` with a row per risk where there are
    several), whose outcomes are then independent bits; or any `instance` with as many arms and risks, whatever its law.
    Its alpha gives way to the trial's. So many `units` arrive in a run, 200 unless given; in a trial by a design, at
    most as many as that says, as many of one stratum as of another. Without a design a stratum is a trial of its own,
    and one is run, with its part of the units. Ctrl-C keeps the runs that were finished.

    >>> settings = Settings.read(["placebo", "drug"], alpha=0.3, policy="docb")
    >>> rehearsed = rehearse(settings, mu=[0.3, 0.6], nu=[0.1, 0.2], units=50, times=10)
    >>> rehearsed.chances()["hold"]
    0.0
    """
    check_rehearsable(settings)
    if settings.factors and settings.design is None:
        settings, units = _one_stratum(settings, units)
    truth = _truth(settings, mu, nu, instance)
    scenario = Expected(
        _units(settings, units),
        _count("reward_delay", delay if reward_delay is None else reward_delay, 0, MOST_UNITS),
        _count("risk_delay", delay if risk_delay is None else risk_delay, 0, MOST_UNITS),
        check_unit("missing", missing, SimulationError),
        check_unit("missing_risk", missing_risk, SimulationError),
        _count("give_up_after", give_up_after, 1, MOST_UNITS),
    )
    loses = scenario.missing > 0 or scenario.missing_risk > 0
    if loses and scenario.give_up_after <= max(scenario.reward_delay, scenario.risk_delay):
        raise SimulationError(
            f"give_up_after must be more than the delays ({scenario.reward_delay}, {scenario.risk_delay}), got "
            f"{give_up_after}; nobody is given up while an outcome may still come"
        )
    wanted = _count("times", times, 1, 10**6)
    number = _count("seed", seed, 0, 2**63 - 1)
    at_once = default_workers() if workers is None else _count("workers", workers, 1, 1024)
    plan = plan_rehearsal(settings, truth, scenario, number)
    runs = play(plan, range(wanted), workers=at_once, progress=progress)
    return Rehearsal(settings, truth, scenario, number, runs, runs.trials < wanted)


def check_rehearsable(settings: Settings) -> None:
    """Refuse settings that cannot be rehearsed, whatever is supposed."""
    if settings.context or settings.features:
        raise SimulationError(
            f"a trial with {'a context' if settings.context else 'features of arms'} cannot be rehearsed yet; "
            "simulate its policy on a linear instance"
        )
    if settings.design is not None and settings.withdrawn:
        raise SimulationError(
            f"a trial by a design is rehearsed with all its arms, and {', '.join(settings.withdrawn)} was withdrawn; "
            "play it by safebandit design run"
        )


def _one_stratum(settings: Settings, units: Any) -> tuple[Settings, int]:
    """The settings of one stratum, which is a trial of its own, and its part of the units, rounded up."""
    strata = len(stratum_names(settings.factors))
    return replace(settings, strata=()), -(-_units(settings, units) // strata)


def plan_rehearsal(settings: Settings, instance: Instance, scenario: Expected, seed: int) -> Plan:
    """Arrivals a day apart; what is heard d arrivals later is due just before the one after those."""
    design = settings.design
    policy = prepare(
        settings.floored_policy(),
        Setup(settings.active, settings.limits, "hold", units=None if design is None else design.units),
    )
    reward, risk, given_up = (
        1.0 + delay for delay in (scenario.reward_delay, scenario.risk_delay, scenario.give_up_after)
    )  # fmt: skip
    lost = (scenario.missing, scenario.missing_risk, given_up)
    timing = Timing(1.0, False, FIXED, reward, 0.0, FIXED, risk, 0.0, *lost)
    conduct = plain_conduct(settings.pending_cap)._replace(units=scenario.units, lost_is_harm=settings.lost == "harm")
    rules: tuple[Any, ...] = ()
    then: tuple[str, ...] = ()
    selection: Any = None
    if design is not None:
        conduct, rules, then, selection = design.conduct(), design.stop, design.then, design.select
    places = tuple(settings.arms.index(arm) for arm in settings.active)
    return Plan(
        policy, conduct, rules, then, selection, instance.law, timing,
        settings.limits, seed, places, len(settings.arms), np.zeros(1, np.int64), in_equal_shares(settings.factors),
        bool(settings.factors),
    )  # fmt: skip


def _units(settings: Settings, units: Any) -> int:
    if settings.design is None:
        return _count("units", USUAL_UNITS if units is None else units, 1, MOST_UNITS)
    if units is not None:
        raise SimulationError(
            f"a trial by a design has at most {settings.design.units} units, got {units}; leave it out"
        )
    return settings.design.units


def _truth(settings: Settings, mu: Any, nu: Any, instance: Instance | str | None) -> Instance:
    arms, risks = settings.active, settings.risks
    if [instance is None, mu is None, nu is None] not in ([True, False, False], [False, True, True]):
        raise InstanceError("the supposed truth is mu and nu, or an instance; give either")
    if instance is not None:
        given = as_instance(instance)
        if len(given.mu) != len(arms) or len(given.limits) != len(risks):
            raise InstanceError(
                f"the instance must have the trial's arms ({', '.join(arms)}) and risks ({', '.join(risks)}), got "
                f"{len(given.mu)} arms and {len(given.limits)} risks"
            )
        unnamed = given.arms == tuple(str(k) for k in range(len(arms)))
        if not unnamed and [normal(arm) for arm in given.arms] != [normal(arm) for arm in arms]:
            raise InstanceError(f"arms must be those of the trial ({', '.join(arms)}), got {', '.join(given.arms)}")
        return replace(given, alpha=plain_alpha(settings.limits), arms=arms, risks=risks, allow_infeasible=True)
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
