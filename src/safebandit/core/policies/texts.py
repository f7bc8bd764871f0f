"""Policies as texts, read and written: a name of the catalogue, two indices, or a family, with parameters.

tsbu:schedule=theory                                     the constructor `tsbu`, called with schedule="theory"
kl-upper+sampled-risk:safety.slack=0.5,when_none=hold    a reward index and a safety index
policy-mixture:reward=kl-upper,risk=kl-lower,risk.level=theory    any family, users' own included, by its fields
tsbu:floor=0.05                                          any of these, with a floor under every permissible arm's chance
tsbu:floor=0.2,floor_of=placebo                          or under that of one arm
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from inspect import signature
from typing import Any

from safebandit.core.indices import lower, upper
from safebandit.core.naming import call, hints_of, kebab, read_number, read_value, split_call, write_value
from safebandit.core.policies.catalogue import POLICIES
from safebandit.core.policies.checking import check_policy
from safebandit.core.policies.doubly_optimistic import DoublyOptimistic
from safebandit.core.policies.floored import Floored
from safebandit.core.policies.interface import decide
from safebandit.errors import PolicyError, suggest


def reward_indices() -> dict[str, type]:
    """Every reward index by name, users' own included."""
    return {kebab(kind.__name__): kind for kind in upper.formulas}


def safety_indices() -> dict[str, type]:
    """Every safety index by name, users' own included."""
    return {kebab(kind.__name__): kind for kind in lower.formulas}


def families() -> dict[str, type]:
    """Every family of policies by name, users' own included; a floor is a parameter of all of them."""
    return {kebab(kind.__name__): kind for kind in decide.formulas if kind is not Floored}


def policy_from_text(text: str) -> Any:
    """A policy by its name, or two indices joined by "+", or a family; parameters after a colon.

    Each takes a `floor`, the least chance of every permissible arm.

    >>> policy_from_text("tsbu:schedule=theory").safety.schedule.name
    'theory'
    >>> policy_from_text("kl-upper+sampled-risk:safety.slack=0.5,when_none=hold").safety.slack
    0.5
    >>> policy_from_text("policy-mixture:reward=kl-upper,risk=kl-lower,safe_arm=#0").safe_arm
    0
    >>> policy_from_text("tsbu:floor=0.05").floor
    0.05
    """
    name, parameters = split_call(text, PolicyError)
    if "floor" in parameters and "floor" not in getattr(families().get(name), "_fields", ()):
        floor = float(read_number("floor", parameters.pop("floor"), float, PolicyError))
        one = parameters.pop("floor_of", None)
        named = None if one is None else read_value("floor_of", one, Any, PolicyError)
        return Floored(_plain_from_text(name, parameters, text), floor, named)
    return _plain_from_text(name, parameters, text)


def _plain_from_text(name: str, parameters: dict[str, Any], text: str) -> Any:
    """A policy without a floor that is not its own."""
    if "+" in name or (name in families() and name not in POLICIES):
        return _family_from_text(name, parameters, text)
    if name not in POLICIES:
        raise PolicyError(f'unknown policy "{name}"; {suggest(name, POLICIES)}')
    return call(POLICIES[name].constructor, parameters, f'policy "{name}"', PolicyError)


def _family_from_text(name: str, parameters: dict[str, Any], text: str) -> Any:
    kind: Any = families().get(name, DoublyOptimistic)
    if "+" in name:
        parameters["reward"], _, parameters["safety"] = name.partition("+")
    parts = _part_fields(kind)
    groups: dict[str, dict[str, Any]] = {part: {} for part in ("", *parts)}
    for key, value in parameters.items():
        group, _, rest = key.rpartition(".")
        if group not in groups:
            others = [field for field in kind._fields if field not in parts]
            begins = " or ".join(f'"{part}."' for part in parts) or "nothing"
            raise PolicyError(f'parameter "{key}" must begin with {begins}, or be one of {", ".join(others)}')
        groups[group][rest] = value
    for part in parts:
        if part in groups[""]:
            groups[""][part] = _part(part, str(groups[""][part]), groups[part])
        elif groups[part]:
            raise PolicyError(f'parameters of "{part}" are given, but not {part}= itself in "{text}"')
    return call(kind, groups[""], "policy", PolicyError)


def _part_fields(kind: Any) -> list[str]:
    """The fields of a family that hold indices: those without a default, or of a class that is a NamedTuple."""
    hints, defaults = hints_of(kind), kind._field_defaults
    return [
        field
        for field in kind._fields
        if hasattr(hints[field], "_fields") or (field not in defaults and hints[field] is Any)
    ]


def _part(field: str, name: str, parameters: Mapping[str, Any]) -> Any:
    what = f"{field} index"
    known = {"reward": reward_indices(), "safety": safety_indices()}.get(field, reward_indices() | safety_indices())
    if name not in known:
        raise PolicyError(f'unknown {what} "{name}"; {suggest(name, known)}')
    return call(known[name], parameters, f'{what} "{name}"', PolicyError)


def policy_to_text(policy: Any) -> str:
    """The text that `policy_from_text` reads back as an equal policy, where all of its parts are registered.

    >>> from safebandit.core.indices import Schedule
    >>> from safebandit.core.policies import tsbu
    >>> policy_to_text(tsbu()), policy_to_text(tsbu(Schedule.theory))
    ('tsbu', 'thompson+bayes-lower:safety.schedule=theory,each_first=false')
    """
    check_policy(policy)
    if isinstance(policy, Floored):
        inner = policy_to_text(policy.policy)
        one = "".join(f",{text}" for text in _changed_fields(policy, ("policy", "floor")))
        return f"{inner}{',' if ':' in inner else ':'}floor={write_value(policy.floor)}{one}"
    for name, entry in POLICIES.items():
        if entry.constructor() == policy:
            return name
    parts = _part_fields(type(policy))
    short = _short_name(policy)
    if short is not None:
        return f"{short}:{','.join(_changed_fields(policy, ()))}"
    inside = {part: kebab(type(getattr(policy, part)).__name__) for part in parts}
    name = kebab(type(policy).__name__)
    written = [f"{part}={inside[part]}" for part in parts]
    if type(policy) is DoublyOptimistic:
        name, written = f"{inside['reward']}+{inside['safety']}", []
    for part in parts:
        written += [f"{part}.{text}" for text in _changed_fields(getattr(policy, part), ())]
    written += _changed_fields(policy, parts)
    return f"{name}:{','.join(written)}" if written else name


def _short_name(policy: Any) -> str | None:
    """The name in the catalogue of a family whose constructor there takes the very fields of the family."""
    for name, entry in POLICIES.items():
        if (
            type(policy) is type(entry.constructor())
            and tuple(signature(entry.constructor).parameters) == policy._fields
        ):
            return name
    return None


def _changed_fields(value: Any, but: Any) -> list[str]:
    """The fields that differ from their defaults, as texts."""
    defaults, hints = value._field_defaults, hints_of(type(value))
    changed = []
    for key, field in value._asdict().items():
        if key in but or (key in defaults and field == defaults[key]):
            continue
        kind = hints[key]
        choice = isinstance(kind, type) and issubclass(kind, IntEnum) and not isinstance(field, str)
        named = kind(field) if choice else field
        # Where any value may stand, a whole number is an arm's, and must be told from a name.
        number = kind is Any and isinstance(field, int)
        changed.append(f"{key}=#{field}" if number else f"{key}={write_value(named)}")
    return changed
