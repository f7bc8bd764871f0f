"""Policies by name, and the door through which every policy enters: named, written out, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar, get_type_hints

from safebandit.errors import PolicyError, suggest
from safebandit.indices import (
    DESCRIPTIONS,
    BayesLower,
    Description,
    KLLower,
    KLUpper,
    Level,
    SampledRisk,
    Schedule,
    Thompson,
    lower,
    upper,
)
from safebandit.naming import call, call_by_name, kebab, read_number, read_value, split_call
from safebandit.policies.doubly_optimistic import DoublyOptimistic
from safebandit.policies.interface import LEAST_RISKY, choose

C = TypeVar("C", bound=Callable[..., Any])

# How "hold" is written for compiled code; any negative number but LEAST_RISKY would do.
_HOLD_CODE = LEAST_RISKY - 1


class Entry(NamedTuple):
    """A policy of the catalogue: its constructor, and where it comes from."""

    constructor: Callable[..., Any]
    formula: str
    source: str


POLICIES: dict[str, Entry] = {}


def named_policy(formula: str, source: str) -> Callable[[C], C]:
    """Enter a constructor into the catalogue under its own name."""

    def enter(constructor: C) -> C:
        POLICIES[kebab(constructor.__name__)] = Entry(constructor, formula, source)
        return constructor

    return enter


@named_policy("play argmax U among arms with L <= alpha; U, L by KL-UCB", "Algorithm 1 with KL-UCB")
def docb(level: Level = Level.practical, when_none: Any = None) -> DoublyOptimistic:
    """Doubly optimistic confidence bounds."""
    return DoublyOptimistic(KLUpper(level), KLLower(level), when_none)


@named_policy("play argmax of draws from Beta(R+1, N-R+1) among arms with L <= alpha; L by KL-UCB", "Algorithm 2")
def topsi(level: Level = Level.practical, when_none: Any = None) -> DoublyOptimistic:
    """Thompson sampling with optimistic safety indices."""
    return DoublyOptimistic(Thompson(), KLLower(level), when_none)


@named_policy(
    "play argmax of draws from Beta(R+1, N-R+1) among arms with Q(Beta(S, N-S+1), delta_t) <= alpha", "Algorithm 3"
)
def tsbu(schedule: Schedule = Schedule.practical, when_none: Any = None) -> DoublyOptimistic:
    """Thompson sampling with BayesUCB."""
    return DoublyOptimistic(Thompson(), BayesLower(schedule), when_none, each_first=False)


@named_policy(
    "play argmax U among arms with Q(Beta(S, N-S+1), delta_t) <= alpha; U by KL-UCB",
    "introduction: the fourth combination, left unstudied",
)
def klbayes(
    level: Level = Level.practical, schedule: Schedule = Schedule.practical, when_none: Any = None
) -> DoublyOptimistic:
    """KL-UCB on rewards with BayesUCB on risks."""
    return DoublyOptimistic(KLUpper(level), BayesLower(schedule), when_none)


@named_policy(
    "play argmax of draws from Beta(R+1, N-R+1) among arms whose draw from Beta(S+1, N-S+1) is <= alpha",
    "appendix on a naive Thompson sampling based safety index",
)
def naive_ts(when_none: Any = None) -> DoublyOptimistic:
    """Thompson sampling for rewards and risks alike; linear regret when the best arm's risk is near alpha."""
    return DoublyOptimistic(Thompson(), SampledRisk(0.0), when_none, each_first=False)


@named_policy(
    "as naive-ts, with draws <= alpha + slack * deviation * sqrt(log t)",
    "appendix on a naive Thompson sampling based safety index",
)
def slack_ts(slack: float = 0.25, when_none: Any = None) -> DoublyOptimistic:
    """Naive sampling, with a slack in proportion to the risk posterior's standard deviation."""
    return DoublyOptimistic(Thompson(), SampledRisk(slack), when_none, each_first=False)


def reward_indices() -> dict[str, type]:
    """Every reward index by name, users' own included."""
    return {kebab(kind.__name__): kind for kind in upper.formulas}


def safety_indices() -> dict[str, type]:
    """Every safety index by name, users' own included."""
    return {kebab(kind.__name__): kind for kind in lower.formulas}


def policy_from_text(text: str) -> Any:
    """A policy by its name, or two indices joined by "+"; parameters after a colon.

    >>> policy_from_text("tsbu:schedule=theory").safety.schedule.name
    'theory'
    >>> policy_from_text("kl-upper+sampled-risk:safety.slack=0.5,when_none=hold").safety.slack
    0.5
    """
    name = text.partition(":")[0]
    if "+" not in name:
        return call_by_name(text, {key: entry.constructor for key, entry in POLICIES.items()}, "policy", PolicyError)
    return _pair_from_text(text)


def _pair_from_text(text: str) -> DoublyOptimistic:
    name, parameters = split_call(text, PolicyError)
    reward_name, _, safety_name = name.partition("+")
    groups: dict[str, dict[str, Any]] = {"reward": {}, "safety": {}, "": {}}
    for key, value in parameters.items():
        group, _, rest = key.rpartition(".")
        if group not in groups:
            raise PolicyError(
                f'parameter "{key}" must begin with "reward." or "safety.", or be when_none or each_first'
            )
        groups[group][rest] = value
    reward = _index(reward_name, reward_indices(), "reward index", groups["reward"])
    safety = _index(safety_name, safety_indices(), "safety index", groups["safety"])
    for key in groups[""]:
        if key not in ("when_none", "each_first"):
            raise PolicyError(f'unknown parameter "{key}"; {suggest(key, ("when_none", "each_first"))}')
    return call(DoublyOptimistic, {"reward": reward, "safety": safety, **groups[""]}, "policy", PolicyError)


def _index(name: str, known: Mapping[str, type], what: str, parameters: Mapping[str, Any]) -> Any:
    if name not in known:
        raise PolicyError(f'unknown {what} "{name}"; {suggest(name, known)}')
    return call(known[name], parameters, f'{what} "{name}"', PolicyError)


def policy_to_text(policy: Any) -> str:
    """The text that `policy_from_text` reads back as the same policy, for policies made of registered parts.

    >>> policy_to_text(tsbu()), policy_to_text(tsbu(Schedule.theory))
    ('tsbu', 'thompson+bayes-lower:safety.schedule=theory,each_first=false')
    """
    for name, entry in POLICIES.items():
        if entry.constructor() == policy and type(entry.constructor()) is type(policy):
            return name
    if not isinstance(policy, DoublyOptimistic):
        return repr(policy)
    parts = [f"reward.{text}" for text in _changed(policy.reward)]
    parts += [f"safety.{text}" for text in _changed(policy.safety)]
    parts += [f"when_none={policy.when_none}"] if policy.when_none is not None else []
    parts += [] if policy.each_first else ["each_first=false"]
    name = f"{kebab(type(policy.reward).__name__)}+{kebab(type(policy.safety).__name__)}"
    return f"{name}:{','.join(parts)}" if parts else name


def _changed(index: Any) -> list[str]:
    defaults = type(index)._field_defaults
    changed = {key: value for key, value in index._asdict().items() if value != defaults.get(key)}
    return [f"{key}={getattr(value, 'name', value)}" for key, value in changed.items()]


def prepare(policy: Any, arms: Sequence[str], when_none: str) -> Any:
    """The policy as compiled code takes it: texts read, parameters checked, `when_none` as a number.

    `when_none` is what a policy does that does not say.
    """
    if isinstance(policy, str):
        policy = policy_from_text(policy)
    if not (isinstance(policy, tuple) and hasattr(policy, "_fields") and choose.knows(type(policy))):
        raise PolicyError(f"a policy is a name such as tsbu, or a DoublyOptimistic(...), got {policy!r}")
    if not isinstance(policy, DoublyOptimistic):
        return policy
    return DoublyOptimistic(
        _checked(policy.reward, upper, "reward index"),
        _checked(policy.safety, lower, "safety index"),
        _when_none_code(when_none if policy.when_none is None else policy.when_none, arms),
        read_value("each_first", policy.each_first, bool, PolicyError),
    )


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
    if when_none in arms:
        return list(arms).index(when_none)
    try:
        number = read_number("when_none", when_none, int, PolicyError)
    except PolicyError:
        number = math.nan
    if not 0 <= number < len(arms):
        raise PolicyError(
            f"when_none must be least_risky, hold, or an arm (a number from 0 to {len(arms) - 1} or one of "
            f"{', '.join(arms)}), got {when_none!r}"
        )
    return int(number)


__all__ = [
    "POLICIES", "Entry", "docb", "klbayes", "naive_ts", "named_policy", "policy_from_text", "policy_to_text",
    "prepare", "reward_indices", "safety_indices", "slack_ts", "topsi", "tsbu",
]  # fmt: skip
