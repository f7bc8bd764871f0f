"""Stopping and selection rules of a design by name: read from texts, tables or values, and written as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from safebandit.core.naming import hints_of, read_value, split_call
from safebandit.core.rules import check_selection, check_stopping, completed, selection_rules, stopping_rules
from safebandit.core.stopping.words import rule_name
from safebandit.errors import DesignError, SafebanditError, at_key, suggest

# The key of a table that names its rule, and of what happens where it is reached.
RULE, THEN = "rule", "then"
# A rule stops the trial, or it pauses it, or gives every unit the control, until a person undoes that.
THENS = ("stop", "pause", "route")


def cause_names(rules: Sequence[Any]) -> tuple[str, ...]:
    """The rules by name; of several of a kind the later ones have a number: harm, harm 2."""
    names: list[str] = []
    for rule in rules:
        name = rule_name(rule)
        same = sum(each.partition(" ")[0] == name for each in names)
        names.append(f"{name} {same + 1}" if same else name)
    return tuple(names)


def read_stopping(given: Any) -> tuple[tuple[Any, str], ...]:
    """Stopping rules in their order, each with what happens where it is reached: values, texts or tables in a list, or
    a table of tables by the rules' names.
    """
    if isinstance(given, Mapping):
        return tuple(rule for name, tables in given.items() for rule in _read_tables(str(name), tables))
    if isinstance(given, str) or hasattr(given, "_fields") or not isinstance(given, Sequence):
        return (_read_one(given),)
    rules = []
    for number, each in enumerate(given, 1):
        with at_key(f"[{number}]"):
            rules.append(_read_one(each))
    return tuple(rules)


def _read_one(given: Any) -> tuple[Any, str]:
    """A rule and its `then`, as a text or a table says it, or as the second of a pair."""
    then = THENS[0]
    if isinstance(given, str):
        name, parameters = split_call(given, DesignError)
        given = {**parameters, RULE: name}
    if isinstance(given, Mapping) and THEN in given:
        then, given = given[THEN], {key: value for key, value in given.items() if key != THEN}
    elif isinstance(given, tuple) and not hasattr(given, "_fields") and len(given) == 2:
        given, then = given
    if then not in THENS:
        with at_key(THEN):
            raise DesignError(f"then must be one of {', '.join(THENS)}, got {then!r}")
    return check_stopping(_read_rule(given, stopping_rules(), "stopping rule")), str(then)


def _read_tables(name: str, tables: Any) -> list[tuple[Any, str]]:
    """The rules of one name: its table, or a list of them."""
    several = isinstance(tables, list | tuple)
    rules = []
    for number, table in enumerate(tables if several else [tables], 1):
        with at_key(f"{name}[{number}]" if several else name):
            if not isinstance(table, Mapping):
                raise DesignError(f"a stopping rule is a table of its parameters, got {name} = {table!r}")
            rules.append(_read_one({RULE: name, **table}))
    return rules


def read_selection(given: Any) -> Any:
    """The selection rule: a value, a text, or a table that names its rule."""
    return check_selection(_read_rule(given, selection_rules(), "selection rule"))


def _read_rule(given: Any, known: Mapping[str, type], what: str) -> Any:
    """One rule from what people write; a value stays as it is."""
    if isinstance(given, str):
        name, parameters = split_call(given, DesignError)
        return _rule_by_name(name, parameters, known, what)
    if isinstance(given, Mapping):
        if RULE not in given:
            raise DesignError(f'the table of a {what} says which: {RULE} = "NAME"; {suggest("", known)}')
        return _rule_by_name(str(given[RULE]), {key: given[key] for key in given if key != RULE}, known, what)
    return given


def _rule_by_name(name: str, parameters: Mapping[str, Any], known: Mapping[str, type], what: str) -> Any:
    if name not in known:
        raise DesignError(f'unknown {what} "{name}"; {suggest(name, known)}')
    kind: Any = known[name]
    for key in parameters:
        if key not in kind._fields:
            with at_key(key):
                names = suggest(key, kind._fields) if kind._fields else "it takes none"
                raise DesignError(f'{what} "{name}" has no parameter "{key}"; {names}')
    missing = [key for key in kind._fields if key not in kind._field_defaults and key not in parameters]
    if missing:
        raise DesignError(f'{what} "{name}" needs {" and ".join(missing)}; add {missing[0]} = ...')
    hints, values = hints_of(kind), {}
    for key, value in parameters.items():
        with at_key(key):
            if hints[key] is Any and isinstance(value, int):
                raise DesignError(f"{key} must be the name of an arm, in quotes, got {value!r}")
            values[key] = read_value(key, value, hints[key], DesignError)
    return kind(**values)


def write_rule(rule: Any, design: Any) -> dict[str, Any]:
    """The table of a rule, with all its parameters but those that the design fills in; arms by name."""
    table: dict[str, Any] = {RULE: rule_name(rule)}
    hints = hints_of(type(rule))
    for key, value in rule._asdict().items():
        kind, defaults = hints[key], rule._field_defaults
        # Where any value may stand, a whole number is an arm's, and a default means that there is none.
        arm = kind is Any and isinstance(value, int)
        usual = key in defaults and type(value) is type(defaults[key]) and value == defaults[key]
        if value is None or (arm and usual) or (not usual and _is_filled_in(rule, key, design)):
            continue
        choice = isinstance(kind, type) and issubclass(kind, IntEnum)
        table[key] = kind(value).name if choice else design.arms[value] if arm else value
    return table


def write_stopping(design: Any) -> list[dict[str, Any]]:
    """The tables of a design's stopping rules, each with its `then` where the rule does not stop the trial."""
    return [
        {**write_rule(rule, design), **({} if then == THENS[0] else {THEN: then})}
        for rule, then in zip(design.stop, design.then, strict=True)
    ]


def then_says(sentence: str, then: str) -> str:
    """What a rule says of itself, where it does not stop the trial.

    >>> then_says("The trial stops once there are 3 harms in all.", "pause")
    'The trial is paused until a person resumes it, once there are 3 harms in all.'
    """
    happens = {
        "pause": "The trial is paused until a person resumes it,",
        "route": "Every unit is given the control until a person undoes it,",
    }
    return sentence.replace("The trial stops", happens[then], 1) if then in happens else sentence


def group_rules(tables: Sequence[Mapping[str, Any]]) -> Any:
    """Tables of stopping rules by the rules' names, where that keeps their order; else a list of them.

    >>> group_rules([{"rule": "harm", "confidence": 0.95}, {"rule": "enough", "units": 9}])
    {'harm': {'confidence': 0.95}, 'enough': {'units': 9}}
    """
    grouped: dict[str, Any] = {}
    for table in tables:
        name, rest = table[RULE], {key: value for key, value in table.items() if key != RULE}
        if name in grouped and name != next(reversed(grouped)):
            return list(tables)
        before = grouped.get(name)
        grouped[name] = rest if before is None else [*(before if isinstance(before, list) else [before]), rest]
    return grouped


def _is_filled_in(rule: Any, key: str, design: Any) -> bool:
    """Whether the design gives this value where the rule does not say it."""
    value = getattr(rule, key)
    if not isinstance(value, bool | int | float | str):
        return True
    if key not in rule._field_defaults:
        return False
    try:
        return bool(getattr(completed(rule._replace(**{key: rule._field_defaults[key]}), design), key) == value)
    except SafebanditError:
        return False
