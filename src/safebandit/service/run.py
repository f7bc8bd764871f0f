"""Starting and stopping the service: the socket, the first key, one process or several."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import uvicorn

from safebandit.errors import RecordError
from safebandit.service.app import create_app
from safebandit.service.keys import Keys
from safebandit.service.logs import log_to_stderr
from safebandit.service.rates import RateLimits
from safebandit.trials.engine import SOFTWARE
from safebandit.trials.record.database import read_url
from safebandit.trials.record.ledger import Ledger

# So long may requests in flight take when the service is told to stop.
STOP_SECONDS = 30
FIRST_KEY = "first admin"


class Place(NamedTuple):
    """Where the service listens, and on which database."""

    database: str
    host: str
    port: int


def serve(place: Place, *, workers: int, rates: RateLimits, say: Callable[[str], None]) -> int:
    """Serve until a signal comes, and return the exit status; `say` is told once where the service can be reached."""
    log_to_stderr()
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

            return supervise(place.database, listener, workers=workers, rates=rates)
        return serve_here(place.database, listener, rates)


def serve_here(database: str, listener: socket.socket, rates: RateLimits) -> int:
    """Serve in this process; requests in flight are finished when it is told to stop."""
    config = uvicorn.Config(
        create_app(database, rates=rates),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        ws="none",
    )
    server = uvicorn.Server(config)

    def stop(*_: object) -> None:
        server.should_exit = True

    # For signals that come before Uvicorn listens to them, and those that it raises again when it has stopped.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server.run(sockets=[listener])
    return 0 if server.started else 1


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
    return None if known else keys.create(FIRST_KEY, "admin", actor=SOFTWARE)[1]


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
