"""Design files: a design in TOML, designs to compare it with, scenarios, and how many trials to simulate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safebandit.core.naming import read_number, split_call
from safebandit.errors import DesignError, InstanceError, SafebanditError, at_key, suggest
from safebandit.problems.drawn import random_scenarios
from safebandit.problems.scenario import Scenario, check_keys
from safebandit.trials.design import FILE_KEYS, Design
from safebandit.trials.designs import design_from_text
from safebandit.trials.toml import located, read_toml

USUAL_TRIALS, MOST_TRIALS = 10_000, 10**7
# The largest file that is read: a design is a few hundred lines.
MOST_BYTES = 10**6
# What designs by text take from the file where they do not say it themselves.
SHARED = ("alpha", "risks", "units", "cohort", "rewarded", "ordered", "control", "least_reward")
_DATA_KEYS = ("data", "columns", "risks", "missing_risk_rows")
_DRAWN_KEYS = ("law", "count", "seed")


@dataclass(frozen=True)
class DesignFile:
    """What a design file says: its design, others by text, scenarios with the design's arms, trials and a seed."""

    design: Design
    compare: dict[str, Design]
    scenarios: tuple[Scenario, ...]
    trials: int = USUAL_TRIALS
    seed: int = 0

    @property
    def designs(self) -> dict[str, Design]:
        """Every design by its title or its text: the file's own first."""
        return {self.design.title or "design": self.design, **self.compare}

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return {
            **self.design.to_dict(),
            "compare": list(self.compare),
            "scenario": [scenario.to_dict() for scenario in self.scenarios],
            "simulate": {"trials": self.trials, "seed": self.seed},
        }


def read_design_file(path: Path | str) -> DesignFile:
    """A design file from disk; a mistake is told with the file, the line and the key."""
    place = Path(path)
    try:
        raw = place.read_bytes()
    except OSError as problem:
        raise DesignError(f"{problem.strerror}: {place}") from None
    if len(raw) > MOST_BYTES:
        raise DesignError(
            f"{place.name} must have at most {MOST_BYTES:,} bytes, got {len(raw):,}; is it a design file?"
        )
    try:
        return parse_design_file(raw.decode("utf-8-sig"), folder=place.parent)
    except UnicodeDecodeError as problem:
        raise DesignError(f"{place.name} must be UTF-8, byte {problem.start} is not; save it as UTF-8") from None
    except SafebanditError as problem:
        raise DesignError(f"{place.name}, {problem}") from None


def parse_design_file(text: str, *, folder: Path | None = None) -> DesignFile:
    """The text of a design file; past data are read from `folder`, and refused where there is none."""
    document = read_toml(text)
    with located(text):
        own = {key: value for key, value in document.items() if key not in FILE_KEYS}
        design = Design.from_dict(own, beside=FILE_KEYS)
        trials, seed = _read_simulate(document.get("simulate", {}))
        return DesignFile(
            design, _read_compare(document.get("compare", []), design),
            _read_scenarios(document.get("scenario", []), design, folder), trials, seed,
        )  # fmt: skip


def _read_compare(texts: Any, design: Design) -> dict[str, Design]:
    shared = {key: getattr(design, key) for key in SHARED}
    with at_key("compare"):
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise DesignError(f'compare must be a list of designs by text, such as ["boin:target=0.3"], got {texts!r}')
        if len(set(texts)) != len(texts):
            raise DesignError("each design is compared once; leave the second out")
        return {text: design_from_text(text, arms=design.arms, defaults=shared) for text in texts}


def _read_scenarios(tables: Any, design: Design, folder: Path | None) -> tuple[Scenario, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        with at_key("scenario"):
            raise DesignError("scenarios are tables, each with a heading [[scenario]]")
    scenarios: list[Scenario] = []
    for number, table in enumerate(tables, 1):
        with at_key(f"scenario[{number}]"):
            read = [design.fit(scenario) for scenario in _read_scenario(table, design, folder)]
            for name in {scenario.name for scenario in read} & {scenario.name for scenario in scenarios}:
                raise DesignError(f'names of scenarios must differ, got "{name}" twice; give one another name')
            scenarios += read
    return tuple(scenarios)


def _read_scenario(table: Mapping[str, Any], design: Design, folder: Path | None) -> list[Scenario]:
    """One scenario, or those that a law gives."""
    if "data" in table:
        return [_from_data(table, folder)]
    if "law" in table:
        check_keys(table, _DRAWN_KEYS)
        rest = {key: value for key, value in table.items() if key not in (*_DRAWN_KEYS, "name")}
        law = str(table["law"])
        if "arms" not in split_call(law, InstanceError)[1]:
            law += f"{',' if ':' in law else ':'}arms={len(design.arms)}"
        return random_scenarios(law, table.get("count", 10), table.get("seed", 0), **rest)
    return [Scenario.from_dict(table, arms=design.arms)]


def _from_data(table: Mapping[str, Any], folder: Path | None) -> Scenario:
    if folder is None:
        with at_key("data"):
            raise DesignError("past data are read beside a design file only; give mu and nu here")
    check_keys(table, _DATA_KEYS)
    data = table["data"]
    if not isinstance(data, str):
        with at_key("data"):
            raise DesignError(f'data must name a file, such as "past.csv", got {data!r}')
    return Scenario.from_data(folder / data, **{key: value for key, value in table.items() if key != "data"})


def _read_simulate(table: Any) -> tuple[int, int]:
    with at_key("simulate"):
        if not isinstance(table, Mapping):
            raise DesignError(f"simulate is a table with trials and seed, got {table!r}")
        known = {"trials": (USUAL_TRIALS, 1, MOST_TRIALS), "seed": (0, 0, 2**63 - 1)}
        for key in table:
            if key not in known:
                with at_key(key):
                    raise DesignError(f'simulate has no key "{key}"; {suggest(key, known)}')
        return (_whole(table, "trials", known), _whole(table, "seed", known))


def _whole(table: Mapping[str, Any], key: str, known: Mapping[str, tuple[int, int, int]]) -> int:
    usual, least, most = known[key]
    with at_key(key):
        number = int(read_number(key, table.get(key, usual), int, DesignError))
        if not least <= number <= most:
            raise DesignError(f"{key} must lie between {least} and {most:,}, got {number}")
        return number
