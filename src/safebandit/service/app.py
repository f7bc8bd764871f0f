"""The application: the record behind it, the interface for programs, the page for people."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from safebandit.service import refusals
from safebandit.service.access import most_bytes
from safebandit.service.alerts.courier import Courier, Pace
from safebandit.service.alerts.mail import MailServer
from safebandit.service.alerts.outbox import Outbox
from safebandit.service.alerts.rules import Alerts
from safebandit.service.api import alerting, batches, keyring, members, probes, proposals, reading, writing
from safebandit.service.api.quick import QuickPaths
from safebandit.service.delivery import Delivery
from safebandit.service.guards import BodyLimit, Watch
from safebandit.service.homes.homes import Homes, Seat
from safebandit.service.keys import Keys, SessionLimits
from safebandit.service.metrics import Metrics
from safebandit.service.oidc.provider import Provider
from safebandit.service.oidc.settings import OidcSettings
from safebandit.service.outlook import Outlook
from safebandit.service.page import routes
from safebandit.service.page.rendering import refusal_page
from safebandit.service.people import People
from safebandit.service.rates import Buckets, RateLimits
from safebandit.service.rehearsing import Rehearsals
from safebandit.service.scheduled.rounds import Rhythm, Rounds
from safebandit.service.scribe import Scribe
from safebandit.service.verifying import Verifications
from safebandit.service.warming import Warming
from safebandit.trials.record.database import POOL
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.standing import Standings
from safebandit.trials.replay import Verification
from safebandit.version import __version__


def create_app(
    database: str,
    *,
    rates: RateLimits | None = None,
    viewer_delay: int = 0,
    pool: int = POOL,
    mail: MailServer | None = None,
    pace: Pace | None = None,
    sessions: SessionLimits | None = None,
    identity: OidcSettings | None = None,
    rhythm: Rhythm | None = None,
    seat: Seat | None = None,
) -> FastAPI:
    """An application on this database; it is opened when the application starts, and closed when it stops.

    Viewers see sums as they were at least `viewer_delay` units ago; `pool` are connections to PostgreSQL; alerts are
    sent by e-mail where there is a `mail` server, at this `pace`. People sign in by the provider `identity`, if there
    is one, and stay so within the limits of `sessions`. All trials are verified in this `rhythm`, if there is one.
    `seat` says which of several workers this is, where trials are at home in one of them.
    """
    rates = rates or RateLimits()
    metrics = Metrics()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with Ledger(database, pool=pool) as ledger:
            app.state.ledger, app.state.keys, app.state.scribe = ledger, Keys(ledger, sessions), Scribe(ledger)
            app.state.people = People(ledger, app.state.keys)
            app.state.delivery = Delivery(asyncio.get_running_loop(), app.state.scribe, metrics.waiting)
            homes = app.state.homes = None
            app.state.write_at_home = app.state.delivery.write_work
            if seat is not None:
                homes = app.state.homes = Homes(seat, app.state.delivery, metrics.passed)
                await homes.start()
                app.state.write_at_home = homes.write
            app.state.provider = None if identity is None else Provider(identity)
            app.state.notes = set()
            app.state.outlook = Outlook(ledger, viewer_delay)
            app.state.standings = Standings(ledger)
            app.state.readiness = probes.Readiness(ledger)
            # Recomputing a trial takes a processor: one at a time, so that asks and tells go on beside it.
            app.state.long_work = asyncio.Semaphore(1)
            app.state.alerts, app.state.outbox = Alerts(ledger), Outbox(ledger.engine)
            courier = Courier(ledger, metrics, mail=mail, late=viewer_delay > 0, pace=pace)
            app.state.courier = courier

            def failed(trial: str | None, found: Verification, since: float | None = None) -> None:
                courier.verified(trial, str(found.problem), event=found.failed or 0, since=since)

            app.state.verifications = Verifications(
                ledger, app.state.long_work, failed=failed, noted=lambda trial, held: metrics.verified(trial, held=held)
            )  # fmt: skip
            rounds = None if rhythm is None else Rounds(ledger, database, metrics, rhythm=rhythm, failed=failed)
            app.state.rehearsals = Rehearsals(app.state.long_work)
            warming = Warming(ledger)
            try:
                yield
            finally:
                warming.close()
                if homes is not None:
                    await homes.close()
                app.state.scribe.close()
                if rounds is not None:
                    await asyncio.to_thread(rounds.close)
                await asyncio.to_thread(courier.close)

    app = FastAPI(
        title="safebandit",
        version=__version__,
        summary="Live trials that keep every choice safe.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        # The service has numbers and logs of its own, and looks for no collector at every request.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False},
    )
    app.state.metrics = metrics
    app.state.requests_of_keys = Buckets(rates.rate, rates.burst)
    app.state.failures_of_addresses = Buckets(rates.failures, rates.failures_burst)
    refusals.register(app)
    for each in (writing, batches, reading, proposals, keyring, members, alerting, probes, routes):
        # As they are: an included router makes each route again at an application's first request, and looks twice.
        app.router.routes.extend(each.router.routes)
    app.mount("/static", StaticFiles(directory=routes.STATIC), name="static")
    # The last one added stands first.
    app.add_middleware(QuickPaths, routes=[*writing.QUICK, *batches.QUICK])
    app.add_middleware(BodyLimit, most=most_bytes, page=refusal_page)
    app.add_middleware(Watch, metrics=metrics)
    return app
