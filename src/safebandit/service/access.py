"""Which key a request shows, and whether its role allows what is asked, as often as it is asked."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from safebandit.errors import SafebanditError
from safebandit.service.guards import BATCH, BATCH_BYTES, BODY_BYTES, KEY_ID
from safebandit.service.keys import Key, Keys
from safebandit.service.logs import log
from safebandit.service.refusals import RefusedError
from safebandit.service.roles import PERMISSIONS
from safebandit.trials.record.projects import unknown_project
from safebandit.trials.record.store import unknown_trial
from safebandit.trials.texts import project_of

COOKIE = "safebandit_session"
NO_KEY = "a request needs a key that works, as Authorization: Bearer sb_...; ask an admin"
# Only for the OpenAPI document; the header is read below, where the answers say what is wrong.
_bearer = HTTPBearer(auto_error=False, description="A key, as `safebandit key new` prints it.")
_SAFE = ("GET", "HEAD", "OPTIONS")


def key_of(request: Request, *, recalled: bool = False) -> Key | None:
    """The key of the header, or the one that this browser signed in with; `recalled`: without asking the database."""
    keys: Keys = request.app.state.keys
    text = _shown(request)
    if text is not None:
        return keys.find(text, recalled=recalled)
    token = request.cookies.get(COOKIE)
    if token is None or (request.method not in _SAFE and _from_elsewhere(request)):
        return None
    return keys.find_session(token, recalled=recalled)


def _shown(request: Request) -> str | None:
    """The key that the header shows."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None


def _from_elsewhere(request: Request) -> bool:
    """Whether a page of another site sent it: a browser adds the cookie, but its user did not mean it."""
    return request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


async def most_bytes(scope: Any) -> int:
    """How long the body of a request may be: longer of a batch, of which nothing is read without a key that works."""
    if not scope["path"].endswith(BATCH):
        return BODY_BYTES
    request = Request(scope)
    keys: Keys = request.app.state.keys
    known = keys.familiar(_shown(request), request.cookies.get(COOKIE))
    guesses = not known and request.app.state.failures_of_addresses.wait(_address(request)) > 0
    found = None if guesses else key_of(request, recalled=True) or await asyncio.to_thread(key_of, request)
    if found is None:
        raise RefusedError(401, NO_KEY, {"WWW-Authenticate": "Bearer", "Connection": "close"})
    return BATCH_BYTES


async def identify(request: Request) -> Key | None:
    """The key of a request, which may ask so often and no more; 429 where it asks too often."""
    state = request.app.state
    key = key_of(request, recalled=True)
    if key is None:
        text, token = _shown(request), request.cookies.get(COOKIE)
        if text is None and token is None:
            return None
        # Whoever guesses may not keep the database busy, nor those out who have worked here before.
        if not state.keys.familiar(text, token):
            refuse_guessing(request)
        key = await asyncio.to_thread(key_of, request)
        if key is None:
            note_guess(request)
            return None
        _note_use(request, key, None if text is not None else token)
    request.scope[KEY_ID] = key.id
    _refuse_for(state.requests_of_keys.take(key.id), request, "key")
    return key


def _note_use(request: Request, key: Key, token: str | None) -> None:
    """Have it written that a key was used, without waiting for it; a page that renews itself is no use of it."""
    if request.url.path.endswith("/live"):
        return

    def write() -> None:
        try:
            request.app.state.keys.note_use(key, token)
        except SafebanditError as problem:
            log.warning("the use of a key was not noted", extra={"fields": {"problem": str(problem)}})

    # The loop keeps no task alive by itself.
    notes = request.app.state.notes
    task = asyncio.ensure_future(asyncio.to_thread(write))
    notes.add(task)
    task.add_done_callback(notes.discard)


def refuse_guessing(request: Request) -> None:
    """Answer 429 to an address that has shown too many keys that do not work."""
    _refuse_for(request.app.state.failures_of_addresses.wait(_address(request)), request, "address")


def note_guess(request: Request) -> None:
    """Count a key that does not work against the address that showed it."""
    request.app.state.failures_of_addresses.take(_address(request))


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _refuse_for(seconds: float, request: Request, limit: str) -> None:
    if seconds > 0:
        request.app.state.metrics.limited(limit)
        wait = math.ceil(seconds)
        raise RefusedError(429, f"too many requests of this {limit}; wait {wait} s", {"Retry-After": str(wait)})


def _needs(action: str) -> Any:
    """A dependency: the key of a request that may do this; 401 without a key, 403 where its role does not allow it."""

    async def check(request: Request, _: Annotated[Any, Depends(_bearer)]) -> Key:
        key = await identify(request)
        if key is None:
            raise RefusedError(401, NO_KEY)
        trial = request.path_params.get("trial")
        if trial is not None:
            return in_trial(key, trial, action)
        _check_role(key, action)
        return key

    return Depends(check)


def in_trial(key: Key, trial: str, action: str) -> Key:
    """Whoever asks, in the project of this trial; of a project in which it has no role, nothing is there."""
    project = project_of(trial)
    if project not in key.roles:
        raise unknown_trial(trial)
    key = key._replace(project=project)
    _check_role(key, action)
    return key


def in_project(key: Key, project: str, action: str) -> Key:
    """Whoever asks, in this project."""
    if project not in key.roles:
        raise unknown_project(project)
    key = key._replace(project=project)
    _check_role(key, action)
    return key


def _check_role(key: Key, action: str) -> None:
    if not key.may(action):
        able = ", ".join(role for role, actions in PERMISSIONS.items() if action in actions)
        able = able or "an admin of the installation"
        raise RefusedError(403, f'the role "{key.role}" may not {action}; a key of another role may: {able}')


Lister = Annotated[Key, _needs("list")]
Reader = Annotated[Key, _needs("read")]
Asker = Annotated[Key, _needs("ask")]
Teller = Annotated[Key, _needs("tell")]
Auditor = Annotated[Key, _needs("log")]
Manager = Annotated[Key, _needs("manage")]
KeyAdmin = Annotated[Key, _needs("keys")]
AlertAdmin = Annotated[Key, _needs("alerts")]
Founder = Annotated[Key, _needs("projects")]
