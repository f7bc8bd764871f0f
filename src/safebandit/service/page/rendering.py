"""How a page is made: templates, and routes whose refusals are pages too."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.types import Scope

from safebandit.errors import DamagedError, RecordError, SafebanditError
from safebandit.problems.limits import show_alpha
from safebandit.service.access import key_of
from safebandit.service.guards import BATCH
from safebandit.service.page import charts
from safebandit.service.refusals import RefusedError, status_of
from safebandit.version import __version__

_log = logging.getLogger("safebandit.service")
FOLDER = Path(__file__).parent
# More fields than a form of 1,000 arms has.
MOST_FIELDS = 1100
# Of a file: a form's field may not be longer, and what was previewed comes back as one.
MOST_FILE_BYTES = 1_000_000


def age(time: str) -> str:
    """How long ago something was, roughly.

    >>> age("2000-01-01T00:00:00.000000Z").endswith(" d")
    True
    """
    seconds = max(0, int((datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def moment(time: str) -> str:
    """A time of the record as people read it.

    >>> moment("2026-11-16T16:49:38.911909Z")
    '2026-11-16 16:49:38 UTC'
    """
    return f"{time[:10]} {time[11:19]} UTC"


def visible(text: str) -> str:
    """A text whose marks that turn the direction of writing are spelt out: they would turn the words around it, too.

    >>> visible("dose \u202e")
    'dose ‹U+202E›'
    """
    return _TURNING.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)


_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_environment = Environment(
    loader=FileSystemLoader(FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.globals |= {"package_version": __version__, "most_bytes": MOST_FILE_BYTES}
_environment.filters |= {
    "age": age,
    "alpha": lambda limits: show_alpha(tuple(limits)),
    "index": lambda value: value if isinstance(value, str) else charts.share(value),
    "figure": lambda value: "–" if value is None else value if isinstance(value, str) else f"{value:.4g}",
    "interval": charts.interval,
    "leading": lambda value: "–" if value is None else f"{value:,.1f}",
    "moment": moment,
    "share": charts.share,
    "visible": visible,
}
_templates = Jinja2Templates(env=_environment)


def render(request: Request, template: str, status: int = 200, **context: Any) -> Response:
    """A page; `key` is who looks at it."""
    context.setdefault("key", None)
    return _templates.TemplateResponse(request, template, context, status_code=status)


def go(path: str) -> RedirectResponse:
    """Lead a browser on to a page, after a form too."""
    return RedirectResponse(path, 303)


async def read_form(request: Request) -> AsyncIterator[FormData]:
    """What a form says, if this site's own page sent it: the cookie alone is no proof of that."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        ours = site in ("same-origin", "none")
    else:
        ours = origin is not None and urlsplit(origin).netloc == request.headers.get("host")
    if not ours:
        raise RefusedError(403, "a form must be sent from this site's own page; open the page here and send it again")
    # Files are taken where many outcomes are, and nowhere else.
    async with request.form(max_files=int(request.url.path.endswith(BATCH)), max_fields=MOST_FIELDS) as form:
        yield form


class PageRoute(APIRoute):
    """A route for people: without a key it leads to the sign-in page, and what goes wrong is said on a page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap FastAPI's handler: refusals are answered as pages, and no browser or proxy keeps a page."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                response = await handle(request)
            except RefusedError as refusal:
                response = _refused(request, refusal)
            except SafebanditError as error:
                response = _problem(request, status_of(error), _words(error))
            except RequestValidationError:
                response = _problem(request, 422, "the address of this page has a part that cannot be read")
            except HTTPException as error:
                response = _problem(request, error.status_code, str(error.detail))
            response.headers["Cache-Control"] = "no-store"
            return response

        return handled


def refusal_page(scope: Scope, refusal: RefusedError) -> Response:
    """What a browser is shown whose form is refused before any route has it: the guards say themselves to keep none."""
    return _refused(Request(scope), refusal)


def _refused(request: Request, refusal: RefusedError) -> Response:
    if refusal.status == 401 and not request.url.path.endswith("/live"):
        # After a form whose browser is no longer signed in, the page that the form was on.
        parts = request.url.path.split("/")
        page = (
            request.url.path if request.method == "GET" else "/".join(parts[:3] if parts[1] == "trials" else parts[:2])
        )
        return go(f"/sign-in?next={quote(page)}")
    return _problem(request, refusal.status, refusal.message)


def _words(error: SafebanditError) -> str:
    """What a page says of an error; the database's own words may name its address, and are for the log."""
    if not isinstance(error, RecordError) or error.__cause__ is None:
        return str(error)
    _log.error("the record failed", extra={"fields": {"problem": str(error)}})
    if isinstance(error, DamagedError):
        # To try again is no use; the interface for programs says the same.
        return str(error)
    return "the database cannot be used now, and nothing of this was written; try again in a moment"


def _problem(request: Request, status: int, message: str) -> Response:
    key = None if status in (401, 503) else key_of(request, recalled=True)
    return render(request, "problem.html", status, key=key, code=status, message=message)
