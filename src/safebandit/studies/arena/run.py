"""Run the arena: play the collection, judge the policies, write the leaderboard."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safebandit.files import write_text
from safebandit.simulation.execution import Progress, part_of
from safebandit.simulation.simulate import Policies, at_least
from safebandit.studies.arena.leaderboard import (
    Overall,
    Standing,
    judge,
    overall,
    overall_to_dict,
    standing_to_dict,
)
from safebandit.studies.arena.plan import BASELINE, ArenaSettings, make_plan, read_settings
from safebandit.studies.arena.resampling import CONFIDENCE, RESAMPLES, RESAMPLING_SEED
from safebandit.studies.play import play_or_load
from safebandit.studies.saved import SavedResults, Say
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Board:
    """What an arena came to at one size: a standing per instance, and the leaderboard over all of them."""

    units: int
    policies: list[str]
    standings: list[Standing]

    @cached_property
    def leaderboard(self) -> list[Overall]:
        """The policies over all instances, by mean rank."""
        return overall(self.standings, self.policies)

    def table(self) -> pd.DataFrame:
        """One row per policy that played, by mean rank; ratios of regret and of unsafe plays are to the baseline."""
        import pandas as pd

        shown = ("mean_rank", "mean_ratio", "q99_ratio", "unsafe_ratio", "unsafe_share", "better", "worse", "instances")
        rows = {row.policy: [getattr(row, name) for name in shown] for row in self.leaderboard if row.instances}
        table = pd.DataFrame.from_dict(rows, orient="index", columns=list(shown))
        table.index.name = "policy"
        return table

    @property
    def unplayed(self) -> dict[str, str]:
        """The policies that played no instance, and why."""
        first = self.standings[0].task.cannot
        return {row.policy: first[row.policy] for row in self.leaderboard if not row.instances}

    def to_dict(self) -> dict[str, Any]:
        """Every number of the tables of this size."""
        return {
            "units": self.units,
            "leaderboard": [overall_to_dict(row) for row in self.leaderboard],
            "instances": [standing_to_dict(one) for one in self.standings],
        }


@dataclass(frozen=True)
class Arena:
    """What an arena came to: a board per size, smallest first, and whether it was interrupted."""

    settings: ArenaSettings
    policies: list[str]
    boards: list[Board]
    seconds: float
    interrupted: bool = False

    @property
    def standings(self) -> list[Standing]:
        """The standings of all sizes."""
        return [one for board in self.boards for one in board.standings]

    def to_dict(self) -> dict[str, Any]:
        """Every number of the tables, and all that is needed to run it again; the same bytes for the same seed."""
        settings = {**self.settings.__dict__, "units": list(self.settings.units), "policies": self.policies}
        return {
            "version": __version__,
            "settings": settings,
            "interrupted": self.interrupted,
            "method": {"confidence": CONFIDENCE, "resamples": RESAMPLES, "resampling_seed": RESAMPLING_SEED},
            "sizes": [board.to_dict() for board in self.boards],
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
    units: int | Sequence[int] | None = None,
    baseline: str = BASELINE,
    trials: int | Sequence[int] | None = None,
    seed: int = 1,
    quick: bool = False,
    out: str | Path | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Arena:
    """Play policies on the collection, or on some of its instances, in pairs, and compare them with the baseline.

    They play at every size of `units`, from 36 to 50,000 unless some are named, and so many `trials`: one number, or
    one per size. All policies of the catalogue play
    unless some are named, but for those that are not made for a size. With `out`, results are kept in its folder
    `runs`, by size, and not played again; `say` is told of those that are, as other sources made them or they have
    another seed. Ctrl-C keeps the instances that were finished.

    >>> arena = run_arena(["dominated-two"], ["docb"], units=[36, 100], trials=5)
    >>> [(board.units, sorted(row.policy for row in board.leaderboard)) for board in arena.boards]
    [(36, ['docb', 'tsbu']), (100, ['docb', 'tsbu'])]
    """
    began = time.perf_counter()
    settings = read_settings(units, baseline=baseline, trials=trials, seed=seed, quick=quick)
    tasks = make_plan(instances, policies, settings)
    if workers is not None:
        at_least("workers", workers, 1, "threads")
    runs = None if out is None else Path(out) / "runs"
    done, total = 0, sum(task.simulation.rounds for task in tasks)
    standings: list[Standing] = []
    interrupted = False
    for task in tasks:
        try:
            result = play_or_load(
                task.simulation, seed=seed, workers=workers, executor=executor,
                saved=SavedResults(None if runs is None else runs / str(task.units), say),
                progress=part_of(progress, done, total, f"{task.units:,} units, {task.entry.name}"),
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
    arena = Arena(settings, labels, _boards(standings, labels), time.perf_counter() - began, interrupted)
    if out is not None:
        arena.write(out)
    return arena


def _boards(standings: Sequence[Standing], labels: list[str]) -> list[Board]:
    by_size = itertools.groupby(standings, key=lambda one: one.task.units)
    return [Board(units, labels, list(at_size)) for units, at_size in by_size]
