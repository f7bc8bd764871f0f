"""The short way to the paths that are asked most: what the framework does for any path is done here for these alone.

The routes stay what they are, and stand in the OpenAPI document. A request that is as it should be is answered by the
parts of its own route: its model, the check of its key, its function, the model of its answer. Any other is passed on
to the route itself, which says what is wrong with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from safebandit.errors import SafebanditError
from safebandit.service.refusals import RefusedError, answer_to
from safebandit.trials.events import read_json

PREFIX = ["", "v1", "trials"]
_JSON = (b"content-type", b"application/json")
_PARAMETERS = {"trial", "body", "request", "key"}
# Of a function that sets the status of an answer that is made for it.
_OF_STATUS = {"response"}


class Status:
    """What a function says of its answer beside the content: its status; None where the route has one."""

    status_code: int | None = None


class _Quick(NamedTuple):
    """A route that is answered here: the check of its key, how its parts are read and its answer is written."""

    route: APIRoute
    says_status: bool
    check: Callable[..., Any]
    read_trial: Callable[..., tuple[Any, Any]]
    read_body: Callable[..., tuple[Any, Any]]
    write: Callable[..., bytes]


class QuickPaths:
    """Requests to these routes, of the paths /v1/trials/{trial}/..., are answered; all others are passed on."""

    def __init__(self, app: ASGIApp, routes: Iterable[APIRoute]) -> None:
        self._app = app
        self._routes = {tuple(route.path.split("/")[4:]): _quick(route) for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        found = self._find(scope) if scope["type"] == "http" and scope["method"] == "POST" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        quick, trial = found
        heard, body = await _read(receive)
        read = None if body is None else _checked(quick, trial, body)
        if read is None:
            await self._app(scope, _again(heard, receive), send)
            return
        scope["route"], scope["path_params"], scope["endpoint"] = quick.route, {"trial": trial}, quick.route.endpoint
        request, status = Request(scope, receive, send), Status()
        named = {"response": status} if quick.says_status else {}
        try:
            key = await quick.check(request, None)
            given = await quick.route.endpoint(trial=read[0], body=read[1], request=request, key=key, **named)
        except (RefusedError, SafebanditError) as problem:
            await answer_to(problem)(scope, receive, send)
            return
        if isinstance(given, Response):
            await given(scope, receive, send)
            return
        content = quick.write(given)
        code = status.status_code or quick.route.status_code or 200
        headers = [(b"content-length", b"%d" % len(content)), _JSON]
        await send({"type": "http.response.start", "status": code, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def _find(self, scope: Scope) -> tuple[_Quick, str] | None:
        """The route of a request and its trial, if it is one of these and its body says that it is JSON."""
        parts = scope["path"].split("/")
        if parts[:3] != PREFIX or scope.get("root_path") or _JSON not in scope["headers"]:
            return None
        quick = self._routes.get(tuple(parts[4:]))
        return None if quick is None else (quick, parts[3])


def _quick(route: APIRoute) -> _Quick:
    """What of a route is needed to answer it; a route that takes anything else cannot be answered so."""
    whole = route.dependant
    needs, path, body = whole.dependencies, whole.path_params, route.body_field
    others = (*whole.query_params, *whole.header_params, *whole.cookie_params)
    taken = set(inspect.signature(route.endpoint).parameters)
    known = len(needs) == len(path) == 1 and taken - _OF_STATUS == _PARAMETERS and not others
    if not known or needs[0].call is None or body is None or route.response_field is None:
        raise TypeError(f"{route.path} takes what the short way does not know: {', '.join(sorted(taken))}")
    read, write = (path[0].validate, body.validate), route.response_field.serialize_json
    return _Quick(route, taken != _PARAMETERS, needs[0].call, *read, write)


async def _read(receive: Receive) -> tuple[list[Message | HTTPException], bytes | None]:
    """What was heard of a request, and its body; None where it did not come whole."""
    heard: list[Message | HTTPException] = []
    parts: list[bytes] = []
    while True:
        try:
            message = await receive()
        except HTTPException as refusal:
            return [*heard, refusal], None
        heard.append(message)
        if message["type"] != "http.request":
            return heard, None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return heard, b"".join(parts)


def _again(heard: list[Message | HTTPException], receive: Receive) -> Receive:
    """A request as it was heard, once more, and what comes after."""
    left = iter(heard)

    async def receive_again() -> Message:
        message = next(left, None)
        if isinstance(message, HTTPException):
            raise message
        return await receive() if message is None else message

    return receive_again


def _checked(quick: _Quick, trial: str, body: bytes) -> tuple[Any, Any] | None:
    """The trial and the body of a request, read; None where one of them is not what the route takes."""
    try:
        value = read_json(body)
    except (ValueError, RecursionError):
        return None
    named, wrong_name = quick.read_trial(trial, {}, loc=("path", "trial"))
    read, wrong = quick.read_body(value, {}, loc=("body",))
    return None if wrong_name or wrong else (named, read)
