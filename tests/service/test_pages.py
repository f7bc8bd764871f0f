"""The pages without a browser: every role against every address, forged forms, cookies, and what is never shown."""

import re

import httpx
import pytest

from safebandit.errors import RecordError
from safebandit.service.access import COOKIE
from safebandit.service.keys import ROLES
from safebandit.service.page import screens, views
from safebandit.trials.descriptions import describe
from safebandit.trials.events import now, seal
from safebandit.trials.record import Settings
from safebandit.trials.record.overview import overview

from ..browser.serving import serving

OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("record") / "trials.db") as running:
        running.create("knee")
        running.run("knee", 24)
        running.ledger.ask("knee", "unit-late", actor="tests")
        yield running


@pytest.fixture
def client(service):
    with httpx.Client(base_url=service.url) as made:
        yield made


@pytest.fixture
def sign_in(service, client):
    def enter(role):
        client.cookies.clear()
        if role is not None:
            answer = client.post("/sign-in", data={"key": service.keys[role]}, headers=OURS)
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
        return client

    return enter


ALLOWED = {
    "/": set(ROLES),
    "/live": set(ROLES),
    "/trials/knee": set(ROLES),
    "/trials/knee/live": set(ROLES),
    "/trials/knee/arms": {"admin", "viewer", "auditor"},
    "/trials/knee/units": {"admin", "auditor"},
    "/trials/knee/units?unit=unit-3": {"admin", "auditor"},
    "/trials/knee/log": {"admin", "auditor"},
    "/trials/knee/log/2": {"admin", "auditor"},
    "/keys": {"admin"},
}
POSTS = {
    "/trials": {"admin"},
    "/trials/knee/ask": {"admin", "operator"},
    "/trials/knee/tell": {"admin", "operator"},
    "/trials/knee/correct": {"admin"},
    "/trials/knee/give-up": {"admin"},
    "/trials/knee/void": {"admin"},
    "/trials/knee/amend": {"admin"},
    "/trials/knee/pause": {"admin"},
    "/trials/knee/resume": {"admin"},
    "/trials/knee/close": {"admin"},
    "/trials/knee/log/verify": {"admin", "auditor"},
    "/keys": {"admin"},
    "/keys/0000000000000000/revoke": {"admin"},
}


@pytest.mark.parametrize("role", [None, *ROLES])
def test_every_role_against_every_page(sign_in, role):
    client = sign_in(role)
    for path, allowed in ALLOWED.items():
        answer = client.get(path)
        if role is None and not path.endswith("/live"):
            assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, "/sign-in"), path
        else:
            assert answer.status_code == (401 if role is None else 200 if role in allowed else 403), path
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("role", [None, *ROLES])
def test_every_role_against_every_form(service, sign_in, role):
    """Empty forms: who may send them is told what is wrong with them, nobody changes anything."""
    client = sign_in(role)
    before = service.ledger.state("knee").number
    for path, allowed in POSTS.items():
        answer = client.post(path, data={}, headers=OURS)
        if role is None:
            assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, "/sign-in"), path
        elif role in allowed:
            assert answer.status_code in (200, 404, 422) or path.endswith("/resume"), path
        else:
            assert answer.status_code == 403, path
    assert service.ledger.state("knee").number == before


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:81"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_of_another_site_is_refused(service, sign_in, headers):
    client = sign_in("admin")
    for path in ("/trials/knee/ask", "/sign-in", "/sign-out", "/keys"):
        answer = client.post(path, data={"unit": "forged", "name": "forged", "role": "admin"}, headers=headers)
        assert answer.status_code == 403
        assert "must be sent from this site" in answer.text
    assert views.arm_of(service.ledger, "knee", "forged") is None


def test_a_form_of_this_site_is_known_by_its_origin_too(service, sign_in):
    answer = sign_in("operator").post("/trials/knee/ask", data={"unit": " unit-1 "}, headers={"Origin": service.url})
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"] == "/trials/knee?done=ask&unit=unit-1#ask"


@pytest.mark.parametrize(("scheme", "secure"), [("http", False), ("https", True)])
def test_the_cookie_is_for_this_site_and_not_for_scripts(service, client, scheme, secure):
    text = service.keys["viewer"]
    answer = client.post("/sign-in", data={"key": text}, headers={**OURS, "X-Forwarded-Proto": scheme})
    cookie = answer.headers["set-cookie"].lower()
    assert text not in answer.headers["set-cookie"]
    assert all(part in cookie for part in (COOKIE, "httponly", "samesite=strict", "path=/", "max-age=43200"))
    assert ("secure" in cookie) == secure


@pytest.mark.parametrize(
    "next", ["//evil.example", "https://evil.example/", "/\\evil.example", "/trials/../x", "/v1/a"]
)
def test_signing_in_leads_to_pages_of_this_site_only(service, client, next):
    answer = client.post("/sign-in", data={"key": service.keys["viewer"], "next": next}, headers=OURS)
    assert answer.headers["location"] == "/"


def test_signing_out_makes_the_token_worthless(sign_in):
    client = sign_in("viewer")
    token = client.cookies[COOKIE]
    client.post("/sign-out", headers=OURS)
    client.cookies.clear()
    assert client.get("/", headers={"Cookie": f"{COOKIE}={token}"}).status_code == 303


def test_nothing_is_sent_while_nothing_changes(service, sign_in):
    client = sign_in("viewer")
    number = service.ledger.state("knee").number
    assert client.get(f"/trials/knee/live?after={number}").status_code == 204
    answer = client.get(f"/trials/knee/live?after={number - 1}")
    assert (answer.status_code, answer.headers["x-mark"]) == (200, str(number))
    mark = re.search(r'data-mark="([^"]*)"', client.get("/").text)[1]
    assert client.get(f"/live?after={mark}").status_code == 204
    assert client.get("/live?after=other").status_code == 200


def test_a_viewer_sees_whole_blocks_only(sign_in):
    spans = re.compile(r'<th scope="row">([\d,]+–[\d,]+)</th>')
    assert spans.findall(sign_in("viewer").get("/trials/knee").text) == ["1–10", "11–20"]
    assert spans.findall(sign_in("auditor").get("/trials/knee").text) == ["1–10", "11–20", "21–25"]


def test_an_address_does_not_tell_what_a_role_may_not_know(sign_in):
    hidden = "/trials/knee?done=tell&event=2", "/trials/knee?done=ask&unit=unit-1"
    assert all("unit-0" not in sign_in("viewer").get(path).text for path in hidden)
    assert "gets: " not in sign_in("viewer").get(hidden[1]).text
    # Another's event is not the desk's own; what a unit was given it may ask again.
    assert "Written as" not in sign_in("operator").get(hidden[0]).text
    assert "Unit unit-1 gets: " in sign_in("operator").get(hidden[1]).text
    assert "was not asked for" in sign_in("operator").get("/trials/knee?done=ask&unit=never").text


def test_chances_that_tell_the_next_arm_are_not_shown(service, client):
    assert screens.chances_shown(overview(service.ledger, "knee"))
    service.ledger.create("sure", Settings.read(["a", "b"], 0.5, policy="docb", seed=1), actor="Ada")
    sure = overview(service.ledger, "sure")
    assert [arm.propensity for arm in sure.arms] == [None, None]
    assert not screens.chances_shown(sure)


def test_an_unknown_trial_is_a_page_that_says_so(sign_in):
    answer = sign_in("admin").get("/trials/kne")
    assert answer.status_code == 404
    assert "there is no trial &#34;kne&#34;; did you mean &#34;knee&#34;" in answer.text
    assert sign_in("admin").get("/trials/knee/log?before=x").status_code == 422
    assert sign_in("admin").get("/trials/knee/log/999").status_code == 404
    assert sign_in("admin").get("/trials/knee/amend").headers["location"] == "/trials/knee"


def test_the_log_is_paged(service, sign_in):
    client = sign_in("auditor")
    numbers = re.compile(r'/log/(\d+)">')
    first = [int(n) for n in numbers.findall(client.get("/trials/knee/log").text)]
    last = service.ledger.state("knee").number
    assert first == list(range(last, last - screens.PER_PAGE, -1))
    assert [int(n) for n in numbers.findall(client.get("/trials/knee/log?before=3").text)] == [2, 1]


def test_a_database_that_fails_says_so_without_its_own_words(service, sign_in, monkeypatch):
    client = sign_in("admin")

    def fails(*_):
        raise RecordError("the database failed: no route to secret-host") from OSError()

    monkeypatch.setattr(views, "heads", fails)
    answer = client.get("/")
    assert answer.status_code == 503
    assert "nothing of this was written; try again" in answer.text
    assert "secret-host" not in answer.text


def test_units_are_listed_and_found(service, sign_in):
    client = sign_in("auditor")
    rows = re.compile(r'title="(unit-\w+)">')
    assert rows.findall(client.get("/trials/knee/units?before=4").text) == ["unit-3", "unit-2", "unit-1"]
    found = client.get("/trials/knee/units?unit=unit-late").text
    assert rows.findall(found) == ["unit-late"]
    assert "pending" in found
    assert client.get("/trials/knee/units?unit=never").status_code == 404


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "a b", "a trial&#39;s name is 1 to 64"),
        ("alpha", "", "alpha must be a number"),
        ("alpha", "high", "alpha must be a number such as 0.2, got &#39;high&#39;"),
        ("alpha", "2", "alpha must lie in [0, 1], got 2"),
        ("arms", "a\na", "names of arms must differ"),
        ("arms", "", "at least one arm"),
        ("policy", "tsbuu", "did you mean &#34;tsbu&#34;"),
        ("seed", "-1", "seed must be a whole number"),
        ("pending_cap", "0", "pending_cap must lie between"),
        ("name", "knee", "there is a trial &#34;knee&#34; already"),
    ],
)
def test_a_trial_that_cannot_be_created_says_why_and_keeps_what_was_typed(service, sign_in, field, value, message):
    typed = {"name": "hip", "arms": "one\ntwo", "alpha": "0.2", "policy": "tsbu", "title": "kept <title>", field: value}
    answer = sign_in("admin").post("/trials", data=typed, headers=OURS)
    assert answer.status_code in (409, 422)
    assert message in answer.text
    assert 'value="kept &lt;title&gt;"' in answer.text
    assert "hip" not in service.ledger.names()


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("told", {"unit": "u", "outcome": [None, 0.0]}, "unit u: risk 0"),
        (
            "corrected",
            {"unit": "u", "outcome": [0.5, None], "before": [1.0, None], "reason": "r"},
            "unit u: reward 0.5 in the place of reward 1 (r)",
        ),
        (
            "given up",
            {"unit": "u", "counts_as": "harm", "reason": "r"},
            "unit u: a risk that is not known counts as harm (r)",
        ),
        ("closed", {"reason": "the end"}, "the end"),
        ("held", {"unit": "u", "why": "so"}, "unit u was given no arm: so"),
    ],
)  # fmt: skip
def test_events_in_words(kind, body, words):
    assert describe(seal("t", 1, now(), "a", kind, body, ""), ("risk",)) == words
