"""Studies: a grid of instances x alphas x policies, written down in a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safebandit.errors import StudyError, suggest
from safebandit.problems import Instance, instance_by_name
from safebandit.problems.limits import AnyAlpha, show_alpha
from safebandit.simulation.execution import Progress, part_of
from safebandit.simulation.results import Result
from safebandit.simulation.simulate import at_least, name_policies, simulate

KEYS = ("instances", "alphas", "policies", "horizon", "trials", "seed", "checkpoints", "keep")
DEFAULTS = {"horizon": 10_000, "trials": 100, "seed": 0, "checkpoints": "log", "keep": "trials"}
OF_DATA = ("data", "alpha", "name", "columns", "risks", "missing_risk", "allow_infeasible")
OF_NAMED = ("name", "alpha", "allow_infeasible")
COUNTED = {"horizon": "rounds", "trials": "trials"}


@dataclass(frozen=True, eq=False)
class Study:
    """Every policy on every instance, at the same horizon, trials and seed.

    In TOML:

        horizon = 50_000
        trials = 500
        seed = 1
        policies = ["docb", "tsbu:schedule=theory"]
        alphas = [0.19, 0.21]              # optional; else each instance has its own

        [[instances]]
        name = "drug-trial"                # by name, or your own with
                                           # mu = [...], nu = [...], alpha = ..., or data = "past.csv"

    With several risks nu is a list of rows, and each alpha a number for all risks or a list.
    """

    instances: tuple[Instance, ...]
    policies: Mapping[str, Any]
    horizon: int
    trials: int
    seed: int
    checkpoints: Any
    keep: str = "trials"

    @staticmethod
    def load(path: str | Path, **overrides: Any) -> Study:
        """Read a study from a TOML file; keywords take the place of what the file says."""
        path = Path(path)
        return Study.from_dict({**read_toml(path), **overrides}, path.parent)

    @staticmethod
    def from_dict(document: Mapping[str, Any], folder: Path = Path()) -> Study:
        """A study from a mapping of the same shape; data files are looked for below `folder`."""
        for key in document:
            if key not in KEYS:
                raise StudyError(f'a study has no key "{key}"; {suggest(key, KEYS)}')
        for key in ("instances", "policies"):
            if not document.get(key):
                raise StudyError(f"a study needs at least one of {key}; see `safebandit {key}`")
        alphas = document.get("alphas") or [None]
        instances = tuple(
            instance_from_entry(entry, alpha, folder) for entry in _listed(document["instances"]) for alpha in alphas
        )
        settings = {key: document.get(key, default) for key, default in DEFAULTS.items()}
        settings |= {key: at_least(key, settings[key], 1, f"{meaning} to play") for key, meaning in COUNTED.items()}
        return Study(instances, name_policies(document["policies"]), **settings)

    def run(
        self,
        *,
        workers: int | None = None,
        executor: Executor | None = None,
        resume: str | Path | None = None,
        progress: Progress | None = None,
    ) -> list[Result]:
        """Simulate every cell of the grid; Ctrl-C keeps what was finished."""
        results: list[Result] = []
        rounds = self.horizon * self.trials * len(self.policies)
        for number, instance in enumerate(self.instances):
            name = f"{instance.name} at alpha {show_alpha(instance.alpha)}" if len(self.instances) > 1 else ""
            tell = part_of(progress, number * rounds, len(self.instances) * rounds, name)
            try:
                result = simulate(
                    instance, self.policies, horizon=self.horizon, trials=self.trials, seed=self.seed,
                    checkpoints=self.checkpoints, keep=self.keep, workers=workers, executor=executor, resume=resume,
                    progress=tell,
                )  # fmt: skip
            except KeyboardInterrupt:
                if not results:
                    raise
                break
            results.append(result)
            if result.interrupted:
                break
        return results


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    if not path.is_file():
        raise StudyError(f"there is no file {path}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise StudyError(f"{path} is not a TOML file: {problem}") from None


def _listed(entries: Any) -> list[Any]:
    return [entries] if isinstance(entries, str | Mapping) else list(entries)


def instance_from_entry(entry: Any, alpha: AnyAlpha | None = None, folder: Path = Path()) -> Instance:
    """An instance by its name, by its parameters, or from a file of past outcomes."""
    if isinstance(entry, str):
        return instance_by_name(entry, alpha)
    if not isinstance(entry, Mapping):
        raise StudyError(f"an instance is a name or a table of parameters, got {entry!r}")
    entry = dict(entry)
    if alpha is not None:
        entry["alpha"] = alpha
    if "data" in entry:
        _check_keys("an instance from data", entry, OF_DATA)
        if "alpha" not in entry:
            raise StudyError(f"the instance from {entry['data']} needs alpha, the tolerated mean risk: alpha=0.2")
        path = folder / entry.pop("data")
        return Instance.from_data(path, entry.pop("alpha"), **entry)
    if isinstance(entry.get("contexts"), str):
        entry["contexts"] = str(folder / entry["contexts"])
    if "name" in entry and not {"mu", "nu", "outcomes", "kind"} & set(entry):
        _check_keys(f'the named instance "{entry["name"]}"', entry, OF_NAMED)
        named = replace(instance_by_name(entry["name"]), allow_infeasible=bool(entry.get("allow_infeasible")))
        return named.with_alpha(entry["alpha"]) if "alpha" in entry else named
    return Instance.from_dict(entry)


def _check_keys(what: str, entry: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in entry:
        if key not in known:
            raise StudyError(f'{what} has no key "{key}"; {suggest(key, known)}')
