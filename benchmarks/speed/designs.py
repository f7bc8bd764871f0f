"""What ten thousand simulated trials of a design cost one core, compiling aside; and what R's packages took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from safebandit.problems.scenario import Scenario
from safebandit.trials.designs import design_from_text
from safebandit.trials.simulated import make_ready, plan_of, play
from speed.size import Size
from speed.spread import Spread

TRIALS = 10_000


class Played(NamedTuple):
    """A design by its text and the truth that it is played on, the goal in seconds, and what a peer takes."""

    design: str
    nu: tuple[float, ...]
    mu: tuple[float, ...] | None
    goal: float
    peer: str
    risk_delay: float = 0.0


RISKS = (0.05, 0.12, 0.2, 0.3, 0.45, 0.6)
DESIGNS = {
    "BOIN, 30 units": Played(
        "boin:target=.25,cohort=3,units=30,enough=9", (0.12, 0.25, 0.42, 0.49, 0.55), None, 0.1, "BOIN 2.7.2: 4 to 7 s"
    ),
    "BOIN12, 36 units": Played(
        "boin12:tolerated=.35,wanted=.25,cohort=3,units=36,enough=12", (0.03, 0.17, 0.35, 0.5, 0.65),
        (0.12, 0.39, 0.43, 0.55, 0.65), 0.2, "authors' script: 7 s; escalation: 584 s",
    ),
    "CRM, 36 units": Played("crm:target=.3,cohort=3,units=36", RISKS, None, 5.0, "dfcrm: 111 s"),
    "RAR, 2,000 units, 18 looks": Played(
        "rar:units=2000,looks=300..2000/100,floor=.2,floors=raised,superiority=.99,inferiority=.99,"
        "equivalence=.9,difference=.05,lowest=true",
        (0.25, 0.25, 0.25), None, 15.0, "adaptr: 231 to 418 s", 100.5,
    ),
}  # fmt: skip


def figures(size: Size) -> Iterator[tuple[str, Spread]]:
    """The processor seconds of ten thousand trials of each design, from as many as the size allows."""
    for name, played in DESIGNS.items():
        scenario = Scenario(name, nu=played.nu, mu=played.mu, risk_delay=played.risk_delay)
        usual = {"rewarded": False} if played.mu is None else {}
        plan = plan_of(design_from_text(played.design, arms=len(played.nu), defaults=usual), scenario, 1)
        make_ready(plan)
        seconds = [play(plan, range(size.design_trials)).seconds for _ in range(size.repeats)]
        yield name, Spread.of([each * TRIALS / size.design_trials for each in seconds])
