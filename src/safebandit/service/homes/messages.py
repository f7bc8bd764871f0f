"""Messages between two workers: values of Python, as `multiprocessing` sends them, each with its length before it."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any, Literal, cast

# A worker sends `work`. A home says `hello` when it takes work, `beat` every second, `done` of what was done, and
# `no more` when it stops.
Kind = Literal["hello", "beat", "work", "done", "no more"]
_LENGTH = 4


class Messages(asyncio.Protocol):
    """One end of a connection between workers of one service: nobody else can open one."""

    def __init__(self) -> None:
        self._read = bytearray()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Take what has come, and act upon every message that is whole."""
        self._read += data
        while len(self._read) >= _LENGTH:
            end = _LENGTH + int.from_bytes(self._read[:_LENGTH], "big")
            if len(self._read) < end:
                return
            kind, content = pickle.loads(self._read[_LENGTH:end])
            del self._read[:end]
            self.received(kind, content)

    def received(self, kind: Kind, content: Any) -> None:
        """Act upon a message."""
        raise NotImplementedError

    def send(self, kind: Kind, content: Any = None) -> None:
        """Send a message, unless the connection is closing."""
        if not self.transport.is_closing():
            data = pickle.dumps((kind, content), pickle.HIGHEST_PROTOCOL)
            self.transport.write(len(data).to_bytes(_LENGTH, "big") + data)
