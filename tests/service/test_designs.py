"""A trial by a design over HTTP and on its page: what each role sees of the rules, the stop and the selection."""

import itertools

import pytest

import safebandit as sb
from safebandit.errors import StoppedError, TrialError
from safebandit.trials.design import Design

from .conftest import serving

NAMES = itertools.count()
ARMS = ["low", "mid", "high"]
DESIGN = Design(ARMS, 0.3, "docb", 12, cohort=2, stop=["arm-harm:confidence=.8,least=2", "too-many-harms:harms=3"])
BODY = {"design": DESIGN.to_dict(), "seed": 7}


def create(served, **changes):
    name = f"dose-{next(NAMES)}"
    made = served.post("/v1/trials", {"name": name, **BODY, **changes})
    assert made.status_code == 201, made.text
    return f"/v1/trials/{name}"


def play(served, path, units=4):
    for unit, risk in list(zip(("p1", "p2", "p3", "p4"), (1, 1, 0, 1), strict=True))[:units]:
        assert served.post(f"{path}/units", {"unit": unit}).status_code == 201
        assert served.post(f"{path}/outcomes", {"unit": unit, "reward": 1, "risk": risk}).status_code == 201


def test_a_trial_is_created_by_a_design_and_shows_how_far_it_is(served):
    path = create(served)
    play(served, path, 3)
    seen = served.get(path, role="viewer").json()
    assert seen["design"]["units"] == 12
    assert seen["progress"]["cohort"] == {"arm": "mid", "given": 1, "of": 2}
    assert [seen["progress"][name] for name in ("units", "most_units", "settled", "next_look")] == [3, 12, 3, 4]
    assert seen["progress"]["dropped"] == ["low"]
    harms = seen["progress"]["rules"][1]
    assert (harms["name"], harms["measure"], harms["level"]) == ("too-many-harms", 2.0, 3.0)
    assert (seen["stopped"], seen["selected"]) == (None, None)
    assert seen["arms"][0]["why"] == "was dropped, and is given no more"
    assert [arm["permissible"] for arm in seen["arms"]] == [False, True, True]


def test_the_stop_its_refusal_and_a_selection_that_changes(served):
    path = create(served)
    play(served, path)
    assert served.get(path).json()["stopped"]["rule"] == "too-many-harms"
    refused = {role: served.post(f"{path}/units", {"unit": "p5"}, role=role) for role in ("admin", "operator")}
    assert {answer.status_code for answer in refused.values()} == {409}
    assert "by the rule too-many-harms; selected: no arm" in refused["admin"].json()["message"]
    # Who tells outcomes that are still to come is not to know what would be selected.
    assert refused["operator"].json()["message"].endswith("has stopped by its design: no more units are given arms")
    fixed = served.post(f"{path}/corrections", {"unit": "p4", "risk": 0, "reason": "another unit's"})
    assert fixed.status_code == 201
    seen = served.get(path).json()
    assert (seen["selected"], seen["stopped"]["selected_at"]) == ("mid", fixed.json()["event"] + 1)
    assert served.get(f"{path}/verification", role="auditor").json()["holds"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"design": {**DESIGN.to_dict(), "unit": 3}}, 'a design has no key "unit"'),
        ({"design": {**DESIGN.to_dict(), "stop": [{"rule": "harms"}]}}, "unknown stopping rule"),
        ({"design": {**DESIGN.to_dict(), "stop": {"harm": 3}}}, "a stopping rule is a table"),
        ({"design": {**DESIGN.to_dict(), "arms": 10**12}}, "arms"),
        ({"design": DESIGN.to_dict(), "alpha": 0.2}, "a design says alpha"),
        ({"design": "boin:target=.3"}, "arms"),
        ({}, "a trial needs arms and alpha, or a design"),
    ],
)
def test_a_design_that_cannot_be_is_refused(served, body, said):
    answer = served.post("/v1/trials", {"name": "never", **body})
    assert answer.status_code == 422
    assert said in answer.json()["message"]
    assert served.get("/v1/trials/never").status_code == 404


def test_the_client_takes_a_design(served):
    with sb.Client(served.url, served.keys["admin"]) as client:
        trial = client.create(f"dose-{next(NAMES)}", design=DESIGN, seed=7)
        for unit, risk in (("p1", 1), ("p2", 1), ("p3", 0), ("p4", 1)):
            trial.ask(unit)
            trial.tell(unit, reward=1, risk=risk)
        assert trial.overview()["stopped"]["rule"] == "too-many-harms"
        with pytest.raises(StoppedError, match="has stopped by its design"):
            trial.ask("p5")
        assert trial.explain().why == "the trial has stopped, by the rule too-many-harms"
        other = client.create(f"dose-{next(NAMES)}", design="equal:units=3,alpha=.3", arms=ARMS)
        other.amend(design={"units": 6}, reason="the board")
        assert other.overview()["design"]["units"] == 6
        with pytest.raises(TrialError, match="arms of a trial keep their places"):
            other.amend(design={"arms": ["mid"]}, reason="the board")


def test_the_page_shows_what_would_stop_the_trial_and_then_the_selection(served):
    path = create(served)
    page = path.removeprefix("/v1")
    play(served, path, 3)
    seen = {role: served.get(page, role=role).text for role in ("admin", "viewer", "operator")}
    for role in ("admin", "viewer"):
        assert "What would stop the trial" in seen[role]
        assert "too-many-harms" in seen[role]
        assert "66.7" in seen[role]
        assert "Dropped: low" in seen[role]
    for secret in ("too-many-harms", "Dropped", "What would stop", "Next look"):
        assert secret not in seen["operator"]
    assert "of at most 12" in seen["operator"]
    served.post(f"{path}/units", {"unit": "p4"})
    served.post(f"{path}/outcomes", {"unit": "p4", "reward": 1, "risk": 1})
    seen = {role: served.get(page, role=role).text for role in ("admin", "viewer", "operator")}
    for role in ("admin", "viewer"):
        assert "Stopped by the design: too-many-harms" in seen[role]
        assert "Selected: no arm" in seen[role]
    assert "Stopped by the design" in seen["operator"]
    assert "Selected" not in seen["operator"]
    assert "too-many-harms" not in seen["operator"]
    assert 'id="amend"' not in seen["admin"]
    assert 'id="close"' in seen["admin"]


def test_a_trial_without_rewards_asks_for_none_on_its_page(served):
    path = create(served, design={**DESIGN.to_dict(), "rewarded": False, "select": "none"})
    served.post(f"{path}/units", {"unit": "p1"})
    page = served.get(path.removeprefix("/v1"), role="admin")
    assert page.status_code == 200
    assert 'id="tell-risk_0"' in page.text
    assert 'id="tell-reward"' not in page.text
    assert '<td class="missing" data-label="waits for">risk</td>' in page.text
    refused = served.post(f"{path}/outcomes", {"unit": "p1", "reward": 1, "risk": 0})
    assert refused.status_code == 422
    assert "units of this trial have no reward" in refused.json()["message"]
    assert served.post(f"{path}/outcomes", {"unit": "p1", "risk": 0}).status_code == 201
    assert served.get(path).json()["pending"] == 0


def test_a_trial_by_a_design_file_from_the_page(served):
    name = f"dose-{next(NAMES)}"
    form = {"name": name, "design": DESIGN.to_toml(), "seed": "7"}
    headers = {"Authorization": f"Bearer {served.keys['admin']}", "Sec-Fetch-Site": "same-origin"}
    made = served.http.post("/trials", data=form, headers=headers)
    assert made.status_code == 303
    assert served.get(f"/v1/trials/{name}").json()["design"] == DESIGN.to_dict()
    wrong = served.http.post("/trials", data={**form, "name": "other", "design": "units = "}, headers=headers)
    assert wrong.status_code == 422
    assert "line 1" in wrong.text


def test_a_viewer_with_a_delay_learns_the_stop_but_no_cohort(tmp_path):
    with serving(tmp_path / "trials.db", viewer_delay=2) as served:
        path = create(served)
        play(served, path, 3)
        now, then = (served.get(path, role=role).json()["progress"] for role in ("auditor", "viewer"))
        assert now["cohort"] is not None
        assert then["cohort"] is None
        assert (now["settled"], then["settled"]) == (3, 0)
        assert then["rules"][1]["measure"] == 0.0
        assert then["dropped"] == []
        served.post(f"{path}/units", {"unit": "p4"})
        served.post(f"{path}/outcomes", {"unit": "p4", "reward": 1, "risk": 1})
        assert served.get(path, role="viewer").json()["stopped"]["rule"] == "too-many-harms"
        served.post(f"{path}/corrections", {"unit": "p4", "risk": 0, "reason": "another unit's"})
        assert served.get(path, role="viewer").json()["selected"] == "mid"
