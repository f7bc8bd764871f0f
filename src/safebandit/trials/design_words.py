"""A design in words: what it says, one line for each thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safebandit.core.selection import words as selection_words
from safebandit.core.stopping import words as stopping_words
from safebandit.trials.rules import then_says

if TYPE_CHECKING:
    from safebandit.trials.design import Design

# More looks than these are not listed one by one.
MOST_SHOWN = 20
# The prior of credible intervals that goes without saying.
FLAT = (1.0, 1.0)


def describe(design: Design) -> list[tuple[str, str]]:
    """What a design says, as pairs of a word and a sentence."""
    said = [
        ("title", design.title),
        ("arms", ", ".join(design.arms) + (", from the lowest dose to the highest" if design.ordered else "")),
        ("control", _control(design)),
        ("outcomes", _outcomes(design)),
        ("policy", design.policy),
        ("units", _units(design)),
        ("strata", _strata(design)),
        ("first", _first(design)),
        ("steps", _steps(design)),
        ("looks", _looks(design)),
        ("pending", f"at most {design.pending_cap} of an arm wait for their risk while nothing is known of it"),
        ("lost", "a unit that is given up counts as " + ("harmed" if design.lost == "harm" else "not seen")),
        *(("stop", sentence) for sentence in stopping_sentences(design)),
        ("select", selection_words.says(design.select, design)),
        ("ids", f"of the form {design.ids}" if design.ids else ""),
        ("prior", "" if design.prior == FLAT else "credible intervals are from Beta({:g}, {:g})".format(*design.prior)),
        ("two people", ", ".join(design.second_person)),
    ]
    return [(word, sentence) for word, sentence in said if sentence]


def stopping_sentences(design: Design) -> list[str]:
    """Every stopping rule as a sentence."""
    rules = zip(design.stop, design.then, strict=True)
    return [then_says(stopping_words.says(rule, design), then) for rule, then in rules]


def _control(design: Design) -> str:
    if design.control is None or not design.control_floor:
        return design.control or ""
    return f"{design.control}, with a chance of at least {design.control_floor:g} while it is permissible"


def _outcomes(design: Design) -> str:
    risks = ", ".join(f"{name} (at most {limit:g})" for name, limit in zip(design.risks, design.limits, strict=True))
    least = "" if design.least_reward is None else f" (at least {design.least_reward:g} is wanted)"
    return f"reward{least}; {risks}" if design.rewarded else risks


def _units(design: Design) -> str:
    cohorts = f", in cohorts of {design.cohort}" if design.cohort > 1 else ""
    waits = "; the next begins when all is known of those before" if design.waits else ""
    return f"at most {design.units}{cohorts}{waits}"


def _strata(design: Design) -> str:
    if not design.strata:
        return ""
    return f"{factors_words(design)}; each decided by its own units, and all looked at together"


def factors_words(design: Design) -> str:
    """The factors of the strata, each with its levels."""
    return ", ".join(f"{factor} ({', '.join(levels)})" for factor, levels in design.strata)


def _first(design: Design) -> str:
    parts = [
        "" if design.first is None else f'arm "{design.first}"',
        f"{design.burn_in} units in equal shares" if design.burn_in else "",
    ]
    return ", then ".join(filter(None, parts))


def _steps(design: Design) -> str:
    if not design.ordered:
        return ""
    parts = [
        f"at most {design.steps} above the highest that was given" if design.steps else "",
        f"after {design.known_below} known outcomes of the arm below" if design.known_below else "",
        f"and if the arms below of which outcomes are known are safe with a chance of {design.climb:g} each"
        if design.climb
        else "",
        "an arm that is not permissible excludes those above it" if design.upwards else "",
    ]
    return "; ".join(filter(None, parts))


def _looks(design: Design) -> str:
    if isinstance(design.looks, tuple):
        shown = list(map(str, design.looks))
        return "after " + ", ".join(shown if len(shown) <= MOST_SHOWN else [*shown[:3], "...", shown[-1]]) + " units"
    every = design.cohort if design.looks is None else design.looks
    return "after every unit" if every == 1 else f"after every {every} units"
