"""One event of a trial's log: what happened, when, by whom, and the hash that chains it to the one before."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from time import time_ns
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from safebandit.errors import DamagedError

# Before the first event.
NOTHING = "0" * 64


# The kinds of event in which a unit was given no arm, and why none could be.
NO_ARM = {"held": "no arm is permissible", "waiting": "waiting for outcomes"}
DECISIONS = ("asked", *NO_ARM)


class Draft(NamedTuple):
    """An event before it has a number: its kind and its body; `written` are parts of the body whose texts are known."""

    kind: str
    body: dict[str, Any]
    written: Mapping[str, orjson.Fragment] = MappingProxyType({})

    @property
    def to_write(self) -> dict[str, Any]:
        """The body for `canonical`, which need not write again what is written."""
        return {**self.body, **self.written} if _AGREES else self.body


class Event(NamedTuple):
    """An event as it is kept; `body` is the JSON text that was hashed, byte by byte."""

    trial: str
    number: int
    time: str
    actor: str
    kind: str
    body: str
    previous: str
    hash: str

    @property
    def content(self) -> dict[str, Any]:
        """The body, read."""
        try:
            return dict(read_json(self.body))
        except (TypeError, ValueError, RecursionError) as problem:
            raise DamagedError(f"event {self.number} cannot be read: {problem}; verify the record") from None

    @property
    def as_hashed(self) -> str:
        """The hash that this event must have."""
        return hash_of(self[:-1])

    @property
    def is_whole(self) -> bool:
        """Whether its content gives its hash."""
        try:
            return self.as_hashed == self.hash
        except (TypeError, ValueError):
            return False


def link_problem(event: Event, *, trial: str, number: int, previous: str) -> str | None:
    """What is wrong with an event that should have this number and follow the one of this hash, if anything."""
    if event.number != number:
        return f"is missing: the log goes on with event {event.number}"
    if event.trial != trial or event.previous != previous:
        return "does not follow the event before it: its link names another hash"
    return None if event.is_whole else "was changed: its content does not give its hash"


def kind_of(kind: str, content: Mapping[str, Any]) -> str:
    """The kind of an event as it is written now.

    Before, `held` stood for a unit that waits for outcomes, too, and the event's `cause` told them apart.
    """
    return "waiting" if kind == "held" and content.get("cause") == NO_ARM["waiting"] else kind


def hash_of(fields: tuple[Any, ...]) -> str:
    """SHA-256 of the fields, written as one JSON list."""
    try:
        # Texts and whole numbers are written alike.
        return hashlib.sha256(orjson.dumps(list(fields))).hexdigest()
    except TypeError:
        return hashlib.sha256(canonical(list(fields)).encode()).hexdigest()


def canonical(value: Any, *, finite: bool = False) -> str:
    """The one JSON text of a value: keys in order, no spaces, numbers as Python writes them.

    NaN and infinity are refused. Who knows that there is none says `finite`, and has the text sooner.

    >>> canonical({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    text = _quickly(value, finite) if _AGREES else None
    return _write(value) if text is None else text


# Made once: making one takes as long as a short text.
_write = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
).encode
# Below this, orjson writes numbers otherwise.
SMALL = 1e-4
# How it ends those that Python writes with a 0 before the last digit.
_SMALL_END = re.compile(rb"e-[5-9]")
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def _quickly(value: Any, finite: bool) -> str | None:
    """The text by orjson, ten times as fast as Python; None where Python may refuse the value, or orjson does.

    It writes null for NaN, too; and of numbers below 0.0001, which are few, 1e-7 for 1e-07 or 0.00002 for 2e-05.
    """
    try:
        text: bytes = orjson.dumps(value, option=_OPTIONS)
        if b"0.0000" in text or _SMALL_END.search(text):
            text = orjson.dumps(_with_small_written(value), option=_OPTIONS)
    except TypeError:
        return None
    return None if not finite and b"null" in text else text.decode()


def _with_small_written(value: Any) -> Any:
    """A value with the texts of small numbers, as Python writes them, in their places."""
    kind = type(value)
    if kind is float:
        return orjson.Fragment(repr(value)) if -SMALL < value < SMALL else value
    if kind is dict:
        # Most are numbers that stay as they are: to call this for each of them would take longer.
        return {
            key: each if type(each) is float and not -SMALL < each < SMALL else _with_small_written(each)
            for key, each in value.items()
        }
    return [_with_small_written(each) for each in value] if kind in (list, tuple) else value


def _agrees() -> bool:
    """Whether this orjson writes numbers of every size as Python does, with small ones written by Python."""
    sizes = (digits * 10.0**power for power in range(-30, 31) for digits in (1.0, -1.5, 1.2345678901234567))
    return all(_quickly(number, finite=True) == _write(number) for number in sizes)


# Another version of orjson may do otherwise, and a record must not depend on which is installed.
_AGREES = _agrees()


def read_json(text: str | bytes) -> Any:
    """What a JSON text says; a name that stands twice in one object is refused, for readers take one or the other.

    >>> read_json('{"reward": 1, "reward": 0}')
    Traceback (most recent call last):
    ValueError: "reward" stands twice in one object; say it once
    """
    # As `json.loads` does, which would make a decoder each time.
    return _decode(text if isinstance(text, str) else text.decode(json.detect_encoding(text), "surrogatepass"))


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(
            f'"{next(name for name in names if names.count(name) > 1)}" stands twice in one object; say it once'
        )
    return made


_decode = json.JSONDecoder(object_pairs_hook=_each_once).decode


def seal(trial: str, number: int, time: str, actor: str, kind: str, body: Mapping[str, Any], previous: str) -> Event:
    """The event with its hash."""
    # A decision is written in numbers that were looked at one by one.
    fields = (trial, number, time, actor, kind, canonical(body, finite=kind in DECISIONS), previous)
    return Event(*fields, hash_of(fields))


def now() -> str:
    """The time in UTC, to the microsecond; texts sort as times do."""
    # Asked at every request, and Python takes longer to write a whole time than to seal an event.
    seconds, rest = divmod(time_ns() // 1000, 1_000_000)
    return f"{_second(seconds)}{rest:06d}Z"


@functools.lru_cache(maxsize=8)
def _second(seconds: int) -> str:
    """A time in UTC, up to the point behind its second."""
    return as_text(datetime.fromtimestamp(seconds, UTC))[:20]


def stamp(body: Mapping[str, Any], *, after: str) -> tuple[str, Mapping[str, Any]]:
    """The time of the event that follows one of the time `after`, and its body.

    A clock that says an earlier time was set back, or had run ahead before. Nobody knows which: the event gets the time
    of the one before, and its body says under `clock` what the clock said.
    """
    clock = now()
    return (clock, body) if clock >= after else (after, {**body, "clock": clock})


def stamp_problem(time: str, clock: Any, *, after: str) -> str | None:
    """What is wrong with the time of an event whose body has this `clock` (None: it has none), if anything.

    >>> stamp_problem("2026-02-28T12:00:00.000000Z", None, after="2026-02-28T12:00:00.000001Z")
    'has a time before that of the event that it follows'
    """
    if not is_time(time):
        return f"has no time that a trial writes: {time!r}"
    if time < after:
        return "has a time before that of the event that it follows"
    if clock is not None and not (is_time(clock) and clock < time == after):
        return f"says that the clock was not believed, which cannot be: it said {clock!r}"
    return None


def is_time(text: str) -> bool:
    """Whether a text is a time as `now` writes it.

    >>> is_time("2026-02-28T12:00:00.000000Z"), is_time("2026-02-30T12:00:00.000000Z"), is_time("2026-02-28")
    (True, False, False)
    """
    try:
        fraction = text[20:26]
        return (
            len(text) == 27 and fraction.isascii() and fraction.isdigit() and text[26] == "Z" and _is_second(text[:20])
        )
    except (TypeError, AttributeError):
        return False


# Events come many in a second, and reading a time takes long.
@functools.lru_cache(maxsize=64)
def _is_second(text: str) -> bool:
    """Whether a time is one, up to the point behind its second."""
    try:
        whole = f"{text}000000Z"
        return as_text(datetime.fromisoformat(whole)) == whole
    except ValueError:
        return False


def as_text(time: datetime) -> str:
    """A time in UTC as the record writes it."""
    return time.isoformat(timespec="microseconds")[:-6] + "Z"
