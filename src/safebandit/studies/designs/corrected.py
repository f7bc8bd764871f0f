"""Corrected means in simulated trials: each trial is corrected as a live one is, by simulation at its own estimates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.errors import StudyError
from safebandit.problems import Instance
from safebandit.trials.analysis.correction import Sums, correct, sums_of
from safebandit.trials.simulated import Plan, Runs, plan_of, play

if TYPE_CHECKING:
    from safebandit.problems.scenario import Scenario
    from safebandit.trials.design import Design

# Each trial is corrected by so many simulated ones, in each of two steps.
SIMULATED = 500


class CorrectedRuns(NamedTuple):
    """Corrected means and the ends of their 95 % intervals: of every trial (layers), quantity (rows: the reward, then
    every risk) and arm; and by trial and quantity those of the selected arm, which know that it was selected. NaN where
    a trial has none.
    """

    means: Numbers
    lows: Numbers
    highs: Numbers
    selected_means: Numbers
    selected_lows: Numbers
    selected_highs: Numbers

    @property
    def trials(self) -> int:
        """How many trials were corrected."""
        return len(self.means)


def correct_runs(
    design: Design,
    scenario: Scenario,
    runs: Runs,
    *,
    trials: int,
    seed: int,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> CorrectedRuns:
    """Correct the first so many trials; the same bits for any number of workers."""
    if scenario.instance.to_dict()["kind"] != "bernoulli":
        raise StudyError(f'a correction simulates bits, and scenario "{scenario.name}" has others; leave it out')
    if design.strata:
        raise StudyError("a correction simulates a design without strata; leave it out")
    plan = plan_of(design, design.fit(scenario), seed)
    known = sums_of(runs)
    found = []
    for i in range(min(trials, runs.trials)):
        chosen = int(runs.selected[i])
        # Far from the streams of the trials that are corrected, and another for each.
        own = plan._replace(seed=int(np.random.SeedSequence((seed, i)).generate_state(1)[0]))
        overall, of_chosen, _ = correct(
            _player(design, own, workers), Sums(known.plays[i], known.totals[i]), chosen if chosen >= 0 else None,
            fair=design.lost != "harm" or scenario.missing == scenario.missing_risk == 0.0,
        )  # fmt: skip
        nothing = np.full(known.plays.shape[1], np.nan)
        ends = (nothing,) * 3 if of_chosen is None else (of_chosen.mean, of_chosen.low, of_chosen.high)
        found.append((overall.mean, overall.low, overall.high, *ends))
        if progress is not None:
            progress(i + 1)
    return CorrectedRuns(*map(np.array, zip(*found, strict=True)))


def _player(design: Design, plan: Plan, workers: int) -> Callable[[Numbers], Runs]:
    """Who plays the design at supposed means, as late and as lossy as in the scenario."""

    def simulate(means: Numbers) -> Runs:
        nu = means[1:] if len(means) > 2 else means[1]
        truth = Instance.bernoulli(means[0], nu, design.alpha, allow_infeasible=True)
        runs = play(plan._replace(law=truth.law), range(SIMULATED), workers=workers)
        if runs.trials < SIMULATED:
            raise KeyboardInterrupt
        return runs

    return simulate
