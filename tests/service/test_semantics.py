"""What asking, telling and the rest mean over HTTP: statuses, answers, and what is in the log afterwards."""

from __future__ import annotations

import re
import threading

import pytest
import sqlalchemy as sa

from safebandit.trials.record import ledger, store, verification


def events_of(served, path: str) -> list[dict]:
    return served.get(f"{path}/events", params={"limit": 1000}).json()["events"]


def test_ask_is_201_once_and_then_the_same_arm_with_200(served):
    path = served.create("ask")
    first = served.post(f"{path}/units", {"unit": "p 1"})
    again = served.post(f"{path}/units", {"unit": "p 1"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.json()["new"], again.json()) == (True, {**first.json(), "new": False})
    assert first.json()["arm"] in ("placebo", "low", "high")
    assert [event["kind"] for event in events_of(served, path)] == ["created", "asked"]


def test_without_an_arm_the_answer_is_200_and_says_whether_the_trial_waits_or_holds(served):
    path = served.create("hold", pending_cap=1)

    def line_of(name: str) -> dict:
        return next(line for line in served.get("/v1/trials").json() if line["name"] == name)

    for unit in ("1", "2", "3"):
        assert served.post(f"{path}/units", {"unit": unit}).status_code == 201
    given = served.post(f"{path}/units", {"unit": "4"})
    assert given.status_code == 200
    assert (given.json()["arm"], given.json()["held"], given.json()["waiting"]) == (None, False, True)
    assert "waits for outcomes" in given.json()["why"]
    line, seen = line_of("hold"), served.get(path).json()
    assert (line["holding"], line["waiting"]) == (False, True)
    assert (seen["holding"], seen["waiting"]) == (None, given.json()["why"])
    served.post(f"{path}/amendments", {"reason": "none is safe", "alpha": 0})
    for unit in ("1", "2", "3"):
        served.post(f"{path}/outcomes", {"unit": unit, "reward": 0, "risk": 1})
    given = served.post(f"{path}/units", {"unit": "4"})
    assert (given.status_code, given.json()["held"], given.json()["waiting"]) == (200, True, False)
    line, seen = line_of("hold"), served.get(path).json()
    assert (line["holding"], line["waiting"]) == (True, False)
    assert (seen["holding"], seen["waiting"]) == (given.json()["why"], None)
    assert [event["kind"] for event in events_of(served, path)].count("waiting") == 1
    assert [event["kind"] for event in events_of(served, path)].count("held") == 1


def test_tell_is_201_then_200_then_409_and_422(served):
    path = served.create("tell")
    served.post(f"{path}/units", {"unit": "p"})
    outcomes = f"{path}/outcomes"
    assert served.post(outcomes, {"unit": "p", "reward": 1}).status_code == 201
    assert served.post(outcomes, {"unit": "p", "reward": 1}).status_code == 200
    assert served.post(outcomes, {"unit": "p", "risk": 0.5}).status_code == 201
    before = events_of(served, path)
    another = served.post(outcomes, {"unit": "p", "reward": 0})
    assert (another.status_code, another.json()["error"]) == (409, "ConflictError")
    assert "correct it with a reason" in another.json()["message"]
    for wrong in (
        {"unit": "p", "reward": 1.5},
        {"unit": "p", "reward": "1"},
        {"unit": "p", "risk": -0.1},
        {"unit": "p", "risk": True},
        {"unit": "p"},
        {"unit": "q", "reward": 1},
        {"unit": "p", "reward": 1, "rewrad": 1},
        {"reward": 1},
        [],
    ):
        refused = served.post(outcomes, wrong)
        assert refused.status_code == 422, wrong
        assert set(refused.json()) == {"error", "message"}
    assert events_of(served, path) == before


def test_a_body_that_says_a_name_twice_is_refused(served):
    path = served.create("said-twice")
    served.post(f"{path}/units", {"unit": "1"})
    before = events_of(served, path)
    json = {"Content-Type": "application/json"}
    body = '{"unit":"1","reward":1,"reward":0}'
    refused = served.request("POST", f"{path}/outcomes", content=body, headers=json)
    assert refused.status_code == 422
    assert '"reward" stands twice in one object' in refused.json()["message"]
    keyed = served.request("POST", "/v1/keys", content='{"name":"a","role":"viewer","role":"admin"}', headers=json)
    assert keyed.status_code == 422
    assert events_of(served, path) == before


def test_keys_and_trials_stand_in_the_log_of_the_database(served):
    served.create("registered")
    made = served.post("/v1/keys", {"name": "desk 9", "role": "viewer"}).json()
    served.request("DELETE", f"/v1/keys/{made['id']}")
    created, new, revoked = served.app.state.ledger.registry()[-3:]
    assert [created.kind, new.kind, revoked.kind] == ["trial created", "key made", "key revoked"]
    assert created.content["trial"] == "registered"
    assert new.content["id"] == revoked.content["id"] == made["id"]
    assert {event.actor.partition(" (key")[0] for event in (created, new, revoked)} == {"the admin"}
    assert verification.verify_database(served.app.state.ledger).holds


def test_an_unknown_trial_is_404_everywhere(served):
    for method, path, body in (
        ("GET", "/v1/trials/nope", None),
        ("GET", "/v1/trials/nope/events", None),
        ("GET", "/v1/trials/nope/units", None),
        ("GET", "/v1/trials/nope/unit?unit=1", None),
        ("GET", "/v1/trials/nope/verification", None),
        ("POST", "/v1/trials/nope/units", {"unit": "1"}),
        ("POST", "/v1/trials/nope/outcomes", {"unit": "1", "reward": 1}),
        ("POST", "/v1/trials/nope/close", {"reason": "none"}),
    ):
        refused = served.request(method, path, body)
        assert (refused.status_code, refused.json()["error"]) == (404, "NotFoundError"), path


def test_a_paused_and_a_closed_trial_give_no_arms_but_take_outcomes(served):
    path = served.create("status")
    served.post(f"{path}/units", {"unit": "1"})
    served.post(f"{path}/units", {"unit": "2"})
    assert served.post(f"{path}/pause", {"reason": "lunch"}).status_code == 201
    assert served.post(f"{path}/pause", {"reason": "lunch"}).status_code == 200
    refused = served.post(f"{path}/units", {"unit": "3"})
    assert (refused.status_code, "resume it" in refused.json()["message"]) == (409, True)
    assert served.post(f"{path}/units", {"unit": "1"}).status_code == 200
    assert served.post(f"{path}/outcomes", {"unit": "1", "reward": 1, "risk": 0}).status_code == 201
    assert served.post(f"{path}/resume", {"reason": "back"}).status_code == 201
    assert served.post(f"{path}/units", {"unit": "3"}).status_code == 201
    assert served.post(f"{path}/close", {"reason": "done"}).status_code == 201
    assert served.post(f"{path}/units", {"unit": "4"}).status_code == 409
    assert served.post(f"{path}/resume", {"reason": "no"}).status_code == 409
    assert served.post(f"{path}/amendments", {"reason": "no", "alpha": 0.1}).status_code == 409
    assert served.post(f"{path}/outcomes", {"unit": "2", "reward": 1, "risk": 0}).status_code == 201
    assert served.post(f"{path}/reopen", {"reason": "no"}).status_code == 404


def test_a_unit_is_the_same_however_its_id_is_typed(served):
    path = served.create("spelt", ids=r"José \d+")
    given = served.post(f"{path}/units", {"unit": "Jose\u0301\u00a0 17 "})
    assert (given.status_code, given.json()["unit"]) == (201, "José 17")
    assert served.post(f"{path}/units", {"unit": "José 17"}).status_code == 200
    assert served.post(f"{path}/outcomes", {"unit": " José 17", "reward": 1, "risk": 0}).status_code == 201
    assert served.get(f"{path}/unit", params={"unit": "José  17"}).json()["reward"] == 1
    for unit, words in {"José\u200b 17": "U+200B (ZERO WIDTH SPACE)", "Zoë 17": "must match José"}.items():
        refused = served.post(f"{path}/units", {"unit": unit})
        assert (refused.status_code, words in refused.json()["message"]) == (422, True)
    assert served.post(f"{path}/amendments", {"reason": "any", "ids": ""}).status_code == 201
    assert served.post(f"{path}/units", {"unit": "Zoë 17"}).status_code == 201
    bad = served.post(f"{path}/amendments", {"reason": "bad", "ids": "(a+)+"})
    assert (bad.status_code, "no groups" in bad.json()["message"]) == (422, True)


def test_a_unit_that_never_got_its_arm_is_voided(served):
    path = served.create("voided")
    served.post(f"{path}/units", {"unit": "typo"})
    assert served.post(f"{path}/voided", {"unit": "typo", "reason": "a typing error"}).status_code == 201
    assert served.post(f"{path}/voided", {"unit": "typo", "reason": "a typing error"}).status_code == 200
    assert served.post(f"{path}/units", {"unit": "typo"}).status_code == 409
    assert served.post(f"{path}/outcomes", {"unit": "typo", "reward": 1}).status_code == 409
    unit = served.get(f"{path}/unit", params={"unit": "typo"}).json()
    assert (unit["void"], unit["pending"], unit["given_up"]) == (True, False, False)
    seen = served.get(path).json()
    assert (seen["units"], seen["voided"], seen["pending"]) == (0, 1, 0)
    assert served.get(f"{path}/verification").json()["holds"]


def test_counting_anew_reads_the_units_beside_the_thread_that_writes(served, monkeypatch):
    """All units are read before the transaction: other trials wait for none of it."""
    path = served.create("ahead")
    for unit in ("1", "2"):
        served.post(f"{path}/units", {"unit": unit})
        served.post(f"{path}/outcomes", {"unit": unit, "reward": 1, "risk": 1})
    threads = []
    reads = store.read_ahead

    def noted(*arguments):
        threads.append(threading.current_thread().name)
        return reads(*arguments)

    monkeypatch.setattr(store, "read_ahead", noted)
    monkeypatch.setattr(ledger, "read_ahead", noted)
    served.post(f"{path}/corrections", {"unit": "1", "risk": 0, "reason": "typing"})
    served.post(f"{path}/amendments", {"reason": "less", "alpha": 0.2})
    served.post(f"{path}/given-up", {"unit": served.post(f"{path}/units", {"unit": "3"}).json()["unit"], "reason": "x"})
    served.post(f"{path}/voided", {"unit": "3", "reason": "a typing error"})
    assert len(threads) == 3
    assert "scribe" not in threads
    assert served.get(f"{path}/verification").json()["holds"]


def test_corrections_losses_and_amendments(served):
    path = served.create("amend")
    for unit in ("1", "2"):
        served.post(f"{path}/units", {"unit": unit})
    served.post(f"{path}/outcomes", {"unit": "1", "reward": 1, "risk": 1})
    assert served.post(f"{path}/corrections", {"unit": "1", "risk": 0, "reason": "typing"}).status_code == 201
    assert served.post(f"{path}/corrections", {"unit": "2", "risk": 0, "reason": "typing"}).status_code == 409
    assert served.post(f"{path}/corrections", {"unit": "1", "risk": 0}).status_code == 422
    assert [unit["unit"] for unit in served.get(f"{path}/units").json()["units"]] == ["2"]
    assert served.post(f"{path}/given-up", {"unit": "2", "reason": "moved"}).status_code == 201
    assert served.post(f"{path}/given-up", {"unit": "2", "reason": "moved"}).status_code == 200
    assert served.get(f"{path}/units").json() == {"units": [], "next": None}
    change = {"reason": "protocol 2", "alpha": 0.2, "add": ["very high"], "withdraw": ["placebo"]}
    assert served.post(f"{path}/amendments", change).status_code == 201
    assert served.post(f"{path}/amendments", {"reason": "nothing"}).status_code == 422
    seen = served.get(path).json()
    assert (seen["version"], seen["alpha"], seen["pending"]) == (2, [0.2], 0)
    assert {arm["arm"]: arm["active"] for arm in seen["arms"]} == {
        "placebo": False, "low": True, "high": True, "very high": True,
    }  # fmt: skip
    unit = served.get(f"{path}/unit", params={"unit": "1"}).json()
    assert (unit["reward"], unit["risk"], unit["pending"], unit["alpha"]) == (1, {"risk": 0}, False, [0.3])
    assert unit["decision"]["body"]["arm"] == unit["arm"]
    assert served.get(f"{path}/unit", params={"unit": "3"}).status_code == 404


def test_an_overview_whose_theory_is_infinite_can_be_read(served):
    path = served.create("tied", arms=["a", "b"])
    for unit in range(8):
        served.post(f"{path}/units", {"unit": str(unit)})
        served.post(f"{path}/outcomes", {"unit": str(unit), "reward": 0.5, "risk": 0.3})
    seen = served.get(path)
    assert seen.status_code == 200
    assert [arm["mean_risk"] for arm in seen.json()["arms"]] == [[pytest.approx(0.3)]] * 2


def test_an_overview_does_not_tell_which_arm_comes_next(served):
    for policy, told in (("docb", False), ("tsbu", True)):
        path = served.create(f"next-{policy}", policy=policy)
        for unit in range(3):
            served.post(f"{path}/units", {"unit": str(unit)})
            served.post(f"{path}/outcomes", {"unit": str(unit), "reward": int(unit == 1), "risk": 0})
        for role in ("viewer", "auditor", "admin"):
            chances = [arm["propensity"] for arm in served.get(path, role=role).json()["arms"]]
            assert (None not in chances) == told
            assert told or set(chances) == {None}


def test_several_risks_are_told_by_name_or_in_order(served):
    path = served.create("risks", alpha=[0.3, 0.2], risks=["toxicity", "nausea"], policy=None)
    served.post(f"{path}/units", {"unit": "1"})
    assert served.post(f"{path}/outcomes", {"unit": "1", "risk": {"nausea": 0}}).status_code == 201
    assert served.post(f"{path}/outcomes", {"unit": "1", "risk": [1, None]}).status_code == 201
    assert served.post(f"{path}/outcomes", {"unit": "1", "risk": 0}).status_code == 422
    assert served.post(f"{path}/outcomes", {"unit": "1", "risk": {"pain": 0}}).status_code == 422
    assert served.get(f"{path}/unit?unit=1").json()["risk"] == {"toxicity": 1, "nausea": 0}


def test_creating_the_same_again_changes_nothing_and_another_is_refused(served):
    body = {"name": "twice", "arms": ["a", "b"], "alpha": 0.2, "policy": "docb", "seed": 5}
    assert served.post("/v1/trials", body).json() == {"event": 1, "new": True}
    again = served.post("/v1/trials", body)
    assert (again.status_code, again.json()) == (200, {"event": 1, "new": False})
    assert served.post("/v1/trials", {**body, "seed": 6}).status_code == 409
    assert served.post("/v1/trials/twice/amendments", {"reason": "less", "alpha": 0.1}).status_code == 201
    assert served.post("/v1/trials", body).status_code == 200
    for wrong in ({"name": "a/b"}, {"alpha": 2}, {"policy": "no such"}, {"arms": ["a", "a"]}, {"lost": "found"}):
        assert served.post("/v1/trials", {**body, **wrong}).status_code == 422


def test_the_log_has_pages_and_the_trial_verifies(served):
    path = served.create("log")
    for unit in range(6):
        served.post(f"{path}/units", {"unit": str(unit)})
    pages, after = [], 0
    while after is not None:
        page = served.get(f"{path}/events", params={"after": after, "limit": 3}).json()
        pages.append([event["number"] for event in page["events"]])
        after = page["next"]
    assert pages == [[1, 2, 3], [4, 5, 6], [7]]
    assert served.get(f"{path}/units?limit=4").json()["next"] == 4
    assert len(served.get(f"{path}/units?after=4").json()["units"]) == 2
    event = served.get(f"{path}/events/7").json()
    assert event["kind"] == "asked"
    assert re.fullmatch(r"the admin \(key [0-9a-f]{16}\)", event["actor"])
    assert served.get(f"{path}/events/8").status_code == 404
    found = served.get(f"{path}/verification").json()
    assert (found["holds"], found["events"], found["hash"]) == (True, 7, event["hash"])
    other = served.get(f"{path}/verification", params={"expected": "0" * 64}).json()
    assert (other["holds"], other["failed"]) == (False, 7)
    assert verification.verify(served.app.state.ledger, "log").holds


def test_export_names_a_file(served):
    path = served.create("export")
    for kind, media in (
        ("csv", "text/csv"),
        ("parquet", "application/vnd.apache.parquet"),
        ("json", "application/json"),
    ):
        file = served.get(f"{path}/export", params={"kind": kind})
        assert file.status_code == 200
        assert file.headers["content-type"].startswith(media)
        assert file.headers["content-disposition"] == f'attachment; filename="export.{kind}"'
        assert file.content
    assert served.get("/v1/trials/none/export").status_code == 404
    assert served.get(f"{path}/export?kind=xls").status_code == 422


def test_asks_that_race_for_one_unit_get_one_arm(served):
    path = served.create("race", arms=[f"arm {k}" for k in range(20)])
    gate = threading.Barrier(8)
    answers: list[tuple[int, str]] = []

    def race() -> None:
        gate.wait()
        for unit in range(10):
            answer = served.post(f"{path}/units", {"unit": str(unit)})
            answers.append((unit, answer.status_code, answer.json()["arm"]))

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 80
    for unit in range(10):
        mine = [answer for answer in answers if answer[0] == unit]
        assert len({arm for _, _, arm in mine}) == 1
        assert sorted(status for _, status, _ in mine) == [200] * 7 + [201]
    assert len(events_of(served, path)) == 11
    assert served.get(f"{path}/verification").json()["holds"]


def test_a_database_that_fails_is_503_and_comes_back(served):
    path = served.create("broken")
    engine = served.app.state.ledger.engine
    secret = "FATAL: no password for user at db.internal"

    def fail(*_):
        raise sa.exc.OperationalError("SELECT secret", {}, Exception(secret))

    sa.event.listen(engine, "begin", fail)
    try:
        for answer in (
            served.post(f"{path}/units", {"unit": "1"}),
            served.get(path),
            served.get("/readyz", role=None),
        ):
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.json()["error"] == "RecordError"
            assert "internal" not in answer.text
            assert "SELECT" not in answer.text
        assert served.get("/healthz", role=None).json() == {"status": "ok"}
    finally:
        sa.event.remove(engine, "begin", fail)
    assert served.post(f"{path}/units", {"unit": "1"}).status_code == 201
    assert served.get("/readyz", role=None).json() == {"status": "ok"}


def test_an_unexpected_error_is_500_without_details(served, monkeypatch, caplog):
    def fail(*_):
        raise ZeroDivisionError("the secret of the house")

    from safebandit.service.api import listing

    monkeypatch.setattr(listing, "all_trials", fail)
    failed = served.get("/v1/trials", headers={"X-Request-ID": "me-1"})
    assert (failed.status_code, failed.json()["error"]) == (500, "failed")
    assert "secret" not in failed.text
    assert failed.headers["x-request-id"] == "me-1"
    assert failed.headers["x-content-type-options"] == "nosniff"
    [record] = [record for record in caplog.records if record.exc_info]
    assert record.fields["request"] == "me-1"
    assert record.exc_info[0] is ZeroDivisionError


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/nothing", 404), ("GET", "/nothing", 404), ("PUT", "/v1/trials", 405)]
)
def test_other_paths_and_methods_are_refused_in_the_same_shape(served, method, path, status):
    refused = served.request(method, path)
    assert refused.status_code == status
    assert set(refused.json()) == {"error", "message"}
    assert refused.headers.get("allow") == ("GET, POST" if status == 405 else None)


def test_of_a_field_that_may_be_of_several_kinds_one_thing_is_said(served):
    path = served.create("kinds")
    for risk, said in (
        (-1, "risk: Input should be greater than or equal to 0, got '-1'"),
        ("0", "risk: Input should be a valid number, got '0'"),
        ([0, 2], "risk.1: Input should be less than or equal to 1, got '2'"),
    ):
        answer = served.post(f"{path}/outcomes", {"unit": "1", "risk": risk})
        assert (answer.status_code, answer.json()["message"]) == (422, said)
