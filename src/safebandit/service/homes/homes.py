"""Which worker a trial is at home in, and the ways of one worker to all others."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from safebandit.service.delivery import Delivery
from safebandit.service.homes.answering import FromWorker
from safebandit.service.homes.asking import NotSentError, ToHome
from safebandit.service.homes.works import Work

# So many workers have one home.
WORKERS_OF_HOME = 4
# Between two attempts to reach a home that is away.
PAUSE_SECONDS = 0.25
# So long others may take to hear that this worker stops.
STOP_SECONDS = 5.0


class Seat(NamedTuple):
    """Which of how many workers a process is, and the folder of their sockets, which only they can enter.

    A worker that takes the place of one that died has its seat, and so its trials.
    """

    number: int
    of: int
    folder: Path

    def socket(self, number: int) -> Path:
        """The address of a worker."""
        return self.folder / f"{number}.socket"

    @property
    def homes(self) -> int:
        """How many workers are homes, the first ones: the more requests a home has, the more share a transaction."""
        return -(-self.of // WORKERS_OF_HOME)

    @property
    def share(self) -> float:
        """How many times its even share of connections a worker that is no home takes: homes leave theirs to others."""
        return self.of / max(1, self.of - self.homes)

    @property
    def other_homes(self) -> list[int]:
        """All homes but this worker."""
        return [number for number in range(self.homes) if number != self.number]


@functools.lru_cache(maxsize=4096)
def home_of(trial: str, homes: int) -> int:
    """The worker in which a trial is at home, of so many that are homes.

    >>> [home_of(name, 2) for name in ("knee", "hip", "oncology:hand")]
    [0, 1, 1]
    """
    return int.from_bytes(hashlib.sha256(trial.encode()).digest()[:8], "big") % homes


class Homes:
    """The ways of one worker; `note` is told what became of how many that were sent to others."""

    def __init__(self, seat: Seat, delivery: Delivery, note: Callable[[str, int], None]) -> None:
        self._seat, self._delivery, self._note = seat, delivery, note
        self._loop = asyncio.get_running_loop()
        self._ways: dict[int, ToHome] = {}
        self._from: set[FromWorker] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server

    @property
    def writes_for_others(self) -> bool:
        """Whether this is a home, and there are workers that are none."""
        return self._seat.number < self._seat.homes < self._seat.of

    async def start(self) -> None:
        """Take work of others from now on, and look for them."""
        path = self._seat.socket(self._seat.number)
        # That of one that died, which had this seat.
        path.unlink(missing_ok=True)
        self._server = await self._loop.create_unix_server(
            lambda: FromWorker(self._loop, self._delivery, self._from), str(path)
        )
        self._tasks = [self._loop.create_task(self._keep_way(number)) for number in self._seat.other_homes]

    async def write(self, work: Work, units: Sequence[str | int]) -> Any:
        """Have it written in the trial's home, or here if this is it or it is away; wait until it is on disk."""
        way = self._ways.get(home_of(work.trial, self._seat.homes))
        if way is not None and way.up:
            with contextlib.suppress(NotSentError):
                return await way.write(work, units)
        return await self._delivery.write_work(work, units)

    async def close(self) -> None:
        """Ask nothing more of others, and finish what they have asked."""
        for task in self._tasks:
            task.cancel()
        for way in self._ways.values():
            way.finish()
        self._server.close()
        ends = [way.ended.wait() for way in self._ways.values()] + [each.ended.wait() for each in self._from]
        for each in self._from:
            each.stop()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*ends), STOP_SECONDS)

    async def _keep_way(self, number: int) -> None:
        """Keep a connection to a worker, a new one whenever it has ended."""
        path = str(self._seat.socket(number))
        while True:
            with contextlib.suppress(OSError):
                _, way = await self._loop.create_unix_connection(lambda: ToHome(self._loop, self._note), path)
                self._ways[number] = way
                await way.ended.wait()
                del self._ways[number]
            await asyncio.sleep(PAUSE_SECONDS)
