"""The pages without a browser: every role against every address, forged forms, cookies, and what is never shown."""

import re

import httpx
import pytest

from safebandit.errors import NotFoundError, RecordError
from safebandit.service.access import COOKIE
from safebandit.service.page import screens, views
from safebandit.service.roles import ROLES
from safebandit.trials.descriptions import describe
from safebandit.trials.events import now, seal
from safebandit.trials.record import Settings
from safebandit.trials.record.overview import overview
from servers.service import SECONDS

from ..browser.serving import serving
from .conftest import TRUSTS_NOBODY

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
    with httpx.Client(base_url=service.url, verify=TRUSTS_NOBODY) as made:
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
    "/trials/knee/analysis": {"admin", "viewer", "auditor"},
    "/trials/knee/rehearsal": {"admin"},
    "/trials/knee/units": {"admin", "auditor"},
    "/trials/knee/log": {"admin", "auditor"},
    "/trials/knee/log/2": {"admin", "auditor"},
    "/keys": {"admin"},
    "/worklist": {"admin", "operator"},
    "/worklist?trial=knee": {"admin", "operator"},
    "/alerts": {"admin"},
    "/alerts?trial=knee": {"admin"},
}
POSTS = {
    "/trials": {"admin"},
    "/trials/knee/ask": {"admin", "operator"},
    "/trials/knee/tell": {"admin", "operator"},
    "/trials/knee/correct": {"admin"},
    "/trials/knee/give-up": {"admin"},
    "/trials/knee/void": {"admin"},
    "/trials/knee/amend": {"admin"},
    "/trials/knee/rehearsal": {"admin"},
    "/trials/knee/units": {"admin", "auditor"},
    "/trials/knee/pause": {"admin"},
    "/trials/knee/resume": {"admin"},
    "/trials/knee/close": {"admin"},
    "/trials/knee/log/verify": {"admin", "auditor"},
    "/keys": {"admin"},
    "/keys/0000000000000000/revoke": {"admin"},
    "/worklist": {"admin", "operator"},
    "/alerts": {"admin"},
    "/alerts/0000000000000000/test": {"admin"},
    "/alerts/0000000000000000/remove": {"admin"},
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
            assert answer.status_code in (200, 404, 422) or path == "/worklist" or path.endswith("/resume"), path
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
    for path in ("/trials/knee/ask", "/sign-in", "/sign-out", "/keys", "/worklist"):
        answer = client.post(path, data={"unit": "forged", "name": "forged", "role": "admin"}, headers=headers)
        assert answer.status_code == 403
        assert "must be sent from this site" in answer.text
    with pytest.raises(NotFoundError):
        service.ledger.unit("knee", "forged")


def test_a_form_of_this_site_is_known_by_its_origin_too(service, sign_in):
    answer = sign_in("operator").post("/trials/knee/ask", data={"unit": " unit-1 "}, headers={"Origin": service.url})
    assert answer.status_code == 200, answer.text
    assert "Unit unit-1 gets: " in answer.text


def test_a_new_unit_is_asked_about_before_it_is_given_an_arm(service, sign_in):
    service.create("enrolling")
    client, before = sign_in("operator"), service.ledger.state("enrolling").number

    def ask(**typed):
        return client.post("/trials/enrolling/ask", data={"unit": " brand-new ", **typed}, headers=OURS)

    for typed in ({}, {"new": "brand-newt"}):
        answer = ask(**typed)
        assert answer.status_code == 200
        assert "Unit brand-new is new: it was never asked for in this trial." in answer.text
        assert '<input type="hidden" name="new" value="brand-new">' in answer.text
        assert service.ledger.state("enrolling").number == before
    assert ask(new="brand-new").status_code == 303
    assert service.ledger.unit("enrolling", "brand-new").round == 1
    again = ask()
    assert again.status_code == 200
    assert "Unit brand-new gets: " in again.text
    assert service.ledger.state("enrolling").number == before + 1


def test_nobody_is_asked_about_a_unit_that_gets_no_arm(service, sign_in):
    client = sign_in("operator")
    answer = client.post("/trials/knee/ask", data={"unit": "x" * 201}, headers=OURS)
    assert answer.status_code == 422
    assert "must have 1 to 200 characters" in answer.text
    service.create("shut")
    service.ledger.set_status("shut", "close", reason="the end", actor="tests")
    answer = client.post("/trials/shut/ask", data={"unit": "late"}, headers=OURS)
    assert answer.status_code == 409
    assert "is new" not in answer.text


def test_the_desk_sees_its_own_pending_units_only(service, sign_in):
    service.create("shared")
    (own,) = (key.actor for key in service.app.state.keys.all() if key.role == "operator")
    for unit, actor in (("mine", own), ("mine-told", own), ("of-another", "another desk")):
        service.ledger.ask("shared", unit, actor=actor)
    service.ledger.tell("shared", "mine-told", reward=1, risk=0, actor="another desk")
    client = sign_in("operator")
    for path in ("/trials/shared", "/trials/shared/live"):
        text = client.get(path).text
        assert re.findall(r'<th scope="row"><span class="cut" title="([^"]*)"', text) == ["mine"], path
    assert "of-another" in sign_in("auditor").get("/trials/shared").text
    assert "pending-h" not in sign_in("viewer").get("/trials/shared").text


def test_a_trial_that_gives_no_arm_is_not_called_open(service, sign_in):
    """Nor is it before anyone asked in vain: two outcomes have ruled out every arm."""
    service.create("ruled-out", alpha=0.05, policy="docb")
    with service.ledger.writing() as writing:
        trial = writing.trial("ruled-out")
        for n in range(100):
            if trial.state.allocator.chances(trial.state.round, 1).held == 1:
                break
            trial.ask(f"u{n}", actor="tests")
            trial.tell(f"u{n}", reward=1, risk=1, actor="tests")
    client = sign_in("auditor")
    seen = client.get("/trials/ruled-out").text
    assert views.head(service.ledger, "ruled-out").holding is None
    assert "<strong>On hold: no arm is permissible</strong>" in seen
    assert "open</span>" not in seen
    assert "Propensities: exact." in seen
    service.ledger.ask("ruled-out", "in vain", actor="tests")
    seen = client.get("/trials/ruled-out").text
    assert "<strong>On hold: no arm is permissible</strong>" in seen
    assert "open</span>" not in seen
    row = re.search(r'id="to-ruled-out".*?</tr>', client.get("/").text, re.DOTALL)[0]
    assert "on hold: no arm is permissible" in row
    assert "open" not in row


def test_a_rule_that_gives_an_arm_all_the_same_is_no_hold(service, sign_in):
    service.create("all-the-same", alpha=0.05, policy="docb:when_none=low")
    service.run("all-the-same", 12, risk=1.0)
    seen = sign_in("auditor").get("/trials/all-the-same").text
    assert "<strong>No arm is permissible: the policy&#39;s rule gives one</strong>" in seen
    assert "open</span>" in seen


def test_theory_that_says_nothing_is_not_shown(service, sign_in):
    """Leading terms that count on more plays than there are units."""
    service.create("short", policy="docb", pending_cap=9)
    with service.ledger.writing() as writing:
        for n in range(12):
            arm = writing.trial("short").ask(f"u{n}", actor="tests").arm
            writing.trial("short").tell(f"u{n}", reward=0.5 if arm == "low" else 0.3, risk=0.0, actor="tests")
    seen = sign_in("viewer").get("/trials/short").text
    assert re.search(r"12 units \(now\)</th><td[^>]*>says nothing yet</td>", seen)
    assert re.search(r"120 units</th><td[^>]*>[0-9.]+</td>", seen)


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
    """Another's event is not the desk's own, whatever the address says of it."""
    for path in ("?done=tell&event=2", "?done=ask&event=2", "?done=tell&of=2", "?done=give-up&of=3"):
        for role in ("viewer", "operator"):
            shown = sign_in(role).get(f"/trials/knee{path}").text
            assert not re.search("unit-[01]|gets: |Written as", shown), (role, path)
    assert 'value="unit-1"' in sign_in("admin").get("/trials/knee?done=tell&of=2").text
    assert "Unit unit-1 gets: " in sign_in("admin").get("/trials/knee?done=ask&event=2").text


def test_no_address_has_the_id_of_a_unit(service, sign_in):
    """Of all that a desk does and of all that its page links to: addresses are kept by browsers and proxies."""
    service.create("addresses", pending_cap=2)
    client = sign_in("admin")
    seen = [client.get("/trials/addresses").text]
    for n in range(8):
        typed = {"unit": f"Jane Doe {n}", "new": f"Jane Doe {n}"}
        answer = client.post("/trials/addresses/ask", data=typed, headers=OURS)
        seen.append(answer.text + answer.headers.get("location", ""))
        if answer.status_code == 303:
            shown = client.get(answer.headers["location"].partition("#")[0]).text
            assert f"Unit Jane Doe {n} gets: " in shown
            seen.append(shown)
    assert "Unit Jane Doe 7 gets no arm: " in seen[-1]
    told = client.post("/trials/addresses/tell", data={"unit": "Jane Doe 0", "reward": "1"}, headers=OURS)
    seen += [told.headers["location"], client.get("/trials/addresses/units").text]
    found = client.post("/trials/addresses/units", data={"unit": "Jane Doe 1"}, headers=OURS).text
    assert "Jane Doe 1" in found
    addresses = re.findall(r'(?:href|action|data-live)="([^"]*)"', "".join([*seen, found]))
    addresses.append(told.headers["location"])
    assert any("of=" in each for each in addresses)
    assert not [each for each in addresses if "Jane" in each or "Doe" in each]
    assert 'method="get"' not in "".join(seen)


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


def test_the_page_of_a_unit_that_was_voided_later_says_so(service, sign_in):
    service.create("mistaken")
    for unit in ("meant", "misspelt"):
        service.ledger.ask("mistaken", unit, actor="tests")
    asked = {unit: service.ledger.unit("mistaken", unit).asked_at for unit in ("meant", "misspelt")}
    client = sign_in("auditor")
    assert "voided" not in client.get(f"/trials/mistaken/log/{asked['misspelt']}").text
    with service.ledger.writing() as writing:
        number = writing.trial("mistaken").void("misspelt", reason="a typing error", actor="tests").event
    assert (
        f'voided later</strong>, by <a href="/trials/mistaken/log/{number}"'
        in client.get(f"/trials/mistaken/log/{asked['misspelt']}").text
    )
    assert "voided" not in client.get(f"/trials/mistaken/log/{asked['meant']}").text


def test_units_are_planned_and_a_pattern_of_ids_is_cleared_on_the_page(service, sign_in):
    client = sign_in("admin")
    typed = {"name": "planned", "arms": "low\nhigh", "alpha": ".2", "ids": "P-[0-9]", "units": "400"}
    # Its policy may be compiled first.
    assert client.post("/trials", data=typed, headers=OURS, timeout=SECONDS).status_code == 303
    made = service.ledger.state("planned").settings
    assert made == Settings.read(["low", "high"], 0.2, ids="P-[0-9]", units=400, seed=made.seed)
    assert "units=400" in made.policy
    refused = client.post("/trials", data={**typed, "name": "other", "units": "many"}, headers=OURS)
    assert "planned units must be a whole number, got &#39;many&#39;" in refused.text

    def amend(**changes):
        return client.post("/trials/planned/amend", data={"reason": "other ids", **changes}, headers=OURS)

    both = amend(ids="Q-[0-9]", any_ids="yes")
    assert both.status_code == 422
    assert "either any id is taken or a pattern is given" in both.text
    assert amend(pending_cap="5").status_code == 303
    assert service.ledger.state("planned").settings.ids == "P-[0-9]"
    assert amend(any_ids="yes").status_code == 303
    assert service.ledger.state("planned").settings.ids == ""
    assert "any_ids" not in client.get("/trials/planned").text


def test_units_are_listed_and_found(service, sign_in):
    client = sign_in("auditor")
    rows = re.compile(r'title="(unit-\w+)">')
    assert rows.findall(client.get("/trials/knee/units?before=4").text) == ["unit-3", "unit-2", "unit-1"]
    found = client.post("/trials/knee/units", data={"unit": " unit-late "}, headers=OURS).text
    assert rows.findall(found) == ["unit-late"]
    assert "pending" in found
    assert client.post("/trials/knee/units", data={"unit": "never"}, headers=OURS).status_code == 404


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


def test_a_wait_for_the_compiler_is_said_at_every_form_that_may_compile(sign_in):
    """Said before the form is sent, and with its button for those who hear the page."""
    client = sign_in("admin")
    shown = client.get("/").text + client.get("/trials/knee").text
    for form, button in (
        ("create", "Create the trial"), ("create-by-design", "Create it by this design"), ("amend", "Amend"),
    ):  # fmt: skip
        said = re.search(rf'<p class="note" id="{form}-wait">(.*?)</p>', shown)[1]
        assert "takes some seconds: its formulas are compiled, once for this version" in said
        assert f'<button aria-describedby="{form}-wait">{button}</button>' in shown
    # Those who change nothing of it need not read it.
    assert "are compiled" not in sign_in("operator").get("/trials/knee").text
