"""Tables of requests: a row for each unit that asks, or of which something is told, in the text of a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safebandit.errors import TrialError, suggest
from safebandit.names import normal
from safebandit.trials.batches import check_size
from safebandit.trials.contexts import ranges_of
from safebandit.trials.settings import Settings

UNIT, REWARD, RISK, ELIGIBLE = "unit", "reward", "risk", "eligible"


def read_text(file: Path | bytes, named: str) -> str:
    """The text of a file, or of what was sent as one, in UTF-8 with or without the mark that Windows puts before it."""
    try:
        return (file if isinstance(file, bytes) else file.read_bytes()).decode("utf-8-sig")
    except OSError as problem:
        raise TrialError(f"{named} cannot be read: {(problem.strerror or '').lower()}") from None
    except UnicodeDecodeError as problem:
        raise TrialError(f"{named} is not a CSV file in UTF-8: {problem}") from None


def read_askings(text: str, settings: Settings, named: str) -> list[dict[str, Any]]:
    """Units that ask: a column `unit`, and one for each number of the context and each factor of the strata where the
    trial has some; in `eligible` there may be the arms that a unit may be given, with ; between them, and nothing where
    that is all of them.
    """
    context, factors = [each.name for each in ranges_of(settings.context)], [name for name, _ in settings.factors]
    _check_names([*context, *factors])
    rows = _rows(text, named, [UNIT, *context, *factors, ELIGIBLE], needed=[UNIT, *context, *factors])
    return [
        {
            "id": row[UNIT],
            **({"context": {name: _number(row, name, i) for name in context}} if context else {}),
            **({"stratum": {name: row[name].strip() for name in factors}} if factors else {}),
            **_eligible(row),
        }
        for i, row in rows
    ]


def _eligible(row: Mapping[str, str]) -> dict[str, list[str]]:
    arms = row.get(ELIGIBLE, "").strip()
    return {ELIGIBLE: [arm.strip() for arm in arms.split(";")]} if arms else {}


def read_outcomes(text: str, settings: Settings, named: str) -> list[dict[str, Any]]:
    """What happened to units: columns `unit`, `reward`, and one for each risk by its name; of one risk alone the column
    may be `risk`, too. A cell that is empty says nothing.
    """
    one = len(settings.risks) == 1
    risks = [RISK] if one else list(settings.risks)
    _check_names(risks)
    known = [UNIT, REWARD, *risks]
    also = {name: RISK for name in settings.risks if one and name not in known}
    rows = _rows(text, named, known, needed=[UNIT], also=also)
    return [_outcome(i, row, risks) for i, row in rows]


def read_units(text: str, named: str) -> list[dict[str, Any]]:
    """Units, of which nothing else is said: a column `unit`."""
    return [{"id": row[UNIT]} for _, row in _rows(text, named, [UNIT], needed=[UNIT])]


def _outcome(line: int, row: Mapping[str, str], risks: Sequence[str]) -> dict[str, Any]:
    numbers = {name: _number(row, name, line) for name in (REWARD, *risks) if row.get(name, "").strip()}
    told = {name: numbers[name] for name in risks if name in numbers}
    risk = (told.get(RISK) if list(risks) == [RISK] else told) if told else None
    return {"id": row[UNIT], "reward": numbers.get(REWARD), "risk": risk}


def _rows(
    text: str, named: str, known: Sequence[str], *, needed: Sequence[str], also: Mapping[str, str] | None = None
) -> list[tuple[int, dict[str, str]]]:
    """The rows of a file, each with the number of its line; `also` are other names of known columns."""
    also = also or {}
    try:
        table = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        heads = [_head(head, [*known, *also]) for head in table.fieldnames or ()]
        heads = [also.get(head, head) for head in heads]
        table.fieldnames = heads
        found = [(table.line_num, row) for row in table]
    except csv.Error as problem:
        raise TrialError(f"{named} is not a CSV file in UTF-8: {problem}") from None
    for head in heads:
        if head not in known:
            raise TrialError(f'{named} has a column "{head}" that says nothing here; {suggest(head, known)}')
        if heads.count(head) > 1:
            raise TrialError(f'{named} has the column "{head}" twice; give it once')
    for head in needed:
        if head not in heads:
            raise TrialError(f'{named} needs a column "{head}"; it has {", ".join(heads) or "none"}')
    for line, row in found:
        if None in row or None in row.values():
            raise TrialError(f"line {line} of {named} has another number of cells than the first line")
    check_size(len(found))
    return found


def _head(head: str, known: Sequence[str]) -> str:
    """The column that a heading means, however it is typed: its blanks, and capitals where nothing else is meant.

    >>> _head("  Unit ", ["unit", "reward"]), _head("Harm", ["harm", "HARM"])
    ('unit', 'Harm')
    """
    plain = normal(head)
    alike = [name for name in known if normal(name).casefold() == plain.casefold()]
    return next((name for name in known if normal(name) == plain), alike[0] if len(alike) == 1 else head.strip())


def _check_names(names: Sequence[str]) -> None:
    """Refuse a table in which a column would mean two things."""
    for name in (UNIT, REWARD, ELIGIBLE):
        if name in names:
            raise TrialError(f'a number of this trial is named "{name}", as a column of tables is; send one by one')
    if len(set(names)) < len(names):
        raise TrialError("a number of the context and a factor of the strata have one name; send one by one")


def _number(row: Mapping[str, str], name: str, line: int) -> float:
    try:
        # Python would read 4_4 as 44.
        return float(row[name].replace("_", "?"))
    except ValueError:
        raise TrialError(f"line {line}: {name} must be a number, got {row[name]!r}") from None
