"""Several processes on one socket: each is a whole service; one that dies is replaced, and all stop with the parent.

Uvicorn's own supervisor would not do: its workers outlive a parent that is killed, and it does not say whether all of
them stopped as they should.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safebandit.service.homes.homes import Seat
from safebandit.service.logs import log, log_to_stderr
from safebandit.trials.record.database import read_url

if TYPE_CHECKING:
    from safebandit.service.run import Options


def supervise(database: str, listener: socket.socket, *, workers: int, options: Options) -> int:
    """Keep this many processes serving until a signal comes; 0 if all of them stopped as they should."""
    # Only this user can enter it.
    with tempfile.TemporaryDirectory(prefix="safebandit-workers-") as folder:
        metrics, homes = Path(folder) / "metrics", Path(folder) / "homes"
        for each in (metrics, homes):
            each.mkdir()
        # Processes add up their numbers in files here, so that any of them can answer for all.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics)
        return _Supervisor((database, listener, options), _seats(database, workers, homes)).run()


def _seats(database: str, workers: int, folder: Path) -> list[Seat | None]:
    # A file of SQLite's is locked as a whole: whoever writes a trial, all wait for it.
    alone = read_url(database).drivername == "sqlite"
    return [None if alone else Seat(number, workers, folder) for number in range(workers)]


class _Supervisor:
    """The parent: it serves nothing itself."""

    def __init__(self, arguments: tuple[Any, ...], seats: list[Seat | None]) -> None:
        self._context = multiprocessing.get_context("spawn")
        # Nobody writes to it: when the parent ends, however it does, workers read its end and stop.
        self._alive, self._parent_end = self._context.Pipe(duplex=False)
        self._woken, self._wake = self._context.Pipe(duplex=False)
        self._arguments = (self._alive, *arguments)
        self._seats = seats
        self._stopping = False

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        processes = [self._start(seat) for seat in self._seats]
        while not self._stopping:
            wait([self._woken, *(process.sentinel for process in processes)])
            for place, process in enumerate(processes):
                if not self._stopping and not process.is_alive():
                    log.error("a worker died", extra={"fields": {"pid": process.pid, "status": process.exitcode}})
                    _forget(process)
                    # One that was killed is replaced; one that cannot start would fail again.
                    self._stopping = (process.exitcode or 0) > 0
                    processes[place] = process if self._stopping else self._start(self._seats[place])
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
        # A worker that was told to stop before it listened to signals was ended by this one.
        return 0 if all(process.exitcode in (0, -signal.SIGTERM) for process in processes) else 1

    def _start(self, seat: Seat | None) -> SpawnProcess:
        process = self._context.Process(target=_work, args=(*self._arguments, seat))
        process.start()
        return process

    def _stop(self, *_: object) -> None:
        self._stopping = True
        self._wake.send(None)


def _forget(process: SpawnProcess) -> None:
    """Drop the numbers of a process that has ended from the metrics."""
    from prometheus_client.multiprocess import mark_process_dead

    if process.pid is not None:
        mark_process_dead(process.pid)  # type: ignore[no-untyped-call]


def _work(alive: Connection, database: str, listener: socket.socket, options: Options, seat: Seat | None) -> None:
    """Serve as one worker, until the parent ends."""
    from safebandit.service.run import serve_here

    def stop_with_parent() -> None:
        wait([alive])
        os.kill(os.getpid(), signal.SIGTERM)

    log_to_stderr()
    threading.Thread(target=stop_with_parent, daemon=True).start()
    raise SystemExit(serve_here(database, listener, options, seat))
