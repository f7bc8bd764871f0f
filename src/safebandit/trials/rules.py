"""Stopping and selection rules of a design by name: read from texts, tables or values, and written as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from safebandit.core import selection, stopping
from safebandit.core.naming import kebab, read_value, split_call
from safebandit.core.policies.checking import has_formula
from safebandit.core.selection.interface import select
from safebandit.core.stopping.interface import measure
from safebandit.errors import DesignError, at_key, suggest

# The packages register their rules when they are imported.
ROOMS = (stopping, selection)

# The key of a table that names its rule.
RULE = "rule"


def stopping_rules() -> dict[str, type]:
    """Every stopping rule by name, users' own included."""
    return {kebab(kind.__name__): kind for kind in measure.formulas if kind is not object}


def selection_rules() -> dict[str, type]:
    """Every selection rule by name, users' own included."""
    return {kebab(kind.__name__): kind for kind in select.formulas if kind is not object}


def rule_name(rule: Any) -> str:
    """The name of a rule in texts and files."""
    return kebab(type(rule).__name__)


def cause_names(rules: Sequence[Any]) -> tuple[str, ...]:
    """The rules by name; of several of a kind the later ones have a number: harm, harm 2."""
    names: list[str] = []
    for rule in rules:
        name = rule_name(rule)
        same = sum(each.partition(" ")[0] == name for each in names)
        names.append(f"{name} {same + 1}" if same else name)
    return tuple(names)


def read_stopping(given: Any) -> tuple[Any, ...]:
    """Stopping rules in their order: values, texts or tables in a list, or a table of tables by the rules' names."""
    if isinstance(given, Mapping):
        return tuple(rule for name, tables in given.items() for rule in _read_tables(str(name), tables))
    if isinstance(given, str) or hasattr(given, "_fields") or not isinstance(given, Sequence):
        return (read_rule(given, stopping_rules(), measure, "stopping rule"),)
    return tuple(read_rule(each, stopping_rules(), measure, "stopping rule") for each in given)


def _read_tables(name: str, tables: Any) -> list[Any]:
    """The rules of one name: its table, or a list of them."""
    listed = tables if isinstance(tables, list | tuple) else [tables]
    rules = []
    for table in listed:
        with at_key(name):
            if not isinstance(table, Mapping):
                raise DesignError(f"a stopping rule is a table of its parameters, got {name} = {table!r}")
            rules.append(read_rule({RULE: name, **table}, stopping_rules(), measure, "stopping rule"))
    return rules


def read_selection(given: Any) -> Any:
    """The selection rule: a value, a text, or a table that names its rule."""
    return read_rule(given, selection_rules(), select, "selection rule")


def read_rule(given: Any, known: Mapping[str, type], question: Any, what: str) -> Any:
    """One rule from what people write, with its parameters read by their annotations."""
    if isinstance(given, str):
        name, parameters = split_call(given, DesignError)
        return _rule_by_name(name, parameters, known, what)
    if isinstance(given, Mapping):
        parameters = {key: value for key, value in given.items() if key != RULE}
        if RULE not in given:
            raise DesignError(f'the table of a {what} says which: {RULE} = "NAME"; {suggest("", known)}')
        return _rule_by_name(str(given[RULE]), parameters, known, what)
    if not hasattr(given, "_fields") or not has_formula(question, type(given)):
        raise DesignError(
            f"a {what} is a name such as {next(iter(known), 'harm')}, or a NamedTuple with a formula registered for "
            f"{question.name}, got {given!r}"
        )
    return _read_parameters(type(given), given._asdict())


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
    return _read_parameters(kind, parameters)


def _read_parameters(kind: Any, parameters: Mapping[str, Any]) -> Any:
    hints, values = get_type_hints(kind), {}
    for key, value in parameters.items():
        with at_key(key):
            plain = tuple(value) if isinstance(value, list) else value
            nothing = isinstance(value, float) and math.isnan(value)
            values[key] = value if nothing else read_value(key, plain, hints.get(key, Any), DesignError)
    rule = kind(**values)
    check: Any = getattr(rule, "checked", None)
    return rule if check is None else check()


def complete(rule: Any, design: Any) -> Any:
    """The rule with what it takes from the design: the control, the least reward, the target."""
    own: Any = getattr(rule, "completed", None)
    return rule if own is None else own(design)


def write_rule(rule: Any, design: Any) -> dict[str, Any]:
    """The table of a rule, with all its parameters but those that the design fills in."""
    table: dict[str, Any] = {RULE: rule_name(rule)}
    defaults = rule._field_defaults
    for key, value in rule._asdict().items():
        nothing = value is None or (isinstance(value, float) and math.isnan(value))
        filled = key in defaults and value != defaults[key] and _is_filled_in(rule, key, defaults[key], design)
        if not nothing and not filled:
            table[key] = list(value) if isinstance(value, tuple) else value
    return table


def _is_filled_in(rule: Any, key: str, default: Any, design: Any) -> bool:
    return bool(complete(rule._replace(**{key: default}), design) == rule)
