"""Play the arena by size, for docs/explanation/choosing.md and README.md; some five minutes on two cores.

python tools/measure_arena.py            as the pages have it; what results/arena-docs/runs holds is not played again
python tools/measure_arena.py --times 5  five times the trials, in five times the time
python tools/measure_arena.py --quick    a few trials at two sizes, to see that it runs; nothing is written
python tools/measure_arena.py --systems  only the other systems, for docs/explanation/rivals.md; a minute or two

It also prints where the recommended policy does worse than it should, with numbers.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from safebandit.core.arms import Numbers
from safebandit.core.policies import recommended
from safebandit.simulation.execution import Step
from safebandit.simulation.summaries import standard_error
from safebandit.studies.arena import Arena, Board, run_arena
from safebandit.studies.arena.leaderboard import Overall, Standing
from safebandit.studies.arena.resampling import Statistic, compared, resampled, sample

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    ROOT / "docs" / "explanation" / "choosing.md": ("by-size", "regret-by-size", "unsafe-by-size", "failures"),
    ROOT / "README.md": ("headline", "by-size"),
}
FOLDER = ROOT / "results" / "arena-docs"
# The systems that the paper names, and what they are compared with.
SYSTEMS = ["con-lcb", "bwcr", "pess", "bwk", "conservative", "docb", "tsbu"]
SYSTEMS_PAGE = ROOT / "docs" / "explanation" / "rivals.md"
TRIALS = {36: 600, 100: 400, 400: 150, 2_000: 24, 50_000: 8}
QUICK_TRIALS = {36: 8, 100: 4}
BASELINE = "tsbu"
# What the recommended policy is held to: below equal randomisation's unsafe plays, and near the least regret of these.
RIVALS = (BASELINE, "safe-imed", "joint-dirichlet")
HELD_UP_TO, MOST_REGRET = 400, 1.05
# Where the best arm's risk is alpha it is held to the baseline, at this size.
LIMIT_UNITS, MOST_AT_LIMIT = 2_000, 1.1
HEADLINE = "drug-trial-21", 400
NOT_MADE = "not made for this size"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as the pages have it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


class Number(NamedTuple):
    """A number over all instances, and two standard errors of it."""

    value: float
    reach: float

    def __str__(self) -> str:
        digits = 2 if self.value >= 0.1 else 3
        return f"{self.value:.{digits}f} ± {self.reach:.{digits}f}"


def regret_ratio(board: Board, policy: str) -> Number | None:
    """The geometric mean over the instances of the ratio of mean regrets."""
    played = [one.result for one in board.standings if policy in one.scores and one.scores[policy].mean.ratio]
    ratio = next(row.mean_ratio for row in board.leaderboard if row.policy == policy)
    if ratio is None:
        return None
    # What each trial adds to the logarithm, to first order; trials of the same number share their random numbers.
    parts = [_relative(result.final(policy)) - _relative(result.final(BASELINE)) for result in played]
    return Number(ratio, 2 * ratio * standard_error(np.mean(parts, axis=0)))


def _relative(values: Numbers) -> Numbers:
    relative: Numbers = values / values.mean()
    return relative


def unsafe_share(board: Board, policy: str) -> Number | None:
    """The mean over the instances of unsafe plays as a share of equal randomisation's."""
    played = [one for one in board.standings if policy in one.scores and one.equal.unsafe_plays]
    if not played:
        return None
    shares = [one.result.final(policy, "unsafe_plays") / one.equal.unsafe_plays for one in played]
    by_trial = np.mean(shares, axis=0)
    return Number(float(by_trial.mean()), 2 * standard_error(by_trial))


def by_policy(arena: Arena, cell: Callable[[Board, Overall], str]) -> str:
    """A row per policy, the best mean rank over the sizes first, and a column per size."""
    ranks: dict[str, list[float]] = {policy: [] for policy in arena.policies}
    rows: dict[str, list[str]] = {policy: [] for policy in arena.policies}
    for board in arena.boards:
        for row in board.leaderboard:
            rows[row.policy].append(cell(board, row) if row.instances else NOT_MADE)
            ranks[row.policy] += [row.mean_rank] * bool(row.instances)
    order = sorted(rows, key=lambda policy: (np.mean(ranks[policy] or [math.inf]), policy))
    head = ["policy", *(f"{board.units:,} units" for board in arena.boards)]
    return table(head, [[f"`{policy}`", *rows[policy]] for policy in order])


def regret_cell(board: Board, row: Overall) -> str:
    """The ratio of mean regrets, and the mean rank; the best of a size in bold."""
    text = f"{regret_ratio(board, row.policy)} ({row.mean_rank:.1f})"
    return f"**{text}**" if row is board.leaderboard[0] else text


def unsafe_cell(board: Board, row: Overall) -> str:
    """The share of equal randomisation's unsafe plays."""
    return str(unsafe_share(board, row.policy))


def both_cell(board: Board, row: Overall) -> str:
    """The ratio of mean regrets, and the share of equal randomisation's unsafe plays."""
    return f"{regret_ratio(board, row.policy)}; {unsafe_cell(board, row)}"


def by_size(arena: Arena) -> str:
    """The recommended policy of every size, and what it comes to."""
    head = [
        "units",
        "take",
        "regret, of `tsbu`'s",
        "unsafe plays, of equal randomisation's",
        "`tsbu`'s",
        "place by rank",
    ]
    rows = []
    for board in arena.boards:
        policy = recommended(board.units)
        played = [row.policy for row in board.leaderboard if row.instances]
        shares = [str(unsafe_share(board, name)) for name in (policy, BASELINE)]
        place = f"{played.index(policy) + 1} of {len(played)}"
        rows.append([f"{board.units:,}", f"`{policy}`", str(regret_ratio(board, policy)), *shares, place])
    return table(head, rows)


def caption(arena: Arena) -> str:
    """How much was played."""
    instances = len(arena.boards[0].standings)
    sizes = ", ".join(f"{board.standings[0].task.trials:,} of {board.units:,}" for board in arena.boards)
    return f"*{instances} instances; trials of each policy on each: {sizes} units. Mean ± two standard errors.*"


def headline(arena: Arena) -> str:
    """What the drug trial of README's picture comes to at the size of a trial."""
    name, units = HEADLINE
    (one,) = (one for one in arena.standings if one.task.entry.name == name and one.task.units == units)
    policy = recommended(units)
    given = [f"{one.scores[label].statistics['unsafe_plays']['mean'].value:.0f}" for label in (policy, BASELINE)]
    return (
        f"*In a trial of {units} patients `{policy}`, the default at that size, gives them to {given[0]} on average, "
        f"`{BASELINE}` to {given[1]}, equal randomisation to {one.equal.unsafe_plays:.0f}.*"
    )


class Failure(NamedTuple):
    """Where the recommended policy does worse than it should."""

    units: int
    instance: str
    policy: str
    unsafe: str
    regret: str


def failures(arena: Arena) -> Iterator[Failure]:
    """Every instance on which the recommended policy misses what it is held to."""
    for one in arena.standings:
        units, instance = one.task.units, one.task.entry.instance
        policy = recommended(units, len(instance.limits))
        if units <= HELD_UP_TO:
            rivals, most = [label for label in RIVALS if label in one.scores], MOST_REGRET
        elif units == LIMIT_UNITS and one.at_limit:
            rivals, most = [BASELINE], MOST_AT_LIMIT
        else:
            continue
        best = min(rivals, key=lambda label: one.scores[label].mean.value)
        against = ratio_to(one, policy, best)
        share = one.scores[policy].unsafe_share
        missed_share = units <= HELD_UP_TO and share is not None and share >= 1.0
        missed_regret = against.ratio is not None and against.ratio > most
        if missed_share or missed_regret:
            yield Failure(
                units, one.task.entry.name, policy,
                f"**{share:.2f}**" if missed_share else "-" if share is None else f"{share:.2f}",
                f"{'**' * missed_regret}{shown(against)}{'**' * missed_regret} `{best}`",
            )  # fmt: skip


def ratio_to(one: Standing, policy: str, other: str) -> Statistic:
    """The ratio of mean regrets of two policies, with its interval by a bootstrap of the pairs."""
    draws = resampled(one.result.trials)
    return compared(*(sample(one.result.final(label), draws) for label in (policy, other)))["mean"]


def shown(found: Statistic) -> str:
    """A ratio with its interval."""
    if found.ratio is None:
        return "-"
    return f"{found.ratio:.2f}" + ("" if found.low is None else f" ({found.low:.2f} to {found.high:.2f})")


def failures_table(arena: Arena) -> str:
    """The table of failures, or a sentence that there is none."""
    rows = [[f"{one.units:,}", *(f"`{text}`" for text in one[1:3]), *one[3:]] for one in failures(arena)]
    if not rows:
        return "There is no such instance."
    return table(["units", "instance", "policy", "unsafe plays, of equal's", "mean regret, of that of"], rows)


def marked(page: str, name: str, text: str) -> str:
    """The page with another text between the marks of this name."""
    between = rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)"
    changed, count = re.subn(between, lambda _: text + "\n", page, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"there must be one pair of marks <!-- {name} --> and <!-- /{name} -->, found {count}")
    return changed


def write_pages(arena: Arena, parts: dict[str, str]) -> None:
    """The tables between their marks, and the pictures."""
    # All marks are found before anything is written.
    pages = {page: page.read_text(encoding="utf-8") for page in PARTS}
    for page, names in PARTS.items():
        for name in names:
            pages[page] = marked(pages[page], name, parts[name])
    for page, text in pages.items():
        page.write_text(text, encoding="utf-8")
    pictures = {"ranks": "arena", **{f"mean-{board.units}": f"arena-{board.units}" for board in arena.boards}}
    for name, shown_as in pictures.items():
        with Image.open(FOLDER / "figures" / f"{name}.png") as picture:
            # Few colours make a quarter of the bytes, and nobody sees the difference.
            picture.convert("RGB").quantize(128).save(ROOT / "docs" / "pictures" / f"{shown_as}.png", optimize=True)


def parts_of(arena: Arena) -> dict[str, str]:
    """Every generated part, by its marks."""
    return {
        "by-size": f"{by_size(arena)}\n\n{caption(arena)}",
        "regret-by-size": by_policy(arena, regret_cell),
        "unsafe-by-size": by_policy(arena, unsafe_cell),
        "failures": failures_table(arena),
    }


def teller() -> Callable[[Step], None]:
    """Says on stderr what is being played, once per instance."""
    began, last = time.perf_counter(), ""

    def tell(step: Step) -> None:
        nonlocal last
        what = step.what.partition(":")[0]
        if what != last:
            last = what
            print(f"{time.perf_counter() - began:5.0f} s  {what}", file=sys.stderr, flush=True)

    return tell


def main() -> int:
    """Play, print the tables, and write them into the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1, help="so many times the trials")
    parser.add_argument("--quick", action="store_true", help="to see that it runs; nothing is written")
    parser.add_argument("--systems", action="store_true", help="only the other systems, for docs/explanation/rivals.md")
    given = parser.parse_args()
    trials = {units: count * given.times for units, count in (QUICK_TRIALS if given.quick else TRIALS).items()}
    out = None if given.quick else FOLDER
    say = None if given.quick else print
    arena = run_arena(
        policies=SYSTEMS if given.systems else None, units=list(trials), trials=list(trials.values()), out=out,
        progress=teller(), say=say,
    )  # fmt: skip
    if given.systems:
        text = f"{by_policy(arena, both_cell)}\n\n{caption(arena)}"
        print(text)
        if not given.quick:
            page = SYSTEMS_PAGE.read_text(encoding="utf-8")
            SYSTEMS_PAGE.write_text(marked(page, "arena", text), encoding="utf-8")
        return 0
    parts = parts_of(arena)
    if not given.quick:
        parts["headline"] = headline(arena)
    for name, text in parts.items():
        print(f"{name}\n\n{text}\n")
    if not given.quick:
        write_pages(arena, parts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
