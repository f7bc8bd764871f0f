"""A service on a free port, a browser, and pages that note what must not happen."""

import contextlib
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from safebandit.trials.design import Design
from safebandit.trials.record import Settings

from ..service.oidc.node import find_node
from .chromium import ARGUMENTS, find_chromium
from .serving import Service, serving

# In milliseconds, and long: the machine may be busy.
PATIENCE = 120_000
HOSTILE = [
    "<script>window.harmed = 1</script>",
    "'); DROP TABLE units; --",
    '"><img src=x onerror=harmed=1>',
    "x" * 200,
]


def pytest_ignore_collect(collection_path):
    # The summary says that they were not run.
    lacks = find_chromium() is None or (collection_path.name == "test_sign_in.py" and find_node() is None)
    return True if collection_path.name.startswith("test_") and lacks else None


@pytest.fixture(scope="package")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("record") / "trials.db") as running:
        yield running


@pytest.fixture(scope="package")
def browser():
    expect.set_options(timeout=PATIENCE)
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
        opened.set_default_timeout(PATIENCE)
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


@pytest.fixture(scope="package")
def played(service):
    """A trial with thirty units, and one that waits for its outcome."""
    service.create("played")
    service.run("played", 30)
    service.ledger.ask("played", "a-pending-unit", actor="tests")
    return service


@pytest.fixture(scope="package")
def held(service):
    """A trial in which every arm was seen to harm."""
    service.create("held", alpha=0.05)
    service.run("held", 100, risk=1.0)
    return service


@pytest.fixture(scope="package")
def hostile(service):
    service.create("hostile", HOSTILE, title="<b>bold</b>" + "y" * 180)
    for name in HOSTILE:
        service.ledger.ask("hostile", name, actor=name)
    return service


@pytest.fixture(scope="package")
def designed(service):
    """Two trials by a design: one between two looks, with an arm dropped, and one that has stopped."""
    stop = ["arm-harm:confidence=.8,least=2", "too-many-harms:harms=3"]
    design = Design(["low dose", "middle dose", "high dose"], 0.3, "docb", 12, cohort=2, title="Doses", stop=stop)
    for name, risks in (("dosing", (1, 1, 0)), ("dosed", (1, 1, 0, 1))):
        service.ledger.create(name, Settings.by_design(design, seed=7), actor="tests")
        for n, risk in enumerate(risks):
            service.ledger.ask(name, f"unit-{n + 1}", actor="tests")
            service.ledger.tell(name, f"unit-{n + 1}", reward=1, risk=risk, actor="tests")
    return service


@pytest.fixture(scope="package")
def several(service):
    """A trial with six arms and three risks, the last of them with names of many words."""
    risks = ["toxicity", "hospital admission", "reduction of the dose"]
    service.create("several", [f"{dose} mg" for dose in (0, 10, 20, 40, 80, 120)], [0.3, 0.2, 0.1], risks=risks)
    service.run("several", 60, risk=[0.0, 0.25, 0.05])
    service.ledger.ask("several", "a-pending-unit", actor="tests")
    return service


@pytest.fixture(scope="package")
def aged(service):
    """A trial whose units ask with a context, and whose arms have features; the last unit was held."""
    settings = {"policy": "linear", "context": ["age of the patient:18..90", "smoker"], "features": [[1, 0.5]]}
    service.create("aged", ["only"], 0.1, **settings)
    for n in range(60):
        given = service.ledger.ask("aged", f"unit-{n + 1}", context=[60, 1], actor="tests")
        if given.arm is None:
            break
        service.ledger.tell("aged", given.id, reward=1, risk=1, actor="tests")
    return service
