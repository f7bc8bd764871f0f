"""Why this arm, and why not the others: what a policy sees, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from safebandit.core.arms import Memory
from safebandit.core.conduct import DROPPED, FREE
from safebandit.core.policies import Decision, Floored, forbids, risk_word, why
from safebandit.problems.limits import ONE_RISK, Alpha, plain_alpha, show_alpha
from safebandit.trials.conduct_words import BARS

if TYPE_CHECKING:
    import pandas as pd

# A gate asks no index, but what it is made of: the last digits of the index may say otherwise.
ROUNDING = 1e-9


class ArmView(NamedTuple):
    """One arm as the policy sees it. Means and indices that do not exist are None.

    `pending` are the units whose risk is not known yet. With several risks it is the largest of their counts, and
    `mean_risk` and `risk_index` are tuples. `own` are numbers that the policy itself looks at, by name.
    """

    arm: str
    plays: int
    pending: int
    mean_reward: float | None
    mean_risk: float | tuple[float | None, ...] | None
    reward_index: float | None
    risk_index: float | tuple[float | None, ...] | None
    probability: float | None
    permissible: bool
    chosen: bool
    why: str
    own: Mapping[str, float | None]


@dataclass(frozen=True)
class Explanation:
    """The arm that the next `ask` gives (None: it holds), why, and every arm's numbers; `context` says for a unit of
    which context.
    """

    round: int
    alpha: Alpha
    chosen: str | None
    why: str
    arms: tuple[ArmView, ...]
    risks: tuple[str, ...] = ONE_RISK
    context: str = ""

    def table(self) -> pd.DataFrame:
        """One row per arm; several risks have a column each, such as "mean_risk nausea"."""
        import pandas as pd

        rows = [self._row(view) for view in self.arms]
        return pd.DataFrame(rows, columns=list(rows[0])).set_index("arm")

    def _row(self, view: ArmView) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for field, value in view._asdict().items():
            if field == "own":
                row |= value
            elif isinstance(value, tuple):
                row |= {f"{field} {name}": part for name, part in zip(self.risks, value, strict=True)}
            else:
                row[field] = value
        return row

    def __str__(self) -> str:
        unit = f", {self.context}" if self.context else ""
        head = f"round {self.round}{unit}, alpha {show_alpha(self.alpha)}: {self.chosen or 'hold'} ({self.why})"
        return f"{head}\n{self.table().to_string(na_rep='-', float_format=lambda x: f'{x:.4f}')}"

    def _repr_html_(self) -> str:
        return str(
            self.table().style.set_caption(f"round {self.round}: {self.chosen or 'hold'} ({self.why})").to_html()
        )


class _Gate(NamedTuple):
    """What is needed to say why an arm is not permissible: a policy, its decision, and alpha and names of the risks."""

    policy: Any
    decision: Decision
    limits: tuple[float, ...]
    risks: Sequence[str]


def policy_reason(policy: Any, decision: Decision, limits: tuple[float, ...], risks: Sequence[str]) -> str:
    """Why a policy gives this arm, or why it gives none, in words."""
    k = decision.k
    if decision.none:
        rule = "the policy holds" if k < 0 else "the policy's when_none rule gives this arm"
        return f"no arm is permissible: {_why_none(_Gate(policy, decision, limits, risks))}; {rule}"
    if k < 0:
        return "the policy holds"
    return why(policy, decision, k)


def explain_decision(
    policy: Any,
    decision: Decision,
    memory: Memory,
    t: int,
    limits: tuple[float, ...],
    risks: tuple[str, ...] = ONE_RISK,
    *,
    reason: str,
    bars: Sequence[int],
) -> Explanation:
    """Describe a decision of round t by what was known of the arms; `bars` are what speaks against giving each."""
    k, arms, seen, names = decision.k, memory.arms[0], memory.quantities[0], decision.arms
    gate = _Gate(policy, decision, limits, risks)
    views = tuple(
        ArmView(
            names[i],
            int(arms["asked"][i]),
            int(seen["pending"][i, 1:].max()),
            _mean(seen[i, 0]),
            _plain([_mean(risk) for risk in seen[i, 1:]]),
            _number(decision.indices[i]),
            _plain([_number(bound) for bound in decision.bounds[i]]),
            _number(decision.probabilities[i]),
            bool(decision.permissible[i]),
            i == k,
            reason if i == k else _why_not(i, bars[i], gate),
            {name: _number(numbers[i]) for name, numbers in decision.own.items()},
        )
        for i in range(len(names))
    )
    return Explanation(t, plain_alpha(limits), names[k] if k >= 0 else None, reason, views, risks)


def _why_none(gate: _Gate) -> str:
    own = forbids(gate.policy, gate.decision, 0)
    if own is not None:
        return f'of "{gate.decision.arms[0]}": {own}'
    names, bounds, limits = gate.decision.arms, gate.decision.bounds, gate.limits
    # NaN where an index cannot be computed: such an arm is not the nearest.
    excess = (bounds - np.array(limits)).max(axis=1)
    if np.isnan(excess).all():
        return "no arm has a risk index"
    least = int(np.nanargmin(excess))
    if excess[least] <= 0 and least > 0:
        return f'of "{names[0]}": {_what_forbids(0, gate)}; that excludes the arms above it'
    word = risk_word(gate.policy, least)
    if len(limits) == 1:
        return f'every {word} is above {limits[0]:g} (smallest: {apart(bounds[least, 0], limits[0])}, "{names[least]}")'
    j = int(np.argmax(bounds[least] - np.array(limits)))
    nearest = f'{apart(bounds[least, j], limits[j])} of risk "{gate.risks[j]}" against {limits[j]:g}, "{names[least]}"'
    return f"every arm has a {word} above its alpha (nearest: {nearest})"


def _why_not(i: int, bar: int, gate: _Gate) -> str:
    """Why an arm was not given."""
    if bar == DROPPED:
        return BARS[bar]
    permissible, chance = gate.decision.permissible[i], gate.decision.probabilities[i]
    if not permissible and not chance > 0.0:
        return f"not permissible: {_what_forbids(i, gate)}"
    if bar != FREE:
        return BARS[bar]
    if not gate.decision.by_policy:
        return "the policy was not asked"
    return why(gate.policy, gate.decision, i)


def gate_words(
    policy: Any, i: int, decision: Decision, limits: tuple[float, ...], risks: Sequence[str], *, bar: int
) -> str:
    """Whether arm i may be given, and why, whoever is chosen; `bar` is what speaks against it."""
    if bar == DROPPED:
        return BARS[bar]
    gate, word, bounds = _Gate(policy, decision, limits, risks), risk_word(policy, i), decision.bounds[i]
    if not decision.permissible[i]:
        return f"not permissible: {_what_forbids(i, gate)}"
    if bar != FREE:
        return f"permissible, but {BARS[bar]}"
    if not (bounds <= np.array(limits) + ROUNDING).all() or hasattr(without_floor(policy), "forbids"):
        return "permissible by the policy's own rule"
    if len(limits) > 1:
        return f"permissible: no {word} is above its alpha"
    return f"permissible: {word} {bounds[0]:.4g} is at most alpha {limits[0]:g}"


def without_floor(policy: Any) -> Any:
    """The policy itself, where it has a floor; its gates are the same."""
    return without_floor(policy.policy) if isinstance(policy, Floored) else policy


def _what_forbids(i: int, gate: _Gate) -> str:
    own = forbids(gate.policy, gate.decision, i)
    if own is not None:
        return own
    bounds, word = gate.decision.bounds[i], risk_word(gate.policy, i)
    # Within its limits and yet not permissible: only where exclusion goes upwards can an arm below be the reason.
    below = [name for name, may in zip(gate.decision.arms[:i], gate.decision.permissible, strict=False) if not may]
    if below and (bounds <= np.array(gate.limits)).all():
        return f'"{below[0]}" below it is not, and that excludes the arms above it'
    if len(gate.limits) == 1:
        bound, limit = bounds[0], gate.limits[0]
        if np.isnan(bound):
            return f"its {word} cannot be computed"
        if bound <= limit:
            return f"{word} {bound:.4g} is not within alpha {limit:g}, by the last digits"
        return f"{word} {apart(bound, limit)} is above alpha {limit:g}"
    above = [
        f'{word} {apart(bounds[j], limit)} of risk "{name}" is above its alpha {limit:g}'
        for j, (name, limit) in enumerate(zip(gate.risks, gate.limits, strict=True))
        # Not `>`: an index that cannot be computed forbids too.
        if not bounds[j] <= limit
    ]
    return " and ".join(above) or f"by its risks together, though no {word} alone is above its alpha"


def apart(value: float, limit: float) -> str:
    """A number in four digits, or in as many as show on which side of its limit it lies.

    >>> apart(0.31624, 0.2), apart(0.2000004, 0.2)
    ('0.3162', '0.2000004')
    """
    for digits in range(4, 17):
        text = f"{value:.{digits}g}"
        if (float(text) > limit) == (value > limit) and (float(text) < limit) == (value < limit):
            return text
    return repr(float(value))


def _plain(values: list[float | None]) -> float | tuple[float | None, ...] | None:
    """The number of a single risk by itself."""
    return values[0] if len(values) == 1 else tuple(values)


def _mean(quantity: Any) -> float | None:
    return float(quantity["total"] / quantity["plays"]) if quantity["plays"] > 0 else None


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
