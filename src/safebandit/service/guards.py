"""What stands before every request, as plain ASGI: a limit of the body, headers for browsers, one log line, and an
answer to what nobody expected.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from safebandit.service.logs import log, note
from safebandit.service.metrics import Metrics
from safebandit.service.refusals import METHODS, RefusedError, answer, answer_to

BODY_BYTES = 64 * 1024
# What the paths of batches end with, and how long those may be: 5,000 outcomes with long ids.
BATCH = "/batch"
BATCH_BYTES = 2 * 1024 * 1024
# So much of a file that is not taken is passed over, for its browser to show why: it shows an answer to a whole request
# only.
PASSED_OVER_BYTES = 32 * 1024 * 1024
# Where the key's id is noted for the log.
KEY_ID = "safebandit.key"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Only what this service itself serves is loaded, nothing of it in another's frame, and nothing is kept.
_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_NO_STORE = (b"cache-control", b"no-store")


class BodyLimit:
    """A body of more bytes than `most` says of its request is refused, whether its length is said before or not.

    `most` may refuse it instead: then nothing of the body is kept. What a browser sent is answered with a `page`.
    """

    def __init__(
        self,
        app: ASGIApp,
        most: Callable[[Scope], Awaitable[int]],
        page: Callable[[Scope, RefusedError], Response],
    ) -> None:
        self._app = app
        self._most = most
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what is received."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            most = await self._most(scope)
            said = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
            if not said.isdigit() or int(said[:20]) > most:
                raise RefusedError(413, _too_large(most), {"Connection": "close"})
        except RefusedError as refusal:
            await self._refuse(refusal, scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise HTTPException(413, _too_large(most), {"Connection": "close"})
            return message

        await self._app(scope, counted, send)

    async def _refuse(self, refusal: RefusedError, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST" or scope["path"].startswith("/v1/"):
            await answer_to(refusal)(scope, receive, send)
            return
        # A connection that is closed while a file is still being sent is an error to a browser, whatever was answered.
        await _pass_over(receive, PASSED_OVER_BYTES if scope["path"].endswith(BATCH) else BATCH_BYTES)
        await self._page(scope, refusal)(scope, receive, send)


async def _pass_over(receive: Receive, most: int) -> None:
    """Receive a body and keep nothing of it; one that is far longer than any that is taken is broken off."""
    received, more = 0, True
    while more and received < most:
        message = await receive()
        received += len(message.get("body", b""))
        more = message.get("more_body", False)


def _too_large(most: int) -> str:
    return f"a body may have at most {most} bytes, got more; send less at a time"


class Watch:
    """Headers, an id, a log line and a count for every request; 500 without details for what nobody expected."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and watch its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        request_id = _request_id(scope)
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_headers(message.get("headers", []), request_id)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            log.exception("an unexpected error", extra={"fields": {"request": request_id, "route": route_of(scope)}})
            if status == 0:
                message = f"the service failed; its log says why, under request {request_id}"
                await answer(500, "failed", message)(scope, receive, watched)
            else:
                # What was begun cannot be taken back: the connection is cut, so that nobody takes it for whole.
                raise
        finally:
            self._note(scope, status, time.perf_counter() - begun, request_id)

    def _note(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        route = route_of(scope)
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._metrics.request(method, route, status, seconds)
        fields = {
            "method": method,
            "route": route,
            "status": status,
            "milliseconds": round(1000 * seconds, 2),
            "key": scope.get(KEY_ID),
            "request": request_id,
        }
        note("request", fields)


def route_of(scope: Scope) -> str:
    """The template of the path, never the path: it may hold what people typed."""
    return str(getattr(scope.get("route"), "path", "none"))


def _request_id(scope: Scope) -> str:
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"").decode("latin-1")
    if _REQUEST_ID.fullmatch(given):
        return given
    # It is no secret; and to ask the system for one would let another thread go first.
    return f"{random.getrandbits(64):016x}"


def _with_headers(headers: Any, request_id: str) -> list[tuple[bytes, bytes]]:
    given = list(headers)
    said = {name.lower() for name, _ in given}
    added = [header for header in (*_HEADERS, _NO_STORE) if header[0] not in said]
    return [*given, *added, (b"x-request-id", request_id.encode())]
