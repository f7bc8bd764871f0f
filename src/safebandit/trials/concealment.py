"""What would tell which arms come next stays concealed until a trial is closed: its seed, and its random numbers'
places in the stream.

An event whose body has such a part keeps its hash, which covers the whole body: when the trial is closed and the body
is shown, it must give that hash, and nobody can have changed it meanwhile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.errors import TrialError
from safebandit.trials.events import NOTHING, Event, canonical, read_json

CONCEALED = "concealed until the trial is closed"
_NONE = "no arm is permissible"


def concealed(content: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A body without what must not be known yet, and the names of the parts that are not shown."""
    shown, parts = dict(content), []
    if "settings" in content:
        shown["settings"] = concealed_settings(content["settings"])
        parts.append("settings.seed")
    if "stream" in content:
        shown["stream"] = CONCEALED
        parts.append("stream")
    return shown, parts


def concealed_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without the seed."""
    return {**settings, "seed": CONCEALED}


def show_event(event: Event, *, closed: bool) -> dict[str, Any]:
    """An event for people and programs: its body as an object, and the parts of it that are concealed."""
    content, parts = (event.content, []) if closed else concealed(event.content)
    return {**event._asdict(), "body": content, "concealed": parts}


def conceal_document(head: dict[str, Any]) -> dict[str, Any]:
    """The head of a saved trial without what must not be known yet; it says so."""
    settings = concealed_settings(head["settings"])
    return {**head, "settings": settings, "stream": CONCEALED, "concealed": ["settings.seed", "stream"]}


def conceal_event(event: Event) -> dict[str, Any]:
    """An event of a saved trial, its body as a text; where that is not the text that was hashed, it says so."""
    content, parts = concealed(event.content)
    return {**event._asdict(), "body": canonical(content), "concealed": parts} if parts else event._asdict()


def without_numbers(why: str) -> str:
    """A decision's reason for those who are not to read risks: no index, no arm that came near, no chance of any arm.

    >>> without_numbers('no arm is permissible: every lower risk index is above 0.1 (smallest: 0.2, "a"); it holds')
    'no arm is permissible; it holds'
    >>> without_numbers('drawn from the mixture of least squared cost: 0.7 "a", 0.3 "b"')
    'drawn from the mixture of least squared cost'
    """
    words, _, numbers = why.partition(": ")
    return f"{words}; {numbers.rpartition('; ')[2]}" if words == _NONE and numbers else words


class ConcealedCheck(NamedTuple):
    """What could be checked of an export that conceals parts: how many events there are, of how many the content gives
    the hash, of how many that cannot be seen yet; the last hash, and the first event that fails with what is wrong.
    """

    trial: str
    events: int
    checked: int
    unchecked: int
    hash: str
    failed: int | None = None
    problem: str | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong with what could be checked."""
        return self.problem is None

    def __str__(self) -> str:
        if self.problem is not None:
            return f"event {self.failed} fails: {self.problem}"
        return (
            f"{self.events} events follow each other, {self.checked} with the content of their hashes; not checked "
            f"before the trial is closed: the content of {self.unchecked}, and every decision; the last hash is "
            f"{self.hash}"
        )


def check_concealed(text: str) -> ConcealedCheck:
    """Check an export that was made before its trial was closed, as far as that can be done without what it conceals.

    Once the trial is closed, its whole export has the same hashes, and `Trial.from_json` and `verify` check the rest.
    """
    try:
        document = read_json(text)
        name, listed = str(document["trial"]), [dict(fields) for fields in document["events"]]
        found = ConcealedCheck(name, 0, 0, 0, NOTHING)
        for fields in listed:
            parts = fields.pop("concealed", [])
            event = Event(**fields)
            problem = _problem(event, found, whole=not parts)
            if problem is not None:
                return found._replace(failed=found.events + 1, problem=problem)
            checked, unchecked = found.checked + (not parts), found.unchecked + bool(parts)
            found = ConcealedCheck(name, event.number, checked, unchecked, event.hash)
        if (document["number"], document["hash"]) != (found.events, found.hash):
            return found._replace(failed=found.events, problem="the end of the log is missing")
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as mistake:
        raise TrialError(f"the text is not an export of a trial: {mistake}") from None
    return found


def _problem(event: Event, before: ConcealedCheck, *, whole: bool) -> str | None:
    number = before.events + 1
    if (event.trial, event.number, event.previous) != (before.trial, number, before.hash):
        return f"event {number} does not follow the event before it"
    if whole and event.as_hashed != event.hash:
        return f"event {number} was changed: its content does not give its hash"
    if not whole and not concealed(event.content)[1]:
        return f"event {number} says that parts of it are concealed, but it has none"
    return None
