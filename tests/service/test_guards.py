"""What stands before every request: limits, bodies that cannot be read, headers, logs and metrics."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

from safebandit.service.access import COOKIE
from safebandit.service.guards import BODY_BYTES
from safebandit.service.logs import JsonLines, Lines
from safebandit.service.rates import MOST_BUCKETS, Buckets, RateLimits
from safebandit.service.refusals import answer
from safebandit.trials.design import Design
from safebandit.trials.record import Ledger, Settings
from servers.service import ask_again_until

from .conftest import WIDE, serving

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def trial(served):
    return served.create("guards")


def send(served, path: str, content, headers=JSON):
    return served.request("POST", path, content=content, headers=headers)


def padded(size: int) -> bytes:
    body = json.dumps({"unit": "padded"}).encode()
    return body + b" " * (size - len(body))


def test_bodies_have_a_limit_whether_their_length_is_said_or_not(served, trial):
    path = f"{trial}/units"
    assert send(served, path, padded(BODY_BYTES)).status_code == 201
    assert send(served, path, iter([padded(BODY_BYTES)])).status_code == 200
    for content in (padded(BODY_BYTES + 1), iter([padded(BODY_BYTES), b" "]), iter([b" " * 1000] * 1000)):
        refused = send(served, path, content)
        assert (refused.status_code, set(refused.json())) == (413, {"error", "message"})
        assert str(BODY_BYTES) in refused.json()["message"]
    assert served.get(f"{trial}/events").json()["events"][-1]["number"] == 2


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\xfd",
        b'{"unit": "\xc3\x28"}',
        b'{"unit": "\xed\xa0\x80"}',
        b"{",
        b"",
        b"null",
        b"[]",
        b'"unit"',
        b'{"unit": "a"',
        b'{"unit": NaN}',
        b"[" * 30_000,
        b'{"unit": ' + b"9" * 5000 + b"}",
        b'{"unit": "\\ud800"}',
        b'{"\\ud800": 1, "unit": "a"}',
        b'{"unit": "a\\u0000b"}',
        b'{"unit": "a\\u200bb"}',
        b'{"unit": "a\\u001fb"}',
        b'{"unit": ""}',
        b'{"unit": "   "}',
        b'{"unit": "' + b"a" * 201 + b'"}',
        b'{"unit": "a", "__proto__": {}}',
    ],
)
def test_bodies_that_cannot_be_read_are_422(served, trial, content):
    refused = send(served, f"{trial}/units", content)
    assert refused.status_code == 422, refused.text
    assert set(refused.json()) == {"error", "message"}
    assert refused.json()["message"]


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-0.0001", b"1.0000001", b"{}"])
def test_numbers_out_of_range_are_422(served, trial, value):
    served.post(f"{trial}/units", {"unit": "number"})
    refused = send(served, f"{trial}/outcomes", b'{"unit": "number", "risk": ' + value + b"}")
    assert refused.status_code == 422


def test_a_large_body_is_refused_even_where_none_is_read(served):
    assert served.request("GET", "/healthz", content=b" " * (BODY_BYTES + 1)).status_code == 413


def test_a_message_with_half_a_surrogate_pair_can_be_sent():
    assert json.loads(answer(422, "invalid", "got \ud800").body)["message"] == r"got \ud800"


def test_another_media_type_is_not_read(served, trial):
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert send(served, f"{trial}/units", b'{"unit": "a"}', {"Content-Type": media}).status_code == 422


NASTY = [
    "'; DROP TABLE events; --",
    '" OR ""="',
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "../../etc/passwd",
    "a/b?c=d&e#f%00%2F",
    "{{7*7}} ${7*7} %s {0}",
    "=cmd|' /C calc'!A0",
    "ключ 钥匙 🗝 Zoë",
]


@pytest.mark.parametrize("text", NASTY)
def test_texts_stay_texts(served, text):
    name = f"texts-{NASTY.index(text)}"
    settings = {"arms": [text, "other"], "risks": [text], "title": text, "alpha": 0.3, "policy": "docb", "seed": 1}
    assert served.post("/v1/trials", {"name": name, **settings}).status_code == 201
    path = f"/v1/trials/{name}"
    key = served.post("/v1/keys", {"name": text, "role": "admin"}).json()
    mine = {"Authorization": f"Bearer {key['key']}"}
    assert served.post(f"{path}/units", {"unit": text}, headers=mine).status_code == 201
    assert served.post(f"{path}/outcomes", {"unit": text, "reward": 1, "risk": {text: 1}}).status_code == 201
    assert served.post(f"{path}/corrections", {"unit": text, "risk": {text: 0}, "reason": text}).status_code == 201
    assert served.post(f"{path}/amendments", {"reason": text, "withdraw": [text]}).status_code == 201
    assert served.post(f"{path}/pause", {"reason": text}).status_code == 201
    unit = served.get(f"{path}/unit", params={"unit": text}).json()
    assert (unit["unit"], unit["risk"]) == (text, {text: 0})
    assert unit["decision"]["actor"] == f"{text} (key {key['id']})"
    seen = served.get(path).json()
    assert (seen["title"], seen["risks"], seen["arms"][0]["arm"]) == (text, [text], text)
    events = served.get(f"{path}/events").json()["events"]
    assert [event["body"]["reason"] for event in events[3:]] == [text] * 3
    assert text in [each["name"] for each in served.get("/v1/keys").json()]
    assert served.post("/v1/trials", {"name": text, "arms": 2, "alpha": 0.1}).status_code == 422
    assert served.get(f"{path}/verification").json()["holds"]


def test_a_nul_in_a_query_or_a_path_is_refused(served, trial):
    assert served.get(f"{trial}/unit?unit=%00").status_code == 422
    assert served.get(f"{trial}/unit?unit=%FF").status_code in (404, 422)
    assert served.get("/v1/trials/%00").status_code == 422
    assert served.get("/v1/trials/..%2F..%2Fetc").status_code in (404, 422)
    assert served.get(f"{trial}/events?after=99999999999999999999").status_code == 422


def test_buckets_fill_with_time_and_are_forgotten():
    now = 0.0
    buckets = Buckets(2.0, 3.0, clock=lambda: now)
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 0]
    assert buckets.take("a") == pytest.approx(0.5)
    assert buckets.take("b") == 0
    now = 0.5
    assert buckets.take("a") == 0
    assert buckets.take("a") == pytest.approx(0.5)
    now = 100.0
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, pytest.approx(0.5)]
    for number in range(MOST_BUCKETS + 5):
        buckets.take(str(number))
    assert len(buckets._buckets) == MOST_BUCKETS


def test_a_key_that_asks_too_often_is_429_and_others_are_not(tmp_path):
    with serving(tmp_path / "trials.db", WIDE._replace(rate=0.01, burst=3)) as served:
        assert [served.get("/v1/trials").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
        refused = served.get("/v1/trials")
        assert 1 <= int(refused.headers["retry-after"]) <= 100
        assert set(refused.json()) == {"error", "message"}
        assert served.get("/v1/trials", role="viewer").status_code == 200
        assert served.get("/healthz", role="admin").status_code == 200
        assert sample(served.get("/metrics", role="viewer").text, "safebandit_rate_limited_total", limit="key") == 3


def test_an_address_that_guesses_is_429_while_keys_in_use_go_on(tmp_path):
    with serving(tmp_path / "trials.db", RateLimits(failures=0.01, failures_burst=3)) as served:
        assert served.get("/v1/trials").status_code == 200
        guess = {"Authorization": "Bearer sb_" + "0" * 16 + "_" + "A" * 43}
        answers = [served.get("/v1/trials", role=None, headers=guess) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert served.get("/v1/trials", role=None).status_code == 401  # no key was shown: nothing was guessed
        assert served.get("/v1/trials").status_code == 200


def test_security_headers_are_on_every_answer(served, trial):
    answers = [
        served.get("/healthz", role=None),
        served.get("/v1/trials"),
        served.get("/v1/trials", role=None),
        served.get("/nothing"),
        served.request("PATCH", "/v1/trials"),
        send(served, f"{trial}/units", padded(BODY_BYTES + 1)),
        served.get("/v1/openapi.json"),
    ]
    for each in answers:
        policy = each.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert each.headers["x-content-type-options"] == "nosniff"
        assert each.headers["referrer-policy"] == "no-referrer"
        assert each.headers["cache-control"] == "no-store"
        assert "server" not in each.headers or "uvicorn" in each.headers["server"]
        assert re.fullmatch("[0-9a-f]{16}", each.headers["x-request-id"])


@pytest.mark.parametrize("given", ["<b>", "a b", "a" * 65, "é", "a;b", ""])
def test_a_request_id_that_could_harm_a_log_is_replaced(served, given):
    answer = served.get("/healthz", headers={"X-Request-ID": given.encode()})
    assert re.fullmatch("[0-9a-f]{16}", answer.headers["x-request-id"])
    assert served.get("/healthz", headers={"X-Request-ID": "ok-1._"}).headers["x-request-id"] == "ok-1._"


def test_the_log_has_what_happened_and_no_secret(served, trial, caplog):
    caplog.set_level(logging.INFO, logger="safebandit.service")
    served.post(f"{trial}/units", {"unit": "Jane Doe"}, headers={"Cookie": "secret=1", "X-Request-ID": "r-1"})
    served.get(f"{trial}/unit", params={"unit": "Jane Doe"}, headers={"X-Request-ID": "r-2"})
    wrong = {"Authorization": "Bearer wrong-secret", "X-Request-ID": "r-3"}
    assert served.get("/v1/trials", role=None, headers=wrong).status_code == 401

    def lines() -> list[str]:
        fields = [getattr(record, "fields", {}) for record in caplog.records]
        mine = zip(caplog.records, fields, strict=True)
        return [JsonLines().format(record) for record, seen in mine if str(seen.get("request")).startswith("r-")]

    # A line is written after its answer was sent.
    ask_again_until(lambda: len(lines()) == 3, "three requests do not give three lines")
    first, second, third = (json.loads(line) for line in lines())
    key_id = served.keys["admin"].split("_")[1]
    assert (first["method"], first["route"], first["status"]) == ("POST", "/v1/trials/{trial}/units", 201)
    assert (first["key"], first["request"], first["level"]) == (key_id, "r-1", "info")
    assert first["milliseconds"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"])
    assert second["route"] == "/v1/trials/{trial}/unit"
    assert (third["key"], third["status"]) == (None, 401)
    for hidden in ("Jane", "Doe", "secret", served.keys["admin"].split("_", 2)[2]):
        assert hidden not in "".join(lines())


def test_a_log_line_is_one_line_with_its_traceback():
    try:
        raise ValueError("first\nsecond")
    except ValueError as problem:
        trace = (type(problem), problem, problem.__traceback__)
    record = logging.LogRecord("x", logging.ERROR, "", 1, "a\nb %s", ("c",), trace)
    [line] = JsonLines().format(record).splitlines()
    assert json.loads(line)["message"] == "a\nb c"
    assert "ValueError: first\nsecond" in json.loads(line)["traceback"]


def test_lines_of_one_turn_are_written_together_and_a_problem_at_once():
    class Stream(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    stream = Stream()
    handler = Lines(stream)
    records = {level: logging.LogRecord("x", level, "", 1, "said", (), None) for level in (logging.INFO, logging.ERROR)}

    async def turn() -> list[int]:
        seen = []
        for level in (logging.INFO, logging.INFO, logging.ERROR, logging.INFO):
            handler.handle(records[level])
            seen.append(len(stream.getvalue().splitlines()))
        await asyncio.sleep(0)
        return [*seen, len(stream.getvalue().splitlines())]

    assert asyncio.run(turn()) == [0, 0, 3, 3, 4]
    handler.handle(records[logging.INFO])
    assert stream.getvalue() == 5 * "said\n"
    stream.close()
    handler.handle(records[logging.INFO])
    handler.close()


def sample(text: str, name: str, **labels: str) -> float:
    """The sum of the samples of this name and these labels."""
    found = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    assert found, f"no {name} {labels}"
    return sum(found)


def test_metrics_count_requests_decisions_and_what_waits(served):
    path = served.create("counted", pending_cap=1)
    for unit in ("1", "2", "3", "3", "4", "5"):
        served.post(f"{path}/units", {"unit": unit})
    served.post(f"{path}/outcomes", {"unit": "1", "reward": 1, "risk": 0})
    keys = served.app.state.keys
    ours = {"Cookie": f"{COOKIE}={keys.sign_in(keys.find(served.keys['operator']))}", "Sec-Fetch-Site": "same-origin"}
    served.http.post("/trials/counted/ask", data={"unit": "6", "new": "6"}, headers=ours)
    served.request("PROPFIND", "/v1/trials")

    def metrics() -> str:
        return served.get("/metrics", role="viewer").text

    # A request is counted after its answer was sent.
    ask_again_until(lambda: 'method="other"' in metrics(), "a request is not counted")
    text = metrics()
    assert sample(text, "safebandit_decisions_total", trial="counted", kind="asked") == 4
    assert sample(text, "safebandit_decisions_total", trial="counted", kind="waiting") == 1
    assert sample(text, "safebandit_pending_units", trial="counted") == 3
    assert sample(text, "safebandit_waiting", trial="counted") == 0
    assert sample(text, "safebandit_scribe_queue") == 0
    route = {"method": "POST", "route": "/v1/trials/{trial}/outcomes"}
    assert sample(text, "safebandit_requests_total", status="201", **route) >= 1
    assert sample(text, "safebandit_request_seconds_count", **route) >= 1
    assert sample(text, "safebandit_requests_total", method="other") >= 1
    assert "PROPFIND" not in text


def test_metrics_say_after_a_restart_which_trials_hold_and_which_wait(tmp_path):
    """Numbers of the record, not of a process: the one that decided may be gone."""
    with Ledger(tmp_path / "trials.db") as ledger:
        for name, alpha, risk in (("holds", 0.0, 1.0), ("waits", 0.5, None), ("goes-on", 0.5, 0.0)):
            ledger.create(name, Settings.read(["only"], alpha, policy="docb", seed=1), actor="Ada")
            ledger.ask(name, "1", actor="Ada")
            if risk is not None:
                ledger.tell(name, "1", reward=1, risk=risk, actor="Ada")
            ledger.ask(name, "2", actor="Ada")
    with serving(tmp_path / "trials.db") as restarted:
        text = restarted.get("/metrics").text
    for name, holds, waits in (("holds", 1, 0), ("waits", 0, 1), ("goes-on", 0, 0)):
        assert sample(text, "safebandit_holding", trial=name) == holds
        assert sample(text, "safebandit_waiting", trial=name) == waits


def test_metrics_say_which_strata_hold_and_which_wait(tmp_path):
    """Also in a trial by a design."""
    sites = {"site": ["a", "b", "c"]}
    design = Design(["only", "other"], 0.0, "docb", 100, strata=sites)
    with Ledger(tmp_path / "trials.db") as ledger:
        ledger.create("plain", Settings.read(["only"], 0.0, policy="docb", strata=sites, seed=1), actor="Ada")
        ledger.create("designed", Settings.by_design(design, seed=1), actor="Ada")
        for unit in range(3):
            for name in ("plain", "designed"):
                if ledger.ask(name, f"a {unit}", stratum={"site": "a"}, actor="Ada").arm is not None:
                    ledger.tell(name, f"a {unit}", reward=1, risk=1, actor="Ada")
            ledger.ask("plain", f"b {unit}", stratum={"site": "b"}, actor="Ada")
        ledger.ask("designed", "c 1", stratum={"site": "c"}, actor="Ada")
    with serving(tmp_path / "trials.db") as restarted:
        text = restarted.get("/metrics").text
        lines = {each["name"]: each for each in restarted.get("/v1/trials").json()}
        stopped = restarted.post("/v1/trials/plain/pause", {"reason": "a look"})
        assert stopped.status_code == 201
        paused = restarted.get("/metrics").text
    expected = {("plain", "a"): (1, 0), ("plain", "b"): (0, 1), ("plain", "c"): (0, 0)}
    expected |= {("designed", "a"): (1, 0), ("designed", "b"): (0, 0), ("designed", "c"): (0, 0)}
    for (name, site), (holds, waits) in expected.items():
        assert sample(text, "safebandit_holding", trial=name, stratum=f"site={site}") == holds, (site, name)
        assert sample(text, "safebandit_waiting", trial=name, stratum=f"site={site}") == waits, (site, name)
    assert (lines["plain"]["holding_in"], lines["plain"]["waiting_in"]) == (["site=a"], ["site=b"])
    assert (lines["designed"]["holding"], lines["designed"]["waiting"]) == (True, False)
    assert sample(paused, "safebandit_holding", trial="plain") == 0


def test_a_hold_is_told_as_long_as_it_lasts_whatever_is_told_meanwhile(tmp_path):
    """Of the whole of a trial and of one stratum: an outcome that opens no gate leaves it, one that opens a gate ends
    it, whether anybody asks or not.
    """
    sites = {"site": ["a", "b"]}
    with serving(tmp_path / "trials.db") as service:
        ledger = service.app.state.ledger

        def told(trial, stratum=""):
            text = service.get("/metrics").text
            (line,) = (each for each in service.get("/v1/trials").json() if each["name"] == trial)
            assert line["holding_in"] == ([stratum] if stratum and line["holding"] else [])
            held = sample(text, "safebandit_holding", trial=trial, stratum=stratum)
            assert held == line["holding"]
            assert sample(text, "safebandit_waiting", trial=trial, stratum=stratum) == line["waiting"]
            return held

        def tell(trial, unit, risk):
            ledger.tell(trial, unit, reward=1, risk=risk, actor="Ada")

        for trial, stratum, of in (("whole", None, ""), ("parts", {"site": "a"}, "site=a")):
            strata = {"strata": sites} if stratum else {}
            made = Settings.read(["only"], 0.3, policy="docb", pending_cap=9, seed=1, **strata)
            ledger.create(trial, made, actor="Ada")
            for unit in range(8):
                ledger.ask(trial, str(unit), stratum=stratum, actor="Ada")
            if stratum:
                ledger.ask(trial, "elsewhere", stratum={"site": "b"}, actor="Ada")
            for unit in range(5):
                tell(trial, str(unit), 1)
            # Nobody was refused an arm yet.
            assert told(trial, of) == 0
            assert ledger.ask(trial, "late", stratum=stratum, actor="Ada").arm is None
            assert told(trial, of) == 1
            tell(trial, "5", 1)
            assert told(trial, of) == 1
            if stratum:
                tell(trial, "elsewhere", 0)
                assert told(trial, of) == 1
                ledger.ask(trial, "another", stratum={"site": "b"}, actor="Ada")
                assert told(trial, of) == 1
            ledger.correct(trial, "0", risk=0, reason="misread", actor="Ada")
            assert told(trial, of) == 1
            for unit in range(1, 5):
                ledger.correct(trial, str(unit), risk=0, reason="misread", actor="Ada")
            assert told(trial, of) == 0
            assert ledger.ask(trial, "late", stratum=stratum, actor="Ada").arm is not None
            assert told(trial, of) == 0


def test_metrics_show_writes_that_wait(served, trial):
    release = threading.Event()
    scribe = served.app.state.scribe
    blocked = scribe.write("guards", lambda _: release.wait(60))
    asks = [threading.Thread(target=served.post, args=(f"{trial}/units", {"unit": f"w {k}"})) for k in range(3)]
    for ask in asks:
        ask.start()

    def queue() -> float:
        return sample(served.get("/metrics").text, "safebandit_scribe_queue")

    try:
        ask_again_until(lambda: queue() >= 2, "writes that wait are not counted")
    finally:
        release.set()
    for ask in asks:
        ask.join()
    assert blocked.result()
    ask_again_until(lambda: queue() == 0, "writes that are done are counted")
