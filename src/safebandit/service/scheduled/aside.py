"""A process aside that verifies, one trial after another: of the lowest priority, so that asks and tells go first.

A thread of the service would not do: Python runs one thread at a time, and a request would wait for its turn again and
again. What goes between the two passes through a pipe that nobody else can open; neither the address of the database
nor a checkpoint stands in a list of processes or in a file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import NamedTuple, Self

from safebandit.errors import DamagedError, RecordError, TrialError
from safebandit.trials.checkpoint import write_checkpoint
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.verification import recompute, verify_database
from safebandit.trials.replay import Replay, Verification

# So often it is looked whether to go on, by the seconds and by the events that were read.
LOOK_SECONDS = 0.25
LOOK_EVENTS = 256


class Task(NamedTuple):
    """A trial to verify, from a checkpoint if there is one, and the hash of an event of it that was there before; None
    is the database itself.
    """

    trial: str | None
    checkpoint: bytes | None = None
    expected: str | None = None


class Found(NamedTuple):
    """What a verification found, and a checkpoint of what held; or why there was none: that says nothing of a trial."""

    verification: Verification | None
    checkpoint: bytes | None = None
    unable: str | None = None


class EndedError(RecordError):
    """The process aside has ended before it was told to."""


class Aside:
    """The process, from `with` on to its end."""

    def __init__(self, database: str) -> None:
        self._database = database

    def __enter__(self) -> Self:
        self._pipe, theirs = Pipe()
        with theirs:
            # Without what lies in the folder that the service was started in.
            command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        # It reads only, and may be ended at any moment.
        self._process.kill()
        self._process.wait()
        self._pipe.close()

    def verify(self, task: Task, *, goes_on: Callable[[], bool]) -> Found | None:
        """What it finds; None where that is no longer wanted."""
        try:
            self._pipe.send((self._database, task))
            while not self._pipe.poll(LOOK_SECONDS):
                if not goes_on():
                    return None
            found: Found = self._pipe.recv()
        except (EOFError, OSError):
            raise EndedError("the process that verifies has ended; is there memory enough?") from None
        return found


def carry_out(database: str, task: Task, *, go_on: Callable[[], None] | None = None) -> Found:
    """Do a task here; `go_on` is called now and then."""
    try:
        with Ledger(database, create=False, pool=2) as ledger:
            if task.trial is None:
                return Found(verify_database(ledger, expected=task.expected))
            return _verify(ledger, task.trial, task, go_on or (lambda: None))
    except DamagedError as damage:
        return Found(Verification(task.trial or "", 0, 0, 0, "", 0, str(damage)))
    except Exception as problem:  # noqa: BLE001  whoever asked is told, and asks again later
        return Found(None, unable=f"{type(problem).__name__}: {problem}")


def _verify(ledger: Ledger, trial: str, task: Task, go_on: Callable[[], None]) -> Found:
    def progress(done: int, _: int) -> None:
        if done % LOOK_EVENTS == 0:
            go_on()

    def run(checkpoint: str | None) -> tuple[Verification, Replay]:
        return recompute(
            ledger, trial, expected=task.expected, progress=progress, alone=False, checkpoint=checkpoint
        )  # fmt: skip

    try:
        found, replay = run(None if task.checkpoint is None else zlib.decompress(task.checkpoint).decode())
    except TrialError:
        # Another version may have been installed since it was made.
        found, replay = run(None)
    kept = zlib.compress(write_checkpoint(replay).encode(), 1) if found.holds else None
    return Found(found, kept)


def main() -> None:
    """Do one task after another, until the other end of the pipe is closed."""
    os.nice(19)
    # Ctrl-C is for the service, which then ends this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def go_on() -> None:
        if os.getppid() != parent:
            os._exit(1)

    with Connection(int(sys.argv[1])) as pipe:
        try:
            while True:
                database, task = pipe.recv()
                pipe.send(carry_out(database, task, go_on=go_on))
        except (EOFError, OSError):
            return
