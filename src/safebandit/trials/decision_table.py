"""What a design does after n units and x harms, as a protocol prints it: found by asking the code that decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from safebandit.core.conduct import Conduct
from safebandit.core.policies import HOLD, WAIT, policy_from_text
from safebandit.core.policies.interface import DONE
from safebandit.errors import DesignError
from safebandit.trials.allocator import Allocator

if TYPE_CHECKING:
    import pandas as pd

    from safebandit.trials.design import Design

# A decision of a dose-finding design, by its letter.
ESCALATE, STAY, DE_ESCALATE, EXCLUDE, END = "E", "S", "D", "X", "F"
LEGEND = {
    ESCALATE: "give the next higher dose",
    STAY: "give the same dose",
    DE_ESCALATE: "give the next lower dose",
    EXCLUDE: "give the next lower dose, and never again this one or a higher one",
    END: "the trial has its answer, and ends",
}
# It does not matter: of what is drawn, the table gives the chances.
SEED = 0


@dataclass(frozen=True)
class DecisionTable:
    """A table for a protocol: its title, its rows and columns, and what the entries mean."""

    title: str
    frame: pd.DataFrame
    legend: str

    def _lines(self) -> Iterator[tuple[Any, Any]]:
        return zip(self.frame.index, self.frame.to_numpy(), strict=True)

    def __str__(self) -> str:
        return (
            f"{self.title}\n{self.frame.to_string(na_rep='', formatters=[_plain] * self.frame.shape[1])}\n{self.legend}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON has it."""
        rows = [[label, *values] for label, values in self._lines()]
        plain = [[None if _plain(value) == "" else value for value in row] for row in rows]
        columns = [str(self.frame.index.name), *map(str, self.frame.columns)]
        return {"title": self.title, "columns": columns, "rows": plain, "legend": self.legend}

    def to_markdown(self, escaped: Callable[[str], str] = str) -> str:
        """The table as Markdown, with its title above and its legend below; `escaped` is what users wrote."""
        head = [str(self.frame.index.name), *map(str, self.frame.columns)]
        rows = [[str(label), *(escaped(_plain(value)) for value in values)] for label, values in self._lines()]
        lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
        return "\n".join([f"**{self.title}**", "", *lines, "", self.legend])


def _plain(value: Any) -> str:
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    return "" if missing else f"{value:g}" if isinstance(value, float) else str(value)


class Units(NamedTuple):
    """So many units on one arm, all known: how many had a harm of each risk, and how many a reward."""

    arm: int
    size: int
    harms: tuple[int, ...]
    rewards: int = 0


def decision_tables(design: Design) -> list[DecisionTable]:
    """The tables of a design: its moves from dose to dose, or when an arm closes; and the ways of the first cohorts."""
    tables = []
    if moves_by_present_dose(design):
        tables.append(moves(design))
    else:
        tables.append(closing(design))
    if design.cohort > 1:
        tables.append(pathways(design))
    return tables


def moves_by_present_dose(design: Design) -> bool:
    """Whether a decision depends on what is known of the present dose alone, and on which doses are excluded."""
    return len(design.arms) > 1 and getattr(policy_from_text(design.policy), "by_present_dose", False)


def moves(design: Design) -> DecisionTable:
    """After n units (columns) on the present dose with x harms (rows), which dose is next; other doses in their place.

    The dose is neither the lowest nor the highest where there are three: the doses below it had no harm, and of the
    doses above nothing is known.
    """
    import pandas as pd

    sizes = range(design.cohort, design.units + 1, design.cohort)
    present = min(1, len(design.arms) - 2)
    columns = {n: [_move(design, present, n, x) if x <= n else "" for x in range(sizes[-1] + 1)] for n in sizes}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(sizes[-1] + 1, name="harms"))
    # Rows in which every size says the same as the row above would only repeat it.
    last = max((x for x in range(1, len(frame)) if _differs(frame, x)), default=0)
    shown = set(frame.to_numpy().ravel())
    legend = "; ".join(f"{letter}: {words}" for letter, words in LEGEND.items() if letter in shown)
    title = "Next dose, by harms (rows) among the units on the present dose (columns)"
    return DecisionTable(title, frame.iloc[: last + 1], legend)


def _differs(frame: pd.DataFrame, x: int) -> bool:
    """Whether a row says something that the one above does not."""
    pairs = zip(frame.iloc[x], frame.iloc[x - 1], strict=True)
    return any(here not in ("", above) for here, above in pairs)


def _move(design: Design, present: int, n: int, x: int) -> str:
    below = [Units(k, design.cohort, _of_first(design, 0)) for k in range(present)]
    decision = _asked(design, [*below, Units(present, n, _of_first(design, x))])
    if decision.k == DONE:
        return END
    if not decision.permissible[present]:
        return EXCLUDE
    if decision.k in (HOLD, WAIT):
        raise DesignError(f"{n} units with {x} harms on a dose give no decision ({decision.k}); the table has none")
    return ESCALATE if decision.k > present else STAY if decision.k == present else DE_ESCALATE


def closing(design: Design) -> DecisionTable:
    """How many harms of n units (rows) on an arm close it: in the round in which they can first be known, and later."""
    import pandas as pd

    rounds = sorted({round(design.units * share) for share in (0.25, 0.5, 0.75, 1.0)})
    numbers = range(1, design.units + 1)
    rows: dict[str, list[float | None]] = {}
    for j, risk in enumerate(design.risks):
        of = "" if len(design.risks) == 1 else f" of {risk}"
        first = [_closes_at(design, j, n, n + 1) for n in numbers]
        later = {t: [_closes_at(design, j, n, t) if n < t else None for n in numbers] for t in rounds}
        same = all(values[n - 1] in (None, first[n - 1]) for values in later.values() for n in numbers)
        rows |= {f"harms{of} that close it" + ("" if same else ", at once"): first}
        rows |= {} if same else {f"harms{of} that close it in round {t}": values for t, values in later.items()}
    frame = pd.DataFrame(rows, index=pd.Index(numbers, name="units"))
    title = "Harms among the units of an arm from which on it is not given"
    return DecisionTable(title, frame[frame.notna().any(axis=1)], "No entry: no number of harms closes the arm.")


def _closes_at(design: Design, j: int, n: int, t: int) -> float | None:
    """The fewest harms of risk j of n units that make an arm not permissible in round t; more of them never open it."""
    low, high = 0, n + 1
    while low < high:
        middle = (low + high) // 2
        if middle <= n and _is_open(design, j, n, middle, t):
            low = middle + 1
        else:
            high = middle
    return float(low) if low <= n else None


def _is_open(design: Design, j: int, n: int, x: int, t: int) -> bool:
    harms = tuple(x if i == j else 0 for i in range(len(design.risks)))
    return bool(_asked(design, [Units(0, n, harms)], t=t).permissible[0])


def pathways(design: Design, cohorts: int | None = None) -> DecisionTable:
    """The arm of each of the first cohorts, by what was seen in those before: every way that the trial can go.

    By default three cohorts, or two where rewards matter as well: their ways are many.
    """
    import pandas as pd

    cohorts = cohorts or (2 if design.rewarded else 3)
    rows = [
        {**{f"cohort {i + 1}": text for i, text in enumerate(steps)}, "then": then}
        for steps, then in _ways(design, cohorts - 1)
    ]
    frame = pd.DataFrame(rows).fillna("")
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="way")
    seen = "harms and rewards" if design.rewarded else "harms"
    title = f"The first {cohorts} cohorts: arm, and {seen} of {design.cohort} units"
    return DecisionTable(title, frame, "Where an arm is drawn, its chances are given.")


def _ways(design: Design, cohorts: int, past: tuple[Units, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    allocator, t = _after(design, design.conduct(), past)
    decision = allocator.decide(t)
    chances = [share for share in allocator.chances(t, 1, decision).arms if share > 0]
    if len(chances) > 1 or decision.k < 0 or len(past) == cohorts:
        yield (), _then(design, decision.k, allocator.chances(t, 1, decision).arms)
        return
    size = range(design.cohort + 1)
    for harms, rewards in product(size, size if design.rewarded else [0]):
        units = Units(decision.k, design.cohort, _of_first(design, harms), rewards)
        text = f"{design.arms[decision.k]}: {harms} of {design.cohort}"
        text += f", {rewards}" if design.rewarded else ""
        for steps, then in _ways(design, cohorts, (*past, units)):
            yield (text, *steps), then


def _then(design: Design, k: int, chances: Sequence[float]) -> str:
    words = {DONE: "ends with its answer", HOLD: "ends: no arm is permissible", WAIT: "waits"}
    if k < 0:
        return words[k]
    drawn = [f"{arm} {share:.2f}" for arm, share in zip(design.arms, chances, strict=True) if share > 0]
    return ", ".join(drawn) if len(drawn) > 1 else design.arms[k]


def _of_first(design: Design, harms: int) -> tuple[int, ...]:
    """So many harms of the first risk, and none of the others."""
    return tuple(harms if j == 0 else 0 for j in range(len(design.risks)))


def _asked(design: Design, known: Sequence[Units], *, t: int | None = None) -> Any:
    """What the policy decides after these units; in round t, or in the next."""
    # After every unit, not only at the end of a cohort or of a burn-in.
    conduct = design.conduct()._replace(cohort=1, first=-1, burn_in=0, steps=0)
    allocator, following = _after(design, conduct, known)
    return allocator.decide(following if t is None else t)


def _after(design: Design, conduct: Conduct, known: Sequence[Units]) -> tuple[Allocator, int]:
    """The arms after these units, told in order, and the round that is next."""
    allocator = Allocator(
        design.arms, design.limits, policy_from_text(design.policy), risks=design.risks, seed=SEED, conduct=conduct,
        units=design.units,
    )  # fmt: skip
    number = 0
    for units in known:
        for i in range(units.size):
            number += 1
            outcome = (float(i < units.rewards) if design.rewarded else None, *(float(i < x) for x in units.harms))
            play = allocator.give(units.arm, number)
            allocator.learn(units.arm, play, number, (None,) * len(outcome), outcome)
    return allocator, number + 1
