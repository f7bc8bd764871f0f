"""Reproduce the paper: play its simulations, draw its figures, judge its claims, write the report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safebandit.errors import SimulationError, suggest
from safebandit.simulation.execution import Progress
from safebandit.simulation.results import Result
from safebandit.simulation.simulate import at_least
from safebandit.studies.paper.claims import CLAIMS, Claim
from safebandit.studies.paper.figures import FIGURES
from safebandit.studies.paper.looks import Judgement, look_at, next_trials
from safebandit.studies.paper.report import Material, write_report
from safebandit.studies.paper.runs import RUNS, play
from safebandit.studies.saved import Say

QUICK = 0.1
# Where an undecided claim is given up: the last look then takes minutes, and one more would take twice as long.
MOST = 10_000


@dataclass(frozen=True)
class Reproduction:
    """Where the report is, what was found, and per figure the rounds and the rounds per second of one core."""

    report: Path
    judgements: list[Judgement]
    speeds: dict[str, tuple[int, float]]
    interrupted: bool = False


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


def asked_trials(runs: Sequence[str], *, quick: bool = False, trials: int | None = None) -> dict[str, int]:
    """How many trials each simulation is asked to have: the paper's, a tenth of them, or so many."""
    if trials is not None:
        if quick:
            raise SimulationError("quick means a tenth of the paper's trials, and trials says how many; give one")
        trials = at_least("trials", trials, 2, "an interval needs as many")
        return dict.fromkeys(runs, trials)
    return {run: max(2, round(RUNS[run].trials * QUICK)) if quick else RUNS[run].trials for run in runs}


def reproduce(
    figures: Sequence[str] = (),
    *,
    out: Path,
    seed: int = 1,
    quick: bool = False,
    trials: int | None = None,
    until_decided: bool = False,
    most: int = MOST,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Reproduction:
    """Reproduce some figures, or all, and the claims that their simulations bear on; `say` is told as by `play`.

    With `until_decided`, simulations of undecided claims get twice the trials, and again, while none has more than
    `most`; Ctrl-C then ends with what the last look found.
    """
    began = time.perf_counter()
    if until_decided and (quick or trials is not None):
        raise SimulationError("until_decided begins with the paper's trials; leave quick and trials out")
    most = at_least("most", most, 2, "trials of a simulation")
    names = chosen_figures(figures)
    asked = asked_trials(needed_runs(names), quick=quick, trials=trials)
    claims = [claim for claim in CLAIMS if claim.figures[0] in names and set(claim.runs) <= set(asked)]
    where: dict[str, Any] = {"folder": out / "runs", "seed": seed, "workers": workers, "executor": executor}
    where |= {"progress": progress, "say": say}
    results = play(asked, **where)
    interrupted = until_decided and not _decide(claims, results, asked, most, where)
    judgements = [look_at(claim, results, asked, again=until_decided) for claim in claims]
    shown = [FIGURES[name] for name in names]
    pictures = {figure.name: figure.draw(results).save(out / "figures" / figure.name) for figure in shown}
    seconds = time.perf_counter() - began
    material = Material(shown, pictures, judgements, results, asked, until_decided, seed, seconds)
    speeds = {figure.name: _speed([results[run] for run in figure.runs]) for figure in shown}
    return Reproduction(write_report(material, out / "report.html"), judgements, speeds, interrupted)


def _decide(
    claims: Sequence[Claim], results: dict[str, Result], asked: Mapping[str, int], most: int, where: dict[str, Any]
) -> bool:
    """Extend the runs of undecided claims, in place, until none is left or they have the most; False after Ctrl-C."""
    say: Say | None = where["say"]
    while needed := next_trials([look_at(claim, results, asked, again=True) for claim in claims], most):
        if say is not None:
            longest = max(needed.values())
            say(f"undecided claims: {len(needed)} simulations are extended, to at most {longest:,} trials")
        try:
            results |= play(needed, **where)
        except KeyboardInterrupt:
            return False
    return True


def _speed(results: Sequence[Result]) -> tuple[int, float]:
    rounds = sum(result.trials * result.specification.horizon * len(result.policies) for result in results)
    return rounds, rounds / sum(sum(result.seconds.values()) for result in results)
