"""What a trial lets nobody do alone: which requests need a second person, as settings and designs say it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from safebandit.errors import TrialError, suggest

# What may need a second person: any amendment; to read before the end what is concealed until then; and after the trial
# has stopped or was closed a correction, to void a unit, or to give one up.
REQUESTS = ("amend", "correct", "unseal", "void", "give_up")
# What can be unsealed: the seed and the places in the random stream, or sums for those who see them late.
CONCEALED_PARTS = ("stream", "sums")
# A proposal expires after so many hours unless it says otherwise, and at the latest after so many.
HOURS, MOST_HOURS = 168.0, 8784.0


def read_second_person(value: Any) -> tuple[str, ...]:
    """The requests that need a second person, each once, in one order.

    >>> read_second_person(["unseal", "amend"])
    ('amend', 'unseal')
    """
    if not isinstance(value, list | tuple):
        raise TrialError(f'second_person is a list of requests, such as ["amend", "correct"], got {value!r}')
    for each in value:
        if each not in REQUESTS:
            raise TrialError(f"second_person lists requests, got {each!r}; {suggest(str(each), REQUESTS)}")
    if len(set(value)) < len(value):
        raise TrialError(f"second_person names a request twice: {', '.join(value)}; say it once")
    return tuple(each for each in REQUESTS if each in value)


def is_told(status: str, unsealed: Collection[str]) -> bool:
    """Whether the seed and the places in the random stream of a trial may be shown."""
    return status == "closed" or "stream" in unsealed
