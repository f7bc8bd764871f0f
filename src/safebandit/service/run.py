"""Starting and stopping the service: the socket, the first key, one process or several."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import math
import os
import resource
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import uvicorn
from fastapi import FastAPI

from safebandit.errors import RecordError
from safebandit.service.alerts.mail import MailServer
from safebandit.service.app import create_app
from safebandit.service.homes.accepting import LateListener
from safebandit.service.homes.homes import Seat
from safebandit.service.keys import Keys, SessionLimits
from safebandit.service.limits import ConnectionLimits, limited
from safebandit.service.logs import log_to_stderr
from safebandit.service.network import Network
from safebandit.service.oidc.settings import OidcSettings
from safebandit.service.rates import RateLimits
from safebandit.service.roles import EVERYWHERE
from safebandit.service.scheduled.rounds import Rhythm
from safebandit.trials.engine import SOFTWARE
from safebandit.trials.record.database import POOL, read_url
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.texts import DEFAULT

# So long may requests in flight take when the service is told to stop.
STOP_SECONDS = 30
# Open files of a process beside its connections: the database's, those of the log and of the metrics.
OTHER_FILES = 128
# So many objects are made, less those that are freed, before garbage is looked for.
GARBAGE = 10_000
FIRST_KEY = "first admin"
# The first key is for making others: it was printed, and may stand in a log.
FIRST_KEY_DAYS = 7


class Place(NamedTuple):
    """Where the service listens, on which database, and the file that the first key is written to."""

    database: str
    host: str
    port: int
    key_file: Path | None = None


class Options(NamedTuple):
    """How often a key may ask, what a connection may take, how many units late viewers see sums, what the service
    speaks and whom it believes, how many connections to PostgreSQL a process has, the server for e-mail, how long
    browsers stay signed in, the identity provider, and hours between verifications of what changed (0: none).
    """

    rates: RateLimits = RateLimits()
    connections: ConnectionLimits = ConnectionLimits()
    viewer_delay: int = 0
    network: Network = Network()
    pool: int = POOL
    mail: MailServer | None = None
    sessions: SessionLimits = SessionLimits()
    identity: OidcSettings | None = None
    verify_every: float = 1.0


def serve(place: Place, *, workers: int, options: Options, say: Callable[[str], None]) -> int:
    """Serve until a signal comes, and return the exit status; `say` is told once where the service can be reached."""
    log_to_stderr()
    _allow_descriptors(options.connections.connections)
    loopback = _is_loopback(place.host)
    if not loopback and _is_missing(place.database):
        raise _no_key(place)
    # The key is made once the port is taken: where that fails it would never be shown.
    with _listen(place) as listener:
        with Ledger(place.database) as ledger:
            first_key = _first_key(Keys(ledger), loopback, place)
            works = any(key.works for key in Keys(ledger).all())
        host = f"[{place.host}]" if ":" in place.host else place.host
        address = f"{options.network.scheme}://{host}:{listener.getsockname()[1]}"
        say(f"safebandit serves {address} (database: {_shown(place.database)})")
        if first_key is not None:
            say(first_key)
            say(f"it works for {FIRST_KEY_DAYS} days: make keys that last, with it or with safebandit key new")
        elif not works:
            say(f"no key works any more; make one: safebandit key new NAME --role admin --db {_shown(place.database)}")
        if workers > 1:
            from safebandit.service.workers import supervise

            return supervise(place.database, listener, workers=workers, options=options)
        return serve_here(place.database, listener, options)


class _Server(uvicorn.Server):
    """A server that gives up what takes minutes when it is told to stop; what is short is finished."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])
        for listener in sockets or []:
            self.servers.append(await self._listen(listener))

    async def _listen(self, listener: socket.socket) -> Any:
        """Take connections; where other workers have this one write for them, late."""
        config = self.config

        def make_protocol() -> asyncio.Protocol:
            known = {"server_state": self.server_state, "app_state": self.lifespan.state}
            return config.http_protocol_class(config=config, **known)  # type: ignore[call-arg]

        homes = self._app.state.homes
        if homes is not None and homes.writes_for_others:
            return LateListener(listener, make_protocol, config.ssl)
        loop = asyncio.get_running_loop()
        return await loop.create_server(make_protocol, sock=listener, ssl=config.ssl, backlog=config.backlog)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.verifications.stop()
        self._app.state.rehearsals.stop()
        await super().shutdown(sockets)


def make_server(app: FastAPI, limits: ConnectionLimits, network: Network | None = None) -> uvicorn.Server:
    """A server that answers by this application, for connections within these limits."""
    spoken = (network or Network()).options
    config = uvicorn.Config(
        app,
        http=limited(limits, app.state.metrics),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        ws="none",
        **spoken,
    )
    return _Server(config, app)


def serve_here(database: str, listener: socket.socket, options: Options, seat: Seat | None = None) -> int:
    """Serve in this process, at this seat where there are several; requests in flight are finished when it is told to
    stop.
    """
    if seat is not None:
        options = _at_seat(options, seat)
    app = create_app(
        database, rates=options.rates, viewer_delay=options.viewer_delay, pool=options.pool, mail=options.mail,
        sessions=options.sessions, identity=options.identity,
        rhythm=Rhythm(options.verify_every) if options.verify_every > 0 else None, seat=seat,
    )  # fmt: skip
    server = make_server(app, options.connections, options.network)

    def stop(*_: object) -> None:
        server.should_exit = True

    # For signals that come before Uvicorn listens to them, and those that it raises again when it has stopped.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    # What is there when the service starts stays: looking through it again and again would stop all requests.
    gc.freeze()
    # Requests leave little behind that only such a look frees: more seldom than Python does it by itself.
    gc.set_threshold(GARBAGE)
    server.run(sockets=[listener])
    return 0 if server.started else 1


def _at_seat(options: Options, seat: Seat) -> Options:
    """Limits of one of several workers: as homes take few connections, each takes more, for all to take as many; no
    more than the system lets it.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    each = options.connections.connections
    most = math.inf if hard == resource.RLIM_INFINITY else hard - OTHER_FILES
    connections = max(each, int(min(seat.share * each, most)))
    _allow_descriptors(connections)
    rates = RateLimits(*(seat.share * limit for limit in options.rates))
    return options._replace(rates=rates, connections=options.connections._replace(connections=connections))


def _allow_descriptors(connections: int) -> None:
    """Ask the system for as many open files as the connections need, and some for the database."""
    wanted = connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and wanted > hard:
        raise RecordError(
            f"{connections} connections need {wanted} open files, and this process may have {hard}; "
            f"give --connections {max(1, hard - OTHER_FILES)} or raise the limit (ulimit -n)"
        )
    if soft != resource.RLIM_INFINITY and wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _is_loopback(host: str) -> bool:
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        raise RecordError(f"host must be an address or a name of this machine, got {host!r}") from None
    return all(ipaddress.ip_address(str(address).partition("%")[0]).is_loopback for address in found)


def _first_key(keys: Keys, loopback: bool, place: Place) -> str | None:
    """Make an admin's key where there is none yet, and say which; others must not reach a service without one."""
    known = keys.all()
    if not loopback and not any(key.works for key in known):
        raise _no_key(place)
    if known:
        return None
    if place.key_file is None:
        return f"first key (admin), shown once: {_make_first(keys)}"
    # The file first: a key that cannot be kept anywhere must not be made.
    with _private_file(place.key_file) as file:
        file.write(f"{_make_first(keys)}\n")
    return f"first key (admin) is in {place.key_file}"


def _make_first(keys: Keys) -> str:
    return keys.create(FIRST_KEY, {DEFAULT: "admin", EVERYWHERE: "admin"}, days=FIRST_KEY_DAYS, actor=SOFTWARE)[1]


def _private_file(path: Path) -> TextIO:
    """A new file that only its owner can read."""
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise RecordError(f'the file "{path}" for the first key exists already; name another one') from None
    except OSError as problem:
        said = (problem.strerror or str(problem)).lower()
        raise RecordError(f'the file "{path}" for the first key cannot be made: {said}; name another one') from None
    return open(made, "w", encoding="ascii")


def _no_key(place: Place) -> RecordError:
    return RecordError(
        f"{place.host} can be reached by others, and the database has no key that works; "
        f"create one first: safebandit key new NAME --role admin --db {_shown(place.database)}"
    )


def _is_missing(database: str) -> bool:
    """Whether the database is a file that does not exist yet: opening it would make one."""
    url = read_url(database)
    return url.drivername == "sqlite" and not Path(str(url.database)).exists()


def _shown(database: str) -> str:
    """The database without its password."""
    url = read_url(database)
    return str(url.database) if url.drivername == "sqlite" else url.render_as_string(hide_password=True)


def _listen(place: Place) -> socket.socket:
    """A socket that takes connections from now on; they wait until a process answers them."""
    family, kind, protocol, _, address = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        # A service that is started again at once takes its port back; one that another process listens on stays taken.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as problem:
        listener.close()
        said = problem.strerror or "no reason was given"
        raise RecordError(
            f"cannot listen on {place.host}:{place.port}: {said.lower()}; choose another --port, or 0 for a free one"
        ) from None
    listener.set_inheritable(True)
    return listener
