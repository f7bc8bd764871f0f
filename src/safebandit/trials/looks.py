"""What follows from what is known in a trial of a design: arms that are dropped, the stop, and what is selected.

After every event that changes what is known, the software itself writes what follows from it, in events of its own:
`dropped`, `stopped`, and `selected` where an outcome that came after the stop changes the selection; `paused` and
`routed` where a rule says that instead of ending the trial, which a person may undo. They are made of
the trial's state alone, so that whoever replays the log can make them again. Rules are measured in the design's order
when a look is due, as in a simulated trial (`trials/simulated.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
from safebandit.trials.decision_words import reason_of
from safebandit.trials.design import CAUSES, Design
from safebandit.trials.events import Draft
from safebandit.trials.noted_arms import plain_number
from safebandit.trials.state import TrialState
from safebandit.version import __version__

# Why a trial ends where no stopping rule ends it.
MOST_UNITS, NO_ARM, POLICY = CAUSES
DONE_WORDS = "the policy's question is answered: nobody needs an arm any more"
# What a rule writes instead of stopping the trial, by what its `then` says.
GUARDS = {"pause": "paused", "route": "routed"}
# What a rule does where it is reached, by the same.
RULE_WORDS = {"stop": "stops the trial", "pause": "pauses the trial", "route": "routes all units to the control"}
# Events that change what is known; after any other nothing follows.
_TELLING = ("told", "corrected", "given up", "voided", "amended", "held")


class Measured(NamedTuple):
    """A stopping rule as it stands: how near it is for every arm (NaN: it says nothing), and where it is reached."""

    name: str
    rule: Any
    found: list[float]
    then: str = "stop"

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
        Measured(name, rule, state.allocator.measure(rule), then) for name, rule, then in rules_of(design)
    ]  # fmt: skip


def rules_of(design: Design) -> Iterator[tuple[str, Any, str]]:
    """The stopping rules with their names and what happens where they are reached, in order."""
    names = design.causes[-len(design.stop) :] if design.stop else ()
    return zip(names, design.stop, design.then, strict=True)


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
        written, stop = _by_rules(state, design) if state.look_due else ([], None)
        stop = stop or _ended(state, design.units)
        return written if stop is None else [*written, _stopped(state, design, *stop)]


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
    """What is written at a look: arms that are dropped, that the trial is paused or routed; and the first rule that
    stops the trial with what it says, if any does.
    """
    allocator = state.allocator
    written: list[Draft] = []
    for name, rule, then in rules_of(design):
        seen = Measured(name, rule, allocator.measure(rule), then)
        if not seen.reached:
            continue
        if then in GUARDS:
            written += _guarded(state, seen, GUARDS[then], [each.kind for each in written])
            continue
        if not seen.drops:
            return written, (name, why_reached(seen, allocator.arms))
        new = [k for k in seen.reached if not allocator.dropped[k]]
        written += [_dropped(seen, k, allocator.arms) for k in new]
        for k in new:
            allocator.drop(k)
    return written, None


def _guarded(state: TrialState, seen: Measured, kind: str, written: Sequence[str]) -> list[Draft]:
    """That a rule pauses the trial or routes it to the control; nothing where that is so already."""
    if kind in written or (state.status != "open" if kind == "paused" else state.routed is not None):
        return []
    measures = seen.to_dict(state.allocator.arms)
    return [Draft(kind, {**measures, "why": why_reached(seen, state.allocator.arms), **_software()})]


def _ended(state: TrialState, units: int) -> tuple[str, str] | None:
    """Whether the trial has ended by itself: nobody can be given an arm any more, and nothing is waited for."""
    course = state.allocator.course
    if state.done and not state.settings.factors:
        return POLICY, DONE_WORDS
    if course["settled"] < course["given"]:
        return None
    if course["given"] >= units:
        return MOST_UNITS, f"all {units_of(units, 'unit')} of the design had an arm, and nothing is waited for"
    # What only a person can end does not end the trial: a control that is not safe holds. And a stratum that gives no
    # arm any more says nothing of the others.
    if state.routed is not None or state.settings.factors:
        return None
    return _without_arm(state)


def _without_arm(state: TrialState) -> tuple[str, str] | None:
    """Whether nobody is given an arm any more, though nothing is waited for."""
    allocator = state.allocator
    next_one = allocator.consider(state.round)
    if next_one.k == DONE:
        return POLICY, DONE_WORDS
    if next_one.k >= 0:
        return None
    left = "every arm was dropped" if all(allocator.dropped) else reason_of(allocator, next_one)
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
