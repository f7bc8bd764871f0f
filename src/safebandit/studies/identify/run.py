"""Play every system with each number of units, and say how often its answers were wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safebandit.files import write_text
from safebandit.problems import Instance, as_instance
from safebandit.problems.scenario import Scenario
from safebandit.simulation.execution import Progress, Step
from safebandit.simulation.simulate import at_least, default_workers
from safebandit.studies.identify.plan import TRIALS, UNITS, Plan, make_plan
from safebandit.studies.identify.summary import Decay, Point, decay, point
from safebandit.studies.identify.truth import truth_of
from safebandit.trials.simulated import simulate_design
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd

# The two questions, by the field of a point that says how often the answer was wrong.
QUESTIONS = {"feasible_error": "feasible arms", "top_error": "best feasible arm"}


@dataclass(frozen=True)
class Identification:
    """What every system came to with each number of units."""

    plan: Plan
    points: list[Point]
    seconds: float

    def of(self, system: str) -> list[Point]:
        """The points of one system, by their units."""
        return [each for each in self.points if each.system == system]

    def decay(self, system: str, question: str = "feasible_error") -> Decay | None:
        """How fast the error of one system falls with the units; None where too few trials were wrong to tell."""
        own = self.of(system)
        return decay([each.units for each in own], [getattr(each, question) for each in own], self.plan.trials)

    def table(self) -> pd.DataFrame:
        """Every system with each number of units (rows) and its numbers, each with its standard error behind it."""
        import pandas as pd

        rows = []
        for each in self.points:
            row: dict[str, Any] = {}
            for name, value in each._asdict().items():
                row |= {name: value.value, f"{name}_se": value.error} if hasattr(value, "error") else {name: value}
            rows.append(row)
        return pd.DataFrame(rows).set_index(["system", "units"])

    def to_dict(self) -> dict[str, Any]:
        """Every number, and all that is needed to run it again; the same bytes for the same seed."""
        plan, truth = self.plan, self.plan.truth
        return {
            "version": __version__,
            "instance": truth.instance.to_dict(),
            "safe_set": truth.text or None,
            "distances": truth.distances.tolist(),
            "feasible": [truth.instance.arms[k] for k in truth.feasible.nonzero()[0]],
            "best": [truth.instance.arms[k] for k in truth.best],
            "hardness": truth.hardness,
            "top_hardness": truth.top_hardness,
            "trials": plan.trials,
            "seed": plan.seed,
            "points": [each.to_dict() for each in self.points],
            "decay": {
                system: {
                    question: None if (found := self.decay(system, question)) is None else found._asdict()
                    for question in QUESTIONS
                }
                for system in plan.systems
            },
        }

    def write(self, folder: str | Path) -> Path:
        """Write identification.json and the picture as PNG and SVG, and return the path of the picture."""
        from safebandit.simulation.plots import save
        from safebandit.studies.identify.figures import errors

        folder = Path(folder)
        write_text(folder / "identification.json", json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n")
        return save(errors(self), folder / "figures" / "errors")


def identify(
    instance: Instance | str,
    safe_set: str | None = None,
    *,
    systems: Sequence[str] | str | None = None,
    units: int | Sequence[int] = UNITS,
    trials: int = TRIALS,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Identification:
    """How often systems of pure exploration are wrong after so many units: which arms are feasible, and which is best.

    Systems are policies by name; those that have a safe set are given this one, and equal randomisation is what others
    are held against. With each number of units the trials are others, and the same for all systems; the results are
    the same bits for any number of workers.

    >>> two = Instance.bernoulli([0.3, 0.6], [0.1, 0.6], alpha=0.35)
    >>> found = identify(two, systems=["equal"], units=[10, 40], trials=100)
    >>> [point.feasible_error.value for point in found.points]
    [0.15, 0.02]
    """
    began = time.perf_counter()
    truth = truth_of(as_instance(instance), safe_set)
    plan = make_plan(truth, systems, units, trials=trials, seed=seed)
    threads = default_workers() if workers is None else at_least("workers", workers, 1, "threads")
    scenario = Scenario(truth.instance.name, instance=truth.instance)
    points, done = [], 0
    for system in plan.systems:
        for number, size in enumerate(plan.units):
            design = plan.design(system, size)
            if progress is not None:
                progress(Step(done, plan.total, f"{system}, {size:,} units"))
            own = range(number * plan.trials, (number + 1) * plan.trials)
            runs = simulate_design(design, scenario, trials=own, seed=plan.seed, workers=threads)
            if runs.trials < plan.trials:
                raise KeyboardInterrupt
            points.append(point(system, design.policy, size, runs, truth))
            done += size * plan.trials
    if progress is not None:
        progress(Step(done, plan.total, "done"))
    return Identification(plan, points, time.perf_counter() - began)
