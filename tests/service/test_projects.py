"""Projects over HTTP: of a project in which a key has no role, nothing is there, on whatever path it is asked for."""

from __future__ import annotations

import json

import pytest

from safebandit.service.roles import ROLES
from safebandit.trials.record.projects import make_project
from servers.service import ask_again_until

from .conftest import serving
from .test_access import ALL, body_of

OF_TRIALS = [(method, path) for method, path in ALL if "{trial}" in path]
PAGES = ("", "/live", "/arms", "/analysis", "/rehearsal", "/units", "/log", "/log/1", "/ask")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A service with two groups, each with a trial of the same name, and a key of every role in one of them."""
    with serving(tmp_path_factory.mktemp("two") / "trials.db") as served:
        keys = served.app.state.keys
        for project in ("ada", "bea"):
            make_project(served.app.state.ledger, project, actor="root")
            for role in ROLES:
                served.keys[f"{project} {role}"] = keys.create(f"{role} of {project}", {project: role})[1]
            settings = {"arms": ["placebo", "drug"], "alpha": 0.3, "policy": "docb", "seed": 1, "context": ["age"]}
            made = served.post("/v1/trials", {"name": f"{project}:knee", **settings}, role=f"{project} admin")
            assert made.status_code == 201, made.text
            asked = {"unit": "secret unit", "context": [1]}
            served.post(f"/v1/trials/{project}:knee/units", asked, role=f"{project} operator")
        served.keys["root"] = keys.create("root", {"*": "admin"})[1]
        yield served


def call(served, method, path, trial, role):
    values = {"trial": trial, "number": "1", "id": "0" * 16}
    return served.request(method, path.format(**values), body_of(method, path), params={"unit": "1"}, role=role)


def told(answer, trial):
    """What an answer says, but for the name that was asked for."""
    kept = {name: value for name, value in answer.headers.items() if name not in ("x-request-id", "date")}
    return answer.status_code, answer.text.replace(trial, "TRIAL"), {**kept, "content-length": ""}


@pytest.mark.parametrize(("method", "path"), OF_TRIALS)
def test_every_role_of_another_project_against_every_path(two, method, path):
    for role in (*(f"bea {each}" for each in ROLES), "root", "admin"):
        theirs = told(call(two, method, path, "ada:knee", role), "ada:knee")
        nothing = told(call(two, method, path, "ada:nothing", role), "ada:nothing")
        nowhere = told(call(two, method, path, "nowhere:knee", role), "nowhere:knee")
        assert theirs == nothing == nowhere, role
        assert theirs[0] == 404
    for role in (*(f"bea {each}" for each in ROLES), "root"):
        bare = told(call(two, method, path, "knee", role), "knee")
        assert bare == told(call(two, method, path, "nothing", role), "nothing")
        assert bare[0] == 404


@pytest.mark.parametrize("page", PAGES)
def test_pages_of_another_project(two, page):
    for role in ("bea admin", "root"):
        cookie = sign_in(two, role)
        answers = [
            two.get(f"/trials/{trial}{page}", role=None, headers=cookie) for trial in ("ada:knee", "ada:other", "no:x")
        ]
        assert {answer.status_code for answer in answers} == {404}
        said = [
            answer.text.replace(trial, "T")
            for answer, trial in zip(answers, ("ada:knee", "ada:other", "no:x"), strict=True)
        ]
        assert len(set(said)) == 1
    mine = two.get(f"/trials/bea:knee{page}", role=None, headers=sign_in(two, "bea admin"))
    assert mine.status_code in (200, 303)


def sign_in(served, role):
    key = served.app.state.keys.find(served.keys[role])
    return {"Cookie": f"safebandit_session={served.app.state.keys.sign_in(key)}"}


def test_lists_and_metrics_have_the_own_trials_alone(two):
    for role in ROLES:
        listed = two.get("/v1/trials", role=f"bea {role}").json()
        assert [each["name"] for each in listed] == ["bea:knee"]
        page = two.get("/", role=None, headers=sign_in(two, f"bea {role}")).text
        assert "bea:knee" in page
        assert "ada" not in page.replace("data-", "")
    for role in ("viewer", "auditor", "admin"):
        numbers = two.get("/metrics", role=f"bea {role}").text
        assert 'safebandit_pending_units{trial="bea:knee"} 1.0' in numbers
        assert 'safebandit_decisions_total{kind="asked",trial="bea:knee"} 1.0' in numbers
        assert "ada" not in numbers
    assert two.get("/v1/trials", role="root").json() == []
    assert two.get("/metrics", role="root").status_code == 403
    both = two.app.state.keys.create("scrape", {"ada": "viewer", "bea": "viewer"})[1]
    two.keys["both"] = both
    numbers = two.get("/metrics", role="both").text
    assert 'trial="ada:knee"' in numbers
    assert 'trial="bea:knee"' in numbers


def test_trials_are_created_by_admins_of_their_project(two):
    body = {"name": "ada:new", "arms": ["a", "b"], "alpha": 0.2, "policy": "docb", "seed": 1}
    unknown = two.post("/v1/trials", {**body, "name": "nowhere:new"}, role="bea admin")
    refused = two.post("/v1/trials", body, role="bea admin")
    assert (unknown.status_code, refused.status_code) == (404, 404)
    assert unknown.text.replace("nowhere", "ada") == refused.text
    assert two.post("/v1/trials", body, role="ada operator").status_code == 403
    assert two.post("/v1/trials", body, role="root").status_code == 403
    # There is one of this name in the other project: no word of it.
    same = two.post("/v1/trials", {**body, "name": "bea:new"}, role="bea admin")
    assert same.status_code == 201
    assert two.post("/v1/trials", body, role="ada admin").status_code == 201


def test_admins_of_a_project_keep_its_keys_and_no_others(two):
    named = {key["name"] for key in two.get("/v1/keys", role="bea admin").json()}
    assert named == {f"{role} of bea" for role in ROLES}
    assert {f"{role} of ada" for role in ROLES} < {key["name"] for key in two.get("/v1/keys", role="root").json()}
    theirs = next(key["id"] for key in two.get("/v1/keys", role="root").json() if key["name"] == "viewer of ada")
    for path, body in ((f"/v1/keys/{theirs}", None), (f"/v1/keys/{theirs}/rotation", {"overlap_hours": 1})):
        refused = two.request("DELETE" if body is None else "POST", path, body, role="bea admin")
        unknown = two.request(
            "DELETE" if body is None else "POST", path.replace(theirs, "0" * 16), body, role="bea admin"
        )
        assert (refused.status_code, refused.text.replace(theirs, "0" * 16)) == (404, unknown.text)
    wrong = {"ada": {"ada": "viewer"}, "nowhere": {"nowhere": "viewer"}, "*": {"*": "admin"}, "default": None}
    for project, roles in wrong.items():
        body = {"name": "x", **({"role": "viewer"} if roles is None else {"roles": roles})}
        refused = two.post("/v1/keys", body, role="bea admin")
        assert refused.status_code == 403, project
        assert two.post("/v1/keys", {"name": "x", "roles": {"bea": "viewer"}}, role="ada admin").status_code == 403
    assert two.post("/v1/keys", {"name": "x", "roles": {"nowhere": "viewer"}}, role="root").status_code == 404
    for wrong_body in ({"name": "x"}, {"name": "x", "role": "viewer", "roles": {"bea": "viewer"}}):
        assert two.post("/v1/keys", wrong_body, role="root").status_code == 422
    made = two.post("/v1/keys", {"name": "desk", "roles": {"bea": "operator"}}, role="bea admin").json()
    assert made["roles"] == {"bea": "operator"}
    assert made["creator"].startswith("admin of bea (key ")
    registered = two.app.state.ledger.registry()[-1]
    assert (registered.kind, registered.actor, json.loads(registered.body)["roles"]) == (
        "key made", made["creator"], {"bea": "operator"},
    )  # fmt: skip


def test_a_verification_of_one_group_is_no_answer_to_another(two):
    path = "/v1/trials/ada:knee/verification"
    assert two.get(path, role="ada auditor").json()["holds"]
    assert two.get(path, role="bea auditor").status_code == 404


def test_who_asks_is_not_looked_up_at_every_request(two, monkeypatch):
    """The check of projects and roles costs no question to the database beyond the one that finds the key."""
    import sqlalchemy as sa

    from safebandit.service import keys

    monkeypatch.setattr(keys, "REMEMBERED_SECONDS", 1e9)
    asked = []
    engine = two.app.state.ledger.engine

    def note(connection, cursor, statement, *_):
        asked.extend(name for name in ("keys", "roles", "people", "projects") if f" {name}" in statement)

    two.get("/v1/me", role="ada operator")
    # That keys were used is written after the answers, also after those of tests before.
    ask_again_until(lambda: not two.app.state.notes, "uses of keys are not written")
    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        for unit in range(5):
            answer = two.post("/v1/trials/ada:knee/units", {"unit": str(unit), "context": [1]}, role="ada operator")
            assert answer.status_code in (200, 201, 409), answer.text
            assert two.post("/v1/trials/ada:knee/units", {"unit": "1"}, role="bea operator").status_code == 404
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
    # That of the other group, once, and that both were used, once.
    assert asked.count("roles") <= 1
    assert len(asked) <= 4
