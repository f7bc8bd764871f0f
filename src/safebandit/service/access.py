"""Which key a request shows, and whether its role allows what is asked."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from safebandit.service.keys import ROLES, Key, Keys
from safebandit.service.problems import RefusedError

COOKIE = "safebandit_session"
# Only for the OpenAPI document; the header is read below, where the answers say what is wrong.
_bearer = HTTPBearer(auto_error=False, description="A key, as `safebandit key new` prints it.")


def key_of(request: Request) -> Key | None:
    """The key of the header, or the one that this browser signed in with."""
    keys: Keys = request.app.state.keys
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return keys.find(text.strip())
    token = request.cookies.get(COOKIE)
    return keys.find_session(token) if token else None


def _needs(action: str) -> Any:
    """A dependency: the key of a request that may do this; 401 without a key, 403 where its role does not allow it."""

    def check(request: Request, _: Annotated[Any, Depends(_bearer)]) -> Key:
        key = key_of(request)
        if key is None:
            raise RefusedError(401, "a request needs a key that works, as Authorization: Bearer sb_...; ask an admin")
        if not key.may(action):
            able = ", ".join(role for role in ROLES if Key("", "", role, "", None, None).may(action))
            raise RefusedError(403, f'the role "{key.role}" may not {action}; a key of another role may: {able}')
        return key

    return Depends(check)


Lister = Annotated[Key, _needs("list")]
Reader = Annotated[Key, _needs("read")]
Asker = Annotated[Key, _needs("ask")]
Teller = Annotated[Key, _needs("tell")]
Auditor = Annotated[Key, _needs("log")]
Manager = Annotated[Key, _needs("manage")]
KeyKeeper = Annotated[Key, _needs("keys")]
