"""Numbers that others printed of reference designs, and how far ours are from them.

A number agrees if it differs by at most four standard errors of both together, and by half of the last digit that was
printed: of sixty such numbers, a correct program has one that does not with a chance of at most 0.4 %. Of a source that
does not say how many trials it simulated, ten thousand are assumed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from safebandit.problems.scenario import Scenario
from safebandit.studies.designs.asking import Key, estimate
from safebandit.studies.designs.run import operating_characteristics

ERRORS = 4.0
ASSUMED = 10_000


class Case(NamedTuple):
    """One printed table: the design by its text on a truth; what was printed, by characteristic; where, from how many
    trials (`assumed` where nobody says), and to which digit. `risk_delay` is how many days a risk takes to be known,
    where one unit arrives a day.
    """

    name: str
    design: str
    nu: Sequence[float]
    printed: Mapping[tuple[str, str], float]
    source: str
    mu: Sequence[float] | None = None
    trials: int = ASSUMED
    digit: float = 0.001
    risk_delay: float = 0.0
    assumed: bool = False


class Agreement(NamedTuple):
    """A number that was printed, ours, the standard error of their difference, and whether they agree."""

    case: Case
    what: str
    printed: float
    ours: float
    error: float

    @property
    def agrees(self) -> bool:
        return abs(self.ours - self.printed) <= ERRORS * self.error + self.case.digit / 2


def _selected(shares: Sequence[float], none: float | None = None, size: float | None = None) -> dict[Any, float]:
    printed: dict[tuple[str, str], float] = {("selected", str(k)): share for k, share in enumerate(shares)}
    printed |= {} if none is None else {("none selected", ""): none}
    return printed | ({} if size is None else {("size", ""): size})


_BOIN, _ZHAO = "the R package BOIN 2.7.2", "Zhao 2024, from a table in which one harm of three stays"
_S1, _S2, _S3 = (
    (0.25, 0.41, 0.45, 0.49, 0.53), (0.12, 0.25, 0.42, 0.49, 0.55), (0.04, 0.12, 0.25, 0.43, 0.63),
)  # fmt: skip
_STAYS = "boin:target=.25,cohort=3,units=30,enough=9,stay_at_one_of_three=true"
_JI = (0.05, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_TWELVE = "boin12:tolerated=.35,wanted=.25,cohort=3,units=36,enough=12"
_TOX, _EFF = (0.03, 0.17, 0.35, 0.5, 0.65), (0.12, 0.39, 0.43, 0.55, 0.65)
# Its README of version 1.4: no softening, and before the first look arms are drawn, not balanced. The thresholds that
# it calibrated are symmetric; the share of superiority that they were calibrated to is no test.
_RAR = "rar:units=2000,looks=300..2000/100,floor=.2,floors=raised,equivalence=.9,difference=.05,lowest=true"
_ADAPTR = f"{_RAR},superiority=.99,inferiority=.99"
_CALIBRATED = f"{_RAR},superiority=.9814318,inferiority=.9814318"
# At each look a hundred units are in follow-up, the one of that day included.
_IN_FOLLOW_UP = 100.5


def _adaptr(superiority: float, equivalence: float, size: float) -> dict[Any, float]:
    return {("stopped", "superiority"): superiority, ("stopped", "equivalence"): equivalence, ("size", ""): size}


CASES = (
    Case("BOIN, scenario 1", "boin:target=.25,cohort=3,units=30,enough=9", _S1,
         _selected((0.783, 0.131, 0.017, 0.003, 0.0), 0.066, 14.7), _BOIN),
    Case("BOIN, scenario 2", "boin:target=.25,cohort=3,units=30,enough=9", _S2,
         _selected((0.317, 0.552, 0.114, 0.012, 0.001), 0.004, 21.1), _BOIN),
    Case("BOIN, scenario 2, all units", "boin:target=.25,cohort=3,units=30", _S2,
         _selected((0.231, 0.617, 0.131, 0.014, 0.002), 0.006), _BOIN),
    Case("BOIN, scenario 1", _STAYS, _S1, {("selected", "0"): 0.770}, _ZHAO, assumed=True),
    Case("BOIN, scenario 2", _STAYS, _S2, {("selected", "1"): 0.556}, _ZHAO, assumed=True),
    Case("BOIN, scenario 3", _STAYS, _S3, {("selected", "2"): 0.567}, _ZHAO, assumed=True),
    Case("BOIN12", _TWELVE, _TOX, {("selected", "1"): 0.573, ("selected", "2"): 0.213}, "trialdesign.org", _EFF,
         assumed=True),
    Case("BOIN12, units", _TWELVE, _TOX,
         {("units", str(k)): value for k, value in enumerate((5.25, 9.04, 6.22, 2.98, 0.65))},
         "the script of a published comparison, ModelAssistedPhase12", _EFF, digit=0.01),
    Case("3+3", "three-plus-three", (0.1, 0.2, 0.3, 0.4, 0.5), _selected((0.28, 0.33, 0.20, 0.06, 0.02), 0.10),
         "Wheeler, exact", trials=10**9, digit=0.01),
    Case("CRM", "crm:target=.3,cohort=3,units=36,guess=3", (0.05, 0.12, 0.2, 0.3, 0.45, 0.6),
         _selected((0.0, 0.018, 0.228, 0.555, 0.190, 0.009)), "the R package dfcrm", trials=5_000),
    Case("mTPI", "mtpi:target=.25,cohort=3,units=30", _JI, _selected((0.14, 0.78, 0.08)), "Ji et al. 2010", digit=0.01,
         assumed=True),
    Case("RAR, three arms alike", _ADAPTR, (0.25, 0.25, 0.25), _adaptr(0.026, 0.265, 1846.0), "the R package adaptr",
         trials=5_000, risk_delay=_IN_FOLLOW_UP),
    Case("RAR, three arms alike, calibrated", _CALIBRATED, (0.25, 0.25, 0.25),
         {("stopped", "equivalence"): 0.381, ("size", ""): 1749.6}, "the README of the R package adaptr",
         trials=1_000, risk_delay=_IN_FOLLOW_UP),
    Case("RAR, one arm better", _ADAPTR, (0.25, 0.20, 0.30), _adaptr(0.624, 0.165, 1379.0), "the R package adaptr",
         trials=5_000, risk_delay=_IN_FOLLOW_UP),
)  # fmt: skip


def what_of(name: str, of: str) -> str:
    """A characteristic in words, such as "selected 1"."""
    return f"{name} {of}".strip()


def compare(
    cases: Sequence[Case] = CASES,
    *,
    trials: int = ASSUMED,
    seed: int = 1,
    workers: int | None = None,
    progress: Callable[[Any], None] | None = None,
) -> Iterator[Agreement]:
    """Play every case, and hold what comes out beside what was printed."""
    for case in cases:
        scenario = Scenario(case.name, nu=case.nu, mu=case.mu, risk_delay=case.risk_delay)
        found = operating_characteristics(
            case.design, scenario, trials=trials, seed=seed, workers=workers, progress=progress
        )
        for (name, of), printed in case.printed.items():
            ours = estimate(found.played[0].cell, Key(name, of))
            yield Agreement(case, what_of(name, of), printed, ours.value, _error(case, name, printed, ours, trials))


def _error(case: Case, name: str, printed: float, ours: Any, trials: int) -> float:
    """Of the difference: of means by our deviation, of shares by what both together have seen.

    A share that one of the two never saw would by itself have no error at all.
    """
    if name in ("size", "units"):
        return float(ours.se) * math.sqrt(1 + trials / case.trials)
    pooled = (printed * case.trials + ours.value * trials) / (case.trials + trials)
    return math.sqrt(max(pooled * (1 - pooled), 0.0) * (1 / case.trials + 1 / trials))
