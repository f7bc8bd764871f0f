"""A run as it is kept: what was measured, when, on what, and how it differs from the run before."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from speed.spread import Spread
from speed.sweeps import Cell

FORMAT = 2
CELLS = ("limit", "arms", "horizons")
SECTIONS = (*CELLS, "machine", "designs", "linear", "analysis", "service")
# The median deviation of normal noise in its standard deviations; how many of those are far; and no less than this.
NORMAL, FAR, LEAST = 1.4826, 4.0, 0.1


@dataclass(frozen=True)
class Run:
    """All that one run measured: the bare loop, cells by arms and by horizon, figures of the machine and of designs."""

    date: str
    computer: Mapping[str, str | int]
    settings: Mapping[str, Any]
    limit: Sequence[Cell] = field(default_factory=list)
    arms: Sequence[Cell] = field(default_factory=list)
    horizons: Sequence[Cell] = field(default_factory=list)
    machine: Mapping[str, Spread] = field(default_factory=dict)
    designs: Mapping[str, Spread] = field(default_factory=dict)
    linear: Mapping[str, Spread] = field(default_factory=dict)
    analysis: Mapping[str, Spread] = field(default_factory=dict)
    service: Sequence[Mapping[str, Any]] = field(default_factory=list)
    growth: Sequence[float] = field(default_factory=list)
    long: Mapping[str, float] = field(default_factory=dict)
    instructions: Mapping[str, float] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Keep this run, and the one that was there beside it as `...-previous.json`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            path.replace(previous(path))
        path.write_text(json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n", encoding="utf-8")


def previous(path: Path) -> Path:
    """Where the run before is kept."""
    return path.with_name(f"{path.stem}-previous.json")


def read(path: Path) -> Run | None:
    """A kept run; None where there is none, or one of another format."""
    if not path.is_file():
        return None
    document = json.loads(path.read_text(encoding="utf-8"))
    if document.pop("format", None) != FORMAT:
        return None
    for name in CELLS:
        document[name] = [_cell(plain) for plain in document[name]]
    for name in ("machine", "designs", "linear", "analysis"):
        document[name] = {each: Spread(**plain) for each, plain in document.get(name, {}).items()}
    return Run(**document)


def _cell(plain: dict[str, Any]) -> Cell:
    spreads = {name: Spread(**plain[name]) if plain[name] else None for name in ("cost", "limit", "share")}
    return Cell(**{**plain, **spreads})


@dataclass(frozen=True)
class Change:
    """A figure in this run in terms of the last: `ratio` above 1 is more; `sure` if noise alone would not do that."""

    what: str
    ratio: float
    sure: bool


def changes(now: Run, before: Run) -> list[Change]:
    """How shares of the bare loop and figures of the machine differ, where both runs measured the same.

    Runs differ more than the repeats inside a run, and all figures together tell by how much: a change is sure if its
    quartiles lie apart and its ratio is far from that of the others, measured in their median deviation.
    """
    pairs = list(_pairs(now, before))
    logs = [math.log(new.median / old.median) for _, new, old in pairs]
    middle = statistics.median(logs) if logs else 0.0
    noise = NORMAL * statistics.median(abs(log - middle) for log in logs) if logs else 0.0
    far = max(FAR * noise, LEAST)
    return [
        Change(what, math.exp(log), new.differs(old) and abs(log - middle) > far)
        for (what, new, old), log in zip(pairs, logs, strict=True)
    ]


def common_change(found: Sequence[Change]) -> float:
    """By how much the figures changed together: the median ratio, which is the machine's doing or everyone's."""
    return statistics.median(change.ratio for change in found)


def _pairs(now: Run, before: Run) -> Iterator[tuple[str, Spread, Spread]]:
    kept = {cell.name: cell for cell in (*before.arms, *before.horizons)}
    for cell in (*now.arms, *now.horizons):
        old = kept.get(cell.name)
        if old is not None and old.share is not None and cell.share is not None:
            yield cell.name, cell.share, old.share
    for part in ("machine", "designs", "linear", "analysis"):
        mine, theirs = getattr(now, part), getattr(before, part)
        for name, spread in mine.items():
            if name in theirs:
                yield name, spread, theirs[name]
