"""Reproduce the paper: play its simulations, draw its figures, judge its claims, write the report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from safebandit.errors import SimulationError, suggest
from safebandit.simulation.execution import Progress
from safebandit.simulation.results import Result
from safebandit.studies.paper.claims import CLAIMS, Judgement
from safebandit.studies.paper.figures import FIGURES
from safebandit.studies.paper.report import Material, write_report
from safebandit.studies.paper.runs import RUNS, play
from safebandit.studies.saved import Say

QUICK = 0.1


@dataclass(frozen=True)
class Reproduction:
    """Where the report is, what was found, and per figure the rounds and the rounds per second of one core."""

    report: Path
    judgements: list[Judgement]
    speeds: dict[str, tuple[int, float]]


def chosen_figures(names: Sequence[str]) -> list[str]:
    """Figures by name, in the paper's order; all of them if none is named."""
    for name in names:
        if name not in FIGURES:
            raise SimulationError(f'unknown figure "{name}"; {suggest(name, FIGURES)}')
    return [name for name in FIGURES if not names or name in names]


def needed_runs(figures: Sequence[str]) -> list[str]:
    """The simulations that figures show, and those of ours that only claims about them need."""
    wanted = {run for name in figures for run in FIGURES[name].runs}
    wanted |= {run for claim in CLAIMS if claim.figures[0] in figures for run in claim.runs if not RUNS[run].papers}
    return [name for name in RUNS if name in wanted]


def reproduce(
    figures: Sequence[str] = (),
    *,
    out: Path,
    seed: int = 1,
    quick: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Reproduction:
    """Reproduce some figures, or all, and the claims that their simulations bear on; `say` is told as by `play`."""
    began = time.perf_counter()
    share = QUICK if quick else 1.0
    names = chosen_figures(figures)
    results = play(
        needed_runs(names), folder=out / "runs", seed=seed, share=share, workers=workers, executor=executor,
        progress=progress, say=say,
    )  # fmt: skip
    pictures = {name: FIGURES[name].draw(results).save(out / "figures" / name) for name in names}
    judgements = [
        claim.judge(results) for claim in CLAIMS if claim.figures[0] in names and set(claim.runs) <= set(results)
    ]
    material = Material(
        [FIGURES[name] for name in names], pictures, judgements, results, seed, share, time.perf_counter() - began
    )
    speeds = {name: _speed([results[run] for run in FIGURES[name].runs]) for name in names}
    return Reproduction(write_report(material, out / "report.html"), judgements, speeds)


def _speed(results: Sequence[Result]) -> tuple[int, float]:
    rounds = sum(result.trials * result.specification.horizon * len(result.policies) for result in results)
    return rounds, rounds / sum(sum(result.seconds.values()) for result in results)
