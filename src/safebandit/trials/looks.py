"""What follows from what is known in a trial of a design: arms that are dropped, the stop, and what is selected.

After every event that changes what is known, the software itself writes what follows from it, in events of its own:
`dropped`, `stopped`, and `selected` where an outcome that came after the stop changes the selection. They are made of
the trial's state alone, so that whoever replays the log can make them again. Rules are measured in the design's order
when a look is due, as in a simulated trial (`trials/simulated.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.policies.interface import DONE
from safebandit.core.selection.interface import NONE_SELECTED
from safebandit.core.selection.words import why
from safebandit.core.stopping import words
from safebandit.sources import formulas_hash
from safebandit.trials.approval import granted
from safebandit.trials.conduct_words import units_of
from safebandit.trials.design import CAUSES, Design
from safebandit.trials.drafts import plain_number
from safebandit.trials.events import Draft
from safebandit.trials.state import TrialState
from safebandit.version import __version__

# Why a trial ends where no stopping rule ends it.
MOST_UNITS, NO_ARM, POLICY = CAUSES
# Events that change what is known; after any other nothing follows.
_TELLING = ("told", "corrected", "given up", "voided", "amended", "held")


class Measured(NamedTuple):
    """A stopping rule as it stands: how near it is for every arm (NaN: it says nothing), and where it is reached."""

    name: str
    rule: Any
    found: list[float]

    @property
    def level(self) -> float:
        """The measure from which on the rule is reached."""
        return float(self.rule.level)

    @property
    def drops(self) -> bool:
        """Whether it drops an arm, and does not stop the trial."""
        return bool(getattr(self.rule, "drops", False))

    @property
    def nearest(self) -> float:
        """The largest measure of any arm; NaN where there is none."""
        return max((each for each in self.found if not math.isnan(each)), default=math.nan)

    @property
    def reached(self) -> list[int]:
        """The arms for which it is reached; the first stands for a rule of the trial as a whole."""
        return [k for k, each in enumerate(self.found) if each >= self.level]

    def to_dict(self, arms: tuple[str, ...]) -> dict[str, Any]:
        """As an event has it."""
        found = dict(zip(arms, map(plain_number, self.found), strict=True))
        return {"rule": self.name, "level": plain_number(self.level), "measures": found}


def measured(state: TrialState) -> list[Measured]:
    """Every stopping rule of the design as it stands now."""
    design = state.settings.design
    return [] if design is None else [
        Measured(name, rule, state.allocator.measure(rule)) for name, rule in rules_of(design)
    ]  # fmt: skip


def rules_of(design: Design) -> Iterator[tuple[str, Any]]:
    """The stopping rules with their names, in order."""
    return zip(design.causes[-len(design.stop) :] if design.stop else (), design.stop, strict=True)


def consequences(state: TrialState, kind: str) -> list[Draft]:
    """What the software has to write after an event of this kind, which the state has just taken in."""
    if kind == "approved":
        return granted(state)
    design = state.settings.design
    if design is None or kind not in _TELLING:
        return []
    if state.stop is not None:
        return _selected(state, design, state.stop["selected"])
    return [] if state.status == "closed" else _looked(state, design)


def _looked(state: TrialState, design: Design) -> list[Draft]:
    with _marks(state):
        drops, stop = _by_rules(state, design) if state.look_due else ([], None)
        stop = stop or _ended(state, design.units)
        return drops if stop is None else [*drops, _stopped(state, design, *stop)]


@contextmanager
def _marks(state: TrialState) -> Iterator[None]:
    """Arms that are dropped meanwhile are dropped for what is measured next; the event is what drops them for good."""
    before = state.allocator.dropped
    try:
        yield
    finally:
        for k, dropped in enumerate(before):
            state.allocator.drop(k, dropped=dropped)


def _by_rules(state: TrialState, design: Design) -> tuple[list[Draft], tuple[str, str] | None]:
    """The arms that are dropped at a look, and the first rule that stops the trial with what it says, if any does."""
    allocator = state.allocator
    drops: list[Draft] = []
    for name, rule in rules_of(design):
        seen = Measured(name, rule, allocator.measure(rule))
        if not seen.reached:
            continue
        if not seen.drops:
            return drops, (name, why_reached(seen, allocator.arms))
        new = [k for k in seen.reached if not allocator.dropped[k]]
        drops += [_dropped(seen, k, allocator.arms) for k in new]
        for k in new:
            allocator.drop(k)
    return drops, None


def _ended(state: TrialState, units: int) -> tuple[str, str] | None:
    """Whether the trial has ended by itself: nobody can be given an arm any more, and nothing is waited for."""
    allocator, course = state.allocator, state.allocator.course
    if state.done:
        return POLICY, "the policy's question is answered: nobody needs an arm any more"
    if course["settled"] < course["given"]:
        return None
    if course["given"] >= units:
        return MOST_UNITS, f"all {units_of(units, 'unit')} of the design had an arm, and nothing is waited for"
    next_one = allocator.consider(state.round)
    if next_one.k == DONE:
        return POLICY, "the policy's question is answered: nobody needs an arm any more"
    if next_one.k >= 0:
        return None
    left = "every arm was dropped" if all(allocator.dropped) else allocator.reason_of(next_one)
    return NO_ARM, f"nothing is waited for, and {left}"


def _dropped(seen: Measured, k: int, arms: tuple[str, ...]) -> Draft:
    alone = seen._replace(found=[each if i == k else math.nan for i, each in enumerate(seen.found)])
    body = {"arm": arms[k], "rule": seen.name, "measure": plain_number(seen.found[k])}
    return Draft("dropped", {**body, "level": plain_number(seen.level), "why": why_reached(alone, arms), **_software()})


def _stopped(state: TrialState, design: Design, rule: str, why: str) -> Draft:
    measures = [each.to_dict(state.allocator.arms) for each in measured(state)]
    body = {"rule": rule, "why": why, "measures": measures, "selected": (arm := selection(state))}
    return Draft("stopped", {**body, "why_selected": why_selected(state, design, arm), **_software()})


def _selected(state: TrialState, design: Design, before: str | None) -> list[Draft]:
    """That what was told after the stop changes the selection, if it does; `because_of` is the event that told it."""
    after = selection(state)
    if before == after:
        return []
    body = {"before": before, "after": after, "because_of": state.number}
    return [Draft("selected", {**body, "why_selected": why_selected(state, design, after), **_software()})]


def selection(state: TrialState) -> str | None:
    """The arm that the design selects by what is known now, if any."""
    rule = None if state.settings.design is None else state.settings.design.select
    return None if rule is None else state.allocator.select(rule)


def why_reached(seen: Measured, arms: tuple[str, ...]) -> str:
    """What a rule says of having been reached."""
    return words.why(seen.rule, np.array(seen.found), arms)


def why_selected(state: TrialState, design: Design, arm: str | None) -> str:
    """What the selection rule says of the arm that it selects, or of none."""
    k = NONE_SELECTED if arm is None else state.allocator.arms.index(arm)
    return "" if design.select is None else why(design.select, k, state.allocator.memory.quantities[0], design)


def _software() -> dict[str, str]:
    return {"software": __version__, "formulas": formulas_hash()}
