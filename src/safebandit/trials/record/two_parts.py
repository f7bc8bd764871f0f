"""The log of a long trial, verified in two parts at once, each on a core of its own.

A process aside makes the first part again, decision by decision. This one takes the first part at its word, which takes
a third of that time, and makes the second part again. Then the two must meet: the state that was taken must be, letter
by letter, the one that was made again, and the second part must have taken up the random numbers where the first ended.
So what is found is what one process alone would have found. Where they do not meet, one process does it all.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NamedTuple, Self

from safebandit.errors import SafebanditError
from safebandit.trials.events import Event, read_json
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.store import read_log
from safebandit.trials.replay import Replay, Verification

# A trial of so many events is verified in two parts; with fewer the process aside takes longer to start than it saves.
TWO_PARTS = 40_000
# In the time that the process aside takes to start, so many events are made again; and what an event costs that is
# taken, where one that is made again costs 1.
_TO_START = 15_000
_TAKEN = 0.3
# What a log can raise that is taken at its word, and is no log of ours.
_TROUBLE = (SafebanditError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


class FirstPart(NamedTuple):
    """What the first part gave: what was found, the state but for where its random numbers are, and that place."""

    found: Verification
    state: dict[str, Any] | None
    position: Any


class Aside:
    """The process that makes the first part again, from `with` on."""

    def __init__(self, *task: Any) -> None:
        self._task = task

    def __enter__(self) -> Self:
        self._pipe, theirs = Pipe()
        with theirs:
            # Without what lies in the folder that the command was typed in.
            command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(theirs.fileno())]
            # What goes wrong there is met here again, and told by who was asked.
            nowhere = subprocess.DEVNULL
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=nowhere, stdout=nowhere, stderr=nowhere
            )  # fmt: skip
        # One that has ended already is noticed when its answer is waited for.
        with contextlib.suppress(OSError):
            self._pipe.send(self._task)
        return self

    def __exit__(self, *_: object) -> None:
        # It reads only, and may be ended at any moment.
        self._process.kill()
        self._process.wait()
        self._pipe.close()

    def answer(self) -> FirstPart | None:
        """What the first part gave; None if nothing can be said of it."""
        try:
            found: FirstPart | None = self._pipe.recv()
        except (EOFError, OSError):
            return None
        return found


def worth_it(events: int, processes: int) -> bool:
    """Whether so many events take less time in two parts, by so many processes; Windows hands no pipe on to another."""
    return processes > 1 and events >= TWO_PARTS and os.name == "posix"


def first_events(events: int) -> int:
    """How many of so many events the first part has, so that both parts take as long."""
    return int((events - _TO_START) / (2.0 - _TAKEN))


def in_two_parts(
    database: str | Path,
    replay: Replay,
    log: Iterator[Event],
    events: int,
    *,
    expected: str | None = None,
    after: Callable[[int], None] | None = None,
) -> Verification | None:
    """What is found in a log of so many events; `replay`, which has read nothing, has then read all of it.

    None if the parts do not meet: then nothing is known.
    """
    first, taken = first_events(events), None

    def note(number: int) -> None:
        nonlocal taken
        if number == first:
            taken = _but_position(replay)
        if after is not None:
            after(number)

    with Aside(database, replay.name, first, expected) as aside:
        try:
            found = replay.verify(log, after=note, taken=first)
        except _TROUBLE:
            found = None
        part = aside.answer()
    if part is None or not part.found.holds:
        return part and part.found
    if found is None or part.state != taken or replay.taken_up is None or list(replay.taken_up) != part.position:
        return None
    replay.unrepeated += part.found.unrepeated
    return found._replace(unrepeated=replay.unrepeated)


def _but_position(replay: Replay) -> dict[str, Any] | None:
    """A state but for where its random numbers are: where a decision was taken, these are where it began."""
    if replay.state is None:
        return None
    row = replay.state.to_row()
    return {**row, "state": {name: value for name, value in read_json(row["state"]).items() if name != "position"}}


def first_part(database: str | Path, trial: str, events: int, expected: str | None) -> FirstPart | None:
    """Make so many events again; None where the next one, too, must be read to know whether they hold."""
    with Ledger(database, create=False, pool=2) as ledger, ledger.reading() as connection:
        replay = Replay(trial, expected=expected)
        found = replay.verify(itertools.islice(read_log(connection, trial), events))
    if replay.state is None or replay.missing is not None or (found.holds and not replay.certain):
        return None
    return FirstPart(found, _but_position(replay), replay.state.position)


def main() -> None:
    """Make the first part again that is asked for through a pipe."""
    # Ctrl-C is for the command that waits, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nothing that is loaded is garbage.
    gc.freeze()
    with Connection(int(sys.argv[1])) as pipe:
        pipe.send(first_part(*pipe.recv()))
