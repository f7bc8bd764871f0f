"""Values by name: `tsbu:schedule=theory` is the constructor `tsbu` called with schedule="theory"."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, get_args, get_type_hints

from safebandit.errors import SafebanditError, suggest

# A text that needs no quotes.
_PLAIN = re.compile(r"[^\s,\"#:=][^,\"#:=]*(?<!\s)")
# An arm by its number.
_ARM_NUMBER = re.compile(r"#\d+")
# Pieces between commas, where a comma inside double quotes does not count.
_OUTSIDE_QUOTES = re.compile(r'(?:[^,"]|"[^"]*")+')


@functools.lru_cache
def kebab(name: str) -> str:
    """The name of a class or function as it is written on the command line.

    >>> kebab("KLUpper"), kebab("slack_ts")
    ('kl-upper', 'slack-ts')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return spaced.replace("_", "-").lower()


def split_call(text: str, error: type[SafebanditError]) -> tuple[str, dict[str, str]]:
    """A name and its parameters.

    >>> split_call("slack-ts:slack=0.25", SafebanditError)
    ('slack-ts', {'slack': '0.25'})
    """
    name, _, rest = text.strip().partition(":")
    parameters: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in _OUTSIDE_QUOTES.findall(rest))):
        key, equals, value = item.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise error(f'a parameter is written name=value, got "{item}" in "{text}"')
        if key.strip() in parameters:
            raise error(f'parameter "{key.strip()}" is given twice in "{text}"')
        parameters[key.strip()] = _unquoted(value.strip())
    return name.strip(), parameters


class Quoted(str):
    """A text that was written in quotes: it stands for itself."""


def _unquoted(text: str) -> str:
    return Quoted(text[1:-1]) if len(text) > 1 and text[0] == text[-1] == '"' else text


def write_value(value: Any) -> str:
    """A value as `split_call` and `read_value` read it back: a number of an arm as #0, texts in quotes where needed.

    >>> write_value(0.25), write_value(True), write_value("low, then high"), write_value([0.1, 0.2])
    ('0.25', 'true', '"low, then high"', '0.1 0.2')
    """
    if isinstance(value, list | tuple):
        return " ".join(map(write_value, value))
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else f'"{value}"'
    return repr(value)


def call_by_name(text: str, known: Mapping[str, Callable[..., Any]], what: str, error: type[SafebanditError]) -> Any:
    """Call the constructor that `text` names, with the parameters that it gives."""
    name, parameters = split_call(text, error)
    if name not in known:
        raise error(f'unknown {what} "{name}"; {suggest(name, known)}')
    return call(known[name], parameters, f'{what} "{name}"', error)


# Both are read anew for every policy, rule and design in words, and take longer than all the rest.
_signature: Callable[[Any], inspect.Signature] = functools.lru_cache(inspect.signature)
hints_of: Callable[[Any], dict[str, Any]] = functools.lru_cache(get_type_hints)


def call(
    constructor: Callable[..., Any], parameters: Mapping[str, Any], where: str, error: type[SafebanditError]
) -> Any:
    """Call `constructor` with parameters that may be texts, read by its annotations."""
    accepted = _signature(constructor).parameters
    for key in parameters:
        if key not in accepted:
            names = suggest(key, accepted) if accepted else "it takes none"
            raise error(f'{where} has no parameter "{key}"; {names}')
    hints = hints_of(constructor)
    try:
        values = {key: read_value(key, value, hints.get(key, Any), error) for key, value in parameters.items()}
        return constructor(**values)
    except TypeError as problem:
        raise error(f"{where}: {problem}") from None


def read_value(key: str, value: Any, kind: Any, error: type[SafebanditError]) -> Any:
    """`value` as the annotation `kind` wants it; texts are converted, wrong kinds are refused."""
    kind = _without_none(kind, value)
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return read_choice(key, value, kind, error)
    if kind is bool:
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        raise error(f"{key} must be true or false, got {value!r}")
    if kind in (int, float):
        return read_number(key, value, kind, error)
    if isinstance(value, str) and not isinstance(value, Quoted) and _ARM_NUMBER.fullmatch(value):
        return int(value[1:])
    return str(value) if isinstance(value, Quoted) else value


def _without_none(kind: Any, value: Any) -> Any:
    """Of `float | None`, what a value that is not None must be."""
    others = [each for each in get_args(kind) if each is not type(None)]
    return others[0] if value is not None and len(others) == 1 and type(None) in get_args(kind) else kind


def read_choice(key: str, value: Any, kind: type[IntEnum], error: type[SafebanditError]) -> IntEnum:
    """A member of an enumeration, by itself or by its name."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in kind.__members__:
        return kind[value]
    raise error(f"{key} must be one of {', '.join(kind.__members__)}, got {value!r}")


def read_number(key: str, value: Any, kind: type[int] | type[float], error: type[SafebanditError]) -> int | float:
    """A finite number; a whole one where `kind` is int."""
    noun = "a whole number" if kind is int else "a finite number"
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        raise error(f"{key} must be {noun}, got {value!r}") from None
    # A text is read digit by digit; anything else must equal the number that was made of it.
    changed = not isinstance(value, str) and number != value
    if isinstance(value, bool) or changed or not (kind is int or math.isfinite(number)):
        raise error(f"{key} must be {noun}, got {value!r}")
    return number
