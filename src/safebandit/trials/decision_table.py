"""What a design does after n units and x harms, as a protocol prints it: found by asking the code that decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from safebandit.core.policies import HOLD, WAIT, policy_from_text
from safebandit.core.policies.interface import DONE
from safebandit.errors import DesignError
from safebandit.trials.asking import Units, after_looks, asked, fewest, is_reached
from safebandit.trials.looks import RULE_WORDS, rules_of

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
# What the moves of the table come to where there is no such dose.
AT_THE_ENDS = (
    "At the highest dose that is not excluded the same is given instead of a higher one; at the lowest, instead of a "
    "lower one, and if the lowest is excluded the trial ends."
)
RULES = "The stopping rules of the design are asked besides, at its looks."


@dataclass(frozen=True)
class DecisionTable:
    """A table for a protocol: its title, its rows and columns, and what the entries mean."""

    title: str
    frame: pd.DataFrame
    legend: str

    def _lines(self) -> Iterator[tuple[Any, Any]]:
        return zip(self.frame.index, self.frame.to_numpy(), strict=True)

    def __str__(self) -> str:
        if self.frame.empty:
            return f"{self.title}\n{self.legend}"
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
        head = [str(self.frame.index.name), *(escaped(str(column)) for column in self.frame.columns)]
        rows = [[str(label), *(escaped(_plain(value)) for value in values)] for label, values in self._lines()]
        if self.frame.empty:
            return f"**{self.title}**\n\n{self.legend}"
        lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
        return "\n".join([f"**{self.title}**", "", *lines, "", self.legend])


def _plain(value: Any) -> str:
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    return "" if missing else f"{value:g}" if isinstance(value, float) else str(value)


def decision_tables(design: Design) -> list[DecisionTable]:
    """The tables of a design: its moves from dose to dose, or when an arm closes; and the ways of the first cohorts."""
    tables = []
    if moves_by_present_dose(design):
        tables.append(moves(design))
        if any(_by_harms(rule) for rule in design.stop):
            tables.append(closing(design))
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
    columns = {n: [_move(design, n, x) if x <= n else "" for x in range(sizes[-1] + 1)] for n in sizes}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(sizes[-1] + 1, name="harms"))
    # Rows in which every size says the same as the row above would only repeat it.
    last = max((x for x in range(1, len(frame)) if _differs(frame, x)), default=0)
    shown = set(frame.to_numpy().ravel())
    letters = "; ".join(f"{letter}: {words}" for letter, words in LEGEND.items() if letter in shown)
    legend = f"{letters}. {AT_THE_ENDS}" + (f" {RULES}" if design.stop else "")
    title = "Next dose, by harms (rows) among the units on the present dose (columns)"
    return DecisionTable(title, frame.iloc[: last + 1], legend)


def _differs(frame: pd.DataFrame, x: int) -> bool:
    """Whether a row says something that the one above does not."""
    pairs = zip(frame.iloc[x], frame.iloc[x - 1], strict=True)
    return any(here not in ("", above) for here, above in pairs)


def _move(design: Design, n: int, x: int) -> str:
    """What happens on the second of three doses or more; of two doses the second is asked as if one were above it."""
    present, below = 1, Units(0, design.cohort, _of_first(design, 0))
    arms = design.arms if len(design.arms) > 2 else (*design.arms, "another above")
    decision = asked(design, [below, Units(present, n, _of_first(design, x))], arms=arms)
    if decision.k == DONE:
        return END
    if not decision.permissible[present]:
        return EXCLUDE
    if decision.k in (HOLD, WAIT):
        raise DesignError(f"{n} units with {x} harms on a dose give no decision ({decision.k}); the table has none")
    return ESCALATE if decision.k > present else STAY if decision.k == present else DE_ESCALATE


def closing(design: Design) -> DecisionTable:
    """How many harms of n units (rows) on an arm close it: by the policy, in the round in which they can first be known
    and later; and by each rule that is about harms.
    """
    import pandas as pd

    rounds = sorted({round(design.units * share) for share in (0.25, 0.5, 0.75, 1.0)})
    numbers = range(1, design.units + 1)
    rows: dict[str, list[float | None]] = {}
    for j, risk in enumerate(design.risks):
        of = "" if len(design.risks) == 1 else f" of {risk}"
        first = _line(numbers, partial(_is_closed, design, j, None))
        later = {t: _line(range(1, t), partial(_is_closed, design, j, t)) for t in rounds}
        same = all(first[: len(values)] == values for values in later.values())
        rows |= {f"harms{of} that close it" + ("" if same else ", at once"): first}
        rows |= {} if same else {f"harms{of} that close it in round {t}": values for t, values in later.items()}
        rows |= _rule_lines(design, j, of)
    longest = {name: [*values, *[None] * (design.units - len(values))] for name, values in rows.items()}
    frame = pd.DataFrame(longest, index=pd.Index(numbers, name="units"), dtype=float)
    title = "Harms among the units of an arm from which on it is not given"
    legend = "No entry: no number of harms closes an arm." + (f" {RULES}" if design.stop else "")
    shown = frame[frame.notna().any(axis=1)]
    return DecisionTable(title, shown, legend.replace("No entry: n", "N") if shown.empty else legend)


def _by_harms(rule: Any) -> bool:
    return bool(getattr(rule, "by_harms", False))


def _rule_lines(design: Design, j: int, of: str) -> dict[str, list[float | None]]:
    """The harms of risk j at which each rule that is about harms is reached."""
    lines, everyone = {}, range(1 if design.upwards else len(design.arms))
    for name, rule, then in rules_of(design):
        if not _by_harms(rule):
            continue
        named = max(int(getattr(rule, "arm", 0)), 0)
        arms = [named] if rule.drops else [*everyone]
        whose = f' of "{design.arms[named]}"' if getattr(rule, "arm", -1) >= 0 else ""
        each = "" if rule.drops else " of the lowest arm" if design.upwards else " of every arm"
        what = f"harms{of}{whose}{each} at which {name} {'drops it' if rule.drops else RULE_WORDS[then]}"
        lines[what] = _line(range(1, design.units // len(arms) + 1), partial(_is_reached, design, rule, j, arms))
    return lines


def _is_reached(design: Design, rule: Any, j: int, arms: Sequence[int], n: int, x: int) -> bool:
    """Whether x harms of risk j among n units on each of these arms reach a rule."""
    return is_reached(design, rule, [Units(k, n, _of(design, j, x)) for k in arms], arms[0])


def _line(numbers: range, holds: Callable[[int, int], bool]) -> list[float | None]:
    """Of every number of units the fewest harms for which something holds; more of them never undo it."""
    found, last = list[float | None](), 0
    for n in numbers:
        harms = fewest(n, last, partial(holds, n))
        last = n if harms is None else harms
        found.append(None if harms is None else float(harms))
    return found


def _is_closed(design: Design, j: int, t: int | None, n: int, x: int) -> bool:
    """Whether x harms of risk j among n units close an arm: in round t, or in the next."""
    return not asked(design, [Units(0, n, _of(design, j, x))], t=t).permissible[0]


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
    allocator, t, stopped = after_looks(design, past)
    if stopped is not None or t > design.units:
        yield (), f"ends by the rule {stopped}" if stopped else "ends: all units are known"
        return
    decision = allocator.decide(t)
    shares = allocator.chances(t, 1, decision).arms
    if sum(share > 0 for share in shares) > 1 or decision.k < 0 or len(past) == cohorts:
        yield (), _then(design, decision.k, shares)
        return
    most = min(design.cohort, design.units + 1 - t)
    size = range(most + 1)
    for harms, rewards in product(size, size if design.rewarded else [0]):
        units = Units(decision.k, most, _of_first(design, harms), rewards)
        text = f"{design.arms[decision.k]}: {harms} of {most}"
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
    return _of(design, 0, harms)


def _of(design: Design, j: int, harms: int) -> tuple[int, ...]:
    """So many harms of risk j, and none of the others."""
    return tuple(harms if i == j else 0 for i in range(len(design.risks)))
