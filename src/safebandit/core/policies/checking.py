"""Parameters of policies and indices, checked where they enter: texts read, arms and enumerations as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from safebandit.core.indices.interface import DESCRIPTIONS, Description, learn_together, note_evidence
from safebandit.core.naming import hints_of, read_number, read_value
from safebandit.core.policies.choice import HOLD_RULE, LEAST_RISKY
from safebandit.core.policies.interface import Policy, Setup, decide
from safebandit.errors import PolicyError, at_key

# What `when_none` may be besides an arm.
RULES = ("least_risky", "hold")
# What an index that does not ask for a number answers.
NOT_ASKED = object()


def prepare(policy: Any, setup: Setup) -> Any:
    """The policy as compiled code takes it: parameters checked, arms and enumerations as numbers."""
    own: Any = getattr(check_policy(policy), "prepare", None)
    return own(setup) if own is not None else _read_fields(policy, Description())


def plan(policy: Any, units: int | None) -> Any:
    """The policy with what it takes from the number of planned units, where it asks for that."""
    own: Any = getattr(check_policy(policy), "planned", None)
    return policy if own is None else own(units)


def check_policy(policy: Any) -> Policy:
    """A value for which `decide` has a formula."""
    if isinstance(policy, tuple) and isinstance(policy, Policy) and has_formula(decide, type(policy)):
        return policy
    raise PolicyError(f"a policy is a name such as tsbu, or a DoublyOptimistic(...), got {policy!r}")


def has_formula(question: Any, kind: type) -> bool:
    """Whether a class, or one that it is derived from, has a formula of its own."""
    return any(question.knows(base) for base in kind.__mro__[:-1])


def check_index(index: Any, question: Any, what: str) -> Any:
    """An index with its parameters read by their annotations and held to the rules of its class."""
    if not hasattr(index, "_fields") or not has_formula(question, type(index)):
        raise PolicyError(f"a {what} is a NamedTuple with a formula registered for {question.name}, got {index!r}")
    return _read_fields(index, DESCRIPTIONS.get(type(index), Description()))


def check_by_reward_alone(index: Any) -> Any:
    """A reward index that goes by rewards alone; one that weighs what speaks against an arm's safety is refused."""
    if any(has_formula(question, type(index)) for question in (note_evidence, learn_together)):
        raise PolicyError(
            f"{type(index).__name__} weighs evidence against limits of single risks, which only a doubly optimistic "
            "policy tells it; take another reward index, such as KLUpper"
        )
    return index


def fit_index(index: Any, setup: Setup, **known: Any) -> Any:
    """An index with what it leaves open (None): planned `units`, how many `arms` there are, and what else is known."""
    known |= {"units": setup.units, "arms": len(setup.arms)}
    left_open = {key: value for key, value in known.items() if getattr(index, key, NOT_ASKED) is None}
    if "units" in left_open:
        left_open["units"] = planned_units(type(index).__name__, None, setup)
    return index._replace(**left_open) if left_open else index


def plan_index(index: Any, units: int | None) -> Any:
    """An index for so many planned units, where it asks for them and is not told."""
    return index._replace(units=units) if getattr(index, "units", NOT_ASKED) is None else index


def planned_units(who: str, given: Any, setup: Setup) -> int:
    """How many units are planned, as somebody is told or as the setup says; an error where neither does."""
    units = setup.units if given is None else given
    if units is None:
        raise PolicyError(f"{who} must know how many units are planned; give units=")
    count = int(read_number("units", units, int, PolicyError))
    if count < 1:
        raise PolicyError(f"units must be at least 1 (units planned), got {count}")
    return count


def read_above_0(what: str, given: Any) -> float:
    """A number above 0."""
    number = float(read_number(what, given, float, PolicyError))
    if not number > 0.0:
        why = ": without it the design is singular until every direction was played" if what == "ridge" else ""
        raise PolicyError(f"{what} must be above 0{why}, got {given!r}")
    return number


def read_delta(given: Any) -> float:
    """A chance of error."""
    delta = float(read_number("delta", given, float, PolicyError))
    if not 0.0 < delta < 1.0:
        raise PolicyError(f"delta must lie between 0 and 1, got {given!r}")
    return delta


def shared_among(index: Any, risks: int) -> Any:
    """The safety index for one of so many risks: parameters that they share, such as delta, are divided by them."""
    rules = DESCRIPTIONS.get(type(index), Description())
    return index._replace(**{key: getattr(index, key) / risks for key in rules.shared})


def _read_fields(value: Any, rules: Description) -> Any:
    kind, fields = type(value), {}
    hints = hints_of(kind)
    for key, given in value._asdict().items():
        with at_key(key):
            field = read_value(key, given, hints.get(key, Any), PolicyError)
            if field is None and key in (*rules.positive, *rules.not_negative, *rules.between):
                raise PolicyError(f"{key} of {kind.__name__} must be given: nothing here says what it is; give {key}=")
            if key in rules.positive and not field > 0:
                raise PolicyError(f"{key} of {kind.__name__} must be above 0, got {given!r}")
            if key in rules.not_negative and not field >= 0:
                raise PolicyError(f"{key} of {kind.__name__} must be at least 0, got {given!r}")
            if key in rules.between and not 0 < field < 1:
                raise PolicyError(f"{key} of {kind.__name__} must lie between 0 and 1, got {given!r}")
        # Plain numbers: compiled code compares them, and Numba recognises their types fastest.
        fields[key] = int(field) if isinstance(field, IntEnum) else field
    return kind(**fields)


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


def arms_in(policy: Any) -> dict[str, Any]:
    """The arms that a policy itself names, by parameter: its fields that `arm_fields` lists, and `when_none`."""
    listed = {
        key: getattr(each, key)
        for each in reversed(_layers(policy))
        for key in (*getattr(each, "arm_fields", ()), "when_none")
        if key in each._fields
    }
    return {key: arm for key, arm in listed.items() if arm is not None and arm not in RULES}


def name_arms(policy: Any, arms: Sequence[str]) -> Any:
    """A policy whose arms are all named by name: a number means another arm once one is withdrawn."""
    numbers = {key: arm for key, arm in arms_in(check_policy(policy)).items() if arm not in arms}
    named = {key: arms[arm_number(key, arm, arms)] for key, arm in numbers.items() if not isinstance(arm, str)}
    return with_arms(policy, named) if named else policy


def with_arms(policy: Any, named: Mapping[str, Any]) -> Any:
    """The policy with other arms in the fields that hold them."""
    if _is_floored(policy):
        policy = policy._replace(policy=with_arms(policy.policy, named))
    return policy._replace(**{key: arm for key, arm in named.items() if getattr(policy, key, None) is not None})


def _layers(policy: Any) -> list[Any]:
    """A policy, and those that it puts a floor under."""
    return [policy, *_layers(policy.policy)] if _is_floored(policy) else [policy]


def _is_floored(policy: Any) -> bool:
    return bool(policy._fields[:2] == ("policy", "floor"))


def when_none_code(when_none: Any, setup: Setup) -> int:
    """`least_risky`, `hold`, or an arm by its name or its number from 0; the setup's rule where there is none."""
    rule = setup.when_none if when_none is None else when_none
    if rule == "least_risky":
        return LEAST_RISKY
    if rule == "hold":
        return HOLD_RULE
    return arm_number("when_none, unless least_risky or hold,", rule, setup.arms)
