"""The arena's report: ranks by size, and for each size a leaderboard, pictures, and a table for every instance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from safebandit.problems.limits import show_alpha
from safebandit.studies.arena.figures import LIMIT_MARK, draw_all
from safebandit.studies.report import DASH, write_page

if TYPE_CHECKING:
    from safebandit.core.arms import Numbers
    from safebandit.problems import Instance
    from safebandit.studies.arena.run import Arena

MOST_ARMS = 12
WIDE_MARK = "‡"


def write_report(arena: Arena, folder: Path) -> Path:
    """Draw the pictures and write the page."""
    return write_page(
        folder / "index.html", "arena.html", seed=arena.settings.seed, seconds=arena.seconds, arena=arena,
        rounds=sum(one.result.trials * one.task.units * len(one.scores) for one in arena.standings),
        pictures=draw_all(arena.boards, folder / "figures"), limit_mark=LIMIT_MARK,
        wide_mark=WIDE_MARK, show_means=show_means, speeds=_speeds(arena),
    )  # fmt: skip


def show_means(instance: Instance) -> str:
    """The means of an instance, where they are few enough to be read."""
    alpha = f"alpha {show_alpha(instance.alpha)}"
    if len(instance.arms) > MOST_ARMS:
        return f"{len(instance.arms)} arms, {len(instance.unsafe_arms)} of them unsafe; {alpha}."
    risks = "; ".join(f"nu ({_vector(risk)})" for risk in np.atleast_2d(instance.nu))
    return f"mu ({_vector(instance.mu)}); {risks}; {alpha}."


def _vector(values: Numbers) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _speeds(arena: Arena) -> list[tuple[str, str, str]]:
    rows = []
    for label in arena.policies:
        results = [one.result for one in arena.standings if label in one.scores]
        rounds = sum(result.trials * result.specification.horizon for result in results)
        seconds = sum(result.seconds.get(label, 0.0) for result in results)
        rows.append((label, f"{rounds:,}", f"{rounds / seconds:,.0f}" if seconds > 0 else DASH))
    return rows
