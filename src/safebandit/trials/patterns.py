r"""Patterns that a trial's ids must match: a part of regular expressions that is matched in bounded time.

An id is read at the door of every trial of a service, in the one thread that writes: a pattern on which a matcher goes
astray for hours, as (a+)+b does, would stop them all. So a pattern is alternatives, separated by |, each a row of
characters and classes ([A-Z], \d, ., escaped ones such as \.) with counts (?, *, +, {3}, {1,4}); it has no groups.
Every place that a row can reach is followed at once, so that nothing is ever tried again.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from safebandit.errors import TrialError

LENGTH = 200
_PART = re.compile(
    r"(?P<one>\\[dws]|\\[^A-Za-z0-9]|\[\^?(?:\\.|[^\]\\\[])+\]|[^\\\[\](){}?*+|^$])"
    r"(?:(?P<sign>[?*+])|\{(?P<least>\d{1,3})(?P<comma>,)?(?P<most>\d{1,3})?\})?"
)
# Python warns that these may come to mean something else in a class.
_DOUBTFUL = re.compile(r"--|&&|~~|\|\|")
_SIGNS = {"?": (0, 1), "*": (0, None), "+": (1, None)}


class _Part(NamedTuple):
    one: re.Pattern[str]
    least: int
    most: int | None


@functools.lru_cache(256)
def read_pattern(text: str) -> tuple[tuple[_Part, ...], ...]:
    """The alternatives of a pattern, or an error that says what cannot be read."""
    if not 1 <= len(text) <= LENGTH:
        raise TrialError(f"ids must be a pattern of 1 to {LENGTH} characters, got {len(text)}")
    rows: list[list[_Part]] = [[]]
    place = 0
    while place < len(text):
        found = _PART.match(text, place)
        if found is not None:
            rows[-1].append(_part(text, found))
            place = found.end()
        elif text[place] == "|":
            rows.append([])
            place += 1
        else:
            raise _unreadable(text, text[place:])
    if not all(rows):
        raise _unreadable(text, "an empty alternative")
    return tuple(map(tuple, rows))


def _part(text: str, found: re.Match[str]) -> _Part:
    if _DOUBTFUL.search(found["one"]):
        raise _unreadable(text, found["one"])
    try:
        # Digits and letters of \d and \w are those of ASCII: others look like them, and would be other ids.
        one = re.compile(found["one"], re.ASCII)
    except re.error:
        raise _unreadable(text, found["one"]) from None
    if found["sign"]:
        return _Part(one, *_SIGNS[found["sign"]])
    if found["least"] is None:
        return _Part(one, 1, 1)
    least = int(found["least"])
    most = int(found["most"]) if found["most"] else None if found["comma"] else least
    if (most is not None and most < least) or (found["most"] and not found["comma"]):
        raise _unreadable(text, found[0])
    return _Part(one, least, most)


def _unreadable(text: str, part: str) -> TrialError:
    return TrialError(
        rf"ids must be characters and classes such as [A-Z] or \d, with counts such as {{4}}, and | between "
        f"alternatives, no groups, no ^ or $ (the whole id is matched); got {part[:40]!r} in {text!r}"
    )


def matches(text: str, id: str) -> bool:
    r"""Whether an id is, as a whole, what the pattern says.

    >>> matches(r"LON-\d{4}|PAR-\d{4}", "PAR-0017"), matches(r"LON-\d{4}", "LON-00177")
    (True, False)
    """
    return any(_whole(row, id) for row in read_pattern(text))


def _whole(row: tuple[_Part, ...], id: str) -> bool:
    """Whether a row of parts leads from the beginning of an id to its end."""
    places = {0}
    for part in row:
        # Where a run of characters that fit ends, from each place on.
        ends = [len(id)] * (len(id) + 1)
        for i in reversed(range(len(id))):
            ends[i] = ends[i + 1] if part.one.fullmatch(id[i]) else i
        reached: set[int] = set()
        for place in places:
            last = ends[place] if part.most is None else min(ends[place], place + part.most)
            reached.update(range(place + part.least, last + 1))
        places = reached
    return len(id) in places
