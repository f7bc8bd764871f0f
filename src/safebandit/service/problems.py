"""Answers to what cannot be done: one JSON object with the rule, the value and the remedy."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from safebandit.errors import ConflictError, NotFoundError, RecordError, SafebanditError


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
    return 503 if isinstance(error, RecordError) else 422


def answer(status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The JSON of a problem."""
    return JSONResponse({"error": kind, "message": message}, status, headers)


def register(app: FastAPI) -> None:
    """Answer every error in the same shape."""

    @app.exception_handler(RefusedError)
    async def _problem(_: Request, problem: RefusedError) -> JSONResponse:
        return answer(problem.status, "refused", problem.message, problem.headers)

    @app.exception_handler(SafebanditError)
    async def _ours(_: Request, error: SafebanditError) -> JSONResponse:
        return answer(status_of(error), type(error).__name__, str(error))

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return answer(422, "invalid", "; ".join(_said(each) for each in error.errors()))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        return answer(error.status_code, "refused", str(error.detail), dict(error.headers or {}))


def _said(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"][1:]) or str(error["loc"][0])
    got = "" if error["type"] in ("missing", "json_invalid") else f", got {str(error.get('input'))[:80]!r}"
    return f"{place}: {error['msg']}{got}"
