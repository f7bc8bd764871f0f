"""Batches over HTTP: many units at once, each with the answer that it would have alone."""

import json

import pytest

from safebandit.errors import BatchError
from safebandit.service.api.answers import BatchAnswer
from safebandit.service.client import Client
from safebandit.service.guards import BATCH_BYTES, BODY_BYTES

JSON = "application/json"
UNITS = [f"p {i}" for i in range(8)]


@pytest.fixture
def trial(served, request):
    return served.create(request.node.name.replace("[", "-").replace("]", "")[:60], pending_cap=100)


def asked(served, trial, units=UNITS, **options):
    return served.post(f"{trial}/units/batch", {"requests": [{"unit": unit} for unit in units]}, **options)


def told(units=UNITS):
    return [{"unit": unit, "reward": 1, "risk": 0} for unit in units]


def test_a_cohort_asks_and_is_told_of_in_two_requests(served, trial):
    found = asked(served, trial, role="operator")
    assert (found.status_code, found.json()["written"]) == (200, True)
    assert [(each["number"], each["status"]) for each in found.json()["answers"]] == [(i, 201) for i in range(1, 9)]
    arms = [each["given"]["arm"] for each in found.json()["answers"]]
    assert None not in arms
    again = asked(served, trial, role="operator").json()["answers"]
    assert [each["status"] for each in again] == [200] * 8
    assert [each["given"]["arm"] for each in again] == arms
    done = served.post(f"{trial}/outcomes/batch", {"requests": told()}, role="operator").json()
    assert [each["status"] for each in done["answers"]] == [201] * 8
    assert served.get(f"{trial}/verification").json()["holds"]


def test_some_refused_leave_nothing_or_the_others(served, trial):
    asked(served, trial)
    bad = [*told(), {"unit": "nobody", "reward": 1}]
    found = served.post(f"{trial}/outcomes/batch", {"requests": bad})
    assert (found.status_code, found.json()["written"], found.json()["error"]) == (409, False, "BatchError")
    assert [(each["number"], each["status"]) for each in found.json()["answers"]] == [(9, 422)]
    assert served.get(trial).json()["pending"] == 8
    found = served.post(f"{trial}/outcomes/batch", {"requests": bad, "whole": False})
    assert (found.status_code, found.json()["written"]) == (200, True)
    assert [each["status"] for each in found.json()["answers"]] == [*[201] * 8, 422]
    other = [{"unit": UNITS[0], "reward": 0}, {"unit": UNITS[1], "reward": 1}]
    found = served.post(f"{trial}/outcomes/batch", {"requests": other, "whole": False}).json()
    assert [each["status"] for each in found["answers"]] == [409, 200]


def test_answers_are_written_as_their_models_write_them(served, trial):
    asked(served, trial, UNITS[:4])
    bad = [*told(UNITS[:4]), {"unit": "nobody", "reward": 1}]
    for found in (
        asked(served, trial, role="operator"),
        served.post(f"{trial}/outcomes/batch", {"requests": bad}),
        served.post(f"{trial}/outcomes/batch", {"requests": bad, "whole": False}),
    ):
        assert BatchAnswer.model_validate_json(found.content, strict=True).model_dump_json() == found.text
        assert found.headers["content-type"] == JSON


def test_a_body_that_breaks_a_rule_is_refused_whole(served, trial):
    for body in ({"requests": []}, {"requests": [{"unit": "a", "rewrad": 1}]}, {"requests": [{"unit": "a"}] * 5001}):
        assert served.post(f"{trial}/outcomes/batch", body).status_code == 422
    assert served.get(trial).json()["units"] == 0


def test_who_may_not_ask_one_by_one_may_not_ask_for_many(served, trial):
    for path in ("corrections", "given-up", "voided"):
        body = {"requests": [{"unit": "a", "reason": "b"}]}
        assert served.post(f"{trial}/{path}/batch", body, role="operator").status_code == 403
    assert asked(served, trial, role="viewer").status_code == 403


def test_long_bodies_are_taken_of_who_has_a_key_that_works(served, trial):
    path = f"{trial}/units/batch"
    long = b'{"requests": [{"unit": "a"}]}'.ljust(BODY_BYTES + 1)
    headers = {"content-type": "application/json"}
    stranger = {**headers, "authorization": "Bearer sb_0000000000000000_" + "a" * 43}
    assert served.request("POST", path, content=long, headers=headers).status_code == 200
    assert served.http.post(path, content=long, headers=stranger).status_code == 401
    assert served.http.post(path, content=long, headers=headers).status_code == 401
    too_long = served.request("POST", path, content=long.ljust(BATCH_BYTES + 1), headers=headers)
    assert (too_long.status_code, str(BATCH_BYTES) in too_long.text) == (413, True)


def test_an_operator_is_told_no_numbers(served, trial):
    given = asked(served, trial, role="operator").json()["answers"][0]["given"]
    alone = served.post(f"{trial}/units", {"unit": UNITS[0]}, role="operator").json()
    assert given["why"] == alone["why"]


def test_the_client_asks_and_tells_for_many(served, trial):
    with Client(served.url, served.keys["admin"]) as client:
        knee = client.trial(trial.rpartition("/")[2])
        given = knee.ask_many(UNITS)
        assert [each.id for each in given] == UNITS
        assert [each["status"] for each in knee.tell_many(told())] == [201] * 8
        with pytest.raises(BatchError, match="1 of 2 requests are refused"):
            knee.tell_many([*told(UNITS[:1]), {"unit": "nobody", "reward": 1}])
        answers = knee.tell_many([*told(UNITS[:1]), {"unit": "nobody", "reward": 1}], whole=False)
        assert [each["status"] for each in answers] == [200, 422]


def test_a_text_that_no_answer_can_hold_is_refused_like_any_other(served, trial):
    asked(served, trial, UNITS[:2])
    requests = [{"unit": UNITS[0], "reward": 1, "risk": 0}, {"unit": UNITS[1], "risk": {"\ud800": 1}}]
    for whole, status in ((True, 409), (False, 200)):
        body = json.dumps({"requests": requests, "whole": whole}).encode()
        found = served.request("POST", f"{trial}/outcomes/batch", content=body, headers={"content-type": JSON})
        assert (found.status_code, found.json()["answers"][-1]["status"]) == (status, 422)


def test_an_operator_is_not_told_by_which_rule_a_trial_has_stopped(served):
    design = {"arms": ["a", "b"], "alpha": 0.3, "policy": "docb", "units": 1}
    assert served.post("/v1/trials", {"name": "ended", "design": design}).status_code == 201
    served.post("/v1/trials/ended/units", {"unit": "1"})
    served.post("/v1/trials/ended/outcomes", {"unit": "1", "reward": 1, "risk": 0})
    to = {role: asked(served, "/v1/trials/ended", ["2"], role=role).json() for role in ("operator", "admin")}
    assert "most units" in to["admin"]["message"]
    assert "most units" not in json.dumps(to["operator"])
    assert "selected" not in json.dumps(to["operator"])
