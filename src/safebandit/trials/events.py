"""One event of a trial's log: what happened, when, by whom, and the hash that chains it to the one before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

# Before the first event.
NOTHING = "0" * 64


# The kinds of event in which a unit was given no arm, and why none could be.
NO_ARM = {"held": "no arm is permissible", "waiting": "waiting for outcomes"}
DECISIONS = ("asked", *NO_ARM)


class Draft(NamedTuple):
    """An event before it has a number: its kind and its body."""

    kind: str
    body: dict[str, Any]


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
        return dict(json.loads(self.body))

    @property
    def as_hashed(self) -> str:
        """The hash that this event must have."""
        return hash_of(self[:-1])

    def to_dict(self) -> dict[str, Any]:
        """For people and programs, the body as an object."""
        return {**self._asdict(), "body": self.content}


def kind_of(kind: str, content: Mapping[str, Any]) -> str:
    """The kind of an event as it is written now.

    Before, `held` stood for a unit that waits for outcomes, too, and the event's `cause` told them apart.
    """
    return "waiting" if kind == "held" and content.get("cause") == NO_ARM["waiting"] else kind


def hash_of(fields: tuple[Any, ...]) -> str:
    """SHA-256 of the fields, written as one JSON list."""
    return hashlib.sha256(canonical(list(fields)).encode()).hexdigest()


def canonical(value: Any) -> str:
    """The one JSON text of a value: keys in order, no spaces, numbers as Python writes them.

    >>> canonical({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def seal(trial: str, number: int, time: str, actor: str, kind: str, body: Mapping[str, Any], previous: str) -> Event:
    """The event with its hash."""
    fields = (trial, number, time, actor, kind, canonical(body), previous)
    return Event(*fields, hash_of(fields))


def now() -> str:
    """The time in UTC, to the microsecond; texts sort as times do."""
    # Many times faster than strftime, and asked at every request.
    return datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
