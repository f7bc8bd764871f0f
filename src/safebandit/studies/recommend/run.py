"""Recommend a policy for the size of a trial, with the evidence for it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safebandit.files import write_text
from safebandit.problems import Instance
from safebandit.problems.limits import AnyAlpha
from safebandit.simulation.execution import Progress
from safebandit.simulation.simulate import Policies, at_least, default_workers
from safebandit.studies.recommend.plan import REFERENCE, TRIALS, UNITS, Plan, make_plan
from safebandit.studies.recommend.play import draw_truths, play
from safebandit.studies.recommend.summary import CONFIDENCE, LITTLE, RULE, Score, choose, measure, score
from safebandit.studies.recommend.truths import read_truths
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NUMBERS = ("regret", "unsafe_plays", "more_than", "best_selected", "unsafe_selected", "harms")


@dataclass(frozen=True)
class Recommendation:
    """What the candidates came to, by mean regret, and which one is recommended."""

    plan: Plan
    scores: list[Score]
    seconds: float

    @property
    def chosen(self) -> Score:
        """The candidate that is recommended, with its numbers."""
        return choose(self.scores)

    @property
    def choice(self) -> str:
        """The policy that is recommended."""
        return self.chosen.policy

    @property
    def reference(self) -> Score | None:
        """Equal randomisation, if it was among the candidates."""
        return next((one for one in self.scores if one.text == REFERENCE), None)

    @property
    def why(self) -> str:
        """Why this one, in a sentence."""
        chosen, least, reference = self.chosen, self.scores[0], self.reference
        beside = "" if reference in (None, chosen) else f" ({REFERENCE}: {reference.unsafe_plays.value:.1f})"
        own = "the least" if chosen is least else f"{chosen.regret.value:.1f}"
        of = f"{least.regret.value:.1f}" if chosen is least else f"{least.regret.value:.1f}, {least.policy}"
        return (
            f"{chosen.policy} gives an unsafe arm to the fewest units, {chosen.unsafe_plays.value:.1f} of "
            f"{self.plan.units:,}{beside}, of the candidates on the front whose regret is within {100 * LITTLE:.0f} % "
            f"of the least ({of}) or not surely above it; its own is {own}."
        )

    def table(self) -> pd.DataFrame:
        """Every candidate (rows) with its numbers, and the ends of their 95 % intervals behind each."""
        import pandas as pd

        rows = []
        for one in self.scores:
            row: dict[str, Any] = {"policy": one.policy}
            for name in NUMBERS:
                value, low, high = getattr(one, name)
                row |= {name: value, f"{name}_low": low, f"{name}_high": high}
            rows.append({**row, "on_front": one.on_front, "recommended": one.policy == self.choice})
        return pd.DataFrame(rows).set_index("policy")

    def plot(self) -> Figure:
        """Regret against unsafe plays of every candidate, and which of them are on the front."""
        from safebandit.studies.recommend.report import front

        return front(self)

    def to_dict(self) -> dict[str, Any]:
        """Every number, and all that is needed to run it again; the same bytes for the same seed."""
        plan = self.plan
        return {
            "version": __version__,
            "choice": self.choice,
            "policy": self.chosen.text,
            "why": self.why,
            "rule": RULE,
            "truths": plan.truths.to_dict(),
            "units": plan.units,
            "trials": plan.trials,
            "seed": plan.seed,
            "more_than": plan.more_than,
            "confidence": CONFIDENCE,
            "candidates": [one.to_dict() for one in self.scores],
            "cannot_play": dict(plan.cannot),
        }

    def write(self, folder: str | Path) -> Path:
        """Write recommendation.json, the picture as PNG and SVG, and the page, and return the path of the page."""
        from safebandit.studies.recommend.report import write_report

        folder = Path(folder)
        write_text(folder / "recommendation.json", json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n")
        return write_report(self, folder)


def recommend(
    arms: int | None = None,
    alpha: AnyAlpha | None = None,
    *,
    units: int = UNITS,
    prior: str = "uniform",
    instances: Instance | str | Sequence[Instance | str] | None = None,
    policies: Policies | None = None,
    more_than: int | None = None,
    trials: int = TRIALS,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Recommendation:
    """Play candidates for a trial of so many units on the same truths, in pairs, and recommend one.

    Every trial has a truth of its own, drawn from the prior, unless `instances` are given: then trial i is played on
    number i, and round again. `more_than` is how many unsafe plays are too many, a tenth of the units by default. The
    results are the same bits for any number of workers. Ctrl-C ends it, and leaves nothing.

    >>> found = recommend(3, 0.3, units=36, trials=20, policies=["docb", "equal"])
    >>> found.choice, found.plan.more_than
    ('docb', 3)
    """
    began = time.perf_counter()
    asked = read_truths(arms, alpha, prior, instances)
    plan = make_plan(asked, policies, units=units, trials=trials, seed=seed, more_than=more_than)
    threads = default_workers() if workers is None else at_least("workers", workers, 1, "threads")
    truths = draw_truths(plan)
    played = play(plan, truths, workers=threads, progress=progress)
    measured = {label: measure(one, truths, asked.limits) for label, one in played.items()}
    return Recommendation(plan, score(measured, plan.texts, plan.more_than), time.perf_counter() - began)
