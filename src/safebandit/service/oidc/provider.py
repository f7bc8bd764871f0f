"""An identity provider, asked over HTTP: it may be away, slow or lie, and nobody but who signs in waits for it."""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import json
import math
import secrets
import ssl
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import httpx

from safebandit.errors import AccessError, RecordError
from safebandit.service.oidc.settings import OidcSettings, check_address
from safebandit.service.oidc.tokens import UnknownKeyError, check_token

# One request to the provider, and a whole sign-in; so many people may sign in at once.
REQUEST_SECONDS, SIGN_IN_SECONDS, MOST_AT_ONCE = 5.0, 12.0, 16
# What the provider says of itself is asked for again after so long; its keys also for a token of an unknown one, but
# not more often than this.
DOCUMENT_SECONDS, KEYS_SECONDS = 3600.0, 10.0
MOST_BYTES = 512 * 1024
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class Begun(NamedTuple):
    """A sign-in that a browser has begun: what it must come back with, kept in a cookie of that browser."""

    state: str
    nonce: str
    verifier: str
    next: str

    @classmethod
    def new(cls, next: str) -> Begun:
        """A new one, of random texts."""
        return cls(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(32), next)

    def to_text(self) -> str:
        """As the cookie keeps it."""
        return ".".join((*self[:3], base64.urlsafe_b64encode(self.next.encode()).decode().rstrip("=")))

    @classmethod
    def from_text(cls, text: str) -> Begun | None:
        """As `to_text` wrote it; None if it is no such text."""
        parts = text.split(".")
        try:
            last = base64.urlsafe_b64decode(parts[3] + "=" * (-len(parts[3]) % 4)).decode()
        except (IndexError, ValueError):
            return None
        return cls(parts[0], parts[1], parts[2], last) if len(parts) == 4 and all(parts[:3]) else None


class Claims(NamedTuple):
    """Who somebody is, as the provider says it; the address only if it says that it has verified it."""

    subject: str
    name: str
    email: str | None
    groups: object


class Provider:
    """One identity provider."""

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._document: tuple[float, dict[str, Any]] = (-math.inf, {})
        self._keys: tuple[float, list[dict[str, Any]]] = (-math.inf, [])
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)

    async def address(self, begun: Begun, redirect: str) -> str:
        """Where a browser is sent to sign in."""
        document = await self._in_time(self._discover())
        challenge = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code", "client_id": self.settings.client_id, "redirect_uri": redirect,
            "scope": self.settings.scopes, "state": begun.state, "nonce": begun.nonce,
            "code_challenge": challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        where = str(document["authorization_endpoint"])
        return f"{where}{'&' if urlsplit(where).query else '?'}{urlencode(asked)}"

    async def claims(self, code: str, begun: Begun, redirect: str) -> Claims:
        """Who signed in, for the code that the browser came back with."""
        return await self._in_time(self._claims(code, begun, redirect))

    async def _in_time(self, work: Any) -> Any:
        """Wait for the provider, but not for long, and not too many at once."""
        if self._turns.locked():
            work.close()
            raise RecordError("too many people are signing in at once; try again in a moment")
        async with self._turns:
            try:
                return await asyncio.wait_for(work, SIGN_IN_SECONDS)
            except TimeoutError:
                raise _away("it does not answer in time") from None

    async def _claims(self, code: str, begun: Begun, redirect: str) -> Claims:
        document = await self._discover()
        given = await self._exchange(document, code, begun, redirect)
        try:
            claims = self._check(given["id_token"], await self._jwks(document), begun)
        except UnknownKeyError:
            # It may have another key now.
            try:
                claims = self._check(given["id_token"], await self._jwks(document, fresh=True), begun)
            except UnknownKeyError as name:
                said = f"the identity provider's token is signed by a key that it does not show ({name})"
                raise AccessError(said) from None
        if "email" not in claims and "userinfo_endpoint" in document and "access_token" in given:
            claims = {**await self._user_info(document, str(given["access_token"]), claims["sub"]), **claims}
        return self._read(claims)

    def _check(self, token: object, keys: list[dict[str, Any]], begun: Begun) -> dict[str, Any]:
        issuer, client_id = self.settings.issuer, self.settings.client_id
        return check_token(str(token), keys, issuer=issuer, client_id=client_id, nonce=begun.nonce)

    def _read(self, claims: Mapping[str, Any]) -> Claims:
        verified = claims.get("email_verified") is True and isinstance(claims.get("email"), str)
        email = str(claims["email"]) if verified else None
        named = next((claims[key] for key in ("name", "preferred_username") if isinstance(claims.get(key), str)), None)
        groups = claims.get(self.settings.groups_claim)
        name = (named or email or str(claims["sub"]))[:100]
        return Claims(f"{self.settings.issuer} {claims['sub']}", name, email, groups)

    async def _discover(self) -> dict[str, Any]:
        """What the provider says of itself, if it is the one that was meant."""
        read, document = self._document
        if time.monotonic() - read < DOCUMENT_SECONDS:
            return document
        issuer = self.settings.issuer
        document = await self._json("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if document.get("issuer") != issuer:
            raise AccessError(
                f"the identity provider calls itself {str(document.get('issuer'))[:200]!r}, not {issuer!r}"
            )
        for name in (*_ENDPOINTS, *(["userinfo_endpoint"] if "userinfo_endpoint" in document else [])):
            try:
                check_address(f"{name} of the identity provider", str(document.get(name)).partition("?")[0])
            except RecordError as problem:
                raise AccessError(str(problem)) from None
        self._document = time.monotonic(), document
        return document

    async def _jwks(self, document: Mapping[str, Any], *, fresh: bool = False) -> list[dict[str, Any]]:
        read, keys = self._keys
        age = time.monotonic() - read
        if age < KEYS_SECONDS or (not fresh and age < DOCUMENT_SECONDS):
            return keys
        listed = (await self._json("GET", str(document["jwks_uri"]))).get("keys")
        keys = [key for key in listed if isinstance(key, dict)] if isinstance(listed, list) else []
        self._keys = time.monotonic(), keys
        return keys

    async def _exchange(
        self, document: Mapping[str, Any], code: str, begun: Begun, redirect: str
    ) -> dict[str, Any]:  # fmt: skip
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": begun.verifier,
        }
        headers = {}
        if self.settings.secret is None:
            form["client_id"] = self.settings.client_id
        else:
            pair = f"{quote(self.settings.client_id, safe='')}:{quote(self.settings.secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        given = await self._json("POST", str(document["token_endpoint"]), data=form, headers=headers)
        if "id_token" not in given:
            raise AccessError("the identity provider gave no ID token")
        return given

    async def _user_info(self, document: Mapping[str, Any], token: str, subject: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"}
        told = await self._json("GET", str(document["userinfo_endpoint"]), headers=headers)
        if told.get("sub") != subject:
            raise AccessError("the identity provider tells of another person than the one who signed in")
        return told

    async def _json(self, method: str, address: str, **content: Any) -> dict[str, Any]:
        """One request, and the object that it is answered with: not too long, and never from elsewhere."""
        try:
            async with (
                httpx.AsyncClient(timeout=REQUEST_SECONDS, follow_redirects=False, verify=_trusted()) as client,
                client.stream(method, address, **content) as answer,
            ):
                body = b""
                async for part in answer.aiter_bytes():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise AccessError("the identity provider's answer is too long")
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise _away(type(problem).__name__) from problem
        if answer.status_code >= 500:
            raise _away(f"status {answer.status_code}")
        if answer.status_code != 200:
            raise AccessError(f"the identity provider refused the sign-in (status {answer.status_code})")
        try:
            read = json.loads(body)
        except (ValueError, RecursionError):
            read = None
        if not isinstance(read, dict):
            raise AccessError("the identity provider's answer is no JSON object")
        return read


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The authorities that vouch for a provider: read once, as that takes longer than many a request."""
    return httpx.create_ssl_context()


def _away(why: str) -> RecordError:
    return RecordError(f"the identity provider cannot be used now ({why}); try again, or sign in with a key")
