"""Contexts over HTTP: asked with, kept, shown to those who may see units, and typed into the page."""

from __future__ import annotations

import re

import httpx
import pytest

import safebandit as sb
from safebandit.errors import ConflictError, TrialError

OURS = {"Sec-Fetch-Site": "same-origin"}
DECLARED = ["age:18..90", "smoker"]
AGED = {"age": 44.125, "smoker": 0}


@pytest.fixture(scope="module")
def path(served):
    """A trial whose policy goes by contexts, with arms that have features."""
    rows = {"placebo": [1, 0], "low": [1, 1], "high": [1, 2]}
    return served.create("aged", policy="linear", context=DECLARED, features=rows)


def test_a_unit_asks_with_a_context_and_only_who_may_see_units_sees_it(served, path):
    first = served.post(f"{path}/units", {"unit": "p1", "context": AGED}, role="operator")
    assert first.status_code == 201
    assert "44.125" not in first.text
    for same in ({}, {"context": [44.125, 0]}):
        again = served.post(f"{path}/units", {"unit": "p1", **same}, role="operator")
        assert (again.status_code, again.json()) == (200, {**first.json(), "new": False})
    other = served.post(f"{path}/units", {"unit": "p1", "context": [45, 0]}, role="operator")
    assert (other.status_code, "44.125" in other.text) == (409, False)
    for bad in ({}, {"context": {"age": 44}}, {"context": [10, 0]}, {"context": "44"}, {"context": [44, None]}):
        refused = served.post(f"{path}/units", {"unit": "p2", **bad})
        assert (refused.status_code, "\n" in refused.json()["message"]) == (422, False), bad
    assert served.post(f"{path}/unit", {"unit": "p1"}, role="operator").status_code == 403
    unit = served.post(f"{path}/unit", {"unit": "p1"}, role="auditor").json()
    assert unit["context"] == unit["decision"]["body"]["context"] == AGED
    assert "44.125" not in served.get(path, role="viewer").text
    assert served.get(f"{path}/verification").json()["holds"]


def test_an_overview_does_not_say_who_is_permissible_where_that_depends_on_the_unit(served, path):
    seen = served.get(path, role="viewer").json()
    assert (seen["context"], seen["by_context"]) == (["age:18..90", "smoker:0..1"], True)
    assert seen["features"]["high"] == [1, 2]
    assert {arm["permissible"] for arm in seen["arms"]} == {None}
    plain = served.get(served.create("plain")).json()
    assert (plain["context"], plain["features"], plain["by_context"]) == ([], None, False)


def test_a_context_where_none_is_declared_is_refused(served):
    refused = served.post(f"{served.create('without')}/units", {"unit": "p", "context": [1]})
    assert refused.status_code == 422
    assert "units of this trial have no context" in refused.json()["message"]


def test_the_client_asks_with_a_context(served):
    with sb.Client(served.url, served.keys["admin"]) as client:
        trial = client.create("by-client", ["a", "b"], 0.3, "linear", context=DECLARED, pending_cap=9)
        given = trial.ask("p", context=AGED)
        assert trial.ask("p") == given._replace(new=False)
        with pytest.raises(ConflictError):
            trial.ask("p", context=(60, 1))
        assert "by its context" in trial.explain().why
        assert {arm["permissible"] for arm in trial.explain().arms} == {None}
        assert {arm["permissible"] for arm in trial.explain(context=[60, 1]).arms} == {True}
        for wrong in ({"context": [7, 1]}, {"id": "p", "context": [60, 1]}):
            with pytest.raises(TrialError):
                trial.explain(**wrong)
        assert trial.explain("p").chosen == given.arm


@pytest.fixture
def page(served):
    with httpx.Client(base_url=served.url, headers=OURS) as client:
        client.post("/sign-in", data={"key": served.keys["admin"]})
        yield client


def test_the_page_asks_for_every_number_and_shows_it(served, path, page):
    shown = page.get("/trials/aged").text
    assert re.findall(r'name="context_\d"[^>]*placeholder="([^"]*)"', shown) == ["18 to 90", "0 to 1"]
    typed = {"unit": "p9", "context_0": "61.5", "context_1": "1"}
    asked = page.post("/trials/aged/ask", data=typed).text
    # It is asked first whether the unit is new, and what was typed is still there.
    assert 'value="61.5"' in asked
    assert "is new" in asked
    done = page.post("/trials/aged/ask", data={**typed, "new": "p9"})
    assert done.status_code == 303
    event = page.get(f"/trials/aged/log/{re.search(r'event=([0-9]+)', done.headers['location'])[1]}").text
    assert "age 61.5, smoker 1" in event
    assert re.search(r'data-label="features">1, 2</td>', event)
    units = page.get("/trials/aged/units").text
    assert re.search(r'data-label="age">61.5</td><td class="number" data-label="smoker">1</td>', units)
    lacking = page.post("/trials/aged/ask", data={"unit": "p8", "context_0": "50", "context_1": "", "new": "p8"})
    assert (lacking.status_code, "the context lacks smoker" in lacking.text) == (422, True)


def test_the_page_creates_a_trial_with_a_context(page, served):
    typed = {"name": "typed", "arms": "a\nb", "alpha": "0.3", "policy": "linear", "context": "age:18..90\nsmoker",
             "features": "1, 0\n1, 2.5"}  # fmt: skip
    assert page.post("/trials", data=typed).status_code == 303
    seen = served.get("/v1/trials/typed").json()
    assert (seen["context"], seen["features"]) == (["age:18..90", "smoker:0..1"], {"a": [1, 0], "b": [1, 2.5]})


def test_a_unit_that_is_held_does_not_hold_those_of_another_context(served, page):
    path = served.create("harmful", arms=["only"], alpha=0.1, policy="linear", context=["smoker"])
    ask = 0
    while served.post(f"{path}/units", {"unit": f"p{ask}", "context": [1]}).json()["arm"] is not None:
        served.post(f"{path}/outcomes", {"unit": f"p{ask}", "reward": 1, "risk": 1})
        ask += 1
    seen = served.get(path).json()
    assert (seen["holding"] is None, seen["by_context"]) == (False, True)
    shown = page.get("/trials/harmful").text
    assert "The last unit that asked was given no arm" in shown
    assert "on hold: no arm is permissible" not in shown
    # A new unit is asked about, as it may get an arm.
    assert "is new" in page.post("/trials/harmful/ask", data={"unit": "healthy", "context_0": "0"}).text
    assert served.post(f"{path}/units", {"unit": "healthy", "context": [0]}).status_code == 201
