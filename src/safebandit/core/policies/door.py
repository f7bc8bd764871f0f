"""The door to compiled code, through which every policy goes: parameters checked, names of arms as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, get_type_hints

from safebandit.core.indices import DESCRIPTIONS, Description, lower, upper
from safebandit.core.naming import read_number, read_value
from safebandit.core.policies.doubly_optimistic import DoublyOptimistic
from safebandit.core.policies.interface import LEAST_RISKY, Limits, choose
from safebandit.core.policies.mixture import PolicyMixture
from safebandit.core.policies.pairs import risk_bound
from safebandit.core.policies.texts import policy_from_text
from safebandit.errors import PolicyError

# How "hold" is written for compiled code; any negative number but LEAST_RISKY would do.
_HOLD_CODE = LEAST_RISKY - 1


def prepare(policy: Any, arms: Sequence[str], when_none: str, *, limits: Limits, risks: Any = None) -> Any:
    """The policy as compiled code takes it: texts read, parameters checked, arms and `when_none` as numbers.

    `when_none` is what a policy does that does not say; `limits` are the tolerated risks, `risks` the mean risks, where
    they are known.
    """
    if isinstance(policy, str):
        policy = policy_from_text(policy)
    if not (isinstance(policy, tuple) and hasattr(policy, "_fields") and choose.knows(type(policy))):
        raise PolicyError(f"a policy is a name such as tsbu, or a DoublyOptimistic(...), got {policy!r}")
    if isinstance(policy, PolicyMixture):
        return _prepare_mixture(policy, arms, when_none, limits, risks)
    if not isinstance(policy, DoublyOptimistic):
        return policy
    if len(limits) > 1 and DESCRIPTIONS.get(type(policy.reward), Description()).one_risk:
        kind = type(policy.reward).__name__
        raise PolicyError(f"{kind} asks how the reward depends on one risk, got {len(limits)}; take joint-ts")
    head_start = int(read_number("head_start", policy.head_start, int, PolicyError))
    if head_start < 0:
        raise PolicyError(f"head_start must be at least 0 (rounds), got {policy.head_start}")
    return DoublyOptimistic(
        _checked(policy.reward, upper, "reward index"),
        _checked(policy.safety, lower, "safety index"),
        _when_none_code(when_none if policy.when_none is None else policy.when_none, arms),
        read_value("each_first", policy.each_first, bool, PolicyError),
        head_start,
    )


def _prepare_mixture(policy: PolicyMixture, arms: Sequence[str], when_none: str, limits: Limits, risks: Any) -> Any:
    if len(limits) > 1:
        raise PolicyError(f"bwcr and pess mix arms under one risk, got {len(limits)}; take a doubly optimistic policy")
    (alpha,) = limits
    safe_arm = -1 if policy.safe_arm is None else arm_number("safe_arm", policy.safe_arm, arms)
    safe_risk = policy.safe_risk
    if safe_arm >= 0 and safe_risk is None:
        if risks is None:
            raise PolicyError(f'the mean risk of the safe arm "{arms[safe_arm]}" must be known; give safe_risk=')
        safe_risk = risks[safe_arm]
    safe_risk = read_number("safe_risk", 0.0 if safe_risk is None else safe_risk, float, PolicyError)
    if not 0.0 <= safe_risk <= alpha:
        raise PolicyError(f"the safe arm's mean risk must lie in [0, alpha] = [0, {alpha:g}], got {safe_risk:g}")
    return PolicyMixture(
        _checked(policy.reward, upper, "reward index"),
        _checked(policy.risk, risk_bound if risk_bound.knows(type(policy.risk)) else lower, "risk index"),
        safe_arm,
        float(safe_risk),
        _when_none_code(when_none if policy.when_none is None else policy.when_none, arms),
        read_value("each_first", policy.each_first, bool, PolicyError),
    )


def arm_number(what: str, arm: Any, arms: Sequence[str]) -> int:
    """An arm by its name, or by its number from 0, which a text may write as "#0" to tell it from a name."""
    if arm in arms:
        return list(arms).index(arm)
    try:
        number = int(read_number(what, arm.removeprefix("#") if isinstance(arm, str) else arm, int, PolicyError))
    except PolicyError:
        number = -1
    if not 0 <= number < len(arms):
        raise PolicyError(f"{what} must be an arm (0 to {len(arms) - 1}, or one of {', '.join(arms)}), got {arm!r}")
    return number


def _checked(index: Any, question: Any, what: str) -> Any:
    """An index with its parameters read by their annotations and held to the rules of its class."""
    kind = type(index)
    if not hasattr(index, "_fields") or not any(question.knows(base) for base in kind.__mro__[:-1]):
        raise PolicyError(f"a {what} is a NamedTuple with a formula registered for {question.name}, got {index!r}")
    hints, rules = get_type_hints(kind), DESCRIPTIONS.get(kind, Description())
    values = {}
    for key, value in index._asdict().items():
        values[key] = read_value(key, value, hints.get(key, Any), PolicyError)
        if key in rules.positive and not values[key] > 0:
            raise PolicyError(f"{key} of {kind.__name__} must be above 0, got {value!r}")
        if key in rules.not_negative and not values[key] >= 0:
            raise PolicyError(f"{key} of {kind.__name__} must be at least 0, got {value!r}")
    # Plain numbers: compiled code compares them, and Numba recognises their types fastest.
    return kind(**{key: int(value) if isinstance(value, IntEnum) else value for key, value in values.items()})


def _when_none_code(when_none: Any, arms: Sequence[str]) -> int:
    """`least_risky`, `hold`, or an arm by its name or its number from 0."""
    if when_none == "least_risky":
        return LEAST_RISKY
    if when_none == "hold":
        return _HOLD_CODE
    return arm_number("when_none, unless least_risky or hold,", when_none, arms)
