"""`safebandit project`, `person` and `key`: what an administrator does on the machine of the database."""

import json

import pytest


@pytest.fixture
def run(tmp_path, command):
    return lambda *arguments: command(*arguments, "--db", str(tmp_path / "trials.db"))


def test_a_project_its_people_and_their_keys(run):
    assert "oncology:NAME" in run("project", "new", "oncology", "--title", "A desk").out
    assert "already; give another name" in run("project", "new", "oncology").err
    assert [each["name"] for each in json.loads(run("project", "list", "--json").out)["projects"]] == [
        "default", "oncology",
    ]  # fmt: skip
    invited = run("person", "new", "Ada", "--email", "Ada@example.org", "--role", "oncology=admin")
    assert invited.out.endswith('"Ada": oncology=admin\n')
    assert "was there already" in run("person", "new", "Ada", "--email", "ada@example.org", "--role", "viewer").out
    person = json.loads(run("person", "list", "--json").out)["people"][0]
    assert person["roles"] == {"default": "viewer", "oncology": "admin"}
    changed = run("person", "role", person["id"], "--take", "default", "--give", "installation").out
    assert changed.endswith("installation, oncology=admin\n")
    made = run("key", "new", "laptop", "--person", person["id"])
    assert f"what person {person['id']} may" in made.err
    run("key", "new", "desk", "--role", "oncology=operator", "--actor", "Bea")
    laptop, desk = json.loads(run("key", "list", "--json").out)
    assert (laptop["person"], laptop["roles"]) == (person["id"], {"*": "admin", "oncology": "admin"})
    assert (desk["person"], desk["roles"], desk["creator"]) == (None, {"oncology": "operator"}, "Bea")
    rotated = run("key", "rotate", desk["id"], "--overlap", "2")
    assert rotated.out.startswith(f"sb_{desk['id']}_")
    assert "can no longer come in" in run("person", "remove", person["id"]).out
    assert [each["works"] for each in json.loads(run("key", "list", "--json").out)] == [False, True]
    assert "removed" in run("person", "list").out
    kinds = [event["kind"] for event in json.loads(run("trial", "log", "--json").out)["events"]]
    assert kinds == [
        "begun", "project made", "person made", "roles given", "roles given", "roles given", "key made", "key made",
        "key rotated", "person removed", "key revoked",
    ]  # fmt: skip
    assert run("trial", "verify").status == 0


def test_what_is_refused_in_one_line(run):
    run("project", "new", "oncology")
    for arguments, said in (
        (("project", "new", "Two Words"), "a project's name is"),
        (("person", "new", "Ada", "--email", "nobody"), "an e-mail address is like"),
        (("person", "new", "Ada", "--role", "knee=viewer"), 'there is no project "knee"'),
        (("person", "new", "Ada", "--role", "root"), "names no role"),
        (("person", "role", "0" * 16, "--give", "viewer"), "there is no person"),
        (("person", "remove", "0" * 16), "there is no person"),
        (("key", "new", "x", "--person", "0" * 16), "there is no person"),
        (("key", "new", "x", "--role", "viewer", "--role", "admin"), "is given twice"),
        (("key", "rotate", "0" * 16), "there is no key"),
    ):
        refused = run(*arguments)
        assert (refused.status, refused.err.count("\n")) == (2, 1), arguments
        assert said in refused.err
    unknown = run("trial", "new", "knee:dose", "--arms", "a,b", "--alpha", ".3", "--policy", "docb")
    assert (unknown.status, 'there is no project "knee"' in unknown.err) == (2, True)
