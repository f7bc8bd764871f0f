"""Rehearsals as jobs: bounded, on one processor, and beside the asks and tells of live trials."""

from __future__ import annotations

import functools
from typing import NamedTuple

from safebandit.errors import SimulationError
from safebandit.service.jobs import Job, Jobs
from safebandit.trials.rehearsal import USUAL_UNITS, Rehearsal, rehearse
from safebandit.trials.settings import Settings

MOST_RUNS = 1_000
# Runs times units times arms: some 2 s by tsbu or docb, more by policies that compute more.
MOST_STEPS = 10_000_000


class Supposed(NamedTuple):
    """Settings, and the truth and the delay to rehearse them with; `nu` has a row for each risk."""

    settings: Settings
    mu: tuple[float, ...]
    nu: tuple[tuple[float, ...], ...]
    units: int | None
    times: int
    delay: int

    def checked(self) -> Supposed:
        """Itself, if it is not more than a service does beside live trials."""
        if not 1 <= self.times <= MOST_RUNS:
            raise SimulationError(f"runs must lie between 1 and {MOST_RUNS:,}, got {self.times:,}")
        design = self.settings.design
        units = self.units or (USUAL_UNITS if design is None else design.units)
        steps = self.times * units * len(self.settings.active)
        if steps > MOST_STEPS:
            raise SimulationError(
                f"runs times units times arms must be at most {MOST_STEPS:,} here, got {steps:,}; give fewer runs, or "
                "run safebandit trial rehearse"
            )
        return self


class Rehearsals(Jobs[Rehearsal]):
    """The rehearsals of one process."""

    word = "rehearsal"

    def work(self, job: Job[Rehearsal]) -> Rehearsal:
        """Run it on one processor: the others are for those who ask and tell."""
        settings, mu, nu, *rest = job.asked
        named = dict(zip(("units", "times", "delay"), rest, strict=True))
        progress = functools.partial(self.note, job)
        return rehearse(settings, mu=mu, nu=nu if len(nu) > 1 else nu[0], workers=1, progress=progress, **named)
