"""The simulations behind the paper's figures, at its own settings; each is saved when done and taken up again."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from safebandit.errors import SafebanditError
from safebandit.problems import Instance, instance_by_name
from safebandit.simulation.chunks import clear
from safebandit.simulation.execution import Progress, Step
from safebandit.simulation.results import Result
from safebandit.simulation.simulate import extend, simulate

THREE = ("docb", "topsi", "tsbu")
MIXTURES = ("docb", "bwcr", "pess")
SCHEDULES = ("tsbu", "tsbu:schedule=theory")
SLACKS = tuple(2.0**i for i in range(-3, 4))
GAPS = range(1, 11)
ALPHA_STEPS = range(10)


@dataclass(frozen=True)
class Run:
    """One simulation: a problem, its policies, how long and how often."""

    name: str
    instance_name: str
    policies: tuple[str, ...]
    horizon: int
    trials: int
    alpha: float | None = None

    @cached_property
    def instance(self) -> Instance:
        """The problem itself."""
        return instance_by_name(self.instance_name, self.alpha)

    def rounds(self, share: float = 1.0) -> int:
        """How many rounds it takes, at a share of the trials."""
        return self.horizon * self.count(share) * len(self.policies)

    def count(self, share: float) -> int:
        """How many trials, at a share of the paper's."""
        return max(2, round(self.trials * share))


def _runs() -> dict[str, Run]:
    listed = [
        Run("case-1", "policy-case-1", MIXTURES, 50_000, 100),
        Run("case-2", "policy-case-2", MIXTURES, 50_000, 100),
        Run("drug-21", "drug-trial", THREE, 50_000, 500, 0.21),
        Run("drug-19", "drug-trial", THREE, 50_000, 100, 0.19),
        Run("schedules", "bayes-schedules", SCHEDULES, 50_000, 500),
        Run("slack", "naive-sampling", tuple(f"slack-ts:slack={c:g}" for c in SLACKS), 10_000, 200, 0.5),
    ]
    listed += [
        Run(f"gaps-{size}-{i}", f"gaps-{size}:i={i}", THREE, 20_000, 100) for size in ("large", "small") for i in GAPS
    ]
    listed += [Run(f"naive-{i}", "naive-sampling", ("naive-ts",), 10_000, 200, (25 + i) / 50) for i in ALPHA_STEPS]
    return {run.name: run for run in listed}


RUNS = _runs()


def play(
    names: list[str],
    *,
    folder: Path,
    seed: int,
    share: float = 1.0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> dict[str, Result]:
    """Play the named runs, or load what an earlier call saved; Ctrl-C keeps what is finished for the next time."""
    total = sum(RUNS[name].rounds(share) for name in names)
    done = 0
    results = {}
    for name in names:
        run = RUNS[name]
        results[name] = _play_one(
            run, folder, seed=seed, share=share, workers=workers, executor=executor,
            progress=_shifted(progress, done, total),
        )  # fmt: skip
        done += run.rounds(share)
        if results[name].interrupted:
            raise KeyboardInterrupt
    return results


def _play_one(
    run: Run,
    folder: Path,
    *,
    seed: int,
    share: float,
    workers: int | None,
    executor: Executor | None,
    progress: Progress | None,
) -> Result:
    path, chunks = folder / f"{run.name}.parquet", folder / f"{run.name}.chunks"
    trials = run.count(share)
    kept = _kept(run, path, seed)
    if kept is not None and kept.trials == trials:
        return kept
    if kept is not None and kept.trials < trials:
        result = extend(
            kept, trials=trials, workers=workers, executor=executor, resume=chunks, progress=progress
        )  # fmt: skip
    else:
        result = simulate(
            run.instance, run.policies, horizon=run.horizon, trials=trials, seed=seed, checkpoints="linear",
            workers=workers, executor=executor, resume=chunks, progress=progress,
        )  # fmt: skip
    result.save(path)
    if not result.interrupted:
        clear(chunks)
    return result


def _kept(run: Run, path: Path, seed: int) -> Result | None:
    """What was saved, if it is this run: same problem, policies, horizon, seed and version."""
    from safebandit.version import __version__

    if not path.is_file():
        return None
    try:
        result = Result.load(path)
    except SafebanditError:
        return None
    made = result.specification
    same = (made.instance.to_dict(), made.horizon, made.seed, tuple(made.policies), made.version)
    wanted = (run.instance.to_dict(), run.horizon, seed, run.policies, __version__)
    return result if same == wanted else None


def _shifted(progress: Progress | None, done: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda step: progress(Step(done + step.done, total, step.what))
