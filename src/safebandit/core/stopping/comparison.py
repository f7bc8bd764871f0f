"""Superiority, inferiority, equivalence by posterior chances: arms are compared with all others, or with a control.

They are the rules of the R package adaptr. At a look it first drops arms for inferiority, then asks for superiority,
then for equivalence, each time among the arms that are left: a design that lists them in this order does the same. Once
is enough for inferiority, because the chances of the others to be best only grow when an arm goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from safebandit.core.arms import Numbers, State
from safebandit.core.dispatch import inlined, piece
from safebandit.core.indices.interface import described
from safebandit.core.policies.checking import arm_number
from safebandit.core.posteriors import Left, arms_left, chance_alike, chances_best, chances_better
from safebandit.core.stopping.interface import measure
from safebandit.core.stopping.words import EVERY_ARM, chance, each_reached, number, prior, quoted, rule_name
from safebandit.errors import PolicyError

R = TypeVar("R", bound=Any)
FLAT = prior(1.0, 1.0)


@described(
    "reached where P(arm is best of those left) >= level, or P(it is better than the control by > difference) >= level",
    "Thall and Wathen 2007; as the R package adaptr",
    between=("level",),
)
class Superiority(NamedTuple):
    """Stop where an arm is the best of those that are left with a chance of at least `level`.

    Best is the largest reward, or the `lowest` first risk. Where there is a control, in the rule or the design, an arm
    must be better than that one, by more than `difference`. Without a control, the only arm that is left is superior.
    """

    level: float = 0.99
    control: Any = EVERY_ARM
    difference: float = 0.0
    lowest: bool = False

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return "chance that the arm is superior"

    def completed(self, design: Any) -> Superiority:
        return _completed(self, design)

    def says(self, design: Any) -> str:
        own = _completed(self, design)
        return f"The trial stops once an arm has a chance of at least {number(self.level)} {_better(own, design)}."

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        form = f"{{arm}} is {_than(self, arms)} with a chance of {{value}} ({number(self.level)} stops)"
        return each_reached(found, self.level, arms, form, chance)


@described(
    "an arm is dropped where P(it is best of those left) <= 1 - level, or P(it is better than the control by > "
    "difference) <= 1 - level",
    "as the R package adaptr, whose threshold is 1 - level; with a difference, its futility",
    between=("level",),
)
class Inferiority(NamedTuple):
    """Drop an arm that is not the best of those that are left with a chance of at least `level`.

    Best is the largest reward, or the `lowest` first risk. Where there is a control, in the rule or the design, an arm
    is dropped that is not better than that one, by more than `difference`; the control itself never is.
    """

    level: float = 0.99
    control: Any = EVERY_ARM
    difference: float = 0.0
    lowest: bool = False

    @property
    def drops(self) -> bool:
        return True

    @property
    def measure_word(self) -> str:
        return "chance that the arm is inferior"

    def completed(self, design: Any) -> Inferiority:
        own, least = _completed(self, design), 1.0 - 1.0 / len(design.arms)
        if own.control == EVERY_ARM and self.level <= least:
            raise PolicyError(
                f"level of inferiority must be above {number(least)} for {len(design.arms)} arms, or all could be "
                f"dropped at once, got {number(self.level)}"
            )
        return own

    def says(self, design: Any) -> str:
        own = _completed(self, design)
        return f"An arm is dropped once it has a chance of at most {number(1.0 - self.level)} {_better(own, design)}."

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        form = f"{{arm}} is not {_than(self, arms)} with a chance of {{value}} ({number(self.level)} drops an arm)"
        return each_reached(found, self.level, arms, form, chance)


@described(
    "reached where P(largest - smallest < difference) >= level, over the means of the arms that are left",
    "as the R package adaptr, without a control",
    positive=("difference",),
    between=("level",),
)
class Equivalence(NamedTuple):
    """Stop where all arms that are left differ by less than `difference` with a chance of at least `level`.

    Compared are rewards, or first risks where the `lowest` is best. One arm alone is not equivalent.
    """

    level: float = 0.9
    difference: float = 0.05
    lowest: bool = False

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return "chance that all arms are equivalent"

    def completed(self, design: Any) -> Equivalence:
        return self._replace(lowest=_lowest(self, design))

    def says(self, design: Any) -> str:
        what = f"first risk, {design.risks[0]}," if _lowest(self, design) else "reward"
        return (
            f"The trial stops once there is a chance of at least {number(self.level)} that all arms that are left "
            f"differ in their {what} by less than {number(self.difference)} ({FLAT})."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:  # noqa: ARG002
        return (
            f"all arms that are left differ by less than {number(self.difference)} with a chance of {chance(found[0])} "
            f"({number(self.level)} stops)"
        )


def _lowest(rule: Any, design: Any) -> bool:
    """Whether risks are compared: where the rule says so, and where there is no reward."""
    return bool(rule.lowest or not getattr(design, "rewarded", True))


def _completed(rule: R, design: Any) -> R:
    """The rule with its control, or the design's, as a number."""
    named = getattr(design, "control", None) if rule.control in (EVERY_ARM, None) else rule.control
    control = EVERY_ARM if named is None else arm_number(f"control of {rule_name(rule)}", named, design.arms)
    if control == EVERY_ARM and rule.difference != 0.0:
        raise PolicyError(
            f"difference of {rule_name(rule)} is one from a control, and there is none; got {number(rule.difference)}"
        )
    if not -1.0 < rule.difference < 1.0:
        raise PolicyError(f"difference of {rule_name(rule)} must lie between -1 and 1, got {number(rule.difference)}")
    changed: R = rule._replace(control=control, lowest=_lowest(rule, design))
    return changed


def _better(rule: Any, design: Any) -> str:
    """What an arm has a chance to be, for a protocol."""
    what = design.risks[0] if rule.lowest else "reward"
    if rule.control == EVERY_ARM:
        return f"to have the {'lowest' if rule.lowest else 'largest'} {what} of the arms that are left ({FLAT})"
    more = f" by more than {number(rule.difference)}" if rule.difference != 0.0 else ""
    side = "below" if rule.lowest else "above"
    return f"that its {what} is {side} that of {quoted(design.arms[rule.control])}{more} ({FLAT})"


def _than(rule: Any, arms: Sequence[str]) -> str:
    """What an arm is found to be, or not, as a form: a name is never one, whatever is in it."""
    if rule.control == EVERY_ARM:
        return "the best of the arms that were left"
    more = f" by more than {number(rule.difference)}" if rule.difference != 0.0 else ""
    control = quoted(arms[rule.control]).replace("{", "{{").replace("}", "}}")
    return f"better than {control}{more}"


@inlined
def _place(left: Left, arm: int) -> int:
    """The place of an arm among those that are left, -1 if it was dropped."""
    for i in range(left.arms.size):
        if left.arms[i] == arm:
            return i
    return -1


@piece
def _chances(rule: Any, left: Left) -> Numbers:
    """The chances of the arms that are left to be the best, or to be better than the control: NaN of that one, and of
    all where it was dropped.
    """
    if rule.control < 0:
        return chances_best(left.plays, left.ones)
    place = _place(left, rule.control)
    if place < 0:
        return np.full(left.arms.size, np.nan)
    return chances_better(left.plays, left.ones, place, rule.difference)


@measure.register(Superiority)
def measure_superiority(rule: Superiority, state: State, found: Numbers) -> None:
    left = arms_left(state, rule.lowest)
    chances = _chances(rule, left)
    for i in range(left.arms.size):
        found[left.arms[i]] = chances[i]


@measure.register(Inferiority)
def measure_inferiority(rule: Inferiority, state: State, found: Numbers) -> None:
    left = arms_left(state, rule.lowest)
    chances = _chances(rule, left)
    for i in range(left.arms.size):
        found[left.arms[i]] = 1.0 - chances[i]


@measure.register(Equivalence)
def measure_equivalence(rule: Equivalence, state: State, found: Numbers) -> None:
    left = arms_left(state, rule.lowest)
    if left.arms.size > 1:
        found[0] = chance_alike(left.plays, left.ones, rule.difference)
