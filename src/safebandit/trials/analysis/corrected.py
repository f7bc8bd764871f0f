"""The corrected means of a trial, from its design or settings and what is known at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.naming import read_number
from safebandit.errors import SimulationError, TrialError
from safebandit.problems import Instance
from safebandit.problems.limits import plain_alpha
from safebandit.simulation.simulate import at_least, default_workers
from safebandit.trials.analysis.correction import LEAST_TRIALS, STEPS, Correction, Sums, correct
from safebandit.trials.design import Design
from safebandit.trials.rehearsal import Expected, plan_rehearsal
from safebandit.trials.settings import Settings
from safebandit.trials.simulated import Plan, Runs, play

TRIALS = 2_000
MOST_TRIALS, MOST_STEPS, MOST_UNITS = 10**6, 10, 10**7


@dataclass(frozen=True, eq=False)
class Corrected:
    """Means of every quantity (rows) and arm (columns), plain and corrected.

    `overall` is by the bias over all simulated trials; `chosen`, of the selected arm alone (by quantity), by that over
    those that select it, too, which are a share `chosen_share`. At most so many `units` had an arm in each of `trials`
    simulated trials of the last of `steps`; outcomes were known `delay` arrivals later.
    """

    arms: tuple[str, ...]
    quantities: tuple[str, ...]
    sums: Sums
    overall: Correction
    selected: str | None
    chosen: Correction | None
    chosen_share: float
    confidence: float
    units: int
    delay: int
    trials: int
    steps: int
    seed: int

    def says(self) -> str:
        """What the numbers are, and by what."""
        late = f", outcomes known {self.delay} arrivals later" if self.delay else ""
        return (
            f"corrected by {self.trials:,} simulated trials of the same rules at the estimates, in {self.steps} steps "
            f"(seed {self.seed}; at most {self.units:,} units{late}; rewards and risks independent bits); intervals "
            f"of {100 * self.confidence:g} % are approximate"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON has it; None where there is no number."""
        return {
            "says": self.says(),
            "confidence": self.confidence,
            "simulated_trials": self.trials,
            "steps": self.steps,
            "seed": self.seed,
            "units": self.units,
            "delay": self.delay,
            "arms": {arm: self._arm(k) for k, arm in enumerate(self.arms)},
            "selected": None if self.chosen is None else self._selected(self.chosen),
        }

    def _arm(self, k: int) -> dict[str, Any]:
        return {
            name: {
                "known": int(self.sums.plays[j, k]),
                "plain": _plain(self.sums.means[j, k]),
                **_row(self.overall, (j, k)),
            }
            for j, name in enumerate(self.quantities)
            if self.sums.plays[j].any()
        }

    def _selected(self, chosen: Correction) -> dict[str, Any]:
        numbers = {name: _row(chosen, (j,)) for j, name in enumerate(self.quantities) if self.sums.plays[j].any()}
        return {"arm": self.selected, "share_of_simulated_trials": self.chosen_share, **numbers}


def _row(found: Correction, place: tuple[int, ...]) -> dict[str, float | None]:
    names = ("bias", "bias_se", "corrected", "se", "low", "high")
    return {name: _plain(values[place]) for name, values in zip(names, found, strict=True)}


def _plain(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def corrected(
    source: Settings | Design,
    *,
    plays: Any,
    totals: Any,
    selected: str | None = None,
    units: int | None = None,
    delay: int = 0,
    confidence: float = 0.95,
    trials: int = TRIALS,
    steps: int = STEPS,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Corrected:
    """Correct the means of a trial of this design, or of these settings, for its bias; the same seed, the same bits.

    `plays` and `totals` say how many outcomes are known at the end and their sum, by quantity (rows: the reward, then
    every risk) and arm; `selected` is the arm that was selected, if one was. A trial that did not end
    by its design says how many `units` had an arm so far: simulated ones then end there at the latest. `delay` is how
    many more units arrive before an outcome is known.

    >>> design = Design(["control", "drug"], alpha=0.4, policy="equal", units=40, select="none")
    >>> found = corrected(design, plays=[[20, 20], [20, 20]], totals=[[6, 9], [2, 4]], trials=200, seed=1)
    >>> found.overall.mean.round(2).tolist()  # equal shares: no bias but that of chance
    [[0.3, 0.45], [0.1, 0.2]]
    """
    settings = Settings.by_design(source, seed=0) if isinstance(source, Design) else source
    told = _checked(settings, Sums(*(_table(each) for each in (plays, totals))), selected)
    most, late = _most_units(settings, units, told), _whole("delay", delay, 0, MOST_UNITS)
    count, rounds = _whole("trials", trials, LEAST_TRIALS, MOST_TRIALS), _whole("steps", steps, 1, MOST_STEPS)
    level, number = _confidence(confidence), at_least("seed", seed, 0, "a whole number that fixes all random numbers")
    threads = default_workers() if workers is None else at_least("workers", workers, 1, "threads")
    expected = Expected(most, late, late, 0.0, 0.0, most + late + 1)
    done = 0

    def simulate(means: Numbers) -> Runs:
        nonlocal done
        before = done
        tell = None if progress is None else lambda some, _: progress(before + some, rounds * count)
        runs = play(_plan(settings, means, expected, number), range(count), workers=threads, progress=tell)
        if runs.trials < count:
            raise KeyboardInterrupt
        done += count
        return runs

    chosen = None if selected is None else settings.arms.index(selected)
    quantities = ("reward", *(settings.risks if len(settings.risks) > 1 else ("risk",)))
    overall, of_chosen, share = correct(simulate, told, chosen, confidence=level, steps=rounds)
    return Corrected(
        settings.arms, quantities, told, overall, selected, of_chosen, share, level, most, late, count,
        rounds, number,
    )  # fmt: skip


def _plan(settings: Settings, means: Numbers, expected: Expected, seed: int) -> Plan:
    """The trial at these means, with independent bits; it ends after as many units as are expected at the latest."""
    truth = Instance.bernoulli(
        means[0], means[1:] if len(means) > 2 else means[1], plain_alpha(settings.limits),
        arms=settings.arms, risks=settings.risks, allow_infeasible=True,
    )  # fmt: skip
    plan = plan_rehearsal(settings, truth, expected, seed)
    looks = plan.conduct.looks
    return plan._replace(conduct=plan.conduct._replace(units=expected.units, looks=looks[looks <= expected.units]))


def _checked(settings: Settings, sums: Sums, selected: str | None) -> Sums:
    """What is known, as numbers that a trial of these settings can have."""
    if settings.withdrawn:
        raise TrialError(
            f"a correction simulates the trial with all its arms, and {', '.join(settings.withdrawn)} was withdrawn; "
            "leave it out, and go by the sequences"
        )
    plays, totals = sums
    shape = (1 + len(settings.risks), len(settings.arms))
    if plays.shape != shape or totals.shape != shape:
        raise TrialError(
            f"plays and totals have a row per quantity and a column per arm, {shape}; got {plays.shape}, {totals.shape}"
        )
    if not ((plays >= 0) & (totals >= 0) & (totals <= plays)).all() or (plays != np.rint(plays)).any():
        raise TrialError("every sum lies between 0 and how many outcomes are known; check plays and totals")
    if (totals != np.rint(totals)).any():
        raise TrialError("a correction simulates bits, and outcomes between 0 and 1 were told; leave it out")
    if selected is not None and selected not in settings.arms:
        raise TrialError(f'selected must be one of the arms ({", ".join(settings.arms)}), got "{selected}"')
    if not plays.any():
        raise TrialError("no outcome is known yet; there is nothing to correct")
    return Sums(plays, totals)


def _table(numbers: Any) -> Numbers:
    try:
        return np.asarray(numbers, float)
    except (TypeError, ValueError):
        raise TrialError(f"plays and totals are tables of numbers, got {numbers!r}") from None


def _most_units(settings: Settings, units: int | None, sums: Sums) -> int:
    """How many units a simulated trial has at most: as many as have an arm so far, or as the design says."""
    design, known = settings.design, int(sums.plays.max(axis=0).sum())
    if units is None and design is None:
        raise TrialError("say how many units had an arm; only a design says how many there are at most")
    most = design.units if units is None and design is not None else _whole("units", units, 1, MOST_UNITS)
    if most < known:
        raise TrialError(f"units must be at least {known}, of which outcomes are known, got {most}")
    if design is not None and most > design.units:
        raise TrialError(f"units must be at most those of the design, {design.units}, got {most}")
    return most


def _confidence(value: Any) -> float:
    number = float(read_number("confidence", value, float, SimulationError))
    if not 0.0 < number < 1.0:
        raise SimulationError(f"confidence must lie between 0 and 1, got {value}")
    return number


def _whole(what: str, value: Any, least: int, most: int) -> int:
    number = int(read_number(what, value, int, SimulationError))
    if not least <= number <= most:
        raise SimulationError(f"{what} must lie between {least:,} and {most:,}, got {value}")
    return number
