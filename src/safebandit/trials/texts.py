"""Short texts that enter a trial: names, ids, reasons; checked so that every database can keep them.

Units, arms and risks are told apart by their names, which have one spelling; other texts stay as they were typed.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np

from safebandit.errors import TrialError
from safebandit.names import LENGTH, read_name

# The project whose trials have no project before their names: those from before there were projects.
DEFAULT = "default"
PROJECT = r"[a-z0-9][a-z0-9-]{0,31}"
_OWN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
# A trial's name as it stands in addresses, in logs and in what is hashed.
NAME = rf"({PROJECT}:)?{_OWN}"


def check_name(name: Any) -> str:
    """The name of a trial, which stands in addresses: its own, with its project before it.

    >>> check_name("knee"), check_name("oncology:knee")
    ('knee', 'oncology:knee')
    """
    if not isinstance(name, str) or not re.fullmatch(NAME, name, re.ASCII):
        raise TrialError(
            f"a trial's name is 1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or a "
            f"digit, with its project and a colon before it, got {str(name)[:120]!r}"
        )
    if name.startswith(f"{DEFAULT}:"):
        raise TrialError(f'trials of the project "{DEFAULT}" have no project before their names, got {name!r}')
    return name


def check_project(name: Any) -> str:
    """The name of a project, which stands before those of its trials."""
    if not isinstance(name, str) or not re.fullmatch(PROJECT, name, re.ASCII):
        raise TrialError(
            f"a project's name is 1 to 32 small letters, digits and dashes, beginning with a letter or a digit, got "
            f"{str(name)[:80]!r}"
        )
    return name


def project_of(name: str) -> str:
    """The project of a trial.

    >>> project_of("knee"), project_of("oncology:knee")
    ('default', 'oncology')
    """
    project, colon, _ = name.partition(":")
    return project if colon else DEFAULT


def file_name(name: str) -> str:
    """A trial's name for a file: some systems take no colon in one.

    >>> file_name("oncology:knee")
    'oncology-knee'
    """
    return name.replace(":", "-")


def check_text(what: str, text: Any, *, empty: bool = False) -> str:
    """A short text that every database can keep and every page can show."""
    if not isinstance(text, str):
        raise TrialError(f"{what} must be a text, got {text!r}")
    if len(text) > LENGTH or (not text.strip() and not empty):
        raise TrialError(f"{what} must have 1 to {LENGTH} characters, got {len(text.strip())}")
    if not is_keepable(text):
        raise TrialError(f"{what} must not have control characters, got {text!r}")
    return text


def is_keepable(text: str) -> bool:
    """Whether every database can keep a text: a NUL is refused by PostgreSQL, half of a surrogate pair by UTF-8."""
    # Nothing that can be printed is of these kinds.
    return text.isprintable() or not any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def read_unit_id(id: Any) -> str:
    """A unit's id in its one spelling.

    >>> read_unit_id(" patient  1"), read_unit_id(17)
    ('patient 1', '17')
    """
    return read_name("a unit's id", id_text(id), TrialError)


def id_text(id: Any) -> str:
    """An id as it was typed: a text; a whole number means its text."""
    if isinstance(id, int | np.integer) and not isinstance(id, bool):
        return str(int(id))
    if not isinstance(id, str):
        raise TrialError(f"a unit's id must be a text, got {id!r}")
    return id


# A spreadsheet takes a cell that begins so for a formula. The apostrophe is here so that one that is put before a text
# can be told from one that was there.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "'")


def no_formula(text: str) -> str:
    """A text for a cell of a spreadsheet, with an apostrophe before what that would take for a formula.

    >>> no_formula("=1+1"), no_formula("placebo")
    ("'=1+1", 'placebo')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def from_cell(text: str) -> str:
    """What `no_formula` made a cell's text of.

    >>> from_cell("'=1+1"), from_cell("placebo")
    ('=1+1', 'placebo')
    """
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text
