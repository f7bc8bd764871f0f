"""Alerts with real receivers: each kind is told, once, to whom it may; receivers that fail, hang, lie and come back."""

from __future__ import annotations

import json
import sqlite3

import pytest

from safebandit.errors import TrialError
from safebandit.service.alerts.courier import Pace
from safebandit.service.alerts.outcome import FailedError
from safebandit.service.alerts.rules import Alerts
from safebandit.service.alerts.webhook import post, refuse_address
from safebandit.service.client import Client
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.verification import verify_database
from servers.service import Service, ask_again_until

from .conftest import serving
from .receivers import is_signed, receiving
from .test_designs import BODY, play

QUICK = Pace(look_seconds=0.02, waits_seconds=0.02, attempt_seconds=5.0, first_seconds=0.02, longest_seconds=0.1)
HARM = {"reward": 0, "risk": 1}


@pytest.fixture
def receiver():
    with receiving() as made:
        yield made


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("alerts") / "trials.db", pace=QUICK) as made:
        yield made


def alert(served, receiver, **options):
    body = {"channel": "webhook", "target": receiver.url, "quiet": 0, **options}
    made = served.post("/v1/alerts", body)
    assert made.status_code == 201, made.text
    return made.json()


def hold(served, name):
    """A trial that holds: every arm has done harm."""
    path = served.create(name, arms=["a", "b"], alpha=0.01, policy="docb")
    for unit in range(20):
        given = served.post(f"{path}/units", {"unit": f"patient {unit}"}).json()
        if given["held"]:
            return path
        served.post(f"{path}/outcomes", {"unit": f"patient {unit}", **HARM})
    raise AssertionError("it does not hold")


def told(receiver, count=1):
    ask_again_until(lambda: len(receiver.got) >= count, "nobody is told")
    return receiver.said


def waiting(receiver):
    """What was said of the trial that waits."""
    return [each["message"] for each in receiver.said if each["kind"] == "waiting" and each["trial"] == "waits"]


def no_more(served, id):
    """Wait until nothing is left to be sent for an alert; its messages, oldest first."""

    def ended():
        found = served.get("/v1/alert-messages", params={"alert": id, "limit": 1000}).json()
        return found if found and all(each["state"] != "waiting" for each in found) else None

    return ask_again_until(ended, "messages wait")[::-1]


def test_each_kind_is_told_once_signed_and_without_ids_of_units(quick, receiver, tmp_path):
    made = alert(quick, receiver, role="auditor", patience=0.05)
    hold(quick, "holds")
    path = quick.create("amended")
    quick.post(f"{path}/amendments", {"reason": "the board asked", "alpha": 0.4})
    quick.post("/v1/trials", {"name": "stops", **BODY})
    play(quick, "/v1/trials/stops")
    waits = quick.create("waits", arms=["a", "b"], pending_cap=1)
    for unit in ("patient 1", "patient 2", "patient 3"):
        quick.post(f"{waits}/units", {"unit": unit})
    quick.app.state.courier.verified("amended", "event 1 was changed")
    wanted = {("holds", "hold"), ("amended", "amendment"), ("stops", "stop"), ("amended", "verification")}
    ask_again_until(lambda: wanted <= {(each["trial"], each["kind"]) for each in receiver.said}, "not all is told")
    # That all arms wait is found last: the units that are waited for asked before, and one may be told of alone.
    ask_again_until(lambda: any("all arms that may be given wait" in each for each in waiting(receiver)), "none waits")
    by_kind = {each["kind"]: each for each in no_more(quick, made["id"])}
    said = {(each["trial"], each["kind"]): each for each in receiver.said}
    assert set(by_kind) == {"hold", "amendment", "stop", "waiting", "verification"}
    assert "every lower risk index is above 0.01" in said["holds", "hold"]["why"]
    assert said["amended", "amendment"]["reason"] == "the board asked"
    assert said["amended", "amendment"]["changed"] == ["alpha"]
    assert said["stops", "stop"]["rule"] == "too-many-harms"
    assert said["amended", "verification"]["problem"] == "event 1 was changed"
    assert any("not told" in each or "not been told" in each for each in waiting(receiver))
    for headers, body in receiver.got:
        assert is_signed(made["secret"], headers, body)
        assert b"patient" not in body
        assert b"seed" not in body
    ids = [headers["webhook-id"] for headers, _ in receiver.got]
    assert len(set(ids)) == len(ids)
    assert quick.app.state.outbox.waiting() == 0


@pytest.mark.parametrize(("role", "reads"), [("operator", False), ("viewer", True)])
def test_a_channel_is_told_what_its_role_may_know(quick, receiver, role, reads):
    made = alert(quick, receiver, role=role, kinds=["stop", "hold", "amendment"])
    quick.post("/v1/trials", {"name": f"stops-{role}", **BODY})
    play(quick, f"/v1/trials/stops-{role}")
    path = hold(quick, f"holds-{role}")
    quick.post(f"{path}/amendments", {"reason": "private", "alpha": 0.4})
    ask_again_until(lambda: len({each["kind"] for each in receiver.said}) == 3, "not all is told")
    said = {each["kind"]: each for each in receiver.said if each["trial"].endswith(role)}
    assert ("rule" in said["stop"], "selected" in said["stop"]) == (reads, reads)
    assert ("0.01" in said["hold"]["why"]) is reads
    assert not any(b"private" in body for _, body in receiver.got)
    quick.request("DELETE", f"/v1/alerts/{made['id']}")


def test_those_who_see_sums_late_are_told_no_reasons(tmp_path, receiver):
    with serving(tmp_path / "trials.db", pace=QUICK, viewer_delay=10) as served:
        alert(served, receiver, role="viewer", kinds=["stop"])
        served.post("/v1/trials", {"name": "stops", **BODY})
        play(served, "/v1/trials/stops")
        (said,) = told(receiver)
    assert said["message"] == 'trial "stops" has stopped by a rule of its design'
    assert "rule" not in said


def test_an_alert_is_about_its_trial_and_what_comes_after_it(quick, receiver):
    path = quick.create("mine")
    other = quick.create("other")
    quick.post(f"{path}/amendments", {"reason": "before", "alpha": 0.4})
    made = alert(quick, receiver, trial="mine", kinds=["amendment"])
    quick.post(f"{other}/amendments", {"reason": "elsewhere", "alpha": 0.4})
    quick.post(f"{path}/amendments", {"reason": "after", "alpha": 0.5})
    assert [each["trial"] for each in told(receiver)] == ["mine"]
    quick.request("DELETE", f"/v1/alerts/{made['id']}")
    quick.post(f"{path}/amendments", {"reason": "removed", "alpha": 0.6})
    assert len(no_more(quick, made["id"])) == 1
    assert len(receiver.got) == 1


def test_a_receiver_that_fails_and_comes_back_is_told_all_of_it_once(quick, receiver):
    path = quick.create("fails")
    made = alert(quick, receiver, trial="fails", kinds=["amendment"])
    receiver.mode = 500
    for alpha in (0.4, 0.5):
        quick.post(f"{path}/amendments", {"reason": "so", "alpha": alpha})
        ask_again_until(lambda: receiver.begun.acquire(blocking=False), "no attempt")
    ask_again_until(lambda: receiver.begun.acquire(blocking=False), "it is not tried again")
    told_of = {"params": {"alert": made["id"]}}
    ask_again_until(
        lambda: "answered 500" in [each["said"] for each in quick.get("/v1/alert-messages", **told_of).json()],
        "the failure is not noted",
    )
    receiver.mode = 204
    sent = no_more(quick, made["id"])
    assert sum(each["times"] for each in receiver.said) == 2
    assert [each["state"] for each in sent] == ["sent"] * len(receiver.got)
    assert sent[0]["attempts"] > 1
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == len(receiver.got)
    text = quick.get("/metrics").text
    assert 'safebandit_alerts_total{channel="webhook",result="failed"}' in text


def test_a_receiver_that_is_away_and_comes_back(quick):
    path = quick.create("away")
    with receiving() as gone:
        port = gone.port
        made = alert(quick, gone, trial="away", kinds=["amendment"])
    quick.post(f"{path}/amendments", {"reason": "so", "alpha": 0.5})

    def tried():
        found = quick.get("/v1/alert-messages", params={"alert": made["id"]}).json()
        return found and found[0]["attempts"] > 2 and "cannot be reached" in (found[0]["said"] or "")

    ask_again_until(tried, "it is not tried")
    with receiving(port) as back:
        assert told(back)[0]["trial"] == "away"


def test_a_receiver_that_hangs_delays_nobody_else(quick, receiver):
    path = quick.create("hangs")
    with receiving() as stuck:
        stuck.mode = "hang"
        alert(quick, stuck, trial="hangs", kinds=["amendment"])
        alert(quick, receiver, trial="hangs", kinds=["amendment"])
        quick.post(f"{path}/amendments", {"reason": "so", "alpha": 0.5})
        assert stuck.begun.acquire(timeout=60)
        # While it hangs, units are given arms, and others are told.
        for unit in range(20):
            assert quick.post(f"{path}/units", {"unit": str(unit)}).status_code == 201
        assert told(receiver)
        assert stuck.got == []


@pytest.mark.parametrize(
    ("mode", "seconds", "message"),
    [
        ("hang", 0.2, "no answer within 0.2 s"),
        ("drip", 0.2, "no answer within 0.2 s"),
        ("redirect", 60, "answered 302"),
        (503, 60, "answered 503"),
    ],
)
def test_an_attempt_ends_in_time_and_follows_no_redirect(receiver, mode, seconds, message):
    receiver.mode = mode
    with pytest.raises(FailedError, match=message) as failed:
        post(receiver.url, "whsec_MTIz", "msg_1", "{}", seconds=seconds)
    assert not failed.value.final
    assert receiver.got == []


def test_an_answer_without_end_is_not_read_to_its_end(receiver):
    receiver.mode = "flood"
    assert post(receiver.url, "whsec_MTIz", "msg_1", "{}", seconds=60) == "answered 200"


def test_a_receiver_that_is_gone_for_good_is_asked_once(quick, receiver):
    path = quick.create("gone")
    made = alert(quick, receiver, trial="gone", kinds=["amendment"])
    receiver.mode = 410
    quick.post(f"{path}/amendments", {"reason": "so", "alpha": 0.5})
    (message,) = no_more(quick, made["id"])
    assert (message["state"], message["attempts"], message["said"]) == ("given up", 1, "answered 410")


def test_attempts_are_bounded(tmp_path, receiver):
    receiver.mode = 500
    with serving(tmp_path / "trials.db", pace=QUICK._replace(attempts=3)) as served:
        path = served.create("knee")
        made = alert(served, receiver, kinds=["amendment"])
        served.post(f"{path}/amendments", {"reason": "so", "alpha": 0.5})
        (message,) = no_more(served, made["id"])
        assert 'result="given up"} 1.0' in served.get("/metrics").text
    assert (message["state"], message["attempts"]) == ("given up", 3)


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("169.254.169.254", False),
        ("::ffff:169.254.169.254", False),
        ("fe80::1%eth0", False),
        ("224.0.0.1", False),
        ("0.0.0.0", False),
        ("8.8.8.8", True),
        ("2001:4860:4860::8888", True),
    ],
)
def test_addresses_that_nothing_is_sent_to(address, plain):
    with pytest.raises(FailedError, match="its host has the address"):
        refuse_address(address, plain=plain)


@pytest.mark.parametrize(
    ("address", "plain"), [("127.0.0.1", True), ("::1", True), ("10.1.2.3", True), ("8.8.8.8", False)]
)
def test_addresses_that_something_is_sent_to(address, plain):
    refuse_address(address, plain=plain)


def test_what_happens_in_a_quiet_time_is_told_together(tmp_path, receiver):
    with serving(tmp_path / "trials.db", pace=QUICK) as served:
        path = served.create("knee")
        made = alert(served, receiver, kinds=["amendment"], quiet=3600)
        for alpha in (0.4, 0.5, 0.6, 0.7):
            served.post(f"{path}/amendments", {"reason": "so", "alpha": alpha})
            told(receiver)

        def both():
            found = served.get("/v1/alert-messages", params={"alert": made["id"]}).json()
            return found if "3 times" in found[0]["message"] else None

        later, first = ask_again_until(both, "they are not told together")
    assert (later["state"], later["attempts"], first["state"]) == ("waiting", 0, "sent")
    assert later["due"] - first["made"] == pytest.approx(3600)
    assert later["message"] == 'trial "knee" was amended (3 times since event 3)'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"target": "ftp://host/x"}, "a webhook's address is such as"),
        ({"target": "https://user:word@host/"}, "a webhook's address is such as"),
        ({"target": "https://host/a b"}, "a webhook's address is such as"),
        ({"target": "https://host/\r\nx"}, "a webhook's address is such as"),
        ({"channel": "email", "target": "a@b.example\nBcc: c@d.example"}, "an e-mail address is such as"),
        ({"channel": "email", "target": "a@b.example,c@d.example"}, "an e-mail address is such as"),
        ({"kinds": ["waiting"]}, "waiting needs the seconds"),
        ({"kinds": ["hold"], "patience": 3}, "waiting needs the seconds"),
        ({"kinds": []}, "kinds"),
        ({"kinds": ["holds"]}, "kinds.0"),
        ({"patience": -1}, "patience"),
        ({"trial": "nowhere"}, 'there is no trial "nowhere"'),
        ({"role": "root"}, "role"),
    ],
)
def test_a_wrong_alert_is_refused(quick, body, message):
    before = len(quick.get("/v1/alerts").json())
    refused = quick.post("/v1/alerts", {"channel": "webhook", "target": "https://host.example/x", **body})
    assert refused.status_code in (404, 422)
    assert message in refused.json()["message"]
    assert len(quick.get("/v1/alerts").json()) == before


@pytest.mark.parametrize("role", ["operator", "viewer", "auditor"])
def test_alerts_are_for_admins(quick, role):
    for method, path in (("GET", ""), ("POST", ""), ("DELETE", f"/{'0' * 16}")):
        assert quick.request(method, f"/v1/alerts{path}", {}, role=role).status_code in (403, 422)
    assert quick.get("/v1/alerts", role=role).status_code == 403
    assert quick.post(f"/v1/alerts/{'0' * 16}/test", {}, role=role).status_code == 403


def test_the_client_has_alerts(quick, receiver):
    with Client(quick.url, quick.keys["admin"]) as client:
        made = client.new_alert("webhook", receiver.url, quiet=0)
        assert made["secret"].startswith("whsec_")
        client.test_alert(made["id"])
        assert told(receiver)[0]["kind"] == "test"
        assert no_more(quick, made["id"])[0]["kind"] == "test"
        assert client.messages(alert=made["id"])[0]["state"] == "sent"
        shown = next(each for each in client.alerts() if each["id"] == made["id"])
        assert "a-secret" not in json.dumps(shown)
        assert client.remove_alert(made["id"])["removed"]


def test_alerts_are_in_the_audit_chain_and_a_changed_one_is_found(tmp_path):
    database = tmp_path / "trials.db"
    with Ledger(database) as ledger:
        made, secret = Alerts(ledger).create("webhook", "https://host.example/a-secret", actor="me")
        gone, _ = Alerts(ledger).create("email", "desk@clinic.example", kinds=["stop"], actor="me")
        Alerts(ledger).remove(gone.id, actor="you")
        log = ledger.registry()
        assert [(event.actor, event.kind) for event in log[1:]] == [
            ("me", "alert made"),
            ("me", "alert made"),
            ("you", "alert removed"),
        ]
        assert secret not in log[1].body
        assert "a-secret" not in log[1].body
        assert verify_database(ledger).holds
    for change in ("target = 'https://host.example/elsewhere'", "secret = 'whsec_'", "kinds = '[]'", "removed = '1'"):
        with sqlite3.connect(database) as connection:
            before = connection.execute("SELECT * FROM alerts WHERE id = ?", [made.id]).fetchone()
            connection.execute(f"UPDATE alerts SET {change} WHERE id = ?", [made.id])
        with Ledger(database) as ledger:
            assert "is not what the database's own log gives" in verify_database(ledger).problem
        with sqlite3.connect(database) as connection:
            connection.execute("DELETE FROM alerts WHERE id = ?", [made.id])
            connection.execute(f"INSERT INTO alerts VALUES ({', '.join('?' * len(before))})", before)
        connection.close()


def test_a_service_that_is_killed_before_it_sends_loses_nothing(tmp_path, receiver):
    receiver.mode = "hang"
    with Service(tmp_path / "trials.db") as service:
        trial = {"name": "knee", "arms": ["a", "b"], "alpha": 0.2, "policy": "docb", "seed": 1}
        service.post("/v1/trials", trial)
        service.post("/v1/alerts", {"channel": "webhook", "target": receiver.url, "quiet": 0})
        service.post("/v1/trials/knee/amendments", {"reason": "so", "alpha": 0.3})
        assert receiver.begun.acquire(timeout=60)
        service.kill()
    # What happens while no service runs is told when one does.
    with Ledger(tmp_path / "trials.db") as ledger:
        ledger.amend("knee", reason="so", alpha=0.4)
    receiver.mode = 204
    receiver.let.set()
    with Service(tmp_path / "trials.db", key=service.key) as again:
        ask_again_until(lambda: {2, 3} <= {each["event"] for each in receiver.said}, "it is lost")
        listed = again.get("/v1/alert-messages")[1]
        assert again.stop() == 0
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == len(listed) == 2


def test_the_command_line(tmp_path, receiver, command):
    database = str(tmp_path / "trials.db")
    with Ledger(database):
        pass
    assert "got neither" in command("alert", "new", "--db", database).err
    made = command("alert", "new", "--webhook", receiver.url, "--about", "hold, stop", "--db", database)
    assert made.status == 0
    assert made.out.startswith("whsec_")
    assert "a-secret" not in made.err
    (listed,) = json.loads(command("alert", "list", "--json", "--db", database).out)
    assert (listed["kinds"], listed["address"]) == (["hold", "stop"], receiver.url[: receiver.url.index("/alerts")])
    with serving(database, pace=QUICK):
        tested = command("alert", "test", listed["id"], "--db", database)
    assert (tested.status, tested.out) == (0, f"sent to {listed['address']}: answered 204\n")
    assert "only a test" in command("alert", "log", "--db", database).out
    assert json.loads(command("alert", "log", listed["id"], "--json", "--db", database).out)[0]["state"] == "sent"
    assert command("alert", "remove", listed["id"], "--db", database).status == 0
    assert "was removed" in command("alert", "test", listed["id"], "--db", database).err
    assert "alert removed" in command("trial", "log", "--db", database).out
    assert "there is no alert" in command("alert", "remove", "no", "--db", database).err


def test_a_verification_by_hand_that_fails_is_told(tmp_path, command, receiver):
    database = tmp_path / "trials.db"
    with Ledger(database) as ledger:
        from safebandit.trials.record import Settings

        ledger.create("knee", Settings.read(["a", "b"], 0.2, seed=1))
        ledger.ask("knee", "1")
        Alerts(ledger).create("webhook", receiver.url, role="auditor")
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE units SET arm = 'c'")
    connection.close()
    assert command("trial", "verify", "knee", "--db", str(database)).status == 1
    with serving(database, pace=QUICK) as served:
        (said,) = told(receiver)
        assert "in the table units is not what the log gives" in said["problem"]
        # The service's own verification tells as well.
        Alerts(served.app.state.ledger).create("webhook", receiver.url, kinds=["verification"], actor="me")
        assert served.get("/v1/trials/knee/verification").json()["holds"] is False
        assert told(receiver, 2)[1]["message"] == 'trial "knee" fails verification'


def test_too_many_alerts_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("safebandit.service.alerts.rules.MOST_ALERTS", 1)
    with Ledger(tmp_path / "trials.db") as ledger:
        Alerts(ledger).create("email", "a@b.example")
        with pytest.raises(TrialError, match="at most 1 alerts"):
            Alerts(ledger).create("email", "a@b.example")


def test_a_rule_that_pauses_or_routes_is_told_and_a_person_who_does_is_not(quick, receiver):
    made = alert(quick, receiver, kinds=["guard"], role="auditor")
    design = {"arms": ["a", "b"], "alpha": 0.3, "policy": "equal", "units": 20, "control": "a", "pending_cap": 20,
              "stop": [{"rule": "too-many-harms", "harms": 1, "then": "route"}]}  # fmt: skip
    assert quick.post("/v1/trials", {"name": "guarded", "design": design}).status_code == 201
    path = "/v1/trials/guarded"
    assert quick.post(f"{path}/pause", {"reason": "lunch"}).status_code == 201
    assert quick.post(f"{path}/resume", {"reason": "back"}).status_code == 201
    assert quick.post(f"{path}/units", {"unit": "p1"}).status_code == 201
    assert quick.post(f"{path}/outcomes", {"unit": "p1", **HARM}).status_code == 201
    (said,) = told(receiver)
    assert (said["alert"], said["kind"], said["rule"]) == (made["id"], "guard", "too-many-harms")
    assert "gives every unit its control" in said["message"]


def hold_in(served, path, site):
    """Have a stratum of a trial hold: every arm has done harm in it."""
    for unit in range(20):
        asked = {"unit": f"patient {site} {unit}", "stratum": {"site": site}}
        if served.post(f"{path}/units", asked).json()["held"]:
            return
        served.post(f"{path}/outcomes", {"unit": asked["unit"], **HARM})
    raise AssertionError("it does not hold")


def test_a_stratum_that_holds_is_told_by_name(quick, receiver):
    made = alert(quick, receiver, kinds=["hold"], trial=None)
    path = quick.create("by-site", arms=["x", "y"], alpha=0.01, strata={"site": ["a", "b", "c"]})
    hold_in(quick, path, "b")
    (said,) = told(receiver)
    assert said["message"] == 'trial "by-site" holds in the stratum site=b: no arm is permissible'
    assert said["strata"] == ["site=b"]
    quick.request("DELETE", f"/v1/alerts/{made['id']}")


def test_strata_that_hold_in_a_quiet_time_are_told_together(quick, receiver):
    made = alert(quick, receiver, kinds=["hold"], quiet=1.0)
    path = quick.create("sites", arms=["x", "y"], alpha=0.01, strata={"site": ["a", "b", "c"]})
    hold_in(quick, path, "b")
    told(receiver)
    hold_in(quick, path, "c")
    hold_in(quick, path, "a")
    last = told(receiver, 2)[1]
    assert set(last["strata"]) == {"site=a", "site=c"}
    assert 'trial "sites" holds in the stratum site=' in last["message"]
    quick.request("DELETE", f"/v1/alerts/{made['id']}")


def test_a_stratum_that_waits_too_long_is_told_by_name(quick, receiver):
    made = alert(quick, receiver, kinds=["waiting"], patience=0.05)
    path = quick.create("slow-site", arms=["x"], pending_cap=1, strata={"site": ["a", "b"]})
    for unit in ("patient 1", "patient 2"):
        quick.post(f"{path}/units", {"unit": unit, "stratum": {"site": "a"}})

    def found():
        mine = [each["message"] for each in receiver.said if each["trial"] == "slow-site"]
        return any("in the stratum site=a all arms that may be given wait for outcomes" in each for each in mine)

    ask_again_until(found, "it is not told")
    quick.request("DELETE", f"/v1/alerts/{made['id']}")
