"""A check: a number that somebody else has, the one that comes out here, how far they may differ, and the verdict.

A number that is computed must agree to its printed digit, or to the digits that a library promises. One that is
simulated may differ by ERRORS standard errors of both together besides. A correct program fails one such check with
a chance of 2 (1 - Phi(ERRORS)) at most, and one or more of n with n times that (Bonferroni): the report says it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from safebandit.studies.designs.published import ERRORS

PASSES, FAILS, NOTED = "passes", "fails", "noted"
# How what is obtained is held to what is expected.
EQUAL, AT_MOST, AT_LEAST, SAME = "equal", "at most", "at least", "the same"


class Extent(NamedTuple):
    """How much is simulated: in a minute or in ten; and on how many threads."""

    full: bool = False
    workers: int | None = None

    def trials(self, quick: int, full: int) -> int:
        """So many trials of a simulation."""
        return full if self.full else quick


class Obtained(NamedTuple):
    """What came out: a number, with the standard error of its difference from the expected one; or a text.

    `excuse` says why another text than the expected one is no fault, where it is none: it is noted, and nothing fails.
    """

    value: float | str
    error: float = 0.0
    excuse: str = ""


class Check(NamedTuple):
    """One check. `margin` is what is allowed besides chance, `errors` how many standard errors are; `how` says how they
    were set, `remark` what else a reader should know, and `full` that it takes too long for a minute.
    """

    name: str
    group: str
    source: str
    expected: float | str
    compute: Callable[[Extent], Obtained]
    how: str
    margin: float = 0.0
    errors: float = 0.0
    sense: str = EQUAL
    remark: str = ""
    full: bool = False

    @property
    def false_alarm(self) -> float:
        """The chance at most that a correct program fails it, over seeds; 0 where nothing is drawn."""
        return math.erfc(self.errors / math.sqrt(2.0)) if self.errors else 0.0

    def run(self, extent: Extent) -> Verdict:
        """Compute it; an error of the program is a verdict, too."""
        try:
            found = self.compute(extent)
        # A reader must see every check, whatever one of them does.
        except Exception as problem:  # noqa: BLE001
            return Verdict(self, f"{type(problem).__name__}: {problem}", 0.0, FAILS)
        value = found.value if isinstance(found.value, str) else float(found.value)
        return Verdict(self, value, float(found.error), judge(self, found), found.excuse)


class Verdict(NamedTuple):
    """A check, what was obtained, the standard error of the difference, and the verdict."""

    check: Check
    obtained: float | str
    error: float
    verdict: str
    excuse: str = ""

    @property
    def allowed(self) -> float:
        """How far the number may lie from the expected one."""
        return self.check.margin + self.check.errors * self.error

    @property
    def errors_off(self) -> float | None:
        """How many standard errors it lies beyond the margin, of those that are simulated."""
        if not self.check.errors or self.error <= 0 or isinstance(self.obtained, str):
            return None
        return max(0.0, abs(self.obtained - float(self.check.expected)) - self.check.margin) / self.error

    def to_dict(self) -> dict[str, Any]:
        """The verdict as a report keeps it."""
        names = ("name", "group", "source", "expected", "how", "margin", "errors", "sense", "remark")
        said = {name: getattr(self.check, name) for name in names}
        return {
            **said, "obtained": self.obtained, "standard_error": self.error, "allowed": self.allowed,
            "excuse": self.excuse, "verdict": self.verdict,
        }  # fmt: skip


def judge(check: Check, found: Obtained) -> str:
    """The verdict on what was obtained."""
    kept = {"expected": check.expected, "obtained": found.value, "sense": check.sense, "excuse": found.excuse}
    return verdict_of({**kept, "allowed": check.margin + check.errors * found.error})


def verdict_of(kept: dict[str, Any]) -> str:
    """The verdict by the numbers that a report keeps; a number that does not exist never passes."""
    expected, obtained, allowed = kept["expected"], kept["obtained"], kept["allowed"]
    if kept["sense"] == SAME:
        return PASSES if obtained == expected else NOTED if kept["excuse"] else FAILS
    if isinstance(obtained, str) or isinstance(expected, str):
        return FAILS
    off = obtained - expected
    near = {EQUAL: abs(off) <= allowed, AT_MOST: off <= allowed, AT_LEAST: off >= -allowed}[kept["sense"]]
    return PASSES if near else FAILS


def simulated(how: str) -> dict[str, Any]:
    """The tolerance of a simulated number: so many standard errors, and what `how` says besides."""
    return {"errors": ERRORS, "how": f"{ERRORS:g} standard errors of both numbers together{how}"}
