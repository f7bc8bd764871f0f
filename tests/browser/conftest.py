"""A service on a free port, a browser, and pages that note what must not happen."""

import contextlib
import socket
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, expect, sync_playwright

from safebandit.record import Ledger, Settings
from safebandit.service.app import create_app
from safebandit.service.keys import ROLES

from .chromium import ARGUMENTS, find_chromium

POLICY = "content-security-policy"


def pytest_ignore_collect(collection_path):
    # The summary says that they were not run.
    return True if collection_path.name.startswith("test_") and find_chromium() is None else None


class Guard:
    """The security header, as strict as the service's own, which may be set elsewhere."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope, receive, send):
        async def guarded(message):
            if message["type"] == "http.response.start":
                names = {name for name, _ in message["headers"]}
                if POLICY.encode() not in names:
                    message["headers"] = [*message["headers"], (POLICY.encode(), b"default-src 'self'")]
            await send(message)

        await self.app(scope, receive, guarded if scope["type"] == "http" else send)


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
                if writing.ask(name, unit, actor="tests").held:
                    return
                writing.tell(name, unit, reward=reward, risk=risk, actor="tests")


@pytest.fixture(scope="package")
def service(tmp_path_factory):
    app = create_app(str(tmp_path_factory.mktemp("record") / "trials.db"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(Guard(app), lifespan="on", log_level="warning", ws="none"))
        started = threading.Event()
        startup = server.startup

        async def announced(sockets=None):
            await startup(sockets)
            started.set()

        server.startup = announced
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        assert started.wait(60)
        running = Service(f"http://127.0.0.1:{listening.getsockname()[1]}", app)
        running.keys = {role: app.state.keys.create(f"{role} key", role)[1] for role in ROLES}
        yield running
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="package")
def browser():
    # The machine may be busy.
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield running
        running.close()


@dataclass
class Visits:
    """Pages of people who signed in; none may run into an error or ask another host for anything."""

    service: Service
    browser: Browser
    contexts: contextlib.ExitStack
    noted: list[str] = field(default_factory=list)

    def new(self, role=None, path="/", *, width=1280, height=900, **context) -> Page:
        """A page, signed in with the key of a role."""
        opened = self.browser.new_context(
            base_url=self.service.url, viewport={"width": width, "height": height}, **context
        )
        opened.set_default_timeout(30_000)
        self.contexts.callback(opened.close)
        page = opened.new_page()
        page.on("pageerror", lambda error: self.noted.append(f"error: {error}"))
        page.on("console", self._console)
        page.on("request", self._request)
        page.goto(f"/sign-in?next={path}")
        if role is not None:
            page.get_by_label("Key").fill(self.service.keys[role])
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(f"{self.service.url}{path}")
        return page

    def _console(self, message):
        # An answer that refuses a form is told to the console by the browser itself.
        if message.type in ("error", "warning") and "the server responded with a status of 4" not in message.text:
            self.noted.append(f"console: {message.text}")

    def _request(self, request):
        if urlsplit(request.url).netloc != urlsplit(self.service.url).netloc:
            self.noted.append(f"request: {request.url}")


@pytest.fixture
def visits(service, browser):
    with contextlib.ExitStack() as contexts:
        made = Visits(service, browser, contexts)
        yield made
    assert made.noted == []
