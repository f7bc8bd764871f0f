"""Signing in on the page: by a key, or by the identity provider; and signing out."""

from __future__ import annotations

import asyncio
import hmac
import re

from fastapi import APIRouter, Request, Response

from safebandit.errors import AccessError, RecordError, SafebanditError
from safebandit.service.access import COOKIE, key_of, note_guess, refuse_guessing
from safebandit.service.keys import Key, Keys
from safebandit.service.logs import log
from safebandit.service.oidc.provider import Begun, Claims, Provider
from safebandit.service.page.fields import Form, text
from safebandit.service.page.rendering import PageRoute, go, render
from safebandit.service.people import Person
from safebandit.service.refusals import RefusedError
from safebandit.trials.texts import NAME

router = APIRouter(route_class=PageRoute, include_in_schema=False)
# Where signing in may lead: a page of this site, whatever the address says.
_OWN_PAGE = re.compile(rf"/(trials/{NAME}(/log|/arms|/units|/analysis)?|keys|people|worklist|alerts)?", re.ASCII)
CALLBACK = "/sign-in/oidc/callback"
# So long somebody may take at the provider.
BEGUN_SECONDS = 600


@router.get("/sign-in")
def sign_in_page(request: Request, next: str = "/") -> Response:
    """The form for a key, and the way to the identity provider; who is signed in already is led on."""
    if key_of(request, recalled=True) is not None:
        return go(own_page(next))
    return _sign_in_screen(request, own_page(next))


def _sign_in_screen(request: Request, path: str, message: str = "", status: int = 200) -> Response:
    provider: Provider | None = request.app.state.provider
    label = None if provider is None else provider.settings.label
    return render(request, "sign_in.html", status, next=path, message=message, provider=label)


@router.post("/sign-in")
def sign_in(request: Request, form: Form) -> Response:
    """Give this browser a token for the key."""
    refuse_guessing(request)
    path = own_page(text(form, "next"))
    key = request.app.state.keys.find(text(form, "key").strip())
    if key is None:
        note_guess(request)
        message = "This key does not work: it is misspelt, expired or revoked. Ask an admin for another one."
        return _sign_in_screen(request, path, message, 401)
    return _signed_in(request, key, go(path))


def _signed_in(request: Request, key: Key, response: Response) -> Response:
    keys: Keys = request.app.state.keys
    seconds = int(keys.limits.hours * 3600)
    response.set_cookie(
        COOKIE, keys.sign_in(key), max_age=seconds, httponly=True, samesite="strict", secure=_is_secure(request)
    )  # fmt: skip
    return response


@router.post("/sign-out")
def sign_out(request: Request, form: Form) -> Response:
    """Make this browser's token worthless."""
    token = request.cookies.get(COOKIE)
    if token:
        request.app.state.keys.sign_out(token)
    response = go("/sign-in")
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=_is_secure(request))
    return response


@router.get("/sign-in/oidc")
async def begin(request: Request, next: str = "/") -> Response:
    """Lead a browser to the identity provider."""
    provider = _provider(request)
    refuse_guessing(request)
    begun = Begun.new(own_page(next))
    try:
        address = await provider.address(begun, _redirect(request, provider))
    except SafebanditError as problem:
        return _failed(request, problem)
    response = go(address)
    # Lax: the provider leads the browser back from another site.
    response.set_cookie(
        _begun_cookie(request), begun.to_text(), max_age=BEGUN_SECONDS, httponly=True, samesite="lax",
        secure=_is_secure(request),
    )  # fmt: skip
    return response


@router.get(CALLBACK)
async def come_back(request: Request, code: str = "", state: str = "", iss: str | None = None) -> Response:
    """Sign in whom the identity provider vouches for."""
    provider = _provider(request)
    refuse_guessing(request)
    begun = Begun.from_text(request.cookies.get(_begun_cookie(request), ""))
    try:
        if begun is None or not hmac.compare_digest(state.encode(), begun.state.encode()):
            raise AccessError("this browser has not begun to sign in, or too long ago")
        if iss is not None and iss != provider.settings.issuer:
            raise AccessError("another identity provider answered")
        if not code or len(code) > 4096:
            raise AccessError("the identity provider did not sign you in")
        claims = await provider.claims(code, begun, _redirect(request, provider))
        key = await asyncio.to_thread(_admit, request, provider, claims)
    except SafebanditError as problem:
        if not isinstance(problem, RecordError):
            note_guess(request)
        return _failed(request, problem)
    # A page, not a redirect: a browser that comes from another site would not show the new cookie on that.
    response = await asyncio.to_thread(_signed_in, request, key, render(request, "signed_in.html", next=begun.next))
    response.delete_cookie(_begun_cookie(request), httponly=True, samesite="lax", secure=_is_secure(request))
    return response


def _admit(request: Request, provider: Provider, claims: Claims) -> Key:
    """The person whom the provider vouches for, with the roles that its groups give."""
    settings = provider.settings
    roles = settings.roles_of(claims.groups)
    actor = f"identity provider {settings.issuer}"[:200]
    person: Person | None = request.app.state.people.admit(
        claims.subject, name=claims.name, email=claims.email, given=roles, places=settings.places, actor=actor
    )
    if person is None or not person.roles:
        raise AccessError("nobody has invited you here; ask an admin, and name the address by which you sign in")
    return Key(person.id, person.name, person.roles, person.created, person=person.id)


def _failed(request: Request, problem: SafebanditError) -> Response:
    """Say on the page for signing in that it failed; details are for the log."""
    log.warning("a sign-in failed", extra={"fields": {"problem": str(problem)}})
    status = 503 if isinstance(problem, RecordError) else 403
    response = _sign_in_screen(request, "/", f"You are not signed in: {problem}.", status)
    response.delete_cookie(_begun_cookie(request), httponly=True, samesite="lax", secure=_is_secure(request))
    return response


def _provider(request: Request) -> Provider:
    provider: Provider | None = request.app.state.provider
    if provider is None:
        raise RefusedError(404, "this service has no identity provider; sign in with a key")
    return provider


def _redirect(request: Request, provider: Provider) -> str:
    """Where the provider leads a browser back to: it takes no address that it was not told before."""
    base = provider.settings.address or f"{request.url.scheme}://{request.url.netloc}"
    return base + CALLBACK


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _begun_cookie(request: Request) -> str:
    # No other host of the same domain can set a cookie that begins so.
    return "__Host-safebandit_begun" if _is_secure(request) else "safebandit_begun"


def own_page(path: str) -> str:
    """A page of this site, whatever an address says."""
    return path if _OWN_PAGE.fullmatch(path) else "/"
