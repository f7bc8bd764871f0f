"""People: invited, given roles, removed; keys of theirs; and that the database's own log has all of it."""

from __future__ import annotations

import pytest

from safebandit.service import keys as keys_module
from safebandit.service.keys import Keys, SessionLimits
from safebandit.service.people import People
from safebandit.trials.record import Ledger
from safebandit.trials.record.projects import make_project
from safebandit.trials.record.verification import verify_database

from .conftest import serving
from .test_access import with_key


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("crowd") / "trials.db") as served:
        for project in ("ada", "bea"):
            make_project(served.app.state.ledger, project, actor="root")
            served.keys[project] = served.app.state.keys.create(f"admin of {project}", {project: "admin"})[1]
        served.keys["root"] = served.app.state.keys.create("root", {"*": "admin"})[1]
        yield served


def test_people_are_seen_by_the_admins_of_their_projects(crowd):
    body = {"name": "Cy", "email": "Cy@Example.org", "roles": {"ada": "operator"}}
    made = crowd.post("/v1/people", body, role="ada")
    assert (made.status_code, made.json()["email"]) == (201, "cy@example.org")
    person = made.json()["id"]
    assert [each["id"] for each in crowd.get("/v1/people", role="ada").json()] == [person]
    assert crowd.get("/v1/people", role="bea").json() == []
    # Invited by a second project: one person, and each admin sees the roles of their own project.
    again = crowd.post("/v1/people", {**body, "roles": {"bea": "viewer"}}, role="bea")
    assert (again.status_code, again.json()["id"], again.json()["roles"]) == (200, person, {"bea": "viewer"})
    assert crowd.get("/v1/people", role="ada").json()[0]["roles"] == {"ada": "operator"}
    assert crowd.get("/v1/people", role="root").json()[0]["roles"] == {"ada": "operator", "bea": "viewer"}
    taken = crowd.post(f"/v1/people/{person}/roles", {"roles": {"bea": None}}, role="bea")
    assert taken.json()["roles"] == {}
    assert crowd.post(f"/v1/people/{person}/roles", {"roles": {"bea": "admin"}}, role="bea").status_code == 404
    for role, roles in (("ada", {"bea": "viewer"}), ("ada", {"*": "admin"}), ("ada", {"nowhere": "viewer"})):
        assert crowd.post(f"/v1/people/{person}/roles", {"roles": roles}, role=role).status_code == 403
    assert crowd.request("DELETE", f"/v1/people/{person}", role="ada").status_code == 403


def test_projects_are_made_by_admins_of_the_installation(crowd):
    assert crowd.post("/v1/projects", {"name": "new"}, role="ada").status_code == 403
    assert crowd.post("/v1/projects", {"name": "new", "title": "News"}, role="root").status_code == 201
    assert crowd.post("/v1/projects", {"name": "new"}, role="root").status_code == 409
    assert [each["name"] for each in crowd.get("/v1/projects", role="ada").json()] == ["ada"]
    assert "new" in [each["name"] for each in crowd.get("/v1/projects", role="root").json()]
    assert crowd.get("/v1/me", role="ada").json()["roles"] == {"ada": "admin"}


def test_a_persons_keys_can_do_what_the_person_can_and_end_with_them(crowd):
    people, keys = crowd.app.state.people, crowd.app.state.keys
    person, _ = people.invite("Dee", given={"ada": "viewer"}, actor="root")
    body = {"name": "laptop", "person": person.id}
    text = crowd.post("/v1/keys", body, role="ada").json()["key"]
    assert crowd.post("/v1/keys", body, role="bea").status_code == 404
    narrow = keys.create("script", {"ada": "admin", "bea": "viewer"}, person=person.id)[0]
    assert keys.one(narrow.id).roles == {}
    assert keys.find(text).roles == {"ada": "viewer"}
    people.give(person.id, {"ada": "admin", "bea": "viewer"}, actor="root")
    assert keys.find(text).roles == {"ada": "admin", "bea": "viewer"}
    assert keys.one(narrow.id).roles == {"ada": "admin", "bea": "viewer"}
    # One whose person has roles elsewhere is not for the admin of one project.
    assert crowd.post("/v1/keys", body, role="ada").status_code == 403
    people.remove(person.id, actor="root")
    assert with_key(crowd, text).status_code == 401
    assert keys.one(narrow.id).revoked is not None
    assert crowd.post("/v1/keys", body, role="root").status_code == 404


def test_a_rotated_key_works_with_both_secrets_for_a_while(crowd, monkeypatch):
    made = crowd.post("/v1/keys", {"name": "desk", "roles": {"ada": "operator"}}, role="ada").json()
    rotated = crowd.post(f"/v1/keys/{made['id']}/rotation", {"overlap_hours": 1}, role="ada").json()
    assert rotated["id"] == made["id"]
    assert rotated["key"] != made["key"]
    assert {with_key(crowd, text).status_code for text in (made["key"], rotated["key"])} == {200}
    monkeypatch.setattr(keys_module, "now", lambda: rotated["old_until"])
    assert with_key(crowd, made["key"]).status_code == 401
    assert with_key(crowd, rotated["key"]).status_code == 200
    monkeypatch.undo()
    last = crowd.post(f"/v1/keys/{made['id']}/rotation", {}, role="ada").json()
    assert with_key(crowd, rotated["key"]).status_code == 401
    assert with_key(crowd, last["key"]).status_code == 200
    crowd.request("DELETE", f"/v1/keys/{made['id']}", role="ada")
    assert crowd.post(f"/v1/keys/{made['id']}/rotation", {}, role="ada").status_code == 422


def test_the_last_use_is_written_at_most_once_a_minute(tmp_path, monkeypatch):
    with Ledger(tmp_path / "trials.db") as ledger:
        keys = Keys(ledger)
        made, text = keys.create("desk", "operator")
        assert made.used is None
        keys.note_use(keys.find(text), None)
        first = keys.one(made.id).used
        assert first is not None
        keys.note_use(made, None)
        # Another process does not write it again either.
        Keys(ledger).note_use(made, None)
        assert keys.one(made.id).used == first
        assert verify_database(ledger).holds


def test_sessions_end_when_they_are_old_and_when_nobody_uses_them(tmp_path, monkeypatch):
    from datetime import UTC, datetime, timedelta

    def later(**wait):
        return (datetime.now(UTC) + timedelta(**wait)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    with Ledger(tmp_path / "trials.db") as ledger:
        keys = Keys(ledger, SessionLimits(hours=2, idle_minutes=30))
        people = People(ledger, keys)
        person, _ = people.invite("Dee", given={"default": "viewer"}, actor="root")
        found = keys_module.Key(person.id, person.name, person.roles, person.created, person=person.id)
        token = keys.sign_in(found)
        assert keys.find_session(token).actor == f"Dee (person {person.id})"
        assert keys.find_session(token).roles == {"default": "viewer"}
        monkeypatch.setattr(keys_module, "now", lambda: later(minutes=31))
        assert keys.find_session(token) is None
        monkeypatch.undo()
        keys.forget()
        with ledger.engine.begin() as connection:
            connection.execute(keys_module.sessions.update().values(seen=later(minutes=119)))
        monkeypatch.setattr(keys_module, "now", lambda: later(minutes=119))
        assert keys.find_session(token) is not None
        monkeypatch.setattr(keys_module, "now", lambda: later(minutes=121))
        assert keys.find_session(token) is None
        monkeypatch.undo()
        other = keys.sign_in(found)
        people.remove(person.id, actor="root")
        assert keys.find_session(other) is None
        assert [event.kind for event in ledger.registry()][1:] == [
            "person made", "roles given", "signed in", "signed in", "person removed",
        ]  # fmt: skip
        assert verify_database(ledger).holds


def test_everything_of_this_is_in_the_log_and_holds(crowd):
    before = len(crowd.app.state.ledger.registry())
    crowd.post("/v1/projects", {"name": "all"}, role="root")
    person = crowd.post("/v1/people", {"name": "Fay", "roles": {"all": "admin"}}, role="root").json()["id"]
    key = crowd.post("/v1/keys", {"name": "laptop", "person": person}, role="root").json()["id"]
    crowd.post(f"/v1/keys/{key}/rotation", {}, role="root")
    crowd.request("DELETE", f"/v1/people/{person}", role="root")
    log = crowd.app.state.ledger.registry()[before:]
    assert [event.kind for event in log] == [
        "project made", "person made", "roles given", "key made", "key rotated", "person removed", "key revoked",
    ]  # fmt: skip
    assert {event.actor.partition(" (key ")[0] for event in log} == {"root"}
    found = verify_database(crowd.app.state.ledger)
    assert found.holds, found.problem


def test_what_is_no_person(tmp_path):
    from safebandit.errors import NotFoundError, TrialError

    with Ledger(tmp_path / "trials.db") as ledger:
        people = People(ledger, Keys(ledger))
        before = ledger.registry()
        for wrong in ({"name": ""}, {"name": "a\nb"}, {"email": "nobody"}, {"email": "a b@c"}, {"email": "a@b, c@d"}):
            with pytest.raises(TrialError):
                people.invite(**{"name": "x", "email": None, **wrong}, given={}, actor="root")
        for roles in ({"nowhere": "viewer"}, {"default": "root"}, {"*": "viewer"}):
            with pytest.raises(TrialError):
                people.invite("x", given=roles, actor="root")
        with pytest.raises(NotFoundError):
            people.remove("0" * 16)
        assert ledger.registry() == before


def test_on_the_page(crowd):
    def page(role, form=None, /, **fields):
        token = crowd.app.state.keys.sign_in(crowd.app.state.keys.find(crowd.keys[role]))
        headers = {"Cookie": f"safebandit_session={token}", "Sec-Fetch-Site": "same-origin"}
        if form is None:
            return crowd.http.get("/people", headers=headers)
        return crowd.http.post(form, data=fields, headers=headers)

    assert page("root", "/projects", name="paged", title="A <b>title</b>").status_code == 303
    assert "A &lt;b&gt;title&lt;/b&gt;" in page("root").text
    assert "already; give another name" in page("root", "/projects", name="paged").text
    assert page("ada", "/projects", name="other").status_code == 403
    assert page("ada", "/people", name="Ivy", email="ivy@example.org", roles="ada=viewer").status_code == 303
    assert "Ivy" in page("ada").text
    assert "Ivy" not in page("bea").text
    assert "paged" not in page("ada").text
    person = next(each for each in crowd.app.state.people.all() if each.name == "Ivy").id
    assert page("bea", f"/people/{person}/role", project="bea", role="admin").status_code == 404
    assert page("ada", f"/people/{person}/role", project="bea", role="admin").status_code == 403
    assert page("ada", f"/people/{person}/role", project="ada", role="operator").status_code == 303
    assert crowd.app.state.people.one(person).roles == {"ada": "operator"}
    assert "names no role" in page("ada", "/people", name="x", roles="root").text
    assert page("ada", f"/people/{person}/remove").status_code == 403
    assert page("root", f"/people/{person}/remove").status_code == 303
    assert page("admin").status_code == 200
    for role in ("operator", "viewer", "auditor"):
        assert page(role).status_code == 403
