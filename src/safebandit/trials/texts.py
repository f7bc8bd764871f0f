"""Short texts that enter a trial: names, ids, reasons; checked so that every database can keep them."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np

from safebandit.errors import TrialError

TEXT_LENGTH = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_name(name: Any) -> str:
    """The name of a trial, which stands in addresses and file names."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TrialError(
            f"a trial's name is 1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or a "
            f"digit, got {str(name)[:80]!r}"
        )
    return name


def check_text(what: str, text: Any, *, empty: bool = False) -> str:
    """A short text that every database can keep and every page can show."""
    if not isinstance(text, str):
        raise TrialError(f"{what} must be a text, got {text!r}")
    if len(text) > TEXT_LENGTH or (not text.strip() and not empty):
        raise TrialError(f"{what} must have 1 to {TEXT_LENGTH} characters, got {len(text.strip())}")
    # Control characters (a NUL is refused by PostgreSQL) and halves of surrogate pairs, which UTF-8 cannot write.
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise TrialError(f"{what} must not have control characters, got {text!r}")
    return text


def read_unit_id(id: Any) -> str:
    """A unit's id is a text; a whole number means its text.

    >>> read_unit_id("patient 1"), read_unit_id(17)
    ('patient 1', '17')
    """
    whole = isinstance(id, int | np.integer) and not isinstance(id, bool)
    return check_text("a unit's id", str(int(id)) if whole else id)
