"""Checks of indices: what live trials show of every arm at every round, beside the definitions by SciPy.

A trial of a hundred units is asked and told as an operator would; each time its explanation has every arm's counts and
indices, and the definition is computed from those counts alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

from scipy import special

from safebandit.studies.validation.check import Check, Extent, Obtained
from safebandit.studies.validation.definitions import divergence_root
from safebandit.trials.explanation import ArmView
from safebandit.trials.trial import Trial

GROUP = "indices"
ALPHA, UNITS, SEED = 0.3, 100, 5
# Outcomes of every arm, in order, as a fixed pattern of bits: reward and risk of its n-th unit.
_REWARD = ("0110100110", "1011011101", "0101101010")
_RISK = ("0001000001", "0100100010", "0110101101")


@functools.cache
def _views(policy: str) -> tuple[tuple[int, ArmView], ...]:
    """Every arm at every round of a trial, as its explanation has it."""
    trial, seen, given = Trial(["low", "mid", "high"], alpha=ALPHA, policy=policy, seed=SEED), [], [0, 0, 0]
    for _ in range(UNITS):
        explained = trial.explain()
        seen += [(explained.round, view) for view in explained.arms if view.plays > 0]
        unit = trial.ask()
        if unit.arm is None:
            break
        k = trial.arms.index(unit.arm)
        place = given[k] % 10
        trial.tell(unit.id, reward=int(_REWARD[k][place]), risk=int(_RISK[k][place]))
        given[k] += 1
    return tuple(seen)


def kl_upper_index(view: ArmView, t: int) -> float:
    """max{ q : N d(mean||q) <= log t }, by bracketing."""
    return divergence_root(view.mean_reward or 0.0, math.log(t) / view.plays, 1.0)


def kl_lower_index(view: ArmView, t: int) -> float:
    """min{ q : N d(mean||q) <= log t }, by bracketing."""
    mean = view.mean_risk if isinstance(view.mean_risk, float) else 0.0
    return divergence_root(mean, math.log(t) / view.plays, 1e-300) if mean > 0 else 0.0


def bayes_lower_index(view: ArmView, t: int) -> float:
    """The min(alpha/2, 1/(t+1)) quantile of Beta(S, N-S+1), by SciPy; 0 without a harm."""
    mean = view.mean_risk if isinstance(view.mean_risk, float) else 0.0
    harms = round(mean * view.plays)
    level = min(ALPHA / 2.0, 1.0 / (t + 1.0))
    return float(special.betaincinv(harms, view.plays - harms + 1, level)) if harms else 0.0


def _risk_index(view: ArmView) -> float | None:
    return view.risk_index if isinstance(view.risk_index, float) else None


def _differences(
    policy: str, shown: Callable[[ArmView], float | None], definition: Callable[[ArmView, int], float]
) -> Iterator[float]:
    for t, view in _views(policy):
        value = shown(view)
        if value is not None:
            yield abs(value - definition(view, t))


def _check(
    policy: str, word: str, shown: Callable[[ArmView], float | None], definition: Callable[[ArmView, int], float]
) -> Check:
    def compute(_: Extent) -> Obtained:
        found = list(_differences(policy, shown, definition))
        # A trial that shows nothing would agree with everything.
        return Obtained(max(found) if len(found) >= UNITS else math.nan)

    source = (definition.__doc__ or "").rstrip(".")
    return Check(
        f"{policy}, {word}: the largest difference in a live trial", GROUP, source, 0.0, compute,
        "digits that both promise: 9", 1e-9,
    )  # fmt: skip


CHECKS = (
    _check("docb", "reward index", lambda view: view.reward_index, kl_upper_index),
    _check("docb", "risk index", _risk_index, kl_lower_index),
    _check("tsbu", "risk index", _risk_index, bayes_lower_index),
)
