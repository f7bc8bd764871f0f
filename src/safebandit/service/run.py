"""Starting and stopping the service: the socket, the first key, one process or several."""

from __future__ import annotations

import ipaddress
import resource
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import uvicorn
from fastapi import FastAPI

from safebandit.errors import RecordError
from safebandit.service.app import create_app
from safebandit.service.keys import Keys
from safebandit.service.limits import ConnectionLimits, limited
from safebandit.service.logs import log_to_stderr
from safebandit.service.rates import RateLimits
from safebandit.trials.record.database import read_url
from safebandit.trials.record.ledger import Ledger

# So long may requests in flight take when the service is told to stop.
STOP_SECONDS = 30
# Open files of a process beside its connections: the database's, those of the log and of the metrics.
OTHER_FILES = 128
FIRST_KEY = "first admin"


class Place(NamedTuple):
    """Where the service listens, and on which database."""

    database: str
    host: str
    port: int


class Limits(NamedTuple):
    """How often a key may ask, and what a connection may take."""

    rates: RateLimits = RateLimits()
    connections: ConnectionLimits = ConnectionLimits()


def serve(place: Place, *, workers: int, limits: Limits, say: Callable[[str], None]) -> int:
    """Serve until a signal comes, and return the exit status; `say` is told once where the service can be reached."""
    log_to_stderr()
    _allow_descriptors(limits.connections.connections)
    loopback = _is_loopback(place.host)
    if not loopback and _is_missing(place.database):
        raise _no_key(place)
    # The key is made once the port is taken: where that fails it would never be shown.
    with _listen(place) as listener:
        with Ledger(place.database) as ledger:
            first_key = _first_key(Keys(ledger), loopback, place)
        host = f"[{place.host}]" if ":" in place.host else place.host
        say(f"safebandit serves http://{host}:{listener.getsockname()[1]} (database: {_shown(place.database)})")
        if first_key is not None:
            say(f"first key (admin), shown once: {first_key}")
        if workers > 1:
            from safebandit.service.workers import supervise

            return supervise(place.database, listener, workers=workers, limits=limits)
        return serve_here(place.database, listener, limits)


def make_server(app: FastAPI, limits: ConnectionLimits) -> uvicorn.Server:
    """A server that answers by this application, for connections within these limits."""
    config = uvicorn.Config(
        app,
        http=limited(limits, app.state.metrics),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        ws="none",
    )
    return uvicorn.Server(config)


def serve_here(database: str, listener: socket.socket, limits: Limits) -> int:
    """Serve in this process; requests in flight are finished when it is told to stop."""
    server = make_server(create_app(database, rates=limits.rates), limits.connections)

    def stop(*_: object) -> None:
        server.should_exit = True

    # For signals that come before Uvicorn listens to them, and those that it raises again when it has stopped.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server.run(sockets=[listener])
    return 0 if server.started else 1


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
    """Make an admin's key where there is none yet, and return its text; others must not reach a service without one."""
    known = keys.all()
    if not loopback and not any(key.works for key in known):
        raise _no_key(place)
    return None if known else keys.create(FIRST_KEY, "admin")[1]


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
