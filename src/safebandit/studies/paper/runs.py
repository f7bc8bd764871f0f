"""The simulations behind the paper's figures, at its own settings; each is saved when done and taken up again."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from safebandit.problems import Instance, instance_by_name
from safebandit.simulation.execution import Progress, part_of
from safebandit.simulation.results import Result
from safebandit.simulation.simulate import checkpoint_times, name_policies
from safebandit.studies.play import Simulation, play_or_load
from safebandit.studies.saved import SavedResults, Say

THREE = ("docb", "topsi", "tsbu")
MIXTURES = ("docb", "bwcr", "pess")
SCHEDULES = ("tsbu", "tsbu:schedule=theory")
SLACKS = tuple(2.0**i for i in range(-3, 4))
GAPS = range(1, 11)
# The levels that the lemmas are about; these runs are ours, for the bounds that are true for every T.
THEORY = ("docb:level=theory", "topsi:level=theory", "tsbu:schedule=proof")
THEORY_RUNS = tuple(f"theory-{name}" for name in ("case-1", "case-2", "drug-21", "drug-19", "schedules"))
ALPHA_STEPS = range(10)
# Means come to a third of their bounds at most: few trials tell.
THEORY_TRIALS = 40


@dataclass(frozen=True)
class PaperRun:
    """One simulation: a problem, its policies, how long and how often; the paper's, or ours for a claim."""

    name: str
    instance_name: str
    policies: tuple[str, ...]
    horizon: int
    trials: int
    alpha: float | None = None
    papers: bool = True

    @cached_property
    def instance(self) -> Instance:
        """The problem itself."""
        return instance_by_name(self.instance_name, self.alpha)

    def simulation(self, trials: int | None = None) -> Simulation:
        """What is simulated, with the paper's trials or so many."""
        times = checkpoint_times("linear", self.horizon).tolist()
        policies = name_policies(self.policies)
        return Simulation(self.name, self.instance, policies, self.horizon, trials or self.trials, times)


def _runs() -> dict[str, PaperRun]:
    listed = [
        PaperRun("case-1", "policy-case-1", MIXTURES, 50_000, 100),
        PaperRun("case-2", "policy-case-2", MIXTURES, 50_000, 100),
        PaperRun("drug-21", "drug-trial", THREE, 50_000, 500, 0.21),
        PaperRun("drug-19", "drug-trial", THREE, 50_000, 100, 0.19),
        PaperRun("schedules", "bayes-schedules", SCHEDULES, 50_000, 500),
        PaperRun("slack", "naive-sampling", tuple(f"slack-ts:slack={c:g}" for c in SLACKS), 10_000, 200, 0.5),
    ]
    listed += [
        PaperRun(f"gaps-{size}-{i}", f"gaps-{size}:i={i}", THREE, 20_000, 100)
        for size in ("large", "small")
        for i in GAPS
    ]
    listed += [PaperRun(f"naive-{i}", "naive-sampling", ("naive-ts",), 10_000, 200, (25 + i) / 50) for i in ALPHA_STEPS]
    papers = {f"theory-{run.name}": run for run in listed}
    listed += [
        replace(papers[name], name=name, policies=THEORY, trials=THEORY_TRIALS, papers=False) for name in THEORY_RUNS
    ]
    return {run.name: run for run in listed}


RUNS = _runs()


def play(
    trials: Mapping[str, int],
    *,
    folder: Path,
    seed: int,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> dict[str, Result]:
    """Play so many trials of each run, or load what an earlier call saved; Ctrl-C keeps what is finished.

    A saved run that is shorter is extended; one that is longer is used as it is. `say` is told of saved runs that
    other sources made, or that are of another seed: these are played again.
    """
    wanted = [RUNS[name].simulation(count) for name, count in trials.items()]
    saved = SavedResults(folder, say)
    done, total = 0, sum(one.rounds for one in wanted)
    results = {}
    for one in wanted:
        tell = part_of(progress, done, total)
        result = play_or_load(
            one, seed=seed, saved=saved, longer=True, workers=workers, executor=executor, progress=tell
        )
        if result.interrupted:
            raise KeyboardInterrupt
        results[one.name] = result
        done += one.rounds
    return results
