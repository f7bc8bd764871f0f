"""What one connection may take: a head of so many bytes, so much time to send it and its body and to read the answer;
and how many connections there may be.

Uvicorn has a time for idle connections only, and its limit of requests at once would refuse health checks, too. So its
protocol is watched here: what the parser is in the midst of has a deadline, whatever the application does meanwhile.
"""

from __future__ import annotations

import asyncio
import functools
import json
import math
from typing import Any, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from safebandit.service.guards import BATCH, BATCH_BYTES, BODY_BYTES, PASSED_OVER_BYTES
from safebandit.service.logs import log
from safebandit.service.metrics import Metrics

# A body in chunks is longer than what it holds; what is longer than this holds little but the chunks' own lines.
RAW_BODY_BYTES = 8 * BODY_BYTES
RAW_BATCH_BYTES = 2 * BATCH_BYTES


class ConnectionLimits(NamedTuple):
    """Of each connection, in bytes and seconds; and how many there may be at once, of each process of a service."""

    connections: int = 512
    head_bytes: int = 32 * 1024
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 60.0
    answer_seconds: float = 30.0


def limited(limits: ConnectionLimits, metrics: Metrics) -> Any:
    """The protocol that Uvicorn speaks, with limits."""
    return functools.partial(_Limited, limits=limits, metrics=metrics)


class _Limited(HttpToolsProtocol):
    """One connection. `_part` is what of a request is being received: nothing yet, its head, its body, or all of it."""

    def __init__(self, *arguments: Any, limits: ConnectionLimits, metrics: Metrics, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._limits, self._metrics = limits, metrics
        # Idle connections are timed here, and not twice.
        self.timeout_keep_alive = math.ceil(10 * limits.idle_seconds)
        self._part = "nothing"
        self._since = 0.0
        self._received = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._ended = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._metrics.connected(len(self.connections))
        self._begin("nothing")
        most = self._limits.connections
        if len(self.connections) > most:
            self._make_room([each for each in self.connections if isinstance(each, _Limited) and not each._ended], most)

    def _make_room(self, others: list[_Limited], most: int) -> None:
        """Whoever only waits makes room for whoever comes: idle connections cannot keep others out."""
        idle = [each for each in others if each.waits and each is not self]
        if len(others) > most:
            ended = min(idle, key=lambda each: each._since, default=self)
            ended.end("connections", 503, f"the service takes no more than {most} connections at once; ask again")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._metrics.connected(len(self.connections))
        for timer in (self._deadline, self._reading):
            if timer is not None:
                timer.cancel()

    @property
    def waits(self) -> bool:
        """Whether no request is being answered, nor received beyond its head."""
        return self._part in ("nothing", "head") and not self._answering

    def data_received(self, data: bytes) -> None:
        if self._ended or self.transport.is_closing():
            return
        self._received += len(data)
        super().data_received(data)
        # A head or a line of a chunk that does not end is kept by the parser: it must not grow on.
        if self._part == "head" and self._received > self._limits.head_bytes:
            self._refuse_head()
        elif self._part == "body" and self._received > self._most_raw:
            self.end("body", 413, f"a body may be sent in at most {self._most_raw} bytes, got more")

    @property
    def _most_raw(self) -> int:
        path = self.url.partition(b"?")[0]
        if not path.endswith(BATCH.encode()):
            return RAW_BODY_BYTES
        return RAW_BATCH_BYTES if path.startswith(b"/v1/") else PASSED_OVER_BYTES

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begin("head")

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self._limits.head_bytes:
            self._refuse_head()
            raise ValueError("the head is too large")
        self._begin("body")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._begin("nothing" if self.cycle.response_complete else "whole")

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._part == "whole":
            self._begin("nothing")

    def send_400_response(self, msg: str) -> None:
        self.end("unreadable", 400, msg)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading(None)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading is not None and not self.transport.is_closing():
            self._reading.cancel()

    def end(self, limit: str, status: int, message: str) -> None:
        """End the connection at a limit, with an answer where one is waited for and none is begun."""
        if self._ended:
            return
        self._ended = True
        self._metrics.ended(limit)
        if limit != "idle":
            fields = {"limit": limit, "address": self.client[0] if self.client else None}
            log.warning("a connection was ended", extra={"fields": fields})
        if self._unanswered:
            self.transport.write(_answer(status, message))
        self.transport.close()
        self._watch_reading(None)

    @property
    def _answering(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    @property
    def _unanswered(self) -> bool:
        """Whether a request, or the first one, waits for an answer of which nothing was sent."""
        cycle: Any = self.cycle
        if cycle is None:
            return True
        begun = cycle.response_started if self._part in ("body", "whole") else not cycle.response_complete
        return self._part != "nothing" and not begun and not self.pipeline

    def _refuse_head(self) -> None:
        self.end("head", 431, f"a head may have at most {self._limits.head_bytes} bytes, got more")

    def _begin(self, part: str) -> None:
        if (self._part, part) != ("nothing", "head"):
            # A head that begins where nothing was before is counted with the data that began it.
            self._received = 0
        self._part, self._since = part, self.loop.time()
        seconds = self._seconds(part)
        # A timer that ends sooner looks then how long is left: at most requests there is nothing to set.
        if seconds is not None and (self._deadline is None or self._deadline.when() > self._since + seconds):
            self._set_timer(seconds)

    def _set_timer(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Look whether what is being received is late."""
        self._deadline = None
        seconds = self._seconds(self._part)
        if seconds is None:
            return
        left = self._since + seconds - self.loop.time()
        if left > 0:
            self._set_timer(left)
        else:
            self._late()

    def _seconds(self, part: str) -> float | None:
        limits = self._limits
        if part == "nothing":
            return limits.idle_seconds
        return limits.head_seconds if part == "head" else limits.body_seconds if part == "body" else None

    def _late(self) -> None:
        if self.transport.is_closing():
            # It closes when the last answer is read, which may be never.
            self._watch_reading(None)
            return
        seconds = self._seconds(self._part)
        if seconds is not None and (self.flow.read_paused or (self._part == "nothing" and self._answering)):
            # It is the service that does not read on: it is busy with the request before.
            self._set_timer(seconds)
        elif self._part == "nothing":
            self.end("idle", 408, "nothing was asked")
        else:
            self.end(f"{self._part} time", 408, f"a {self._part} must be sent within {seconds:g} s, it was not")

    def _watch_reading(self, left: int | None) -> None:
        """End a connection whose client reads nothing of its answer for too long; a slow one may go on."""
        if self._reading is not None:
            self._reading.cancel()
        now = self.transport.get_write_buffer_size()
        if left is not None and now >= left:
            self._metrics.ended("answer time")
            log.warning("a connection was ended", extra={"fields": {"limit": "answer time"}})
            self.transport.abort()
            return
        self._reading = self.loop.call_later(self._limits.answer_seconds, self._watch_reading, now)


def _answer(status: int, message: str) -> bytes:
    body = json.dumps({"error": "refused", "message": message}).encode()
    again = b"retry-after: 1\r\n" if status == 503 else b""
    length = str(len(body)).encode()
    head = b"content-type: application/json\r\ncontent-length: " + length + b"\r\nconnection: close\r\n"
    return b"".join((STATUS_LINE[status], head, again, b"cache-control: no-store\r\n\r\n", body))
