"""Play every design on every scenario, more trials of a result, or a result again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from safebandit.errors import ResultError, SimulationError
from safebandit.simulation.execution import Progress, Step
from safebandit.simulation.simulate import at_least, default_workers
from safebandit.studies.designs.cells import Cell
from safebandit.studies.designs.corrected import SIMULATED, CorrectedRuns, correct_runs
from safebandit.studies.designs.plan import Designs, Planned, Scenarios, make_plan
from safebandit.studies.designs.results import Characteristics, Played
from safebandit.studies.designs.truth import truth_of
from safebandit.trials.simulated import Runs, joined, simulate_design

if TYPE_CHECKING:
    from safebandit.problems.scenario import Scenario
    from safebandit.trials.design import Design

TRIALS = 10_000


def operating_characteristics(
    designs: Designs,
    scenarios: Scenarios,
    *,
    trials: int = TRIALS,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    add_to: Characteristics | str | Path | None = None,
    corrected: int = 0,
) -> Characteristics:
    """What every design does on every scenario, over many simulated trials, each number with its Monte-Carlo error.

    Designs are `Design`s or texts, which get their arms from the scenario. Trial i meets the same outcomes under every
    design. `add_to` is an earlier result of the same designs, scenarios, seed and sources: its trials are kept, and
    only those that are missing to `trials` are played. Of the first `corrected` trials the means are also corrected for
    their bias, each by simulation at its own estimates, which takes about a thousand times a trial.
    The numbers are the same bits for any number of workers.
    """
    plan = make_plan(designs, scenarios)
    trials = at_least("trials", trials, 2, "trials of every design on every scenario")
    seed = at_least("seed", seed, 0, "a whole number that fixes all random numbers")
    wanted = at_least("corrected", corrected, 0, "trials whose means are corrected")
    if wanted > trials:
        raise SimulationError(f"corrected must be at most the trials that there are, {trials}, got {wanted}")
    before = Characteristics.load(add_to) if isinstance(add_to, str | Path) else add_to
    if before is not None:
        _check_same(before, plan, trials, seed)
    start = 0 if before is None else before.trials
    runs = play(plan, range(start, trials), seed, workers=workers, executor=executor, progress=progress)
    if before is not None:
        runs = [joined([old.runs, new]) for old, new in zip(before.played, runs, strict=True)]
    played = [Played(*each, one) for each, one in zip(plan, runs, strict=True)]
    if wanted:
        played = [replace(each, corrected=_correct(each, wanted, seed, workers, progress)) for each in played]
    return Characteristics(played, seed)


def _correct(
    each: Played, trials: int, seed: int, workers: int | None, progress: Progress | None
) -> CorrectedRuns:  # fmt: skip
    what = f"correcting {each.label} on {each.scenario.name}"
    units = 2 * SIMULATED * each.design.units
    tell = None if progress is None else lambda done: progress(Step(done * units, trials * units, what))
    threads = default_workers() if workers is None else workers
    return correct_runs(
        each.design, each.scenario, each.runs, trials=trials, seed=seed, workers=threads, progress=tell
    )  # fmt: skip


def play(
    plan: Sequence[Planned],
    trials: range,
    seed: int,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[Runs]:
    """The trials of everything that is planned; Ctrl-C ends it, and leaves nothing."""
    threads = default_workers() if workers is None else at_least("workers", workers, 1, "threads")
    sizes = [each.design.units * len(trials) for each in plan]
    found = []
    for number, each in enumerate(plan):
        tell = _told(progress, sum(sizes[:number]), sum(sizes), each)
        runs = simulate_design(
            each.design, each.scenario, trials=trials, seed=seed, workers=threads, executor=executor, progress=tell
        )
        if runs.trials < len(trials):
            raise KeyboardInterrupt
        found.append(runs)
    return found


def _told(progress: Progress | None, before: int, total: int, each: Planned) -> Callable[[int, int], None] | None:
    """Who is told of trials, as progress through the units of all that is planned."""
    if progress is None:
        return None
    what = f"{each.label} on {each.scenario.name}"
    progress(Step(before, total, what))
    return lambda done, _: progress(Step(before + done * each.design.units, total, what))


def simulate_cells(
    plan: Sequence[tuple[Design, Scenario]], trials: int, seed: int, *, workers: int | None = None
) -> dict[str, Cell]:
    """The trials of a design on several scenarios, by the scenarios' names, with what is true there."""
    planned = [Planned("", scenario, design) for design, scenario in plan]
    found = play(planned, range(trials), seed, workers=workers)
    return {
        each.scenario.name: Cell(each.design, truth_of(each.design, each.scenario), runs)
        for each, runs in zip(planned, found, strict=True)
    }


def rerun(
    found: Characteristics,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> bool:
    """Play a result again from itself, and say whether every trial came out the same, bit for bit."""
    plan = [Planned(each.label, each.scenario, each.design) for each in found.played]
    again = play(plan, range(found.trials), found.seed, workers=workers, executor=executor, progress=progress)
    return all(_same(each.runs, one) for each, one in zip(found.played, again, strict=True))


def _same(mine: Runs, yours: Runs) -> bool:
    # What playing took is no part of what was played.
    fields = [name for name in Runs._fields if name != "seconds"]
    return all(np.array_equal(getattr(mine, name), getattr(yours, name)) for name in fields)


def _check_same(before: Characteristics, plan: Sequence[Planned], trials: int, seed: int) -> None:
    """Trials are added only to those of the same designs, scenarios, seed and sources."""
    if not before.is_current:
        raise ResultError(
            f"the result was made by version {before.version} from other sources than these; trials of both do not "
            "belong together: run it anew"
        )
    if before.seed != seed:
        raise ResultError(f"the result has seed {before.seed}, got {seed}; add trials with its own seed")
    if trials <= before.trials:
        raise ResultError(f"the result has {before.trials} trials already, got {trials}; ask for more")
    made = [(each.label, each.scenario.to_dict(), each.design.to_dict()) for each in before.played]
    asked = [(each.label, each.scenario.to_dict(), each.design.to_dict()) for each in plan]
    if made != asked:
        raise ResultError("the result is of other designs or scenarios than these; run it anew, into another folder")
