"""Why this arm, and why not the others: what a policy sees, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Memory, Numbers
from safebandit.core.policies import WAIT
from safebandit.problems.limits import ONE_RISK, Alpha, plain_alpha, show_alpha

if TYPE_CHECKING:
    import pandas as pd


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
    """The arm that the next `ask` gives (None: it holds), why, and every arm's numbers."""

    round: int
    alpha: Alpha
    chosen: str | None
    why: str
    arms: tuple[ArmView, ...]
    risks: tuple[str, ...] = ONE_RISK

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
        head = f"round {self.round}, alpha {show_alpha(self.alpha)}: {self.chosen or 'hold'} ({self.why})"
        return f"{head}\n{self.table().to_string(na_rep='-', float_format=lambda x: f'{x:.4f}')}"

    def _repr_html_(self) -> str:
        return str(
            self.table().style.set_caption(f"round {self.round}: {self.chosen or 'hold'} ({self.why})").to_html()
        )


class _Gate(NamedTuple):
    """What is needed to say why an arm is not permissible: every arm's risk indices (columns), limits and names."""

    bounds: Numbers
    limits: tuple[float, ...]
    risks: Sequence[str]


class Decision(NamedTuple):
    """A decision and what it saw: the arm by number (HOLD or WAIT: none), whether no arm was permissible; and of every
    arm if it is permissible, its reward index, its risk indices (columns), its probability where the policy mixes arms,
    and the policy's own numbers by name; NaN where there is none.
    """

    k: int
    none: bool
    permissible: NDArray[np.bool_]
    indices: Numbers
    bounds: Numbers
    probabilities: Numbers
    own: Mapping[str, Numbers]

    @property
    def first_play(self) -> bool:
        """Whether the arm was given because it had never been: no index was asked then."""
        return self.k >= 0 and not self.none and bool(np.isnan(self.indices).all())


def reason_of(decision: Decision, limits: tuple[float, ...], names: Sequence[str], risks: Sequence[str]) -> str:
    """Why this arm, or why none, in words."""
    return _why(decision.k, decision.none, names, _Gate(decision.bounds, limits, risks), decision.first_play)


def explain_decision(
    decision: Decision,
    memory: Memory,
    t: int,
    limits: tuple[float, ...],
    names: tuple[str, ...],
    risks: tuple[str, ...] = ONE_RISK,
) -> Explanation:
    """Describe a decision of round t by what was known of the arms."""
    k, arms, seen = decision.k, memory.arms[0], memory.quantities[0]
    gate = _Gate(decision.bounds, limits, risks)
    why = reason_of(decision, limits, names, risks)
    views = tuple(
        ArmView(
            names[i],
            int(arms["asked"][i]),
            int(seen["pending"][i, 1:].max()),
            _mean(seen[i, 0]),
            _plain([_mean(risk) for risk in seen[i, 1:]]),
            _number(decision.indices[i]),
            _plain([_number(bound) for bound in gate.bounds[i]]),
            _number(decision.probabilities[i]),
            bool(decision.permissible[i]),
            i == k,
            _why_arm(i, k, why, bool(decision.permissible[i]), bool(arms["available"][i]), decision.indices[i], gate),
            {name: _number(numbers[i]) for name, numbers in decision.own.items()},
        )
        for i in range(len(names))
    )
    return Explanation(t, plain_alpha(limits), names[k] if k >= 0 else None, why, views, risks)


def _why(k: int, none: bool, names: Sequence[str], gate: _Gate, first_plays: bool) -> str:
    if k == WAIT:
        return "every arm that may be given waits for outcomes of units already given it"
    if none:
        rule = "the policy holds" if k < 0 else "the policy's when_none rule gives this arm"
        return f"no arm is permissible: {_why_none(names, gate)}; {rule}"
    if first_plays:
        return "every arm is played once before any index is asked"
    return "largest reward index among the permissible arms"


def _why_none(names: Sequence[str], gate: _Gate) -> str:
    # NaN where an index cannot be computed: such an arm is not the nearest.
    excess = (gate.bounds - np.array(gate.limits)).max(axis=1)
    least = int(np.nanargmin(excess)) if not np.isnan(excess).all() else 0
    if len(gate.limits) == 1:
        smallest = f'{gate.bounds[least, 0]:.4g}, "{names[least]}"'
        return f"every lower risk index is above {gate.limits[0]:g} (smallest: {smallest})"
    j = int(np.argmax(gate.bounds[least] - np.array(gate.limits)))
    nearest = f'{gate.bounds[least, j]:.4g} of risk "{gate.risks[j]}" against {gate.limits[j]:g}, "{names[least]}"'
    return f"every arm has a lower risk index above its alpha (nearest: {nearest})"


def _why_arm(i: int, k: int, why: str, permissible: bool, available: bool, index: float, gate: _Gate) -> str:
    if i == k:
        return why
    if not permissible:
        return f"not permissible: {_what_forbids(i, gate)}"
    if not available:
        return "waits for outcomes of units already given it"
    if np.isnan(index):
        return "permissible; its reward index was not needed"
    return "permissible; another arm's reward index is larger"


def gate_words(i: int, decision: Decision, limits: tuple[float, ...], risks: Sequence[str], *, available: bool) -> str:
    """Whether arm i may be given, and why, whoever is chosen."""
    gate = _Gate(decision.bounds, limits, risks)
    if not decision.permissible[i]:
        return f"not permissible: {_what_forbids(i, gate)}"
    if not available:
        return "permissible, but waits for outcomes of units already given it"
    if len(limits) > 1:
        return "permissible: no lower risk index is above its alpha"
    return f"permissible: lower risk index {decision.bounds[i, 0]:.4g} is at most alpha {limits[0]:g}"


def _what_forbids(i: int, gate: _Gate) -> str:
    bounds = gate.bounds[i]
    if len(gate.limits) == 1:
        return f"lower risk index {bounds[0]:.4g} is above alpha {gate.limits[0]:g}"
    above = [
        f'lower index {bounds[j]:.4g} of risk "{name}" is above its alpha {limit:g}'
        for j, (name, limit) in enumerate(zip(gate.risks, gate.limits, strict=True))
        # Not `>`: an index that cannot be computed forbids too.
        if not bounds[j] <= limit
    ]
    return " and ".join(above) or "by its risks together, though no lower index alone is above its alpha"


def _plain(values: list[float | None]) -> float | tuple[float | None, ...] | None:
    """The number of a single risk by itself."""
    return values[0] if len(values) == 1 else tuple(values)


def _mean(quantity: Any) -> float | None:
    return float(quantity["total"] / quantity["plays"]) if quantity["plays"] > 0 else None


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
