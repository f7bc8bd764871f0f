"""The worklist over HTTP, on the page and from the shell: who sees which pending units, and how they are found."""

import json
import re

import pytest

from safebandit import Client
from safebandit.service.page import desk
from safebandit.service.roles import ROLES
from safebandit.trials.record.projects import make_project

from .conftest import serving
from .test_projects import sign_in

OURS = {"Sec-Fetch-Site": "same-origin"}
HOSTILE = "<script>harm()</script>"
TRIALS = ("knee", "ada:knee", "bea:knee")


@pytest.fixture(scope="module")
def desks(tmp_path_factory):
    """Three projects with a trial each, in which an operator of that project and somebody else asked for units."""
    with serving(tmp_path_factory.mktemp("desks") / "trials.db") as served:
        ledger, keys = served.app.state.ledger, served.app.state.keys
        for project in ("ada", "bea"):
            make_project(ledger, project, actor="root")
            for role in ROLES:
                served.keys[f"{project} {role}"] = keys.create(f"{role} of {project}", {project: role})[1]
        served.keys["root"] = keys.create("root", {"*": "admin"})[1]
        served.keys["both"] = keys.create("both", {"ada": "admin", "bea": "operator", "default": "viewer"})[1]
        for trial, role in zip(TRIALS, ("", "ada ", "bea "), strict=True):
            settings = {"arms": ["a", "b"], "alpha": [0.3, 0.3], "risks": ["pain", "fall"], "policy": "docb"}
            made = served.post("/v1/trials", {"name": trial, "pending_cap": 50, **settings}, role=f"{role}admin")
            assert made.status_code == 201, made.text
            for unit, who in ((f"{trial} own", f"{role}operator"), (f"{trial} {HOSTILE}", f"{role}admin")):
                served.post(f"/v1/trials/{trial}/units", {"unit": unit}, role=who)
        served.post("/v1/trials/bea:knee/units", {"unit": "of both"}, role="both")
        served.post("/v1/trials/ada:knee/outcomes", {"unit": "ada:knee own", "risk": {"pain": 0}}, role="ada operator")
        yield served


def expected_of(role):
    """Admins see all of their projects, operators what they asked for; nobody else sees any."""
    project, _, name = role.rpartition(" ")
    trial = f"{project}:knee" if project else "knee"
    own = {f"{trial} own"}
    if name == "admin":
        return own | {f"{trial} {HOSTILE}"} | ({"of both"} if trial == "bea:knee" else set())
    return own if name == "operator" else None


ALL_ROLES = [f"{project}{role}" for project in ("", "ada ", "bea ") for role in ROLES]


@pytest.mark.parametrize("role", [*ALL_ROLES, "root", "both"])
def test_every_role_of_every_project_sees_its_own(desks, role):
    expected = {"root": None, "both": expected_of("ada admin") | {"of both"}}.get(role, expected_of(role))
    answer = desks.get("/v1/worklist", role=role)
    page = desks.get("/worklist", role=None, headers=sign_in(desks, role))
    if expected is None:
        assert (answer.status_code, page.status_code) == (403, 403)
        assert 'href="/worklist"' not in desks.get("/", role=None, headers=sign_in(desks, role)).text
        return
    assert {each["unit"] for each in answer.json()["units"]} == expected
    assert answer.json()["total"] == len(expected)
    shown = re.findall(r'<th scope="row"><span class="cut" title="([^"]*)"', page.text)
    assert {each.replace("&lt;", "<").replace("&gt;", ">") for each in shown} == expected
    assert f"{len(expected)} pending unit" in page.text
    assert HOSTILE not in page.text


@pytest.mark.parametrize("role", [*ALL_ROLES, "root", "both"])
def test_a_trial_of_another_project_is_one_that_is_not_there(desks, role):
    roles = desks.app.state.keys.find(desks.keys[role]).roles
    for project, trial in zip(("default", "ada", "bea"), TRIALS, strict=True):
        theirs = desks.get("/v1/worklist", role=role, params={"trial": trial})
        nothing = desks.get("/v1/worklist", role=role, params={"trial": trial.replace("knee", "none")})
        page = desks.get("/worklist", role=None, params={"trial": trial}, headers=sign_in(desks, role))
        tells = roles.get(project) in ("admin", "operator")
        if tells:
            assert theirs.status_code == page.status_code == 200
            assert {each["trial"] for each in theirs.json()["units"]} == {trial}
            assert nothing.status_code == 404
        else:
            assert theirs.status_code == page.status_code == nothing.status_code
            assert theirs.status_code in (403, 404)
            assert theirs.text.replace("knee", "none") == nothing.text


def test_what_is_missing_and_since_when(desks):
    own, other = desks.get("/v1/worklist", role="ada admin").json()["units"]
    assert (own["missing"], other["missing"]) == (["reward", "fall"], ["reward", "pain", "fall"])
    assert own["asked"] < other["asked"]
    event = desks.get(f"/v1/trials/ada:knee/events/{own['event']}", role="ada admin").json()
    assert (event["time"], event["body"]["arm"], event["body"]["round"]) == (own["asked"], own["arm"], own["round"])
    page = desks.get("/worklist", role=None, headers=sign_in(desks, "ada operator")).text
    assert f'href="/trials/ada:knee?done=tell&amp;of={own["event"]}#tell"' in page
    form = desks.get(f"/trials/ada:knee?done=tell&of={own['event']}", role=None, headers=sign_in(desks, "ada operator"))
    assert 'id="tell-unit" name="unit" value="ada:knee own"' in form.text


def test_pages_and_the_client_have_each_once(desks):
    whole = desks.get("/v1/worklist", role="both").json()
    assert whole["next"] is None
    seen, place = [], {}
    while place is not None:
        page = desks.get("/v1/worklist", role="both", params={"limit": 1, **place}).json()
        assert page["total"] == len(whole["units"]) == 3
        seen += page["units"]
        place = None if page["next"] is None else {"after": page["next"]}
    assert seen == whole["units"]
    with Client(desks.url, desks.keys["both"]) as client:
        assert list(client.worklist()) == whole["units"]
        assert [each["unit"] for each in client.worklist(trial="bea:knee")] == ["of both"]


def test_the_page_is_paged_and_filtered_and_no_address_has_an_id(desks, monkeypatch):
    monkeypatch.setattr(desk, "MOST_ROWS", 1)
    cookie = sign_in(desks, "bea admin")

    def post(**form):
        return desks.http.post("/worklist", data=form, headers={**OURS, **cookie})

    def units(page):
        return re.findall(r'<th scope="row"><span class="cut" title="bea:knee ([a-z]+)', page.text)

    page = desks.get("/worklist", role=None, headers=cookie)
    first = units(page)
    following = re.search(r'rel="next" href="([^"]*)"', page.text)[1].replace("&amp;", "&")
    assert units(desks.get(following, role=None, headers=cookie)) != first
    found = post(unit="BEA:", trial="bea:knee")
    assert "2 pending units of bea:knee with “BEA:” in the id" in found.text
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', found.text))
    assert (hidden["unit"], hidden["trial"]) == ("BEA:", "bea:knee")
    assert units(found) == ["own"]
    assert "bea:knee &lt;script&gt;" in post(**hidden).text
    addresses = re.findall(r'(?:href|action)="([^"]*)"', page.text + found.text)
    assert not [each for each in addresses if "own" in each or "BEA" in each]
    plain = post(unit=" ", trial="bea:knee")
    assert (plain.status_code, plain.headers["location"]) == (303, "/worklist?trial=bea%3Aknee")
    assert "None: nothing is waited for" in post(unit="nobody").text


def test_the_part_that_changes_is_asked_for_with_what_the_page_shows(desks):
    cookie = sign_in(desks, "bea admin")

    def live(mark, **shown):
        return desks.http.post("/worklist/live", data={"after": mark, **shown}, headers={**OURS, **cookie})

    page = desks.http.post("/worklist", data={"unit": "of b"}, headers={**OURS, **cookie}).text
    mark = re.search(r'id="live" data-live="/worklist/live" data-mark="([^"]*)"', page)[1]
    shown = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
    assert shown == {"trial": "", "unit": "of b", "place": ""}
    assert live(mark, **shown).status_code == 204
    # What is written in another project changes nothing here; what is told here goes from the list.
    desks.post("/v1/trials/ada:knee/units", {"unit": "for ada"}, role="ada admin")
    assert live(mark, **shown).status_code == 204
    desks.post("/v1/trials/bea:knee/units", {"unit": "of bea"}, role="bea admin")
    new = live(mark, **shown)
    assert new.headers["x-mark"] != mark
    assert re.findall(r'<th scope="row"><span class="cut" title="([^"]*)"', new.text) == ["of both", "of bea"]
    desks.post("/v1/trials/bea:knee/voided", {"unit": "of bea", "reason": "a test"}, role="bea admin")
    desks.post("/v1/trials/ada:knee/voided", {"unit": "for ada", "reason": "a test"}, role="ada admin")
    last = live(new.headers["x-mark"], **shown)
    assert "of both" in last.text
    assert "Tell of bea of" not in last.text
    assert desks.http.post("/worklist/live", data=shown, headers=OURS).status_code == 401
    assert live(mark, place="x").status_code == 422


@pytest.mark.parametrize(("field", "value"), [("after", "x"), ("after", "a\0"), ("unit", "a\0"), ("trial", "\0")])
def test_what_cannot_be_read_is_refused(desks, field, value):
    form = {"unit": "a", field: value}
    answer = desks.http.post("/worklist", data=form, headers={**OURS, **sign_in(desks, "admin")})
    assert answer.status_code == 422
    if field != "unit":
        assert desks.get("/v1/worklist", params={field: value}).status_code == 422


def test_the_command_line_lists_all_of_a_database(desks, command, tmp_path):
    database = str(desks.app.state.ledger.engine.url.database)
    found = json.loads(command("trial", "pending", "--db", database, "--json").out)
    everyone = [each for role in ("admin", "ada admin", "bea admin") for each in desks.get(
        "/v1/worklist", role=role).json()["units"]]  # fmt: skip
    assert found == {"units": sorted(everyone, key=lambda each: each["asked"]), "total": 7}
    one = command("trial", "pending", "ada:knee", "--db", database, "--unit", "OWN").out
    assert "ada:knee own" in one.splitlines()[1]
    assert one.splitlines()[-1] == "1 pending"
    assert "7 pending; the 2 that wait" in command("trial", "pending", "--db", database, "--most", "2").out
    assert "there is no trial" in command("trial", "pending", "nothing", "--db", database).err
