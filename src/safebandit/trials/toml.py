"""TOML in and out: mistakes are told with their line and key, and plain documents are written as people write them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from safebandit.errors import DesignError, SafebanditError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[(\[?)([^\[\]]+)\]")
_KEY = re.compile(r"""\s*([A-Za-z0-9_."' -]+?)\s*=""")
_PLACE = re.compile(r"\(at (?:line (\d+), column (\d+)|end of document)\)$")
_BARE_POINT = re.compile(r"""[\s=\[,-](\.\d+)""")
_NUMBER, _LAST_NUMBER = re.compile(r"\[\d+\]"), re.compile(r"\[\d+\]$")


def read_toml(text: str) -> dict[str, Any]:
    """A TOML document; a mistake in it is told with its line, and the key that stands there."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        message = str(problem)
        place = _PLACE.search(message)
        lines = text.splitlines()
        line = int(place[1]) if place and place[1] else max(len(lines), 1)
        keys = [key for key, at in _keys(text) if at == line]
        said = message[: place.start()].strip() if place else message
        column = f", column {place[2]}" if place and place[2] else ""
        where = f"line {line}{column}" + (f", {keys[-1]}" if keys else "")
        raise DesignError(f"{where}: {said[:1].lower()}{said[1:]}; {_remedy(lines, line)}") from None


def _remedy(lines: list[str], line: int) -> str:
    """What to correct there; a number without its 0, such as .3, is what people write most."""
    bare = _BARE_POINT.search(lines[line - 1].partition("#")[0]) if lines else None
    return f"write 0{bare[1]} for {bare[1]}" if bare else "correct the TOML there"


@contextmanager
def located(text: str) -> Iterator[None]:
    """Tell a mistake in a value with the line and the key at which it stands in the text."""
    try:
        yield
    except SafebanditError as problem:
        line = find_line(text, problem.key)
        where = ", ".join(filter(None, (f"line {line}" if line else "", problem.key)))
        raise DesignError(f"{where}: {problem}" if where else str(problem)) from None


def find_line(text: str, key: str) -> int | None:
    """The line of a key such as `stop.harm.confidence` or `scenario[2].nu`, or of the table that should have it.

    >>> find_line("units = 36", "units")
    1
    """
    places = dict(reversed([*_keys(text)]))
    while key:
        for wanted in (key, _LAST_NUMBER.sub("", key), _NUMBER.sub("", key)):
            if wanted in places:
                return places[wanted]
        key = key.rpartition(".")[0]
    return None


def _keys(text: str) -> Iterator[tuple[str, int]]:
    """Every key and table with its line; the tables of an array are numbered from 1."""
    table, counts, quoted = "", dict[str, int](), False
    for number, line in enumerate(text.splitlines(), 1):
        inside, quoted = quoted, quoted ^ ((line.count('"""') + line.count("'''")) % 2 == 1)
        if inside:
            continue
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _plain(header[2])
            if header[1]:
                counts[table] = counts.get(table, 0) + 1
                table = f"{table}[{counts[table]}]"
            yield table, number
        elif key:
            yield f"{table}.{_plain(key[1])}" if table else _plain(key[1]), number


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))


def write_toml(document: Mapping[str, Any]) -> str:
    """A document of texts, numbers, lists and tables as TOML; what is None is left out.

    >>> print(write_toml({"units": 36, "stop": {"harm": {"confidence": 0.95}}}), end="")
    units = 36
    <BLANKLINE>
    [stop.harm]
    confidence = 0.95
    """
    return "\n".join(_lines(document, ())).strip("\n") + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    for key, value in table.items():
        if value is not None and not _is_table(value) and not _is_tables(value):
            yield f"{_key(key)} = {write_value(value)}"
    for key, value in table.items():
        inner = (*path, key)
        name = ".".join(map(_key, inner))
        if _is_table(value):
            if not value or not all(_is_table(each) or _is_tables(each) for each in value.values()):
                yield f"\n[{name}]"
            yield from _lines(value, inner)
        elif _is_tables(value):
            for each in value:
                yield f"\n[[{name}]]"
                yield from _lines(each, inner)


def write_value(value: Any) -> str:
    """A text, number, truth value or list as TOML has it.

    >>> write_value(["low", 0.5, True])
    '["low", 0.5, true]'
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(write_value, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {write_value(each)}" for key, each in value.items()) + " }"
    # JSON's texts and numbers are TOML's, but for one control character.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else write_value(key)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(_is_table(each) for each in value)
