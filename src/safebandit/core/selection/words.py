"""What a selection rule says in words. Nothing here is compiled.

A rule is a NamedTuple for which `select` has a formula. It may have:

    says(design)             one sentence for a protocol, with the rule's numbers
    why(arm, seen, design)   why this arm was selected, or none (NONE_SELECTED): `seen` has what is known, by arm and
                             then its reward and its risks, as records of type QUANTITY
    completed(design)        the rule as compiled code takes it, with what it takes from the design

`design` is a Design, or `Terms`.
"""

from __future__ import annotations

from typing import Any

from safebandit.core.arms import Records
from safebandit.core.bernoulli import beta_below
from safebandit.core.selection.interface import NONE_SELECTED
from safebandit.core.stopping.words import quoted, rule_name
from safebandit.errors import PolicyError


def says(rule: Any, design: Any) -> str:
    """Any rule as a sentence for a protocol, in its own words where it has some."""
    return str(rule.says(design)) if hasattr(rule, "says") else f"At the end {rule_name(rule)} selects an arm, or none."


def why(rule: Any, arm: int, seen: Records, design: Any) -> str:
    """Why any rule selected this arm, or none, in its own words where it has some."""
    if hasattr(rule, "why"):
        return str(rule.why(arm, seen, design))
    what = "no arm" if arm == NONE_SELECTED else quoted(design.arms[arm])
    return f"{rule_name(rule)} selects {what}"


def check_one_risk(rule: Any, design: Any) -> None:
    """Refuse several risks for a rule that knows of one alone."""
    if len(design.limits) > 1:
        raise PolicyError(
            f"{rule_name(rule)} asks how one risk grows with the dose, got {len(design.limits)} risks; "
            "take best-safe with isotonic = true"
        )


def check_least_reward(rule: Any) -> None:
    """Refuse a least reward that no arm can have."""
    if rule.least_reward > 1:
        raise PolicyError(f"least_reward of {type(rule).__name__} must be at most 1, got {rule.least_reward!r}")


def safe_chance(seen: Records, arm: int, a: float, b: float) -> float:
    """The chance that every risk of an arm is at most its limit, from its own outcomes."""
    chance = 1.0
    for risk in seen[arm][1:]:
        chance *= beta_below(a + risk["ones"], b + risk["plays"] - risk["ones"], risk["limit"])
    return chance
