"""The short way to asks and tells: byte for byte what the routes themselves answer, in all that can be said to them."""

from __future__ import annotations

import json

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from safebandit.service.api import batches, quick, writing
from safebandit.service.api.quick import QuickPaths
from safebandit.service.guards import BODY_BYTES
from safebandit.service.roles import ROLES

SHORT, LONG = "application/json", "application/json; charset=utf-8"

ASKS = [
    {"unit": "p1"},
    {"unit": " p1 "},
    {"unit": 17},
    {"unit": "José 🦊"},
    {"unit": ""},
    {"unit": "p\x00"},
    {"unit": "x" * 201},
    {"unit": None},
    {},
    {"unit": "p2", "more": 1},
    {"unit": "p3", "context": {"age": 4}},
    [],
    "p1",
]
TELLS = [
    {"unit": "p1", "reward": 1, "risk": 0},
    {"unit": "p1", "reward": 1, "risk": 0},
    {"unit": "p1", "reward": 0},
    {"unit": "17", "risk": {"risk": 1}},
    {"unit": "nobody", "reward": 1},
    {"unit": "17"},
    {"unit": "17", "reward": 2},
    {"unit": "17", "reward": "1"},
    {"unit": "17", "reward": [1]},
]
REQUESTS = [
    *(("units", json.dumps(body)) for body in ASKS),
    *(("outcomes", json.dumps(body)) for body in TELLS),
    ("units/batch", json.dumps({"requests": [{"unit": f"b{i}"} for i in range(5)]})),
    ("units/batch", json.dumps({"requests": [{"unit": "b1"}, {"unit": ""}], "whole": False})),
    ("units/batch", json.dumps({"requests": [{"unit": "c1"}, {"unit": "c\x00"}]})),
    ("units/batch", json.dumps({"requests": []})),
    ("outcomes/batch", json.dumps({"requests": [{"unit": f"b{i}", "reward": 1, "risk": 0} for i in range(5)]})),
    ("outcomes/batch", json.dumps({"requests": [{"unit": "b1", "reward": 0}, {"unit": "b9", "risk": 1}]})),
    ("outcomes", '{"unit": "17", "reward": 1, "reward": 0}'),
    ("outcomes", '{"unit": "17", "reward": NaN}'),
    ("units", '{"unit": "half'),
    ("units", '{"unit": "\\ud800"}'),
    ("units", "[" * 20_000),
    ("units", ""),
    ("units", "é".encode("latin-1")),
    ("units", json.dumps({"unit": "x" * BODY_BYTES})),
]


@pytest.fixture
def both(served, request):
    """Two trials that are alike: one is asked the short way, the other by the routes."""
    number = abs(hash(request.node.name)) % 10_000
    return served.create(f"short-{number:04}"), served.create(f"other-{number:04}")


def _same(served, both, path: str, body, *, role: str | None = "operator", **headers: str) -> httpx.Response:
    """Send the same to both, and compare all that is answered; the answer."""
    found = []
    for trial, kind in zip(both, (SHORT, LONG), strict=True):
        sent = {"Content-Type": kind, **headers}
        if role:
            sent["Authorization"] = f"Bearer {served.keys[role]}"
        answer = served.http.post(f"{trial}/{path}", content=body, headers=sent)
        name = trial.rpartition("/")[2].encode()
        told = [(key, value) for key, value in answer.headers.raw if key.lower() not in (b"x-request-id", b"date")]
        found.append((answer.status_code, told, answer.content.replace(name, b"TRIAL")))
    assert found[0] == found[1]
    return answer


def test_every_request_is_answered_as_its_route_answers_it(served, both, monkeypatch):
    taken = []
    checked = quick._checked
    monkeypatch.setattr(quick, "_checked", lambda *parts: taken.append(checked(*parts)) or taken[-1])
    answers = [_same(served, both, path, body) for path, body in REQUESTS]
    assert {200, 201, 409, 413, 422} <= {answer.status_code for answer in answers}
    # The short way was taken by all whose models could be read: what a trial refuses is answered there, too.
    readable = [answer for answer in answers if answer.json().get("error") not in ("invalid", "refused")]
    assert sum(each is not None for each in taken) == len(readable) < len(answers)
    bodies = [[event.body for event in served.app.state.ledger.events(trial.rpartition("/")[2])] for trial in both]
    assert bodies[0] == bodies[1]
    assert len(bodies[0]) > 10


@pytest.mark.parametrize("role", [None, *ROLES])
@pytest.mark.parametrize("path", ["units", "outcomes", "units/batch", "outcomes/batch"])
def test_keys_are_checked_alike(served, both, role, path):
    many = {"requests": [{"unit": "p1"}]} if path.startswith("units") else {"requests": [{"unit": "p1", "reward": 1}]}
    one = many["requests"][0]
    for body in (many if path.endswith("batch") else one, {"unit": 0.5}):
        _same(served, both, path, json.dumps(body), role=role)
    _same(served, both, path, json.dumps(one), role=None, Authorization="Bearer sb_0123456789abcdef_nothing")


def test_unknown_trials_and_names_that_are_none(served):
    for name in ("nobody", "no body", "%2e%2e", "a" * 65, "-x"):
        path = f"/v1/trials/{name}"
        assert _same(served, (path, path), "units", '{"unit": "p1"}').status_code in (404, 422)


def test_it_counts_and_logs_by_the_path_of_the_route(served, both):
    _same(served, both, "units", '{"unit": "p1"}')
    text = served.http.get("/metrics", headers={"Authorization": f"Bearer {served.keys['admin']}"}).text
    counted = [line for line in text.splitlines() if "safebandit_requests_total" in line and "/units" in line]
    assert any('route="/v1/trials/{trial}/units"' in line for line in counted)
    assert not any(both[0] in line for line in counted)


def test_a_route_that_takes_more_is_refused_when_the_service_starts():
    app = FastAPI()

    @app.post("/v1/trials/{trial}/units")
    async def ask(trial: str, page: int) -> int:
        return page

    with pytest.raises(TypeError, match="takes what the short way does not know: page, trial"):
        QuickPaths(app, [route for route in app.routes if isinstance(route, APIRoute)])
    assert len([*writing.QUICK, *batches.QUICK]) == 4
