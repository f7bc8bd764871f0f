"""What each role can tell of the arms that come next, by someone who tries with all that it may read."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

import pytest

import safebandit as sb
from safebandit.service.access import COOKIE
from safebandit.service.page.views import past_glance
from safebandit.service.roles import ROLES
from safebandit.trials.allocator import Allocator
from safebandit.trials.concealment import without_numbers
from safebandit.trials.settings import Settings

from .conftest import serving

ARMS = ["placebo", "low", "high", "double"]
DELAY = 10
READABLE = [
    "/v1/trials", "/v1/trials/{}", "/v1/trials/{}/events?limit=1000", "/v1/trials/{}/events/1", "/v1/trials/{}/units",
    "/v1/trials/{}/unit?unit=u%200", "/v1/trials/{}/verification", "/v1/trials/{}/export?kind=json",
    "/v1/trials/{}/export?kind=csv", "/v1/trials/{}/export?kind=parquet", "/metrics", "/v1/keys", "/", "/live",
    "/trials/{}", "/trials/{}/live", "/trials/{}/arms", "/trials/{}/units", "/trials/{}/log", "/trials/{}/log/1",
    "/trials/{}/log/2", "/keys", "/trials/{}/rehearsal", "/trials/{}/analysis", "/v1/trials/{}/analysis",
]  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("concealed") / "trials.db", viewer_delay=DELAY) as made:
        yield made


def outcome(rng: random.Random) -> dict[str, float]:
    return {"reward": float(rng.random() < 0.5), "risk": float(rng.random() < 0.2)}


def play(served, path: str, units: range) -> list[str]:
    """Ask and tell so many units; the arms."""
    rng, arms = random.Random(5), []
    for unit in units:
        arms.append(served.post(f"{path}/units", {"unit": f"u {unit}"}).json()["arm"])
        served.post(f"{path}/outcomes", {"unit": f"u {unit}", **outcome(rng)})
    return arms


def all_that_is_readable(served, name: str, role: str) -> str:
    """Every answer that a role gets, of the interface and of the page, one after the other."""
    keys = served.app.state.keys
    cookie = {"Cookie": f"{COOKIE}={keys.sign_in(keys.find(served.keys[role]))}"}
    answers = [served.get(path.format(name), role=None, headers=cookie) for path in READABLE]
    return "\n".join(answer.content.decode(errors="replace") for answer in answers if answer.status_code == 200)


def guess_seed(text: str, arms: list[str]) -> int | None:
    """A whole number that stands in a text and, taken for the seed, gives these arms."""
    settings = Settings.read(ARMS, 0.3, policy="tsbu", seed=0, pending_cap=1000)
    for number in {int(each) for each in re.findall(r"(?<![\d.])\d{5,19}(?![\d.])", text) if int(each) < 2**63}:
        allocator = replace(settings, seed=number).allocator()
        rng = random.Random(5)
        for t, arm in enumerate(arms, 1):
            k = allocator.decide(t).k
            if ARMS[k] != arm:
                break
            allocator.learn(k, allocator.give(k, t), t, (None, None), tuple(outcome(rng).values()))
        else:
            return number
    return None


def test_nobody_reads_the_seed_or_the_stream_before_the_trial_is_closed(served):
    path = served.create("sealed", arms=ARMS, policy="tsbu", seed=None)
    arms = play(served, path, range(12))
    state = served.app.state.ledger.state("sealed")
    events = served.app.state.ledger.events("sealed")
    words = {word for event in events for word in event.content.get("stream", [])} | {*state.allocator.position}
    secrets = [str(word) for word in {state.settings.seed, *words} if word >= 2**32]
    assert len(secrets) > 20
    read = {role: all_that_is_readable(served, "sealed", role) for role in ROLES}
    for role, text in read.items():
        assert not [secret for secret in secrets if secret in text], role
    assert guess_seed("".join(read.values()), arms) is None
    assert served.get(f"{path}/verification", role="auditor").json()["holds"]
    concealed = served.get(f"{path}/events", role="auditor").json()["events"]
    assert [event["concealed"] for event in concealed[:3]] == [["settings.seed"], ["stream"], []]
    # When it is closed all is told, and the attack shows that it would have found it.
    served.post(f"{path}/close", {"reason": "done"})
    whole = served.get(f"{path}/export?kind=json", role="auditor").text
    assert guess_seed(whole, arms) == state.settings.seed
    assert sb.Trial.from_json(whole).verify().holds
    assert [event["hash"] for event in concealed] == [event["hash"] for event in json.loads(whole)["events"]][:-1]


def test_a_trial_without_a_seed_is_the_same_when_it_is_created_again(served):
    body = {"name": "unseeded", "arms": ARMS, "alpha": 0.3, "policy": "docb"}
    assert [served.post("/v1/trials", body).status_code for _ in range(2)] == [201, 200]
    assert served.post("/v1/trials", {**body, "seed": 1}).status_code == 409
    assert served.post("/v1/trials", {**body, "alpha": 0.2}).status_code == 409


def next_arm(seen: dict) -> str | None:
    """The arm that a policy gives that draws nothing, computed from the sums of an overview alone."""
    allocator = Settings.read(ARMS, 0.3, policy="docb", seed=0, pending_cap=1000).allocator()
    for k, arm in enumerate(seen["arms"]):
        for play in range(arm["plays"]):
            allocator.give(k, 1)
            allocator.learn(k, play, 1, (None, None), (arm["mean_reward"], arm["mean_risk"][0]))
    decision = allocator.decide(seen["units"] + 1)
    return ARMS[decision.k] if decision.k >= 0 else None


def test_a_viewer_whose_sums_are_delayed_cannot_compute_the_next_arm(served):
    """An auditor, who sees everything at once, computes all arms of a policy that draws nothing; a viewer does not.

    The arms are nearly alike, so that no guess is good because one arm is given most of the time.
    """
    path = served.create("computed", arms=ARMS, policy="docb")
    right = {"auditor": 0, "viewer": 0}
    blocks = set()
    for unit in range(40):
        overviews = {role: served.get(path, role=role).json() for role in right}
        blocks.add(overviews["viewer"]["units"])
        guesses = {role: next_arm(seen) for role, seen in overviews.items()}
        given = served.post(f"{path}/units", {"unit": f"u {unit}"}).json()["arm"]
        served.post(f"{path}/outcomes", {"unit": f"u {unit}", "reward": 0.5 + ARMS.index(given) / 64, "risk": 0})
        for role, guess in guesses.items():
            right[role] += guess == given
    # Ties are drawn, so that the first arms are anybody's guess.
    assert right["auditor"] >= 36
    assert right["viewer"] <= 16
    assert blocks == {0, 10, 20}


def test_what_a_viewer_sees_late_is_what_was_there_then(served):
    """The same numbers that everyone saw when the unit after the last block asked."""
    path = served.create("late", arms=ARMS, policy="docb")
    rng, seen = random.Random(5), {}
    for unit in range(37):
        seen[unit] = served.get(path, role="auditor").json()
        given = served.post(f"{path}/units", {"unit": f"u {unit}"}).json()["arm"]
        assert given is not None
        if unit != 7:
            served.post(f"{path}/outcomes", {"unit": f"u {unit}", **outcome(rng)})
    served.post(f"{path}/outcomes", {"unit": "u 7", "reward": 1, "risk": 1})
    then, late = seen[20], served.get(path, role="viewer").json()
    assert late == then
    analysed = served.get(f"{path}/analysis", role="viewer").json()
    risks = [each for each in analysed["estimates"] if each["endpoint"] == "risk"]
    assert [(each["arm"], each["units"], each["mean"]) for each in risks] == [
        (arm["arm"], arm["plays"], *arm["mean_risk"]) for arm in then["arms"]
    ]
    # Look by look single outcomes could be told.
    assert {each["path"] for each in analysed["estimates"]} == {None}
    page = all_that_is_readable(served, "late", "viewer")
    assert "1–10" in page
    assert "31–37" not in page
    served.post(f"{path}/close", {"reason": "done"})
    assert served.get(path, role="viewer").json() == served.get(path, role="auditor").json()
    now = {role: served.get(f"{path}/analysis", role=role).json() for role in ("viewer", "auditor")}
    assert now["viewer"]["sentences"] == now["auditor"]["sentences"]
    assert now["auditor"]["estimates"][0]["path"]["known"][:2] == [1, 2]
    assert served.get(f"{path}/analysis", role="operator").status_code == 403


def hold(served, name: str) -> str:
    """A trial whose arms have all done harm, until it holds."""
    path = served.create(name, arms=["a", "b"], alpha=0.05, policy="docb")
    for unit in range(200):
        if served.post(f"{path}/units", {"unit": f"u {unit}"}).json()["held"]:
            return path
        served.post(f"{path}/outcomes", {"unit": f"u {unit}", "reward": 1, "risk": 1})
    raise AssertionError("it does not hold")


def test_an_operator_reads_no_risk_in_the_reason_of_a_hold(served):
    path = hold(served, "held")
    why = {role: served.post(f"{path}/units", {"unit": "x"}, role=role).json()["why"] for role in ("admin", "operator")}
    assert re.search(r"above 0.05 \(smallest: 0\.\d+", why["admin"])
    assert why["operator"] == without_numbers(why["admin"]) == "no arm is permissible; the policy holds"
    keys = served.app.state.keys
    for role in ("operator", "viewer"):
        signed = {"Cookie": f"{COOKIE}={keys.sign_in(keys.find(served.keys[role]))}", "Sec-Fetch-Site": "same-origin"}
        page = served.get("/trials/held", role=None, headers=signed).text
        assert "On hold: no arm is permissible" in page
        assert "smallest" not in page
        if role == "operator":
            sent = served.request("POST", "/trials/held/ask", role=None, headers=signed, data={"unit": "y"}).text
            assert "Unit y gets no arm: no arm is permissible; the policy holds." in sent
            assert "smallest" not in sent
    assert served.get(path, role="viewer").json()["holding"] == why["operator"]


def test_an_operator_reads_no_chance_in_the_reason_of_an_arm(served):
    path = served.create("mixed", arms=["a; b", "c: d"], policy="safe-ids", seed=3)
    given = {role: served.post(f"{path}/units", {"unit": "x"}, role=role).json() for role in ("admin", "operator")}
    assert re.search(r': 0\.\d+ "a; b", 0\.\d+ "c: d"', given["admin"]["why"])
    assert given["operator"]["why"] == given["admin"]["why"].partition(": ")[0]


def test_a_viewer_sees_at_once_that_a_trial_waits(served):
    path = served.create("waits", arms=["a"], policy="docb", pending_cap=1)
    seen = [served.get(path, role="viewer").json()["waiting"]]
    for unit in ("u 0", "u 1"):
        served.post(f"{path}/units", {"unit": unit})
    seen.append(served.get(path, role="viewer").json()["waiting"])
    served.post(f"{path}/outcomes", {"unit": "u 0", "reward": 1, "risk": 0})
    seen.append(served.get(path, role="viewer").json()["waiting"])
    assert [why is not None for why in seen] == [False, True, False]


def test_a_viewer_sees_voided_units_as_late_as_others(served):
    """Their rounds count for the delay, and until it is over so do they, in sums and pictures alike."""
    path = served.create("void", arms=ARMS, policy="docb")
    served.post(f"{path}/units", {"unit": "typo"})
    play(served, path, range(19))
    first = served.get(path, role="viewer").json()
    served.post(f"{path}/voided", {"unit": "typo", "reason": "a typing error"})
    late = served.get(path, role="viewer").json()
    assert late == first
    assert (late["units"], late["voided"]) == (10, 0)
    ledger, outlook = served.app.state.ledger, served.app.state.outlook
    drawn = past_glance(ledger, outlook.overview("void", delayed=True)).allocation.arms
    assert {arm: sum(counts) for arm, counts in drawn.items()} == {arm["arm"]: arm["plays"] for arm in late["arms"]}
    play(served, path, range(19, 29))
    now = served.get(path, role="viewer").json()
    assert (now["units"], now["voided"]) == (19, 1)


def test_an_overview_draws_no_number_of_the_trial(served, monkeypatch):
    """What is shown of a gate that is drawn is a draw of its own: it does not tell what the next unit meets."""
    path = served.create("aside", arms=ARMS, policy="tsbu", seed=11)
    play(served, path, range(8))
    state = served.app.state.ledger.state("aside")
    consider, aside = Allocator.consider, []

    def noted(self, t, **named):
        aside.append(named)
        return consider(self, t, **named)

    monkeypatch.setattr(Allocator, "consider", noted)
    assert served.get(path, role="auditor").status_code == 200
    assert [named["aside"] for named in aside] == [state.decisions + 1]
    drawn, shown = consider(state.allocator, state.round), consider(state.allocator, state.round, **aside[0])
    assert (drawn.indices != shown.indices).any()
    assert state.allocator.decide(state.round).indices.tolist() == drawn.indices.tolist()
