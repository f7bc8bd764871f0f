"""The client: the same words as `Trial`, errors of the same classes, and answers that get lost on the way."""

from __future__ import annotations

import functools
import itertools
import math
import pickle
import threading

import httpx
import numpy as np
import pandas as pd
import pytest

import safebandit as sb
from safebandit.errors import AccessError, ConflictError, NotFoundError, PolicyError, RecordError, TrialError
from safebandit.service import connection
from safebandit.trials.engine import Engine

NAMES = itertools.count()


class Flaky(httpx.BaseTransport):
    """A network that loses what it is told to: a request before the service hears it, or the answer afterwards."""

    def __init__(self, faults) -> None:
        self._network = httpx.HTTPTransport()
        self._faults = iter(faults)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        fault = next(self._faults, None)
        if fault == "unreachable":
            raise httpx.ConnectError("connection refused")
        if isinstance(fault, int):
            return httpx.Response(fault, headers={"Retry-After": "0"}, json={"error": "refused", "message": "busy"})
        response = self._network.handle_request(request)
        response.read()
        if fault == "lost":
            raise httpx.ReadError("connection reset by peer")
        return response

    def close(self) -> None:
        self._network.close()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(connection, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(connection, "LONGEST_WAIT", 0.01)


@pytest.fixture
def connect(served):
    """Clients of the service, closed in the end."""
    made = []

    def client(role: str = "admin", faults=(), **options) -> sb.Client:
        made.append(sb.Client(served.url, served.keys[role], transport=Flaky(faults), **options))
        return made[-1]

    yield client
    for each in made:
        each.close()


def new_trial(client: sb.Client, **settings):
    defaults = {"policy": "docb", "seed": 1, "pending_cap": 1000}
    return client.create(f"client-{next(NAMES)}", ["placebo", "low", "high"], 0.3, **(defaults | settings))


def test_the_words_are_those_of_a_trial(connect):
    client = connect()
    live = new_trial(client, pending_cap=1)
    local = sb.Trial(["placebo", "low", "high"], 0.3, "docb", seed=1)
    for number in range(30):
        mine, theirs = local.ask(), live.ask()
        assert (theirs.arm, theirs.waiting) == (mine.arm, mine.waiting)
        reward, risk = number % 2, number % 3 == 0
        local.tell(mine.id, reward=reward, risk=float(risk))
        live.tell(theirs.id, reward=reward, risk=float(risk))
    now = live.explain()
    local_now = local.explain()
    assert now.round == local_now.round == 31
    assert now.alpha == local_now.alpha
    for ours, view in zip(now.arms, local_now.arms, strict=True):
        assert (ours["arm"], ours["plays"], ours["permissible"]) == (view.arm, view.plays, view.permissible)
        assert ours["mean_risk"] == [pytest.approx(view.mean_risk)]
    assert "decided when it asks" in str(now)
    assert live.name in [trial["name"] for trial in client.trials()]


def test_a_unit_is_explained_by_its_stored_decision(connect):
    live = new_trial(connect())
    given = live.ask("patient 1")
    again = live.ask("patient 1")
    assert again == given._replace(new=False)
    live.amend(reason="less", alpha=0.1)
    then = live.explain("patient 1")
    assert (then.chosen, then.why, then.alpha, then.round) == (given.arm, given.why, 0.3, 1)
    assert then.table().loc[given.arm, "propensity"] > 0
    with pytest.raises(NotFoundError, match="no unit 'patient 2'"):
        live.explain("patient 2")


def test_no_address_has_the_id_of_a_unit(connect):
    sent = []

    class Seen(Flaky):
        def handle_request(self, request):
            sent.append(str(request.url))
            return super().handle_request(request)

    live = new_trial(connect())
    watched = sb.Client(live._connection.url, live._connection._http.headers["authorization"][7:], transport=Seen(()))
    with watched:
        mine = watched.trial(live.name)
        mine.ask("Jane Doe")
        mine.tell("Jane Doe", reward=1, risk=0)
        assert mine.explain("Jane Doe").chosen is not None
        mine.correct("Jane Doe", risk=1, reason="typing")
    assert len(sent) == 4
    assert "Jane" not in "".join(sent)


def test_everything_else(connect):
    live = new_trial(connect(), title="A title", units=36)
    first, second = live.ask(1), live.ask()
    assert (first.id, len(second.id)) == ("1", 32)
    live.tell(1, reward=1, risk=1)
    live.correct(1, risk=0, reason="typing")
    live.give_up(second.id, reason="moved")
    live.ask("typo")
    live.void("typo ", reason="a typing error")
    live.pause(reason="lunch")
    with pytest.raises(ConflictError, match="resume it"):
        live.ask()
    live.resume(reason="back")
    live.amend(reason="protocol 2", add=["very high"])
    live.close(reason="done")
    assert live.overview()["title"] == "A title"
    analysed = live.analysis(confidence=0.9)
    assert (analysed["confidence"], analysed["units"]) == (0.9, 2)
    with pytest.raises(TrialError, match="the control must be an arm"):
        live.analysis(control="nobody")
    assert [event["kind"] for event in live.log()] == [
        "created", "asked", "asked", "told", "corrected", "given up", "asked", "voided", "paused", "resumed", "amended",
        "closed",
    ]  # fmt: skip
    assert [event["number"] for event in live.log(after=10)] == [11, 12]
    assert live.verify()["holds"]
    assert not live.verify(expected="0" * 64)["holds"]


def test_the_log_is_fetched_page_by_page(connect, served):
    live = new_trial(connect())
    for unit in range(1001):
        ask = functools.partial(Engine.ask, id=str(unit), actor="x")
        served.app.state.scribe.write(live.name, lambda transaction, ask=ask: ask(transaction.trial(live.name)))
    live.ask("last")
    assert [event["number"] for event in live.log()] == list(range(1, 1004))


def test_several_risks(connect):
    client = connect()
    live = client.create(f"client-{next(NAMES)}", 2, [0.3, 0.2], "docb", risks=["toxicity", "nausea"])
    unit = live.ask()
    live.tell(unit.id, reward=1, risk={"nausea": 0})
    live.tell(unit.id, risk=(1, None))
    with pytest.raises(TrialError, match="risk must be 2 numbers"):
        live.tell(unit.id, risk=0)
    assert live.explain(unit.id).alpha == (0.3, 0.2)


def test_errors_are_of_the_same_classes(connect, served):
    client = connect()
    live = new_trial(client)
    live.ask("1")
    live.tell("1", reward=1)
    with pytest.raises(ConflictError, match="already has reward 1, got 0; correct it"):
        live.tell("1", reward=0)
    with pytest.raises(TrialError, match=r"unit '1': risk must lie in \[0, 1\], got 2"):
        live.tell("1", risk=2)
    with pytest.raises(TrialError, match="no unit 'x' was given an arm"):
        live.tell("x", reward=1)
    with pytest.raises(NotFoundError, match='there is no trial "nope"'):
        client.trial("nope").ask()
    with pytest.raises(PolicyError, match="no such"):
        client.create("never", 2, 0.3, "no such")
    with pytest.raises(TrialError, match="a trial's name"):
        client.trial("../keys")
    with pytest.raises(AccessError, match='the role "operator" may not log'):
        list(connect("operator").trial(live.name).log())


def test_a_wrong_key_is_a_clear_error_that_does_not_show_it(served):
    wrong = "sb_" + "0" * 16 + "_" + "A" * 43
    with sb.Client(served.url, wrong) as client, pytest.raises(AccessError, match="a key that works") as caught:
        client.trials()
    shown = [repr(client), str(client), str(caught.value), repr(caught.value), repr(client.trial("x"))]
    assert all(wrong[-43:] not in text for text in shown)
    assert caught.value.__cause__ is None
    for broken in ("", "a b", "a\nb", "ключ"):
        with pytest.raises(AccessError) as caught:
            sb.Client(served.url, broken)
        assert not broken or broken not in str(caught.value)
    with pytest.raises(RecordError, match="url must be"):
        sb.Client("ftp://user:secret@host", wrong)


def test_an_answer_that_is_lost_is_asked_for_again_and_nothing_doubles(connect, served):
    faults = itertools.cycle(["lost", "unreachable", 503, 429, 502, 504, None])
    client = connect(faults=faults)
    live = new_trial(client)
    given = [live.ask(f"u {number}") for number in range(40)]
    for number, unit in enumerate(given):
        live.tell(unit.id, reward=number % 2, risk=0)
    live.give_up(live.ask("gone").id, reason="moved")
    live.pause(reason="lunch")
    log = [event["kind"] for event in connect().trial(live.name).log()]
    assert log == ["created"] + ["asked"] * 40 + ["told"] * 40 + ["asked", "given up", "paused"]
    assert {unit.id: unit.arm for unit in given} == {unit.id: live.ask(unit.id).arm for unit in given}


def test_an_answer_that_is_cut_is_asked_for_again(cutting):
    with sb.Client(cutting, "sb_x") as client:
        assert client.trials() == []


def test_what_cannot_be_repeated_is_not_sent_again(connect):
    live = new_trial(connect())
    live.ask("1")
    live.tell("1", reward=1, risk=1)
    with pytest.raises(RecordError, match="look at the trial's log before asking again"):
        connect(faults=["unreachable", 429, "lost"]).trial(live.name).correct("1", risk=0, reason="typing")
    assert [event["kind"] for event in live.log()] == ["created", "asked", "told", "corrected"]


def test_patience_ends(connect):
    client = connect(faults=itertools.repeat("unreachable"), patience=0.2)
    with pytest.raises(RecordError, match=r"does not answer \(ConnectError: connection refused\); check the address"):
        client.trials()
    busy = connect(faults=itertools.repeat(503), patience=0.2)
    with pytest.raises(RecordError, match="busy"):
        busy.trials()


def test_retry_after_is_honoured(served, monkeypatch):
    waits = []
    monkeypatch.setattr(connection.time, "sleep", waits.append)

    class Limited(httpx.BaseTransport):
        def handle_request(self, request):
            return httpx.Response(429, headers={"Retry-After": "7"}, json={"error": "refused", "message": "slow"})

    # The clock does not move while nobody sleeps: the second wait would be beyond patience.
    clock = iter(range(0, 1000, 8))
    monkeypatch.setattr(connection.time, "monotonic", lambda: next(clock))
    with sb.Client(served.url, "sb_x", patience=60, transport=Limited()) as client, pytest.raises(RecordError):
        client.trials()
    assert waits
    assert set(waits) == {7.0}


def test_something_else_at_the_address_is_a_clear_error(served):
    class Other(httpx.BaseTransport):
        def __init__(self, status):
            self.status = status

        def handle_request(self, request):
            return httpx.Response(self.status, text="<html>hello</html>")

    for status in (200, 404):
        with (
            sb.Client(served.url, "sb_x", transport=Other(status)) as client,
            pytest.raises(RecordError, match=r"not (answer )?as safebandit"),
        ):
            client.trials()


def test_many_threads_share_one_client(connect):
    live = new_trial(connect())
    arms: dict[str, set] = {str(unit): set() for unit in range(10)}

    def work() -> None:
        for unit, seen in arms.items():
            seen.add(live.ask(unit).arm)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(seen) == 1 for seen in arms.values())
    assert len(list(live.log())) == 11


def test_values_are_plain(connect):
    given = new_trial(connect()).ask("1")
    assert pickle.loads(pickle.dumps(given)) == given


def test_numbers_of_numpy_and_bits_are_told_as_in_a_trial_here(connect):
    """Also what is wrong with a value is said in the same words, before anything is sent."""
    live = new_trial(connect(), pending_cap=50)
    here = sb.Trial(["a", "b"], 0.3, "docb", seed=1, pending_cap=50)
    for trial in (live, here):
        for unit in range(6):
            trial.ask(np.int64(unit))
        trial.tell(np.int64(0), reward=np.int64(1), risk=np.bool_(False))
        trial.tell(1, reward=np.float32(0.5), risk=True)
    live.tell_many([{"id": np.int64(2), "reward": np.int64(1), "risk": np.False_}, {"unit": 3, "reward": True}])
    assert [event["body"]["outcome"] for event in live.log() if event["kind"] == "told"] == [
        [1.0, 0.0], [0.5, 1.0], [1.0, 0.0], [1.0, None],
    ]  # fmt: skip
    before = len(list(live.log()))
    for wrong in ({"reward": math.nan}, {"risk": math.inf}, {"reward": -1}, {"reward": "1"}, {"risk": pd.NA}):
        with pytest.raises(sb.TrialError) as expected:
            here.tell(4, **wrong)
        alone, among = functools.partial(live.tell, 4, **wrong), functools.partial(live.tell_many, [{"id": 4, **wrong}])
        for tell in (alone, among):
            with pytest.raises(sb.TrialError) as found:
                tell()
            assert str(found.value) == str(expected.value)
    assert len(list(live.log())) == before


def test_many_units_are_named_by_id_or_by_unit_and_never_by_a_text(connect):
    live = new_trial(connect(), pending_cap=50)
    live.ask_many(["a", "b"])
    for outcomes, message in (
        ([{"id": "a", "reward": 1}, {"reward": 1}], "outcome 2 has no id; give the unit as id, got reward"),
        ([1], "outcome 1 must be a mapping of id, reward and risk, got 1"),
        ([{"id": "a", "unit": "b", "reward": 1}], "a unit is named once, got id 'a' and unit 'b'"),
    ):
        for tell in (live.tell_many, functools.partial(live.correct_many, reason="a look")):
            with pytest.raises(sb.TrialError) as found:
                tell(outcomes)
            assert str(found.value) == message
    with pytest.raises(sb.TrialError, match="ids must be a list, one for each unit, got the text 'abc'"):
        live.ask_many("abc")
    assert [event["kind"] for event in live.log()] == ["created", "asked", "asked"]


def test_what_cannot_be_sent_is_told_in_one_line(connect):
    client = connect()
    for alpha, message in (
        (math.nan, "alpha must lie in [0, 1], got nan"),
        (-1, "alpha must lie in [0, 1], got -1"),
        ("half", "alpha must be a number in [0, 1], got 'half'"),
        ([0.1, "half"], "alpha[1] must be a number in [0, 1], got 'half'"),
    ):
        with pytest.raises(sb.TrialError) as found:
            client.create("no-trial", ["a", "b"], alpha)
        assert str(found.value) == message
    with pytest.raises(sb.TrialError, match="a number that is sent must be finite, got nan or inf"):
        client.create("no-trial", ["a", "b"], 0.3, control="a", control_floor=math.nan)
    with pytest.raises(sb.TrialError, match="what is sent are texts, numbers and lists of them, got"):
        client.create("no-trial", ["a", "b"], 0.3, title=object())
