"""Answers to what cannot be done: one JSON object with the rule, the value and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from safebandit.errors import ConflictError, DamagedError, NotFoundError, RecordError, SafebanditError
from safebandit.service.logs import log

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# Seconds after which a database that failed is asked again.
RETRY_SECONDS = 1


class RefusedError(Exception):
    """An answer with this status and this message."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or ({"WWW-Authenticate": "Bearer"} if status == 401 else {})


def status_of(error: SafebanditError) -> int:
    """The status that an error of this package is answered with."""
    if isinstance(error, NotFoundError):
        return 404
    if isinstance(error, ConflictError):
        return 409
    if isinstance(error, DamagedError):
        return 500
    return 503 if isinstance(error, RecordError) else 422


def answer(status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The JSON of a problem."""
    return JSONResponse({"error": kind, "message": sendable(message)}, status, headers)


def answer_to(problem: RefusedError | SafebanditError) -> JSONResponse:
    """What somebody is told who cannot be given what was asked for."""
    if isinstance(problem, RefusedError):
        return answer(problem.status, "refused", problem.message, problem.headers)
    if isinstance(problem, RecordError):
        return _unavailable(problem)
    return answer(status_of(problem), type(problem).__name__, str(problem))


def sendable(message: str) -> str:
    """A message as an answer can hold it: a text that was sent may have halves of surrogate pairs, which none can."""
    return message.encode("utf-8", "backslashreplace").decode()


def register(app: FastAPI) -> None:
    """Answer every error in the same shape."""

    @app.exception_handler(RefusedError)
    async def _refused(_: Request, problem: RefusedError) -> JSONResponse:
        return answer_to(problem)

    @app.exception_handler(SafebanditError)
    async def _ours(_: Request, error: SafebanditError) -> JSONResponse:
        return answer_to(error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return answer(422, "invalid", "; ".join(_told(error.errors())))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        status, message, headers = error.status_code, str(error.detail), dict(error.headers or {})
        if status == 400 and isinstance(error.__cause__, ValueError | RecursionError):
            status, message = 422, f"the body must be JSON in UTF-8, not too deep: {error.__cause__}"
        elif status == 404:
            message = "there is no such path; /v1/openapi.json lists what there is"
        elif status == 405:
            headers["Allow"] = ", ".join(_taken(request))
            message = f"this path does not take {request.method[:10]!r}; it takes {headers['Allow']}"
        return answer(status, "refused", message, headers)


def _taken(request: Request) -> list[str]:
    """The methods that a path takes: each may have a route of its own."""
    asked = ({**request.scope, "method": method} for method in METHODS)
    routes = request.app.router.routes
    return [scope["method"] for scope in asked if any(route.matches(scope)[0] == Match.FULL for route in routes)]


def _unavailable(error: RecordError) -> JSONResponse:
    """Answer 503, or 500 where to try again is no use; the database's own words, which may name its address and its
    user, go to the log.
    """
    log.error("the record failed", extra={"fields": {"problem": str(error)}})
    message = str(error)
    if isinstance(error, DamagedError):
        return answer(status_of(error), "DamagedError", message)
    if error.__cause__ is not None:
        kind = type(error.__cause__).__name__
        message = f"the database failed ({kind}), nothing is acknowledged; try again, the service's log says more"
    return answer(503, "RecordError", message, {"Retry-After": str(RETRY_SECONDS)})


def _told(found: Sequence[Any]) -> list[str]:
    """What is wrong, field by field: of one that may be of several kinds, what is wrong with the kind that was sent, or
    with the first where it is of none.
    """
    fields: dict[str, list[Any]] = {}
    for error in found:
        fields.setdefault(_place(error), []).append(error)
    told = []
    for place, mine in fields.items():
        of_kind = [each for each in mine if not each["type"].endswith("_type")]
        inside = any(other.startswith(f"{place}.") for other in fields)
        told += [_said(place, each) for each in (of_kind or ([] if inside else mine[:1]))]
    return told


def _place(error: Any) -> str:
    """Where something is wrong, without the names of the kinds that a field may be of."""
    parts = [str(part) for part in error["loc"][1:]]
    return ".".join(part for part in parts if "[" not in part and part != "constrained-float") or str(error["loc"][0])


def _said(place: str, error: Any) -> str:
    got = "" if error["type"] in ("missing", "json_invalid") else f", got {str(error.get('input'))[:80]!r}"
    return f"{place}: {error['msg']}{got}"
