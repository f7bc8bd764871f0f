"""Rules that only count: too many harms, too large a share of them, enough units on one arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from safebandit.core.arms import Numbers, State, at, quantity
from safebandit.core.indices.interface import described
from safebandit.core.stopping.interface import measure
from safebandit.core.stopping.words import EVERY_ARM, arm_of, each_reached, number, units


@described("reached where the sum of all known risks >= harms", positive=("harms",))
class TooManyHarms(NamedTuple):
    """Stop after so many harms, of all arms and all risks together; a risk between 0 and 1 counts as what it is."""

    harms: float

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return "harms"

    @property
    def level(self) -> float:
        return self.harms

    def says(self, design: Any) -> str:
        of = "" if len(design.limits) == 1 else f", of all risks together ({', '.join(design.risks)})"
        return f"The trial stops once there are {number(self.harms)} harms in all{of}."

    def why(self, found: Numbers, arms: Sequence[str]) -> str:  # noqa: ARG002
        return f"{number(found[0])} harms in all ({number(self.harms)} stop the trial)"


@described(
    "reached where the mean of a risk over all units >= share, once N >= least",
    between=("share",),
    not_negative=("least",),
)
class HarmShare(NamedTuple):
    """Stop where so large a share of all units was harmed, after `least` known units; by the worst of several risks."""

    share: float
    least: int = 10

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return "share of units that were harmed"

    @property
    def level(self) -> float:
        return self.share

    def says(self, design: Any) -> str:
        of = "" if len(design.limits) == 1 else f" by any one risk ({', '.join(design.risks)})"
        return (
            f"The trial stops once a share of at least {number(self.share)} of all units was harmed{of}, after at "
            f"least {units(self.least, 'known unit')}."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:  # noqa: ARG002
        return f"a share of {number(found[0])} of all units was harmed ({number(self.share)} stops)"


@described("reached where N >= units for an arm", positive=("units",))
class Enough(NamedTuple):
    """Stop where so many units of one arm, or of the one named, are settled: nothing of them is waited for."""

    units: int
    arm: Any = EVERY_ARM

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return "settled units of the arm"

    @property
    def level(self) -> float:
        return self.units

    def completed(self, design: Any) -> Enough:
        return self._replace(arm=arm_of(self, design))

    def says(self, design: Any) -> str:
        arm = arm_of(self, design)
        whose = "one arm" if arm == EVERY_ARM else f'arm "{design.arms[arm]}"'
        return f"The trial stops once {units(self.units)} of {whose} are settled."

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        return each_reached(found, self.level, arms, f"{{value}} settled units of {{arm}} ({self.units} stop)", number)


@measure.register(TooManyHarms)
def measure_harms(rule: TooManyHarms, state: State, found: Numbers) -> None:
    total = 0.0
    for k in range(state.size):
        for j in range(1, 1 + state.risks):
            total += quantity(state, k, j).total
    found[0] = total


@measure.register(HarmShare)
def measure_share(rule: HarmShare, state: State, found: Numbers) -> None:
    found[0] = 0.0
    for j in range(1, 1 + state.risks):
        total, known = 0.0, 0
        for k in range(state.size):
            total += quantity(state, k, j).total
            known += quantity(state, k, j).plays
        if known >= rule.least and known > 0:
            found[0] = max(found[0], total / known)


@measure.register(Enough)
def measure_enough(rule: Enough, state: State, found: Numbers) -> None:
    for k in range(state.size):
        if rule.arm < 0 or k == rule.arm:
            waiting = 0
            for j in range(1 + state.risks):
                waiting = max(waiting, quantity(state, k, j).pending)
            found[k] = at(state.arms, k).asked - waiting
