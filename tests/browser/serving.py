"""A service that runs on a free port of this machine, as people reach it."""

import contextlib
import socket
import threading
from dataclasses import dataclass, field

from fastapi import FastAPI

from safebandit.service.app import create_app
from safebandit.service.limits import ConnectionLimits
from safebandit.service.roles import ROLES
from safebandit.service.run import make_server
from safebandit.trials.record import Ledger, Settings


@dataclass
class Service:
    """A running service, its record, and a key for each role."""

    url: str
    app: FastAPI
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        return self.app.state.ledger

    def create(self, name, arms=("low", "high"), alpha=0.3, **settings):
        settings = {"policy": "tsbu", "seed": 1, "pending_cap": 3, **settings}
        self.ledger.create(name, Settings.read(list(arms), alpha, **settings), actor="tests")

    def run(self, name, count, *, reward=1.0, risk=0.0):
        """Ask and tell so many units, until it holds."""
        with self.ledger.writing() as writing:
            for n in range(count):
                unit = f"unit-{n + 1}"
                if writing.trial(name).ask(unit, actor="tests").arm is None:
                    return
                writing.trial(name).tell(unit, reward=reward, risk=risk, actor="tests")


@contextlib.contextmanager
def serving(database):
    app = create_app(str(database))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = make_server(app, ConnectionLimits())
        started, startup = threading.Event(), server.startup

        async def announced(sockets=None):
            await startup(sockets)
            started.set()

        server.startup = announced
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            assert started.wait(60)
            running = Service(f"http://127.0.0.1:{listening.getsockname()[1]}", app)
            running.keys = {role: app.state.keys.create(f"{role} key", role)[1] for role in ROLES}
            yield running
        finally:
            server.should_exit = True
            thread.join()
