"""How a home takes connections: those that no other worker has taken within a moment.

It has what others are asked to write already. Where the others are all busy, hang or have died, it takes all.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable

from safebandit.service.logs import log

# So long a connection waits for another worker; clients keep theirs, so it is seldom waited for.
LATER_SECONDS = 0.1


class LateListener:
    """Takes connections from a socket that other processes take them from, too; closed as a server of asyncio's is."""

    def __init__(
        self, listener: socket.socket, make_protocol: Callable[[], asyncio.Protocol], tls: ssl.SSLContext | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener, self._make_protocol, self._tls = listener, make_protocol, tls
        self._beginning: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self._loop.add_reader(listener, self._wait)

    def close(self) -> None:
        """Take no more."""
        self._loop.remove_reader(self._listener)
        if self._timer is not None:
            self._timer.cancel()

    async def wait_closed(self) -> None:
        """Nothing is waited for: what was taken is the connections' own."""

    def _wait(self) -> None:
        self._loop.remove_reader(self._listener)
        self._timer = self._loop.call_later(LATER_SECONDS, self._take)

    def _take(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                break
            except OSError as problem:
                # The system has no more files just now: what waits is looked at again.
                log.warning("a connection cannot be taken", extra={"fields": {"problem": str(problem)}})
                break
            task = self._loop.create_task(self._begin(connection))
            self._beginning.add(task)
            task.add_done_callback(self._beginning.discard)
        self._loop.add_reader(self._listener, self._wait)

    async def _begin(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._make_protocol, connection, ssl=self._tls)
        except OSError:
            # Its client has gone, or does not speak TLS.
            connection.close()
