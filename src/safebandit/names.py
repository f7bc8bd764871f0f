"""Names of units and of arms: one spelling for what people take for one name, however it was typed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from safebandit.errors import SafebanditError

LENGTH = 200
# More than any name that becomes short enough when its blanks are made one.
_LONGEST_TYPED = 5 * LENGTH
# What Unicode calls White_Space.
_BLANKS = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
# Control, format, half of a surrogate pair, not assigned: nobody sees them, or no two programs agree on them.
_UNSEEN = ("Cc", "Cf", "Cs", "Cn")
# Letters and marks that show nothing by themselves: joiners, fillers, variation selectors, the blank of Braille.
_EMPTY = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)  # fmt: skip


def normal(text: str) -> str:
    """The one spelling of a name: letters composed (NFC), no blanks around it, one plain blank in the place of others.

    >>> normal("Jose\u0301\u00a0 17 ")
    'José 17'
    """
    if text.isascii() and text.isprintable() and "  " not in text:
        # Nothing to compose, and no blank but the plain one.
        return text.strip(" ")
    # Before and after: a blank that goes may leave marks that combine.
    composed = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", _BLANKS.sub(" ", composed).strip(" "))


def read_name(what: str, text: Any, error: type[SafebanditError]) -> str:
    """A name in its one spelling; refused where it is empty, too long, or has a character that nobody sees.

    Case, digits of other scripts and letters that look alike stay different.
    """
    if not isinstance(text, str):
        raise error(f"{what} must be a text, got {text!r}")
    name = normal(text) if len(text) <= _LONGEST_TYPED else text
    if not 1 <= len(name) <= LENGTH:
        raise error(f"{what} must have 1 to {LENGTH} characters, got {len(name)}")
    if name.isascii() and name.isprintable():
        return name
    for character in name:
        if unicodedata.category(character) in _UNSEEN or _EMPTY.match(character):
            called = unicodedata.name(character, "which has no name")
            raise error(
                f"{what} must not have control or invisible characters, got U+{ord(character):04X} ({called}) in "
                f"{name!a}; type it again without"
            )
    return name


def find_name(name: str, known: Iterable[str]) -> str | None:
    """The one of the known names that this is, however it was typed; None where it is none of them."""
    names = list(known)
    if name in names:
        return name
    return next((each for each in names if normal(each) == normal(name)), None)
