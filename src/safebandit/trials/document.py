"""A trial as one JSON text: its settings, its place in the random stream and the whole log.

A trial in memory is saved so, and a trial of a record is exported so. An event's hash is the SHA-256 of the JSON list
[trial, number, time, actor, kind, body, previous], without spaces, in UTF-8, where body is a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from safebandit.errors import TrialError
from safebandit.trials.concealment import conceal_document, conceal_event
from safebandit.trials.events import Event, canonical, read_json
from safebandit.version import __version__

FORMAT = 2
_HEAD = {"format", "trial", "software", "settings", "number", "hash", "stream", "events"}
_OF_VERSION_0_1_0 = {"format", "version", "arms", "alpha", "policy", "seed", "log", "stream", "bar"}


def write_document(name: str, row: Mapping[str, Any], events: Iterable[Event], *, whole: bool = True) -> str:
    """The text of a trial, as `document_parts` gives it."""
    return "".join(document_parts(name, row, events, whole=whole))


def document_parts(
    name: str, row: Mapping[str, Any], events: Iterable[Event], *, whole: bool = True
) -> Iterator[str]:  # fmt: skip
    """The text of a trial of this name, with this state as a row of a table has it, event by event.

    Not `whole`: without the seed and the places in the random stream, which would tell which arms come next.
    """
    state = json.loads(row["state"])
    head = {
        "format": FORMAT,
        "trial": name,
        "software": __version__,
        "settings": state["settings"],
        "number": row["number"],
        "hash": row["hash"],
        "stream": state["position"],
    }
    shown = head if whole else conceal_document(head)
    yield f'{canonical(shown)[:-1]},"events":['
    for number, event in enumerate(events):
        yield f"{',' if number else ''}\n{canonical(event._asdict() if whole else conceal_event(event))}"
    yield "\n]}\n"


def read_document(text: str) -> dict[str, Any]:
    """What a text says, of this format or of version 0.1.0's; nothing of it is checked yet but its shape."""
    try:
        read = read_json(text)
    except (ValueError, RecursionError) as problem:
        raise TrialError(f"the text is not a saved trial, or was cut short: {problem}") from None
    head: dict[str, Any] = read if isinstance(read, dict) else {}
    if is_of_version_0_1_0(head):
        return head
    if not {"format", "software"} <= set(head):
        raise TrialError("the text is JSON, but not a trial that to_json or an export wrote")
    if head["format"] != FORMAT:
        raise TrialError(
            f"the trial was saved by version {head['software']} (format {head['format']}), this is {__version__} "
            f"(format {FORMAT}); read it with the version that wrote it"
        )
    if not set(head) >= _HEAD:
        raise TrialError(f"the saved trial lacks {', '.join(sorted(_HEAD - set(head)))}")
    if "concealed" in head:
        raise TrialError(
            f"the export conceals {', '.join(head['concealed'])}, as its trial was not closed: it cannot go on from "
            "here; safebandit.check_concealed checks what it can, or export it when it is closed"
        )
    return head


def is_of_version_0_1_0(document: Mapping[str, Any]) -> bool:
    """Whether `Trial.to_json` of version 0.1.0 wrote this document."""
    return set(document) >= _OF_VERSION_0_1_0 and document["format"] == 1
