"""Alerts on the page: made with the same checks as over HTTP, a secret shown once, the log, and who sees which."""

import re

import pytest

from safebandit.service.alerts.courier import Pace
from safebandit.service.alerts.rules import KINDS
from safebandit.service.page import alerting
from safebandit.service.roles import ROLES
from safebandit.trials.record.database import messages
from safebandit.trials.record.projects import make_project
from servers.service import ask_again_until

from .conftest import serving
from .receivers import is_signed, receiving
from .test_alerts import no_more, told
from .test_projects import sign_in

OURS = {"Sec-Fetch-Site": "same-origin"}
QUICK = Pace(look_seconds=0.02, waits_seconds=0.02, attempt_seconds=5.0, first_seconds=0.02, longest_seconds=0.1)
BODY = '{"data":{"message":"number %d","event":0}}'
HOOK = {"channel": "webhook", "target": "https://hooks.example/a-secret-path"}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A service with trials in two projects, each with a key of every role."""
    with serving(tmp_path_factory.mktemp("two") / "trials.db", pace=QUICK) as served:
        for project in ("ada", "bea"):
            make_project(served.app.state.ledger, project, actor="root")
            for role in ROLES:
                made = served.app.state.keys.create(f"{role} of {project}", {project: role})[1]
                served.keys[f"{project} {role}"] = made
            body = {"name": f"{project}:knee", "arms": ["a", "b"], "alpha": 0.3, "policy": "docb"}
            assert served.post("/v1/trials", body, role=f"{project} admin").status_code == 201
        served.create("knee")
        yield served


def page(served, path="/alerts", role="admin"):
    return served.get(path, role=None, headers=sign_in(served, role))


def send(served, path="/alerts", by="admin", headers=OURS, **form):
    return served.http.post(path, data=form, headers={**headers, **sign_in(served, by)})


def alerts(served, role="admin"):
    return served.get("/v1/alerts", role=role).json()


def test_an_alert_is_made_its_secret_is_shown_once_and_it_sends(two):
    with receiving() as receiver:
        made = send(two, channel="webhook", target=receiver.url, about="knee", kinds=["amendment", "hold"], quiet="0")
        assert made.status_code == 200, made.text
        secret = re.search(r'id="secret" readonly value="(whsec_[^"]*)"', made.text)[1]
        assert secret not in page(two).text
        assert "whsec_" not in page(two).text
        alert = alerts(two)[-1]
        assert (alert["trial"], alert["kinds"], alert["role"], alert["quiet"], alert["patience"]) == (
            "knee", ["hold", "amendment"], "operator", 0, None,
        )  # fmt: skip
        tested = send(two, f"/alerts/{alert['id']}/test", trial="knee")
        assert (tested.status_code, tested.headers["location"]) == (303, "/alerts?trial=knee#messages")
        assert told(receiver)[0]["kind"] == "test"
        assert is_signed(secret, *receiver.got[0])
        two.post("/v1/trials/knee/amendments", {"reason": "<i>why</i>", "pending_cap": 7})
        assert told(receiver, 2)[1]["kind"] == "amendment"
        (first, second) = no_more(two, alert["id"])
        shown = page(two, "/alerts?trial=knee").text
        for message in (first, second):
            assert message["state"] == "sent"
            assert message["message"].replace('"', "&#34;") in shown
        assert shown.count("sent, 1 attempt") == 2
        removed = send(two, f"/alerts/{alert['id']}/remove")
        assert (removed.status_code, removed.headers["location"]) == (303, "/alerts")
    assert alerts(two)[-1]["removed"] is not None
    assert f'action="/alerts/{alert["id"]}/remove"' not in page(two).text


def test_a_message_that_nobody_takes_says_so(two):
    made = send(two, channel="email", target="desk@clinic.example", about="")
    assert "desk@clinic.example is told of hold, stop, guard, verification, amendment." in made.text
    assert "secret" not in made.text
    alert = alerts(two)[-1]
    assert (alert["trial"], alert["project"]) == (None, "default")
    send(two, f"/alerts/{alert['id']}/test")
    why = "this service has no mail server: start it with --smtp-host"
    ask_again_until(lambda: why in page(two).text, "the log does not say why")
    send(two, f"/alerts/{alert['id']}/remove")
    assert "given up" in page(two).text
    assert "the alert was removed" in page(two).text


def test_older_messages_are_behind_the_newest_on_the_page_over_http_and_in_the_shell(two, command, monkeypatch):
    """Some of one moment: none is left out or told twice where a page ends among them."""
    monkeypatch.setattr(alerting, "MOST_MESSAGES", 3)
    made = two.post("/v1/alerts", {**HOOK, "project": "ada"}, role="ada admin").json()["id"]
    rows = [
        {
            "id": f"msg_{number:032x}", "alert": made, "trial": None, "kind": "test", "body": BODY % number,
            "made": 1000.0 + number // 4, "due": 0.0, "attempts": 1, "state": "sent", "said": "taken", "done": 1000.0,
        }
        for number in range(8)
    ]  # fmt: skip
    with two.app.state.ledger.engine.begin() as connection:
        connection.execute(messages.insert(), rows)
    order = [4, 5, 6, 7, 0, 1, 2, 3]

    def listed(**query):
        answer = two.get("/v1/alert-messages", role="ada admin", params={"alert": made, "limit": 3, **query})
        return [each["id"] for each in answer.json()]

    first = listed()
    second = listed(before=first[-1])
    third = listed(before=second[-1])
    assert [int(each[4:], 16) for each in (*first, *second, *third)] == order
    assert listed(before=third[-1]) == []
    path, shown = "/alerts", []
    while path:
        text = page(two, path, "ada admin").text
        shown += re.findall(r"number (\d)", text)
        following = re.search(r'rel="next" href="([^"#]*)', text)
        path = following and following[1].replace("&amp;", "&")
    assert shown == [str(number) for number in order]
    # Of others' messages nobody learns that they are there.
    for role, of in (("bea admin", first[0]), ("ada admin", f"msg_{99:032x}")):
        assert two.get("/v1/alert-messages", role=role, params={"before": of}).status_code == 404
        assert page(two, f"/alerts?before={of}", role).status_code == 404
    assert two.get("/v1/alert-messages", params={"before": "msg_1"}).status_code == 422
    database = str(two.app.state.ledger.engine.url.database)
    newest = command("alert", "log", made, "--limit", "3", "--db", database)
    assert newest.err.splitlines()[-1] == f"older ones: add --before {first[-1]}"
    rest = command("alert", "log", made, "--before", first[-1], "--db", database)
    assert re.findall(r"number (\d)", newest.out + rest.out) == [str(number) for number in order]
    assert "older ones" not in rest.err
    assert "there is no message 'msg_1'" in command("alert", "log", "--before", "msg_1", "--db", database).err


WRONG = [
    ({"target": "ftp://host/x"}, "a webhook&#39;s address is such as"),
    ({"target": "https://user:word@host/"}, "a webhook&#39;s address is such as"),
    ({"target": ""}, "a webhook&#39;s address is such as"),
    ({"channel": "email", "target": "a@b.example\nBcc: c@d.example"}, "an e-mail address is such as"),
    ({"channel": "pigeon"}, "channel must be one of webhook, email"),
    ({"kinds": ["waiting"]}, "waiting needs the seconds"),
    ({"kinds": ["hold"], "patience": "3"}, "waiting needs the seconds"),
    ({"kinds": ["holds"]}, "an alert is about hold, waiting"),
    ({"patience": "soon"}, "patience must be a number"),
    ({"patience": "-1"}, "patience must be 0 to"),
    ({"quiet": "nan"}, "quiet must be 0 to"),
    ({"role": "root"}, "role must be one of"),
    ({"about": "nowhere"}, "there is no trial &#34;nowhere&#34;"),
    ({"about": "a b"}, "name"),
    ({"project": "nowhere"}, "there is no project &#34;nowhere&#34;"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_a_wrong_alert_is_refused_beside_the_form(two, wrong, message):
    before = alerts(two)
    refused = send(two, **{**HOOK, "trial": "knee", **wrong})
    assert refused.status_code in (404, 422)
    said = re.search(r'<p class="said wrong" id="alert-said" role="alert">(.*?)</p>', refused.text)[1]
    assert message in said
    assert alerts(two) == before


def test_everything_that_an_alert_can_be_about_is_taken(two):
    for sent in (
        send(two, **HOOK, kinds=KINDS, patience="60", role="admin"),
        two.post("/v1/alerts", {**HOOK, "kinds": list(KINDS), "patience": 60}),
    ):
        assert sent.status_code in (200, 201), sent.text
        assert alerts(two)[-1]["kinds"] == list(KINDS)


def test_of_a_webhook_the_host_alone_is_shown(two):
    send(two, **HOOK)
    shown = page(two).text
    assert "https://hooks.example" in shown
    assert "a-secret-path" not in shown


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
def test_a_form_of_another_site_is_refused(two, headers):
    made = two.post("/v1/alerts", HOOK).json()
    before = alerts(two)
    for path in ("/alerts", f"/alerts/{made['id']}/test", f"/alerts/{made['id']}/remove"):
        assert send(two, path, headers=headers, **HOOK).status_code == 403
    assert alerts(two) == before


@pytest.mark.parametrize("role", ROLES)
def test_who_is_no_admin_sees_no_alerts(two, role):
    shown = page(two, "/", f"ada {role}").text
    of_trial = page(two, "/trials/ada:knee", f"ada {role}").text
    assert ('href="/alerts"' in shown) == ('href="/alerts?trial=ada:knee"' in of_trial) == (role == "admin")
    assert page(two, role=f"ada {role}").status_code == (200 if role == "admin" else 403)
    assert send(two, by=f"ada {role}", **HOOK, about="ada:knee").status_code == (200 if role == "admin" else 403)


def test_an_admin_of_another_project_sees_nothing_of_it(two):
    send(two, by="ada admin", channel="email", target="ada@clinic.example", about="ada:knee")
    mine = alerts(two, "ada admin")[-1]
    assert "ada@clinic.example" in page(two, "/alerts?trial=ada:knee", "ada admin").text
    for role in ("bea admin", "admin"):
        shown = page(two, role=role).text
        assert "ada@clinic" not in shown
        assert "ada:" not in shown
        for path in ("/alerts/{}/test", "/alerts/{}/remove"):
            theirs, nothing = (send(two, path.format(each), by=role) for each in (mine["id"], "0" * 16))
            assert theirs.status_code == nothing.status_code == 404
            assert theirs.text.replace(mine["id"], "0" * 16) == nothing.text
        theirs, nothing = (page(two, f"/alerts?trial={trial}", role) for trial in ("ada:knee", "ada:none"))
        assert theirs.status_code == nothing.status_code == 404
        assert theirs.text.replace("ada:knee", "ada:none") == nothing.text
        theirs, nothing = (send(two, by=role, **HOOK, about=trial) for trial in ("ada:knee", "no:knee"))
        assert theirs.status_code == nothing.status_code == 404
        # Up to the log, in which attempts go on.
        theirs, nothing = (each.text.partition('id="messages"')[0] for each in (theirs, nothing))
        assert theirs.replace("ada:knee", "no:knee") == nothing
        assert send(two, by=role, **HOOK, project="ada").status_code == 404
    assert [each["id"] for each in alerts(two, "ada admin")][-1] == mine["id"]
    assert mine["removed"] is None
