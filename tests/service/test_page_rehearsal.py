"""A rehearsal on the page: the table of `trial rehearse`, as a job that is bounded, and refused in one line."""

import html
import re
import threading

import pytest

from safebandit.errors import SimulationError
from safebandit.service import rehearsing
from safebandit.service.rehearsing import Supposed
from safebandit.trials.design import Design
from safebandit.trials.rehearsal import rehearse
from safebandit.trials.settings import Settings
from servers.service import ask_again_until

from .conftest import serving

OURS = {"Sec-Fetch-Site": "same-origin"}
MEANS = {"mu_0": ".3", "mu_1": ".5", "mu_2": ".6", "nu_0_0": ".1", "nu_0_1": ".2", "nu_0_2": ".4"}


@pytest.fixture(scope="module")
def trial(served):
    served.create("hoped", pending_cap=2)
    return "/trials/hoped/rehearsal"


def send(served, path, **typed):
    answer = served.request("POST", path, headers=OURS, data={**MEANS, "units": "40", "runs": "25", **typed})
    return answer.status_code, re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", answer.text)))


def test_the_page_shows_what_the_command_prints(served, trial):
    """Every row against the runs themselves, made without the page."""
    before = served.app.state.ledger.state("hoped")
    status, shown = send(served, trial, delay="7")
    truth = {"mu": [0.3, 0.5, 0.6], "nu": [0.1, 0.2, 0.4]}
    expected = rehearse(before.settings, **truth, units=40, times=25, delay=7)
    assert status == 200
    plays, harms = expected.runs.plays, expected.runs.harms.sum(axis=(1, 2))
    assert f"plays of low (best) {plays[:, 1].mean():,.1f} " in shown
    assert f"plays of high (unsafe) {plays[:, 2].mean():,.1f} " in shown
    assert f"harms {harms.mean():,.1f} {harms.std(ddof=1) / 5:.4g} " in shown
    assert "25 runs of 40 units, policy docb, pending cap 2" in shown
    assert "chance that the best safe arm is given most often" in shown
    # With a cap of 2 and so long a delay many wait, and the page says what the command warns of.
    assert expected.warning() is not None
    assert expected.warning() in shown
    assert served.app.state.ledger.state("hoped").number == before.number
    # Another delay is another rehearsal.
    assert f"harms {harms.mean():,.1f} {harms.std(ddof=1) / 5:.4g} " not in send(served, trial, delay="0")[1]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"nu_0_1": ""}, "risk of low must be supposed as a mean in [0, 1], got nothing"),
        ({"mu_2": "1.5"}, "reward of high must be supposed as a mean in [0, 1], got 1.5"),
        ({"mu_2": "nan"}, "reward of high must be supposed as a mean in [0, 1], got nan"),
        ({"runs": "1001"}, "runs must lie between 1 and 1,000, got 1,001"),
        ({"runs": "0"}, "runs must lie between 1 and 1,000, got 0"),
        ({"units": "0"}, "units must lie between 1 and 10,000,000, got 0"),
        ({"units": "140000"}, "must be at most 10,000,000 here, got 10,500,000; give fewer runs"),
        ({"delay": "soon"}, "delay must be a whole number, got 'soon'"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_in_one_line(served, trial, typed, message):
    status, shown = send(served, trial, **typed)
    assert status == 422
    assert message in shown
    assert "What to expect" not in shown


def test_a_trial_with_contexts_has_no_form(served):
    served.create("aged", context=["age:18..90"])
    shown = served.get("/trials/aged/rehearsal").text
    assert "cannot be rehearsed yet" in shown
    assert "<button>Rehearse it" not in shown
    status, shown = send(served, "/trials/aged/rehearsal")
    assert status == 422
    assert "a trial with a context cannot be rehearsed yet" in shown


def test_the_runs_of_a_design_count_with_its_units():
    settings = Settings.by_design(Design(["low", "high"], alpha=0.3, policy="docb", units=6_000), seed=1)
    asked = Supposed(settings, (0.5, 0.5), ((0.1, 0.1),), None, 800, 0)
    assert asked.checked() is asked
    with pytest.raises(SimulationError, match="at most 10,000,000 here, got 12,000,000"):
        asked._replace(times=1_000).checked()


def test_a_rehearsal_goes_on_between_requests(served, trial, monkeypatch):
    """The page says how far it is, and finds the same job again."""
    let, begun = threading.Event(), []

    def slow(*given, progress, **named):
        begun.append(named["times"])
        progress(10, 25)
        assert let.wait(60)
        return rehearse(*given, **named)

    monkeypatch.setattr(rehearsing, "rehearse", slow)
    monkeypatch.setattr("safebandit.service.page.rehearsals.REHEARSE_SECONDS", 0.2)
    page = served.request("POST", trial, headers=OURS, data={**MEANS, "units": "40", "runs": "25"}).text
    assert "It goes on" in page
    again = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
    assert again.items() >= MEANS.items()
    let.set()
    monkeypatch.setattr("safebandit.service.page.rehearsals.REHEARSE_SECONDS", 60.0)
    assert "What to expect" in served.request("POST", trial, headers=OURS, data=again).text
    assert begun == [25]


def test_stopping_does_not_wait_for_a_rehearsal(tmp_path, monkeypatch):
    """As while a policy is compiled, which hears nothing."""
    deaf, answers = threading.Event(), []
    monkeypatch.setattr(rehearsing, "rehearse", lambda *_, **__: deaf.wait(300))
    with serving(tmp_path / "trials.db") as served:
        served.create("knee")
        asking = threading.Thread(target=lambda: answers.append(send(served, "/trials/knee/rehearsal")))
        asking.start()
        ask_again_until(lambda: served.app.state.rehearsals._jobs, "it does not begin")
        served.server.should_exit = True
        asking.join()
    deaf.set()
    [(status, shown)] = answers
    assert status == 503
    assert "the rehearsal was given up, as the service is stopping" in shown
