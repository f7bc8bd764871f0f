"""A service in this process, with a key of every role."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading

import httpx
import pytest

from safebandit.service.app import create_app
from safebandit.service.limits import ConnectionLimits
from safebandit.service.network import Network
from safebandit.service.rates import RateLimits
from safebandit.service.roles import ROLES
from safebandit.service.run import make_server
from servers.service import SECONDS, ask_again_until

# No test is to be slowed down by what another one did.
WIDE = RateLimits(rate=1e6, burst=1e6, failures=1e6, failures_burst=1e6)
# Services of tests are asked without TLS: to read all authorities would take longer than most tests.
TRUSTS_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Served:
    """An application that answers on a port of its own, in a thread."""

    def __init__(self, app, server, url: str) -> None:
        self.app, self.server = app, server
        self.url = url
        self.keys = {role: app.state.keys.create(f"the {role}", role)[1] for role in ROLES}
        self.http = httpx.Client(base_url=url, timeout=SECONDS, verify=TRUSTS_NOBODY)

    def request(self, method: str, path: str, body=None, *, role: str | None = "admin", **options) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.keys[role]}"} if role else {}
        return self.http.request(method, path, json=body, headers=headers | options.pop("headers", {}), **options)

    def get(self, path: str, *, role: str | None = "admin", **options) -> httpx.Response:
        return self.request("GET", path, role=role, **options)

    def post(self, path: str, body, *, role: str | None = "admin", **options) -> httpx.Response:
        return self.request("POST", path, body, role=role, **options)

    def create(self, name: str, **settings) -> str:
        """A trial of which the first units are given arms in turn; the path of it."""
        defaults = {"arms": ["placebo", "low", "high"], "alpha": 0.3, "policy": "docb", "seed": 1, "pending_cap": 1000}
        made = self.post("/v1/trials", {"name": name, **defaults, **settings})
        assert made.status_code == 201, made.text
        return f"/v1/trials/{name}"


PLAIN = Network()


@contextlib.contextmanager
def serving(
    database, rates: RateLimits = WIDE, limits: ConnectionLimits | None = None, *, network=PLAIN, **options
):  # fmt: skip
    """Serve a database from this process; `options` are those of the application."""
    app = create_app(str(database), rates=rates, **options)
    listener = socket.create_server(("127.0.0.1", 0))
    server = make_server(app, limits or ConnectionLimits(), network)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        ask_again_until(lambda: server.started or not thread.is_alive(), "the server does not start")
        served = Served(app, server, f"{network.scheme}://127.0.0.1:{listener.getsockname()[1]}")
        with served.http:
            yield served
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served") / "trials.db") as made:
        yield made


@pytest.fixture
def cutting():
    """The address of a service that hangs up in the middle of its first answer, and then gives it whole."""
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]"

    def answer() -> None:
        for said in (whole[:-2], whole):
            connection, _ = listener.accept()
            with connection:
                connection.sendall(said)
                connection.shutdown(socket.SHUT_WR)
                # What is left unread when a connection closes would become a reset instead of an end.
                while connection.recv(65536):
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(SECONDS)
        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()
