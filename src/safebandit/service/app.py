"""The application: the record behind it, the interface for programs, the page for people."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from safebandit.record.ledger import Ledger
from safebandit.service import api, pages, problems
from safebandit.service.keys import Keys
from safebandit.service.scribe import Scribe
from safebandit.version import __version__


def create_app(database: str) -> FastAPI:
    """An application on this database; it is opened when the application starts, and closed when it stops."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with Ledger(database) as ledger:
            app.state.ledger, app.state.keys, app.state.scribe = ledger, Keys(ledger), Scribe(ledger)
            try:
                yield
            finally:
                app.state.scribe.close()

    app = FastAPI(
        title="safebandit",
        version=__version__,
        summary="Live trials that keep every choice safe.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    problems.register(app)
    app.include_router(api.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=pages.STATIC), name="static")
    return app
