"""Run the arena: play the collection, judge the policies, write the leaderboard."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safebandit.files import write_text
from safebandit.simulation.execution import Progress, part_of
from safebandit.simulation.simulate import Policies, at_least
from safebandit.studies.arena.leaderboard import (
    CONFIDENCE,
    RESAMPLES,
    RESAMPLING_SEED,
    Overall,
    Standing,
    judge,
    overall,
    overall_to_dict,
    standing_to_dict,
)
from safebandit.studies.arena.plan import BASELINE, ArenaSettings, make_plan
from safebandit.studies.play import play_or_load
from safebandit.studies.saved import SavedResults, Say
from safebandit.version import __version__


@dataclass(frozen=True)
class Arena:
    """What an arena came to: a standing per instance, the leaderboard over all, and whether it was interrupted."""

    settings: ArenaSettings
    policies: list[str]
    standings: list[Standing]
    seconds: float
    interrupted: bool = False

    @property
    def leaderboard(self) -> list[Overall]:
        """The policies over all instances, by mean rank."""
        return overall(self.standings, self.policies)

    def to_dict(self) -> dict[str, Any]:
        """Every number of the tables, and all that is needed to run it again; the same bytes for the same seed."""
        return {
            "version": __version__,
            "settings": {**self.settings.__dict__, "policies": self.policies},
            "interrupted": self.interrupted,
            "method": {"confidence": CONFIDENCE, "resamples": RESAMPLES, "resampling_seed": RESAMPLING_SEED},
            "leaderboard": [overall_to_dict(row) for row in self.leaderboard],
            "instances": [standing_to_dict(one) for one in self.standings],
        }

    def write(self, folder: str | Path) -> Path:
        """Write arena.json, the pictures as PNG and SVG, and the page, and return the path of the page."""
        from safebandit.studies.arena.report import write_report

        folder = Path(folder)
        write_text(folder / "arena.json", json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n")
        return write_report(self, folder)


def run_arena(
    instances: Sequence[str] = (),
    policies: Policies | None = None,
    *,
    baseline: str = BASELINE,
    horizon: int | None = None,
    trials: int | None = None,
    seed: int = 1,
    quick: bool = False,
    out: str | Path | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Arena:
    """Play policies on the collection, or on some of its instances, in pairs, and compare them with the baseline.

    All policies of the catalogue play unless some are named. With `out`, results are kept in its folder `runs` and
    not played again; `say` is told of those that are, as other sources made them or they have another seed or horizon.
    Ctrl-C keeps the instances that were finished.

    >>> arena = run_arena(["dominated-two"], ["docb"], horizon=200, trials=5)
    >>> sorted(row.policy for row in arena.leaderboard)
    ['docb', 'tsbu']
    """
    began = time.perf_counter()
    settings = ArenaSettings(baseline, horizon, trials, seed, quick)
    tasks = make_plan(instances, policies, settings)
    if workers is not None:
        at_least("workers", workers, 1, "threads")
    saved = SavedResults(None if out is None else Path(out) / "runs", say)
    done, total = 0, sum(task.simulation.rounds for task in tasks)
    standings: list[Standing] = []
    interrupted = False
    for task in tasks:
        try:
            result = play_or_load(
                task.simulation, seed=seed, saved=saved, workers=workers, executor=executor,
                progress=part_of(progress, done, total, task.entry.name),
            )  # fmt: skip
        except KeyboardInterrupt:
            interrupted = True
            break
        interrupted = result.interrupted
        if interrupted:
            break
        standings.append(judge(task, result, baseline))
        done += task.simulation.rounds
    if not standings:
        raise KeyboardInterrupt("interrupted before any instance was finished")
    labels = [*tasks[0].policies, *tasks[0].cannot]
    arena = Arena(settings, labels, standings, time.perf_counter() - began, interrupted)
    if out is not None:
        arena.write(out)
    return arena
