"""Play every system many times, and say how often it was wrong, what it used, and who was given an unsafe dose."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from safebandit.core.dosing import SYSTEMS, SafeLinear
from safebandit.core.naming import call_by_name
from safebandit.errors import PolicyError, SimulationError
from safebandit.files import write_text
from safebandit.problems.dosed import DosedInstance
from safebandit.simulation.execution import Progress, Step
from safebandit.simulation.simulate import at_least
from safebandit.studies.doses.play import ROUNDING, Course, Played, course, play
from safebandit.studies.identify.summary import Estimate, mean, share
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd

UNITS = (10_000, 100_000, 1_000_000)
TRIALS = 1_000
# A display is told of progress so often.
TRIALS_A_STEP = 20


class DosePoint(NamedTuple):
    """One system with so many units at most, in shares of trials and in means.

    `wrong`: its answer is not a best arm. `unsafe_answer`: the dose that it answers has a risk above alpha. `unsafe`:
    any unit got such a dose. `broken`: any unit got a dose of more risk than the system promises, which for
    safe-monotonic is alpha + tolerance. Means: units used, those on unsafe doses, and regret per unit. `ended`: it
    ended by itself.
    """

    system: str
    units: int
    wrong: Estimate
    unsafe_answer: Estimate
    unsafe: Estimate
    broken: Estimate
    used: Estimate
    unsafe_units: Estimate
    regret: Estimate
    ended: Estimate

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {key: value.to_dict() if isinstance(value, Estimate) else value for key, value in self._asdict().items()}


@dataclass(frozen=True)
class DoseStudy:
    """What every system came to, and its first trial as an example."""

    instance: DosedInstance
    systems: tuple[str, ...]
    trials: int
    seed: int
    points: list[DosePoint]
    examples: dict[str, Played]

    def of(self, system: str) -> list[DosePoint]:
        """The points of one system, by their units."""
        return [each for each in self.points if each.system == system]

    def table(self) -> pd.DataFrame:
        """Every system with each number of units (rows) and its numbers, each with its standard error behind it."""
        import pandas as pd

        rows = []
        for each in self.points:
            row: dict[str, Any] = {}
            for name, value in each._asdict().items():
                row |= {name: value.value, f"{name}_se": value.error} if isinstance(value, Estimate) else {name: value}
            rows.append(row)
        return pd.DataFrame(rows).set_index(["system", "units"])

    def to_dict(self) -> dict[str, Any]:
        """Every number, and all that is needed to run it again; the same bytes for the same seed."""
        return {
            "version": __version__,
            "instance": self.instance.to_dict(),
            "safe_doses": self.instance.safe_doses.tolist(),
            "values": self.instance.values.tolist(),
            "best": self.instance.arms[self.instance.best],
            "trials": self.trials,
            "seed": self.seed,
            "points": [each.to_dict() for each in self.points],
        }

    def write(self, folder: str | Path) -> list[Path]:
        """Write doses.json and both pictures as PNG and SVG, and return the paths of the pictures."""
        from safebandit.simulation.plots import save
        from safebandit.studies.doses.figures import errors, ladders

        folder = Path(folder)
        write_text(folder / "doses.json", json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n")
        pictures = {"ladders": ladders, "errors": errors}
        return [save(draw(self), folder / "figures" / name) for name, draw in pictures.items()]


def identify_doses(
    instance: DosedInstance,
    *,
    systems: Sequence[str] | str | None = None,
    units: int | Sequence[int] = UNITS,
    trials: int = TRIALS,
    seed: int = 1,
    progress: Progress | None = None,
) -> DoseStudy:
    """Ask systems which arm is best at a safe dose, and how much of it; error, cost and harm against units.

    Systems: `safe-linear:delta=0.1`, `safe-monotonic:delta=0.1,tolerance=0.1`, `uniform:doses=10`; all that apply
    unless given. Every trial has random numbers of its own, so the first ones stay when more are played.

    >>> two = DosedInstance.linear([0.9, 0.3], [0.3, 0.3], alpha=0.3)
    >>> found = identify_doses(two, systems="safe-linear", units=20_000, trials=50)
    >>> found.points[0].wrong.value, found.points[0].unsafe.value
    (0.0, 0.0)
    """
    named = tuple([systems] if isinstance(systems, str) else default_systems(instance) if systems is None else systems)
    if not named or len(set(named)) != len(named):
        raise SimulationError(f"systems must be one or more, each once, got {', '.join(named) or 'none'}")
    made = {name: read_system(name, instance) for name in named}
    sizes = sorted({at_least("units", each, 1, "units of a trial") for each in _as_list(units)})
    if not sizes:
        raise SimulationError("units must be one number or more, got none")
    trials = at_least("trials", trials, 2, "trials of every system, for a standard error")
    seed = at_least("seed", seed, 0, "a whole number that fixes all random numbers")
    points: list[DosePoint] = []
    examples: dict[str, Played] = {}
    total = len(made) * trials * sizes[-1]
    for number, (name, system) in enumerate(made.items()):
        courses: list[list[Course]] = [[] for _ in sizes]
        for trial in range(trials):
            if progress is not None and trial % TRIALS_A_STEP == 0:
                progress(Step((number * trials + trial) * sizes[-1], total, name))
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(trial,)))
            played = play(system, instance, sizes[-1], rng)
            examples.setdefault(name, played)
            for cut, size in zip(courses, sizes, strict=True):
                cut.append(course(played, instance, size))
        ceiling = instance.alpha + getattr(system, "tolerance", 0.0)
        points += [_point(name, size, cut, instance.alpha, ceiling) for cut, size in zip(courses, sizes, strict=True)]
    if progress is not None:
        progress(Step(total, total, "done"))
    return DoseStudy(instance, named, trials, seed, points, examples)


def default_systems(instance: DosedInstance) -> tuple[str, ...]:
    """Every system that applies to an instance."""
    return tuple(name for name in SYSTEMS if name != "safe-linear" or instance.proportional)


def read_system(text: str, instance: DosedInstance) -> Any:
    """A system by its text; one whose promise has no meaning on the instance is refused."""
    system = call_by_name(text, SYSTEMS, "system", PolicyError).checked()
    if isinstance(system, SafeLinear) and not instance.proportional:
        raise PolicyError("safe-linear needs rewards and risks proportional to the dose; take safe-monotonic")
    tolerance = getattr(system, "tolerance", 0.0)
    if not tolerance < 1.0 - instance.alpha:
        raise PolicyError(f"tolerance must be below 1 - alpha ({1 - instance.alpha:g}), got {tolerance:g}")
    return system


def _as_list(units: int | Sequence[int]) -> list[Any]:
    return list(units) if isinstance(units, list | tuple | range) else [units]


def _point(name: str, size: int, cut: list[Course], alpha: float, ceiling: float) -> DosePoint:
    highest = np.array([each.highest_risk for each in cut])
    return DosePoint(
        name, size,
        wrong=share([each.wrong for each in cut]),
        unsafe_answer=share([each.unsafe_answer for each in cut]),
        unsafe=share(highest > alpha + ROUNDING),
        broken=share(highest > ceiling + ROUNDING),
        used=mean([each.used for each in cut]),
        unsafe_units=mean([each.unsafe_units for each in cut]),
        regret=mean([each.regret for each in cut]),
        ended=share([each.ended for each in cut]),
    )  # fmt: skip
