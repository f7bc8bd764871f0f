"""Calibrate a design: one or two of its parameters, so that one or two of its characteristics are as they shall be."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from safebandit.errors import StudyError
from safebandit.simulation.simulate import at_least
from safebandit.studies.designs.catalogue import CHARACTERISTICS
from safebandit.studies.designs.cells import SHARE, Cell
from safebandit.studies.designs.estimates import Estimate
from safebandit.studies.designs.parameters import AnyDesign, value_of, with_value
from safebandit.studies.designs.plan import Scenarios, design_for, list_scenarios
from safebandit.studies.designs.run import TRIALS, simulate_cells
from safebandit.studies.designs.search import Found, Range, Search
from safebandit.studies.designs.targets import Target, read_target
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from safebandit.problems.scenario import Scenario

# Where nobody says between which values a chance is looked for.
LIKELY, UNLIKELY = (0.5, 0.9999), (0.0001, 0.5)
# How often two parameters are searched in turn.
ROUNDS = 4


class Tried(NamedTuple):
    """One step of the search: the values tried, over how many trials, why, what came of it, and whether all is met."""

    values: Mapping[str, float]
    trials: int
    why: str
    found: tuple[Estimate, ...]
    met: bool


@dataclass(frozen=True)
class Calibration:
    """A calibrated design, its values, how sure they are, and every step of the search.

    `intervals` are the values of each parameter that the Monte-Carlo error of its target leaves (95 %).
    """

    design: AnyDesign
    values: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    targets: tuple[str, ...]
    found: tuple[Estimate, ...]
    steps: Sequence[Tried]
    trials: int
    seed: int
    seconds: float = 0.0
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """Each value with its interval, what it comes to, and what else is to say."""
        values = [
            f"{path} = {value:.6g} (95 % interval {self.intervals[path][0]:.6g} to {self.intervals[path][1]:.6g})"
            for path, value in self.values.items()
        ]
        met = [
            f"{text}: {one.value:.4g} ± {one.se:.2g} over {self.trials:,} trials"
            for text, one in zip(self.targets, self.found, strict=True)
        ]
        return [*values, *met, *self.remarks]

    def table(self) -> pd.DataFrame:
        """Every step of the search in its order."""
        import pandas as pd

        return pd.DataFrame([self._row(step) for step in self.steps])

    def _row(self, step: Tried) -> dict[str, Any]:
        row: dict[str, Any] = {**step.values, "trials": step.trials, "why": step.why}
        for text, one in zip(self.targets, step.found, strict=True):
            row |= {text: one.value, f"{text}, s.e.": one.se}
        return {**row, "met": step.met}

    def to_dict(self) -> dict[str, Any]:
        """The values, the evidence, and every step, as JSON holds them."""
        design = self.design if isinstance(self.design, str) else self.design.to_dict()
        return {
            "values": dict(self.values),
            "intervals": {path: list(ends) for path, ends in self.intervals.items()},
            "targets": [
                {"target": text, **one._asdict()} for text, one in zip(self.targets, self.found, strict=True)
            ],
            "steps": [
                {**step._asdict(), "values": dict(step.values), "found": [one._asdict() for one in step.found]}
                for step in self.steps
            ],
            "design": design, "trials": self.trials, "seed": self.seed, "version": __version__,
            "remarks": list(self.remarks),
        }  # fmt: skip


def calibrate(
    design: AnyDesign,
    scenarios: Scenarios,
    *,
    set: str | Sequence[str],
    so_that: str | Sequence[str],
    between: Sequence[float] | Sequence[Sequence[float]] | None = None,
    trials: int = TRIALS,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[Tried], None] | None = None,
) -> Calibration:
    """Search one or two parameters of a design so that one or two targets are met, as near to their bounds as can be.

    `set` is a path such as "stop.harm.confidence"; `so_that` a target such as "stopped early[all safe] <= 0.05".
    Every value is tried on the same trials: first few of them on a grid, then all of them near the answer. Two
    parameters are searched in turn, the first for the first target. A second target of one parameter must be met
    where the first is. `progress` is told every step.
    """
    began = time.perf_counter()
    paths, texts = _listed(set), _listed(so_that)
    truths = list_scenarios(scenarios)
    targets = [read_target(text, [each.name for each in truths]) for text in texts]
    if not 1 <= len(paths) <= len(targets) <= 2:
        raise StudyError(
            f"one parameter has one or two targets, and two parameters have two, got {len(paths)} and {len(targets)}; "
            "for the front of two characteristics over several parameters see `safebandit design tune`"
        )
    trials = at_least("trials", trials, 100, "trials at every value")
    ranges = _ranges(design, paths, between)
    bench = Bench(design, truths, targets, at_least("seed", seed, 0, "a seed"), workers, progress)
    values, found = _search(bench, paths, ranges, texts, trials)
    measured = bench.measure(values, trials, "result")
    intervals = {path: (one.low, one.high) for path, one in found.items()}
    made = design
    for path, value in values.items():
        made = with_value(made, path, value)
    _check_all_met(targets, texts, measured, values)
    remarks = tuple(_remarks(bench.steps, found))
    seconds = time.perf_counter() - began
    return Calibration(
        made, values, intervals, tuple(texts), measured, bench.steps, trials, bench.seed, seconds, remarks
    )


@dataclass
class Bench:
    """Where values are tried: every point once for a number of trials, and all of it written down."""

    design: AnyDesign
    scenarios: Sequence[Scenario]
    targets: Sequence[Target]
    seed: int
    workers: int | None
    progress: Callable[[Tried], None] | None
    steps: list[Tried] = field(default_factory=list)
    known: dict[tuple[Any, ...], tuple[Estimate, ...]] = field(default_factory=dict)

    def measure(self, values: Mapping[str, float], trials: int, why: str) -> tuple[Estimate, ...]:
        """What every target's number is at these values, over the first so many trials."""
        key = (*sorted(values.items()), trials)
        if key not in self.known:
            cells = self._play(values, trials)
            found = tuple(target.measure.of(cells) for target in self.targets)
            met = all(target.met(one.value) for target, one in zip(self.targets, found, strict=True))
            self.known[key] = found
            self.steps.append(Tried(dict(values), trials, why, found, met))
            if self.progress is not None:
                self.progress(self.steps[-1])
        return self.known[key]

    def _play(self, values: Mapping[str, float], trials: int) -> dict[str, Cell]:
        design = self.design
        for path, value in values.items():
            design = with_value(design, path, value)
        wanted = {name for target in self.targets for name in target.measure.scenarios}
        some = [each for each in self.scenarios if each.name in wanted]
        plan = [(design_for(design, each), each) for each in some]
        return simulate_cells(plan, trials, self.seed, workers=self.workers)


def _search(
    bench: Bench, paths: Sequence[str], ranges: Mapping[str, Range], texts: Sequence[str], trials: int
) -> tuple[dict[str, float], dict[str, Found]]:
    """The values that meet the targets, and how sure each is."""
    values = {path: within.value(within.place(_inside(bench.design, path, within))) for path, within in ranges.items()}
    found: dict[str, Found] = {}
    for _ in range(ROUNDS if len(paths) > 1 else 1):
        before = dict(values)
        for number, path in enumerate(paths):
            others = {other: value for other, value in values.items() if other != path}
            found[path] = _one(bench, path, ranges[path], number, others, texts[number], trials)
            values[path] = found[path].value
        if values == before or _all_met(bench, values, trials):
            break
    return values, found


def _one(
    bench: Bench, path: str, within: Range, number: int, others: Mapping[str, float], text: str, trials: int
) -> Found:
    target = bench.targets[number]

    def measured(value: float, count: int, why: str) -> Estimate:
        return bench.measure({**others, path: value}, count, why)[number]

    key = target.measure.key
    share = CHARACTERISTICS[key.name].kind == SHARE or key.of.startswith("more than")
    return Search(measured, within, target.sign, target.bound, trials, f'"{text}"', share=share).run()


def _all_met(bench: Bench, values: Mapping[str, float], trials: int) -> bool:
    found = bench.measure(values, trials, "both")
    return all(target.met(one.value) for target, one in zip(bench.targets, found, strict=True))


def _check_all_met(
    targets: Sequence[Target], texts: Sequence[str], found: Sequence[Estimate], values: Mapping[str, float]
) -> None:
    for target, text, one in zip(targets, texts, found, strict=True):
        if not target.met(one.value):
            at = " and ".join(f"{path} = {value:.6g}" for path, value in values.items())
            raise StudyError(
                f'"{text}" cannot be met together with the other target: at {at} it is {one.value:.4g}; '
                "relax one of them"
            )


def _remarks(steps: Sequence[Tried], found: Mapping[str, Found]) -> list[str]:
    """What a reader of the result should know."""
    remarks = [
        f"the number jumps at {path} = {one.value:g}, from {one.measured.value:.4g} to {one.jump:.4g}: it cannot come "
        "nearer to its bound"
        for path, one in found.items()
        if one.jump is not None
    ]
    if len(found) > 1:
        return [*remarks, "two parameters were searched in turn; each interval holds the other parameter fixed"]
    (path,) = found
    grid = sorted((step for step in steps if step.why == "grid"), key=lambda step: step.values[path])
    coarse = [step.met for step in grid if step.trials == grid[0].trials]
    changes = sum(one != other for one, other in itertools.pairwise(coarse))
    if changes > 1:
        remarks.append(f"the target is met in several parts of the range: {changes} borders; this is the highest")
    return remarks


def _listed(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _ranges(design: AnyDesign, paths: Sequence[str], between: Any) -> dict[str, Range]:
    """Where each parameter is looked for: as given, else by what it is now."""
    given: list[Any] = [None] * len(paths)
    if between is not None:
        given = list(between) if hasattr(between[0], "__len__") else [between]
    if len(given) != len(paths):
        raise StudyError(f"give a range for every parameter ({len(paths)}), got {len(given)}")
    return {path: _range(path, value_of(design, path), ends) for path, ends in zip(paths, given, strict=True)}


def _range(path: str, now: float, ends: Any) -> Range:
    whole = isinstance(now, int)
    if ends is None and (whole or not 0.0 < now < 1.0):
        raise StudyError(f"say where to look for {path}, which is {now:g} now: between, from the least to the most")
    low, high = (float(end) for end in ends or (LIKELY if now >= 0.5 else UNLIKELY))
    if not low < high:
        raise StudyError(f"a range goes from the least value to the most, got {low:g} to {high:g} for {path}")
    return Range(low, high, whole)


def _inside(design: AnyDesign, path: str, within: Range) -> float:
    return min(max(value_of(design, path), within.low), within.high)
