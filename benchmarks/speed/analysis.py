"""What it costs to analyse a long trial: processor time from a table of units to every sequence and e-value."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from safebandit.trials.analysis.analyse import analyse
from speed.size import Size
from speed.spread import Spread

# The goal in seconds is that of so many units.
UNITS = 100_000
GOAL = 2.0
ARMS = 10
ANALYSES: dict[str, dict[str, Any]] = {
    "mixtures": {},
    "planned mixtures": {"planned": UNITS // ARMS},
    "bets": {"kind": "betting"},
}


def figures(size: Size) -> Iterator[tuple[str, Spread]]:
    """The processor seconds of each kind, compiling aside; of a file, as an export writes it, too."""
    table = _table(size.long_trial)
    for name, said in ANALYSES.items():
        analyse(_table(50), alpha=0.2, control="arm 0", **said)
        yield name, _spent(table, said, size.repeats)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "units.csv"
        table.to_csv(file, index=False)
        yield "mixtures, from a file", _spent(file, {}, size.repeats)


def _table(units: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    arm = rng.integers(0, ARMS, units)
    shares = np.linspace([0.3, 0.1], [0.6, 0.3], ARMS).T
    reward, risk = ((rng.random(units) < share[arm]).astype(float) for share in shares)
    return pd.DataFrame({"arm": [f"arm {k}" for k in arm], "reward": reward, "risk": risk})


def _spent(source: Any, said: dict[str, Any], repeats: int) -> Spread:
    spent = []
    for _ in range(repeats):
        begun = time.process_time()
        analyse(source, alpha=0.2, control="arm 0", **said)
        spent.append(time.process_time() - begun)
    return Spread.of(spent)
