"""What needs a second person, over HTTP and from the command line: two people, not two keys, and no service."""

from __future__ import annotations

import pytest

from safebandit.trials.record.verification import verify

from .conftest import serving


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A service with two people, one of whom has two keys, and a trial that asks for both."""
    with serving(tmp_path_factory.mktemp("pair") / "trials.db", viewer_delay=5) as served:
        people, keys = served.app.state.people, served.app.state.keys
        for name in ("ada", "bea"):
            person, _ = people.invite(name, given={"default": "admin"}, actor="root")
            served.keys[name] = keys.create(f"{name}'s", {}, person=person.id)[1]
        served.keys["ada 2"] = keys.create("ada's other", {}, person=people.all()[0].id)[1]
        path = served.create("knee", second_person=["amend", "correct", "unseal"])
        for unit in "12345678":
            served.post(f"{path}/units", {"unit": unit})
            served.post(f"{path}/outcomes", {"unit": unit, "reward": 1, "risk": 0})
        yield served


PATH = "/v1/trials/knee"


def propose(pair, role, **body):
    return pair.post(f"{PATH}/proposals", body, role=role)


def settle(pair, number, role, answer="approval"):
    body = {"reason": "no"} if answer == "refusal" else None
    return pair.post(f"{PATH}/proposals/{number}/{answer}", body, role=role)


def test_two_people_not_two_keys_and_no_service(pair):
    refused = pair.post(f"{PATH}/amendments", {"alpha": 0.2, "reason": "r"}, role="ada")
    assert (refused.status_code, refused.json()["error"]) == (409, "ConflictError")
    assert propose(pair, "admin", amend={"alpha": 0.2, "reason": "r"}).status_code == 403
    made = propose(pair, "ada", amend={"alpha": 0.2, "reason": "r"})
    assert made.status_code == 201, made.text
    number = made.json()["event"]
    listed = pair.get(f"{PATH}/proposals", role="auditor").json()
    assert [each["proposal"] for each in listed] == [number]
    assert settle(pair, number, "admin").status_code == 403
    for own in ("ada", "ada 2"):
        assert settle(pair, number, own).status_code == 409
    assert pair.get(PATH).json()["alpha"] == [0.3]
    assert settle(pair, number, "bea").status_code == 201
    assert pair.get(PATH).json()["alpha"] == [0.2]
    assert settle(pair, number, "bea").status_code == 404
    declined = propose(pair, "ada", amend={"alpha": 0.1, "reason": "r"}).json()["event"]
    assert settle(pair, declined, "bea", "refusal").status_code == 201
    assert pair.get(f"{PATH}/proposals").json() == []
    for wrong in ({}, {"amend": {"alpha": 0.1, "reason": "r"}, "unseal": {"what": "sums", "reason": "r"}}):
        assert propose(pair, "ada", **wrong).status_code == 422


def test_what_is_concealed_is_told_when_two_people_want_it(pair):
    assert pair.get(f"{PATH}/events/1").json()["concealed"] == ["settings.seed"]
    assert pair.get(PATH, role="viewer").json()["units"] < 8
    for what in ("stream", "sums"):
        number = propose(pair, "ada", unseal={"what": what, "reason": "the board asks"}).json()["event"]
        assert pair.get(f"{PATH}/events/1").json()["concealed"] == (["settings.seed"] if what == "stream" else [])
        settle(pair, number, "bea")
    shown = pair.get(f"{PATH}/events/1").json()
    assert (shown["concealed"], shown["body"]["settings"]["seed"]) == ([], 1)
    assert '"seed":1' in pair.get(f"{PATH}/export", params={"kind": "json"}).text
    assert pair.get(PATH, role="viewer").json()["units"] == 8


def test_corrections_after_the_end(pair):
    pair.post(f"{PATH}/close", {"reason": "end"})
    body = {"unit": "1", "risk": 1, "reason": "misread"}
    assert pair.post(f"{PATH}/corrections", body, role="ada").status_code == 409
    many = pair.post(f"{PATH}/corrections/batch", {"requests": [body]}, role="ada")
    assert (many.status_code, many.json()["written"]) == (409, False)
    number = propose(pair, "bea", correct=body).json()["event"]
    assert settle(pair, number, "ada 2").status_code == 201
    assert pair.post(f"{PATH}/unit", {"unit": "1"}).json()["risk"] == {"risk": 1.0}
    found = verify(pair.app.state.ledger, "knee")
    assert found.holds, found.problem


def test_units_voided_and_given_up_after_the_end(pair):
    path = pair.create("ended", second_person=["void", "give_up"])
    for unit in "1234":
        pair.post(f"{path}/units", {"unit": unit})
    pair.post(f"{path}/close", {"reason": "end"})
    for unit, way, what in (("1", "voided", "void"), ("2", "given-up", "give_up")):
        body = {"unit": unit, "reason": "never came"}
        assert pair.post(f"{path}/{way}", body, role="ada").status_code == 409
        assert pair.post(f"{path}/{way}/batch", {"requests": [body]}, role="ada").status_code == 409
        made = pair.post(f"{path}/proposals", {what: body}, role="ada")
        assert made.status_code == 201, made.text
        done = pair.post(f"{path}/proposals/{made.json()['event']}/approval", None, role="bea")
        assert done.status_code == 201, done.text
    found = {unit: pair.post(f"{path}/unit", {"unit": unit}).json() for unit in "12"}
    assert (found["1"]["void"], found["2"]["void"], found["2"]["given_up"]) == (True, False, True)
    token = pair.app.state.keys.sign_in(pair.app.state.keys.find(pair.keys["ada"]))
    ours = {"Cookie": f"safebandit_session={token}", "Sec-Fetch-Site": "same-origin"}
    shown = pair.http.get("/trials/ended", headers=ours).text
    assert ("Propose to void it" in shown, "Propose to give it up" in shown) == (True, True)
    for form, unit in (("void", "3"), ("give-up", "4")):
        pair.http.post(f"/trials/ended/{form}", data={"unit": unit, "reason": "x"}, headers=ours)
    listed = pair.get(f"{path}/proposals").json()
    assert [(each["request"], each["gives"]["unit"]) for each in listed] == [("void", "3"), ("give_up", "4")]
    # A proposal to correct is shown, too.
    pair.post(f"{path}/proposals", {"correct": {"unit": "2", "risk": 0, "reason": "found"}}, role="ada")
    shown = pair.http.get("/trials/ended", headers=ours).text
    assert ("to give up, until" in shown, "2: [None, 0.0]" in shown) == (True, True)
    assert verify(pair.app.state.ledger, "ended").holds


def test_on_the_page(pair):
    path = pair.create("page", second_person=["amend", "unseal"])
    cookies = {}
    for name in ("ada", "bea"):
        token = pair.app.state.keys.sign_in(pair.app.state.keys.find(pair.keys[name]))
        cookies[name] = {"Cookie": f"safebandit_session={token}", "Sec-Fetch-Site": "same-origin"}

    def post(name, form, **fields):
        answer = pair.http.post(f"/trials/page/{form}", data=fields, headers=cookies[name])
        return pair.http.get(answer.headers["location"], headers=cookies[name]) if answer.is_redirect else answer

    assert "Propose the amendment" in pair.http.get("/trials/page", headers=cookies["ada"]).text
    assert "Written as event 2: to amend" in post("ada", "amend", alpha="0.2", reason="why not").text
    assert "needs a second person" in post("ada", "proposals/2", answer="approve").text
    assert "proposal 2" in post("bea", "proposals/2", answer="approve").text
    assert pair.get(path).json()["alpha"] == [0.2]
    post("ada", "unseal", what="stream", reason="why")
    assert "proposal 5" in post("bea", "proposals/5", answer="decline", reason="no").text
    assert pair.get(f"{path}/proposals").json() == []


def test_from_the_command_line(tmp_path, command, monkeypatch):
    from safebandit.trials.record import ledger as module

    database = ("--db", str(tmp_path / "t.db"))
    command("trial", "new", "knee", "--arms", "a,b", "--alpha", ".3", "--policy", "docb",
            "--second-person", "amend,unseal", *database)  # fmt: skip
    refused = command("trial", "amend", "knee", "--alpha", ".2", "--reason", "r", *database)
    assert "needs a second person" in refused.err
    assert (
        "wrote" not in command("trial", "export", "knee", "--out", str(tmp_path / "x.json"), "--whole", *database).err
    )
    assert "event 2" in command("trial", "amend", "knee", "--alpha", ".2", "--reason", "r", "--propose", *database).out
    assert "alpha" in command("trial", "proposals", "knee", *database).out
    # Another name in --actor is no other person.
    own = command("trial", "approve", "knee", "2", "--actor", "somebody", *database)
    assert "needs a second person" in own.err
    monkeypatch.setattr(module, "local_actor", lambda: "bea")
    assert "event 3" in command("trial", "approve", "knee", "2", *database).out
    command("trial", "unseal", "knee", "--reason", "r", *database)
    assert "event 6" in command("trial", "decline", "knee", "5", "--reason", "no", *database).out
    assert "6 events hold" in command("trial", "verify", "knee", *database).out


def test_a_unit_is_voided_from_the_command_line_by_two(tmp_path, command, monkeypatch):
    from safebandit.trials.record import ledger as module

    def trial(*arguments):
        return command("trial", *arguments, "--db", str(tmp_path / "t.db"))

    trial("new", "knee", "--arms", "a,b", "--alpha", ".3", "--policy", "docb", "--second-person", "void,give_up")
    for unit in ("1", "2"):
        trial("ask", "knee", unit)
    trial("close", "knee", "--reason", "end")
    for request, unit in (("void", "1"), ("give-up", "2")):
        refused = trial(request, "knee", unit, "--reason", "r")
        assert (refused.status, "needs a second person" in refused.err) == (2, True)
        assert "proposed: event" in trial(request, "knee", unit, "--reason", "r", "--propose").out
    file = trial("void", "knee", "--file", "units.csv", "--reason", "r", "--propose")
    assert (file.status, "--propose is for one unit" in file.err) == (2, True)
    listed = trial("proposals", "knee").out
    assert "give up" in listed
    assert "unit 2 (r)" in listed
    monkeypatch.setattr(module, "local_actor", lambda: "bea")
    for number in ("5", "6"):
        assert trial("approve", "knee", number).status == 0
    assert "10 events hold" in trial("verify", "knee").out


def test_from_the_client(pair):
    from safebandit.service.client import Client

    with Client(pair.url, pair.keys["ada"]) as ada, Client(pair.url, pair.keys["bea"]) as bea:
        assert ada.me()["roles"] == {"default": "admin"}
        assert [each["name"] for each in ada.projects()] == ["default"]
        trial = ada.create("client", ["a", "b"], 0.3, "docb", second_person=["amend"])
        number = trial.propose("amend", alpha=0.2, reason="r").event
        assert [each["proposal"] for each in trial.proposals()] == [number]
        bea.trial("client").approve(number)
        assert trial.overview()["alpha"] == [0.2]
        trial.refuse(trial.propose("amend", alpha=0.1, reason="r").event, reason="no")
        assert trial.proposals() == []
