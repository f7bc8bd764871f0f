"""What a stopping rule says in words. Nothing here is compiled.

A rule is a NamedTuple for which `measure` has a formula. It is reached where the measured number is at least its level:

    level              the number at which it is reached: a field, or a property
    drops              whether an arm is dropped where it is reached, and the trial goes on; else the trial stops
    measure_word       what the measured number is called, such as "chance that every arm is too risky"
    says(design)       one sentence for a protocol, with the rule's numbers
    why(found, arms)   what happened, in numbers: what was measured, and the names of the arms
    needs              where it has some: what the design must have for it: "reward", "order", "control", "least_reward"
    by_harms           where it has one: whether harms alone decide, and more of them never undo it: a protocol has a
                       table of such rules
    completed(design)  where it has one: the rule as compiled code takes it, with what it takes from the design

`design` is a Design, or `Terms`: it has arms, limits, risks (their names), upwards, least_reward and control. Only
`level` and `drops` are needed: for what else a rule does not say, there are words here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.indices.interface import DESCRIPTIONS, Description
from safebandit.core.naming import kebab
from safebandit.core.policies.checking import arm_number

# Stands for a rule's arm where it asks every arm.
EVERY_ARM = -1


class Terms(NamedTuple):
    """What rules read of a design; a design has the same under the same names."""

    arms: Sequence[str]
    limits: tuple[float, ...]
    risks: tuple[str, ...] = ("risk",)
    upwards: bool = False
    least_reward: float | None = None
    control: str | None = None


def rule_name(rule: Any) -> str:
    """The name of a rule, or of a class of rules, as people write it.

    >>> class ArmHarm(NamedTuple): ...
    >>> rule_name(ArmHarm), rule_name(ArmHarm())
    ('arm-harm', 'arm-harm')
    """
    kind = rule if isinstance(rule, type) else type(rule)
    return DESCRIPTIONS.get(kind, Description()).name or kebab(kind.__name__)


def measure_word(rule: Any) -> str:
    """What the measured number of any rule is called."""
    return str(getattr(rule, "measure_word", f"measure of {rule_name(rule)}"))


def says(rule: Any, design: Any) -> str:
    """Any rule as a sentence for a protocol, in its own words where it has some."""
    if hasattr(rule, "says"):
        return str(rule.says(design))
    happens = "An arm is dropped" if rule.drops else "The trial stops"
    return f"{happens} once its {measure_word(rule)} is at least {number(rule.level)}."


def why(rule: Any, found: Numbers, arms: Sequence[str]) -> str:
    """What happened where any rule was reached, in its own words where it has some."""
    if hasattr(rule, "why"):
        return str(rule.why(found, arms))
    shown = " and ".join(number(found[k]) for k in reached(found, rule.level))
    return f"{measure_word(rule)} {shown}, at least {number(rule.level)}"


def reached(found: Numbers, level: float) -> list[int]:
    """The places at which a measured number is at least its level: those of arms, or the first."""
    return [int(k) for k in np.flatnonzero(found >= level)]


def each_reached(found: Numbers, level: float, arms: Sequence[str], form: str, write: Callable[[float], str]) -> str:
    """Of every arm at which a rule is reached one clause: `form` with the arm and its number filled in."""
    return "; ".join(form.format(arm=quoted(arms[k]), value=write(found[k])) for k in reached(found, level))


def number(value: float) -> str:
    """A number as people read it.

    >>> number(0.95), number(12), number(1 / 3)
    ('0.95', '12', '0.3333')
    """
    return f"{value:.4g}"


def chance(value: float) -> str:
    """A chance that is not 0 or 1 never reads as if it were.

    >>> chance(0.97), chance(0.99999), chance(1.0)
    ('0.97', 'above 0.9999', '1')
    """
    if 0.9999 < value < 1.0:
        return "above 0.9999"
    return "below 0.0001" if 0.0 < value < 0.0001 else number(value)


def too_risky(design: Any) -> str:
    """What a too large risk is, with its limit.

    >>> too_risky(Terms(["low"], (0.3,))), too_risky(Terms(["low"], (0.3, 0.1), ("fall", "bleeding")))
    ('its risk is above 0.3', 'a risk is above its limit (fall 0.3, bleeding 0.1)')
    """
    if len(design.limits) == 1:
        return f"its {design.risks[0]} is above {number(design.limits[0])}"
    return f"a risk is above its limit ({_limits(design)})"


def tolerated(design: Any) -> str:
    """What a tolerated risk is, with its limit.

    >>> tolerated(Terms(["low"], (0.3,))), tolerated(Terms(["low"], (0.3, 0.1), ("fall", "bleeding")))
    ('its risk is at most 0.3', 'every risk is at most its limit (fall 0.3, bleeding 0.1)')
    """
    if len(design.limits) == 1:
        return f"its {design.risks[0]} is at most {number(design.limits[0])}"
    return f"every risk is at most its limit ({_limits(design)})"


def _limits(design: Any) -> str:
    return ", ".join(f"{name} {number(limit)}" for name, limit in zip(design.risks, design.limits, strict=True))


def prior(a: float, b: float) -> str:
    """The prior in words."""
    return f"prior Beta({number(a)}, {number(b)})"


def units(count: int, what: str = "unit") -> str:
    """So many units.

    >>> units(1), units(3, "known unit")
    ('1 unit', '3 known units')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def quoted(arm: str) -> str:
    """The name of an arm in a sentence."""
    return f'"{arm}"'


def arm_of(rule: Any, design: Any) -> int:
    """The number of the arm that a rule names, or EVERY_ARM."""
    if rule.arm is None or (rule.arm == EVERY_ARM and not isinstance(rule.arm, bool)):
        return EVERY_ARM
    return arm_number(f"arm of {rule_name(rule)}", rule.arm, design.arms)


def whom(rule: Any, design: Any) -> str:
    """The subject of a sentence about the arm that a rule names, or about any."""
    arm = arm_of(rule, design)
    return "An arm" if arm == EVERY_ARM else f"Arm {quoted(design.arms[arm])}"
