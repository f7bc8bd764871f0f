"""How far a trial by a design is: its cohort, its units, its next look, and how near every stopping rule is."""

from __future__ import annotations

import math
from typing import Any

from safebandit.core.stopping.words import measure_word, says
from safebandit.trials.conduct_words import units_of
from safebandit.trials.looks import MOST_UNITS, RULE_WORDS, Measured, measured
from safebandit.trials.noted_arms import plain_number
from safebandit.trials.rules import then_says
from safebandit.trials.state import TrialState


def progress(state: TrialState) -> dict[str, Any] | None:
    """How far the trial is; None where it has no design. Measures are as they would be if now were a look."""
    design = state.settings.design
    if design is None:
        return None
    course = state.allocator.course
    return {
        "cohort": _cohort(state),
        "units": state.units,
        "most_units": design.units,
        "settled": course["settled"],
        "next_look": _next_look(state),
        "dropped": state.dropped_arms,
        "rules": [*(_rule(state, each) for each in measured(state)), _last_unit(course["settled"], design.units)],
    }


def _cohort(state: TrialState) -> dict[str, Any] | None:
    """The present cohort: its arm, and how many of its units have been given it."""
    course, size = state.allocator.course, state.settings.design.cohort if state.settings.design else 1
    if size == 1 or course["last"] < 0:
        return None
    return {"arm": state.allocator.arms[course["last"]], "given": course["cohort"], "of": size}


def _next_look(state: TrialState) -> int | None:
    """After how many settled units the data are looked at next; None after the last look, and once it has stopped."""
    looks, done = state.allocator.conduct.looks, state.allocator.looks
    return int(looks[done]) if done < len(looks) and state.stop is None else None


def _rule(state: TrialState, seen: Measured) -> dict[str, Any]:
    nearest = seen.nearest
    at = seen.found.index(nearest) if seen.drops and not math.isnan(nearest) else None
    return {
        "name": seen.name,
        "word": "drops an arm" if seen.drops else RULE_WORDS[seen.then],
        "measure_word": measure_word(seen.rule),
        "measure": plain_number(nearest),
        "level": plain_number(seen.level),
        "near": _nearness(nearest, seen.level),
        "arm": None if at is None else state.allocator.arms[at],
        "says": then_says(says(seen.rule, state.settings.design), seen.then),
    }


def _last_unit(settled: int, units: int) -> dict[str, Any]:
    """How far the trial is from its last unit, as a rule that every design has."""
    return {
        "name": MOST_UNITS,
        "word": "stops the trial",
        "measure_word": "settled units",
        "measure": float(settled),
        "level": float(units),
        "near": _nearness(settled, units),
        "arm": None,
        "says": f"The trial stops when all {units_of(units, 'unit')} had an arm and nothing is waited for.",
    }


def _nearness(measure: float, level: float) -> float | None:
    """The share of the way to the level, from 0 to 1."""
    if math.isnan(measure) or not math.isfinite(level) or level <= 0:
        return None
    return min(1.0, max(0.0, measure / level))
