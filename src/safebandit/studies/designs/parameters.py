"""Parameters of designs by their path: `stop.harm.confidence` or `policy.odds` of a design, `cutoff` of a text."""

from __future__ import annotations

import copy
import inspect
from typing import Any, TypeAlias

from safebandit.core.naming import split_call, write_value
from safebandit.errors import DesignError, StudyError, suggest
from safebandit.trials.design import Design

# A design, or the text of one, which gets its arms from the scenario.
AnyDesign: TypeAlias = Design | str
NUMBERS = ("alpha", "least_reward", "units", "cohort", "burn_in", "looks")


def value_of(design: AnyDesign, path: str) -> float:
    """The number that a parameter has now."""
    found = _text_value(design, path) if isinstance(design, str) else _design_value(design, path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise StudyError(f'"{path}" must be a number to be searched, and it is {found!r}')
    return found


def with_value(design: AnyDesign, path: str, value: float) -> AnyDesign:
    """A design with another value of one parameter; what the design itself refuses is an error here."""
    if isinstance(design, str):
        return _with_text_value(design, path, _like(value_of(design, path), value))
    return with_design_value(design, path, value)


def with_design_value(design: Design, path: str, value: float) -> Design:
    """A design, which is no text, with another value of one parameter."""
    new = _like(value_of(design, path), value)
    document = copy.deepcopy(design.to_dict())
    first, _, rest = path.partition(".")
    if first == "policy" and rest:
        document["policy"] = _with_text_value(design.policy, rest, new)
    elif rest:
        table, key = _table(document, path)
        table[key] = new
    else:
        document[first] = new
    return Design.from_dict(document)


def _like(now: float, value: float) -> float:
    """A whole number where there is one now."""
    return int(value) if isinstance(now, int) else float(value)


def _design_value(design: Design, path: str) -> Any:
    document = design.to_dict()
    first, _, rest = path.partition(".")
    if first == "policy" and rest:
        return _policy_value(design.policy, rest)
    if rest:
        table, key = _table(document, path)
        return table[key]
    if path not in NUMBERS:
        raise StudyError(f'a design has no number "{path}"; {suggest(path, _paths(document))}')
    return getattr(design, path)


def _table(document: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """The table of a rule in a design's document, and the key in it."""
    tables = _tables(document)
    where, _, key = path.rpartition(".")
    if where not in tables or key not in tables[where]:
        raise StudyError(f'the design has no parameter "{path}"; {suggest(path, _paths(document))}')
    return tables[where], key


def _tables(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables of the rules by their path; of several rules of one name, the later ones have a number."""
    tables: dict[str, dict[str, Any]] = {}
    for rule in document.get("stop", []):
        name = f"stop.{rule['rule']}"
        same = sum(each.partition(" ")[0] == name for each in tables)
        tables[f"{name} {same + 1}" if same else name] = rule
    return {**tables, **({"select": document["select"]} if "select" in document else {})}


def _paths(document: dict[str, Any]) -> list[str]:
    rules = [f"{where}.{key}" for where, table in _tables(document).items() for key in table if key != "rule"]
    return [*rules, *NUMBERS]


def _text_value(text: str, key: str) -> Any:
    """The number of a parameter in a design's text, or its default."""
    from safebandit.trials.designs import DESIGNS

    name, parameters = split_call(text, DesignError)
    if name not in DESIGNS:
        raise StudyError(f'unknown design "{name}"; {suggest(name, DESIGNS)}')
    known = inspect.signature(DESIGNS[name]).parameters
    if key not in known:
        raise StudyError(f'design "{name}" has no parameter "{key}"; {suggest(key, known)}')
    return _number(parameters[key]) if key in parameters else known[key].default


def _policy_value(text: str, key: str) -> Any:
    from safebandit.core.policies import policy_from_text

    _, parameters = split_call(text, DesignError)
    if key in parameters:
        return _number(parameters[key])
    value: Any = policy_from_text(text)
    for part in key.split("."):
        if part not in getattr(value, "_fields", ()):
            known = getattr(value, "_fields", ())
            raise StudyError(f'policy "{text}" has no parameter "{key}"; {suggest(part, known)}')
        value = getattr(value, part)
    return value


def _with_text_value(text: str, key: str, value: float) -> str:
    name, parameters = split_call(text, DesignError)
    parameters[key] = write_value(value)
    written = (f"{each}={_written(one)}" for each, one in parameters.items())
    return f"{name}:{','.join(written)}"


def _written(text: str) -> str:
    return f'"{text}"' if "," in text else str(text)


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
