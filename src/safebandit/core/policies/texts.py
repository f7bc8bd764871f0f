"""Policies as texts: a name of the catalogue or two indices, with parameters, read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safebandit.core.indices import lower, upper
from safebandit.core.naming import call, call_by_name, kebab, split_call
from safebandit.core.policies.catalogue import POLICIES
from safebandit.core.policies.doubly_optimistic import DoublyOptimistic
from safebandit.errors import PolicyError, suggest

# What a policy written as two indices may be told beside their parameters.
_PAIR_OPTIONS = ("when_none", "each_first", "head_start")


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
                f'parameter "{key}" must begin with "reward." or "safety.", or be one of {", ".join(_PAIR_OPTIONS)}'
            )
        groups[group][rest] = value
    reward = _index(reward_name, reward_indices(), "reward index", groups["reward"])
    safety = _index(safety_name, safety_indices(), "safety index", groups["safety"])
    for key in groups[""]:
        if key not in _PAIR_OPTIONS:
            raise PolicyError(f'unknown parameter "{key}"; {suggest(key, _PAIR_OPTIONS)}')
    return call(DoublyOptimistic, {"reward": reward, "safety": safety, **groups[""]}, "policy", PolicyError)


def _index(name: str, known: Mapping[str, type], what: str, parameters: Mapping[str, Any]) -> Any:
    if name not in known:
        raise PolicyError(f'unknown {what} "{name}"; {suggest(name, known)}')
    return call(known[name], parameters, f'{what} "{name}"', PolicyError)


def policy_to_text(policy: Any) -> str:
    """The text that `policy_from_text` reads back as the same policy, for policies made of registered parts.

    >>> from safebandit.core.indices import Schedule
    >>> from safebandit.core.policies import tsbu
    >>> policy_to_text(tsbu()), policy_to_text(tsbu(Schedule.theory))
    ('tsbu', 'thompson+bayes-lower:safety.schedule=theory,each_first=false')
    """
    for name, entry in POLICIES.items():
        if _same(entry.constructor(), policy):
            return name
    if not isinstance(policy, DoublyOptimistic):
        return repr(policy)
    parts = [f"reward.{text}" for text in _changed(policy.reward)]
    parts += [f"safety.{text}" for text in _changed(policy.safety)]
    parts += [f"when_none={_written(policy.when_none)}"] if policy.when_none is not None else []
    parts += [] if policy.each_first else ["each_first=false"]
    parts += [f"head_start={policy.head_start}"] if policy.head_start else []
    name = f"{kebab(type(policy.reward).__name__)}+{kebab(type(policy.safety).__name__)}"
    return f"{name}:{','.join(parts)}" if parts else name


def _same(first: Any, second: Any) -> bool:
    """Whether two values have the same types all through; as tuples, KLUpper() and BayesUpper() would be equal."""
    if type(first) is not type(second):
        return False
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    return bool(first == second)


def _written(arm: Any) -> str:
    """An arm as `arm_number` reads it back: "#0" for a number, a name as it is, quoted where it has commas."""
    if not isinstance(arm, str):
        return f"#{arm}"
    return f'"{arm}"' if set(arm) & {",", " ", "#"} else arm


def _changed(index: Any) -> list[str]:
    defaults = type(index)._field_defaults
    changed = {key: value for key, value in index._asdict().items() if value != defaults.get(key)}
    return [f"{key}={getattr(value, 'name', value)}" for key, value in changed.items()]
