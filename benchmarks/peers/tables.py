"""What was measured, as tables: medians of speeds, means of regrets with their standard errors."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from peers.libraries import LIBRARIES
from peers.problem import POLICIES

START, END = "<!-- peers -->", "<!-- /peers -->"


class Measured(NamedTuple):
    """One policy of one library: the rounds per second of every turn, the regret of every trial."""

    library: str
    version: str
    policy: str
    speeds: list[float]
    regrets: list[float]

    @property
    def speed(self) -> float:
        """The median of the turns."""
        return statistics.median(self.speeds)

    @property
    def regret(self) -> float:
        """The mean of the trials."""
        return statistics.fmean(self.regrets)

    @property
    def error(self) -> float:
        """The standard error of the mean regret; NaN of a single trial."""
        if len(self.regrets) < 2:
            return math.nan
        return statistics.stdev(self.regrets) / math.sqrt(len(self.regrets))


def apart(one: Measured, other: Measured) -> float:
    """The difference of two mean regrets, in standard errors of it."""
    return (one.regret - other.regret) / math.hypot(one.error, other.error)


def round_off(number: float) -> str:
    """A number to three digits, such as 1,230,000."""
    digits = 2 - math.floor(math.log10(abs(number))) if number else 0
    return f"{round(number, digits):,.{max(0, digits)}f}"


def long_rows(measured: Iterable[Measured]) -> list[list[str]]:
    """A row for every policy of every library, beside safebandit's; the policies in order."""
    measured = list(measured)
    ours = {row.policy: row for row in measured if row.library == "safebandit"}
    rows = []
    for row in sorted(measured, key=lambda row: list(POLICIES).index(row.policy)):
        own = ours.get(row.policy)
        rows.append(
            [
                row.policy,
                f"{row.library} {row.version}",
                round_off(row.speed),
                f"{own.speed / row.speed:,.1f}" if own else "",
                f"{row.regret:.1f} ± {row.error:.1f}",
                f"{apart(row, own):+.1f}" if own and own is not row else "",
                f"{len(row.regrets):,}",
            ]
        )
    return rows


LONG_HEADER = ["policy", "library", "rounds/s", "ours/this", "mean regret", "apart", "trials"]


def short_rows(measured: Iterable[Measured], failures: Mapping[str, str]) -> list[list[str]]:
    """A row for every library, a column for every policy: rounds per second, and the mean regret in brackets."""
    by_library: dict[str, dict[str, Measured]] = {}
    for row in measured:
        by_library.setdefault(row.library, {})[row.policy] = row
    rows = []
    for name, cells in by_library.items():
        version = next(iter(cells.values())).version
        counts = sorted({len(row.regrets) for row in cells.values()})
        trials = " to ".join(f"{count:,}" for count in counts[:: max(1, len(counts) - 1)])
        rows.append([f"{name} {version}", *[_cell(cells.get(policy)) for policy in POLICIES], trials])
    return rows + [[f"{name} {reason}", *["" for _ in POLICIES], ""] for name, reason in failures.items()]


def _cell(row: Measured | None) -> str:
    return f"{round_off(row.speed)} ({row.regret:.0f} ± {row.error:.0f})" if row else "–"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---", *["---:" for _ in header[1:]]], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def short_page(measured: list[Measured], failures: Mapping[str, str], conditions: str) -> str:
    """The table of the README."""
    table = markdown(["library", *POLICIES, "trials"], short_rows(measured, failures))
    return f"{table}\n\n{conditions}\n"


def long_page(measured: list[Measured], failures: Mapping[str, str], conditions: str) -> str:
    """The table with everything, the policies' formulas, and where a library differs."""
    lines = ["# Peers, side by side", "", conditions, "", markdown(LONG_HEADER, long_rows(measured)), ""]
    lines += [f"- {name} {reason}" for name, reason in failures.items()]
    lines += ["", "The policies, in round t of an arm with N plays and R successes:", ""]
    lines += [f"- {policy}: {formula}" for policy, formula in POLICIES.items()]
    lines += ["", "Where the libraries differ:", ""]
    lines += [f"- {library.name}: {library.note}" for library in LIBRARIES.values()]
    return "\n".join([*lines, ""])


def put_between_marks(page: str, text: str) -> str:
    """The page with the text between its marks, instead of what was there."""
    if page.count(START) != 1 or page.count(END) != 1 or page.index(END) < page.index(START):
        raise ValueError(f"the page needs the lines {START} and {END}, once each and in this order; add them")
    before, rest = page.split(START)
    return f"{before}{START}\n{text}{END}{rest.split(END)[1]}"
