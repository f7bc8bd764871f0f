"""Guardrails over HTTP, by the client and on the page: the control, routing, eligible arms and strata."""

from __future__ import annotations

import httpx
import pytest

import safebandit as sb
from safebandit.errors import ConflictError

OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def page(served):
    with httpx.Client(base_url=served.url, headers=OURS) as client:
        client.post("/sign-in", data={"key": served.keys["admin"]})
        yield client


def test_eligible_arms_are_asked_with_alone_and_in_batches(served):
    path = served.create("masked")
    first = served.post(f"{path}/units", {"unit": "p1", "eligible": ["high"]}, role="operator")
    assert (first.status_code, first.json()["arm"]) == (201, "high")
    assert served.post(f"{path}/units", {"unit": "p1"}, role="operator").status_code == 200
    assert served.post(f"{path}/units", {"unit": "p1", "eligible": ["low"]}, role="operator").status_code == 409
    for bad in ([], ["nothing"], "low", ["low", "low"], [1]):
        refused = served.post(f"{path}/units", {"unit": "p2", "eligible": bad})
        assert (refused.status_code, "\n" in refused.json()["message"]) == (422, False), bad
    requests = [{"unit": "p3", "eligible": ["low"]}, {"unit": "p4"}, {"unit": "p5", "eligible": ["placebo", "high"]}]
    many = served.post(f"{path}/units/batch", {"requests": requests}).json()
    assert many["answers"][0]["given"]["arm"] == "low"
    assert many["answers"][2]["given"]["arm"] in ("placebo", "high")
    seen = served.post(f"{path}/explanation", {"eligible": ["low"]}).json()
    assert [("not eligible" in arm["why"]) for arm in seen["arms"]] == [True, False, True]
    csv = served.get(f"{path}/export", params={"kind": "csv"}).text
    assert csv.splitlines()[0].startswith('"unit","round","arm","asked","eligible","reward"')
    assert served.get(f"{path}/verification").json()["holds"]


def test_all_units_are_routed_and_no_longer(served):
    path = served.create("routed", control="placebo", control_floor=0.2)
    seen = served.get(path).json()
    assert (seen["control"], seen["control_floor"], seen["routed"]) == ("placebo", 0.2, None)
    assert served.post(f"{path}/route", {"reason": "an alarm"}, role="operator").status_code == 403
    assert served.post(f"{path}/route", {"reason": "an alarm"}).status_code == 201
    assert served.post(f"{path}/route", {"reason": "again"}).status_code == 200
    asked = served.post(f"{path}/units", {"unit": "p1"}, role="operator").json()
    assert (asked["arm"], asked["why"]) == ("placebo", "all units are routed to the control, placebo")
    assert served.get(path).json()["routed"] == {"event": 2, "rule": None, "why": "an alarm"}
    assert served.post(f"{path}/unroute", {"reason": "all clear"}).status_code == 201
    assert served.get(path).json()["routed"] is None
    assert served.post(f"{served.create('without')}/route", {"reason": "x"}).status_code == 409
    assert served.get(f"{path}/verification").json()["holds"]


def test_strata_over_http(served):
    path = served.create("strata", strata={"site": ["a", "b"]})
    for unit, site in (("p1", "a"), ("p2", "b"), ("p3", "a")):
        assert served.post(f"{path}/units", {"unit": unit, "stratum": {"site": site}}).status_code == 201
    assert served.post(f"{path}/units", {"unit": "p4"}).status_code == 422
    assert served.post(f"{path}/units", {"unit": "p1", "stratum": {"site": "b"}}).status_code == 409
    served.post(f"{path}/outcomes", {"unit": "p1", "reward": 1, "risk": 0})
    seen = served.get(path).json()
    assert [(each["stratum"], each["units"]) for each in seen["strata"]] == [("site=a", 2), ("site=b", 1)]
    assert {arm["permissible"] for arm in seen["arms"]} == {None}
    supposed = served.post(f"{path}/explanation", {"stratum": {"site": "a"}}).json()
    assert {arm["permissible"] for arm in supposed["arms"]} == {True}
    unit = served.post(f"{path}/unit", {"unit": "p2"}).json()
    assert unit["stratum"] == unit["decision"]["body"]["stratum"] == {"site": "b"}
    assert '"stratum site"' in served.get(f"{path}/export", params={"kind": "csv"}).text
    # A correction counts anew, and a state that is read back goes on.
    assert served.post(f"{path}/corrections", {"unit": "p1", "reward": 0, "reason": "typed"}).status_code == 201
    assert served.get(f"{path}/verification").json()["holds"]


def test_the_client_does_all_of_it(served):
    with sb.Client(served.url, served.keys["admin"]) as client:
        trial = client.create("by-client-guarded", ["a", "b"], 0.3, "docb", control="a", strata={"site": ["x", "y"]})
        given = trial.ask("p", stratum={"site": "x"}, eligible=["b"])
        assert given.arm == "b"
        with pytest.raises(ConflictError):
            trial.ask("p", stratum={"site": "y"})
        trial.route(reason="an alarm")
        assert trial.ask("q", stratum={"site": "y"}).arm == "a"
        trial.unroute(reason="all clear")
        many = trial.ask_many(["r", "s"], eligible=[["b"], None], strata=[{"site": "x"}, {"site": "y"}])
        assert many[0].arm == "b" or many[0].waiting
        assert {arm["permissible"] for arm in trial.explain(stratum={"site": "x"}).arms} == {True}


def test_the_page_has_boxes_for_arms_a_list_for_strata_and_a_form_that_routes(served, page):
    made = {"name": "paged", "arms": "today\nbold", "alpha": ".3", "policy": "docb", "control": "today",
            "control_floor": ".2", "strata": "device: phone, desk"}  # fmt: skip
    assert page.post("/trials", data=made).status_code == 303
    assert "Control" in page.get("/trials/paged").text
    typed = {"unit": "v1", "stratum_0": "phone", "eligible": ["bold"]}
    asked = page.post("/trials/paged/ask", data=typed).text
    # It is asked first whether the unit is new, and what was chosen is still there.
    assert '<option value="phone" selected>' in asked
    assert 'value="bold" checked' in asked
    done = page.post("/trials/paged/ask", data={**typed, "new": "v1"})
    assert done.status_code == 303
    event = page.get("/trials/paged/log/2").text
    assert "<dt>Eligible</dt><dd>bold</dd>" in event
    assert "device phone" in event
    assert page.post("/trials/paged/route", data={"reason": "an alarm"}).status_code == 303
    shown = page.get("/trials/paged").text
    assert "Every unit is given the control, today" in shown
    assert "Decide by the policy again" in shown
    assert "Every arm in every stratum" in shown
    assert page.post("/trials/paged/unroute", data={"reason": "all clear"}).status_code == 303
    bad = page.post("/trials", data={**made, "name": "bad", "strata": "device"})
    assert bad.status_code == 422
    assert "strata are written as site: a, b" in bad.text
