"""A log whose hashes are all right must also be one that the engine would have written: each event was allowed."""

import pytest

from safebandit import Trial
from safebandit.errors import TrialError
from safebandit.trials import events
from safebandit.trials.descriptions import describe
from safebandit.trials.design import Design
from safebandit.trials.events import Event, canonical, hash_of
from safebandit.trials.replay import Replay

ARMS = ["placebo", "low"]


@pytest.fixture(scope="module")
def log():
    """Created, two units of which all is known, a correction, one unit given up, an amendment; one unit is pending."""
    trial = Trial(ARMS, 0.3, "docb", seed=7, pending_cap=9, name="knee", actor="Ada")
    for unit in ("p1", "p2"):
        trial.ask(unit)
        trial.tell(unit, reward=1, risk=0)
    trial.correct("p1", reward=0.5, reason="typing error")
    trial.ask("p3")
    trial.give_up("p3", reason="moved away")
    trial.amend(alpha=0.4, reason="the committee")
    trial.ask("p4")
    return trial.log


def chained(log):
    """Events with numbers, links and hashes that are right, whatever they say."""
    previous, sealed = log[0].previous, []
    for number, event in enumerate(log, 1):
        fields = (event.trial, number, event.time, event.actor, event.kind, event.body, previous)
        sealed.append(Event(*fields, hash_of(fields)))
        previous = sealed[-1].hash
    return sealed


def problem(log):
    return Replay("knee").verify(chained(log)).problem


def first(log, kind):
    return next(i for i, event in enumerate(log) if event.kind == kind)


def changed(log, kind, fields=(), **content):
    """The log with other fields in the first event of a kind, or another content."""
    i = first(log, kind)
    event = log[i]._replace(body=canonical({**log[i].content, **content}), **dict(fields))
    return [*log[:i], event, *log[i + 1 :]]


def added(log, kind, **content):
    """The log with one event more."""
    return [*log, log[-1]._replace(kind=kind, body=canonical(content))]


def typed_before(log):
    """A unit of a version that took ids as they were typed, and the same one once more."""
    before = log[1].content | {"unit": "p\u00a01", "software": "0.2.0"}
    again = log[3].content | {"unit": "p 1", "round": 2, "decision": 2}
    return [log[0], log[1]._replace(body=canonical(before)), log[3]._replace(body=canonical(again))]


def settings(log, **values):
    return changed(log[:1], "created", settings={**log[0].content["settings"], **values})


def test_the_log_itself_holds(log):
    assert problem(log) is None


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda log: changed(log, "told", outcome=[5.0, 0.0]), "must lie in [0, 1], got 5.0"),
        (lambda log: changed(log, "told", outcome=[1.0]), "event 3"),
        (lambda log: changed(log, "told", outcome=[None, None]), "nothing was told"),
        (lambda log: changed(log, "told", outcome=[1, 0]), "is not what a trial writes"),
        (lambda log: changed(log, "told", more=1), "is not what a trial writes"),
        (lambda log: changed(log, "told", unit="nobody"), "was never given an arm"),
        (lambda log: added(log, "told", unit="p2", outcome=[0.0, None]), "already has reward 1, got 0"),
        (lambda log: added(log, "told", unit="p2", outcome=[1.0, 0.0]), "is not what a trial writes"),
        (lambda log: added(log, "told", unit="p3", outcome=[1.0, 0.0]), "was given up"),
        (lambda log: changed(log, "corrected", before=[0.0, 0.0]), "is not what a trial writes"),
        (lambda log: changed(log, "corrected", outcome=[1.0, None]), "has this outcome already"),
        (lambda log: changed(log, "corrected", reason=""), "reason must have 1 to 200 characters"),
        (lambda log: added(log, "given up", unit="p2", counts_as="harm", reason="lost"), "only a unit that is waited"),
        (lambda log: added(log, "given up", unit="p4", counts_as="ignore", reason="lost"), "is not what a trial"),
        (lambda log: added(log, "given up", unit="p3", counts_as="harm", reason="lost"), "is not what a trial"),
        (lambda log: added(added(log, "closed", reason="done"), "resumed", reason="no"), "is closed, and stays so"),
        (lambda log: added(log, "resumed", reason="no"), "is not what a trial writes"),
        (lambda log: added(log, "paused", reason="\0"), "control characters"),
        (lambda log: [*added(log, "paused", reason="now"), log[-1]], "unit 'p4' has an arm already"),
        (lambda log: changed(log, "amended", version=3), "is not what a trial writes"),
        (lambda log: changed(log, "amended", changes={"alpha": 0.5}), "is not what a trial writes"),
        (lambda log: [*log, log[0]], "an event of the kind 'created' cannot be there"),
        (lambda log: added(log, "nonsense"), "an event of the kind 'nonsense' cannot be there"),
        # What the first event says.
        (lambda log: settings(log, arms=["low", "low"]), "names of arms must differ"),
        (lambda log: settings(log, arms=["", "low"]), "an arm's name must have"),
        (lambda log: settings(log, withdrawn=["low"]), "a trial begins with all its arms"),
        (lambda log: settings(log, alpha=1.5), "[0, 1]"),
        (lambda log: settings(log, alpha=0), "is not what a trial writes"),
        (lambda log: settings(log, seed=-1), "seed must lie in"),
        (lambda log: settings(log, lost="safe"), "lost must be one of"),
        (lambda log: settings(log, title="\x07"), "control characters"),
        (lambda log: settings(log, policy="nonsense"), "nonsense"),
        (lambda log: settings(log, more=1), "more"),
        (lambda log: changed(log[:1], "created", more=1), "is not what a trial writes"),
        # Who, when and whom.
        (lambda log: changed(log, "told", {"actor": ""}), "actor must have"),
        (lambda log: changed(log, "asked", {"actor": "A\nB"}), "actor must not have control characters"),
        (lambda log: changed(log, "told", {"time": "2001-01-01T00:00:00.000000Z"}), "before that of the event that"),
        (lambda log: changed(log, "told", {"time": "9999"}), "has no time"),
        (lambda log: changed(log[:1], "created", {"time": "2026-02-30T00:00:00.000000Z"}), "has no time"),
        (lambda log: changed(log, "told", clock="2001-01-01T00:00:00.000000Z"), "the clock was not believed"),
        (lambda log: _at_once(changed(log, "told", clock=LATER)), "the clock was not believed"),
        (lambda log: _at_once(changed(log, "told", clock=1)), "the clock was not believed"),
        (lambda log: changed(log, "asked", unit=""), "a unit's id must have"),
        (lambda log: changed(log, "asked", unit=17), "a unit's id must be a text"),
        (lambda log: changed(log, "asked", unit="p1 "), "unit 'p1 ' is not spelled as a trial spells it, 'p1'"),
        (lambda log: changed(log, "asked", unit="p\u200b1"), "invisible"),
        (typed_before, "unit 'p 1' has an arm already"),
        # The body's own text.
        (lambda log: _other_text(log, "told", '{"outcome":[1.0,0.0], "unit":"p1"}'), "is not what a trial writes"),
        (lambda log: _other_text(log, "told", '{"outcome":[0.0,1.0],"outcome":[1.0,0.0],"unit":"p1"}'), "twice"),
        (lambda log: added(log, "recounted", software="1", formulas="0" * 16, stream=[1, 2, 3, 4, 5, 6]), "stream"),
        (lambda log: added(log, "recounted", **{**_recount(log), "more": 1}), "is not what a trial writes"),
    ],
)  # fmt: skip
def test_an_event_that_would_have_been_refused(log, forge, said):
    found = problem(forge(log))
    assert found is not None
    assert said in found


def _other_text(log, kind, text):
    i = first(log, kind)
    return [*log[:i], log[i]._replace(body=text), *log[i + 1 :]]


LATER = "2999-01-01T00:00:00.000000Z"


def _at_once(log):
    return [event._replace(time=log[-1].time) for event in log]


def _recount(log):
    asked = log[-1].content
    return {key: asked[key] for key in ("software", "formulas", "stream")}


@pytest.fixture(scope="module")
def designed():
    """By a design: event 6 drops an arm, event 11 stops the trial, and a correction changes the selection."""
    rules = ["arm-harm:confidence=.8,least=2", "too-many-harms:harms=3"]
    trial = Trial(Design(ARMS, 0.3, "docb", units=9, cohort=2, stop=rules), seed=7, name="knee", actor="Ada")
    for unit, risk in (("p1", 1), ("p2", 1), ("p3", 0), ("p4", 1)):
        trial.ask(unit)
        trial.tell(unit, reward=1, risk=risk)
    trial.correct("p4", risk=0, reason="another unit's")
    return trial.log


def without(log, *kinds):
    return [event for event in log if event.kind not in kinds]


def test_a_log_by_a_design_holds(designed):
    assert [event.kind for event in designed] == [
        "created", "asked", "told", "asked", "told", "dropped", "asked", "told", "asked", "told", "stopped",
        "corrected", "selected",
    ]  # fmt: skip
    assert problem(designed) is None


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda log: without(log, "dropped"), "event 6 is not the one that must follow: the trial writes that an arm"),
        (lambda log: without(log, "stopped"), "event 11 is not the one that must follow: the trial writes that the"),
        (lambda log: without(log, "stopped", "corrected", "selected"), "the log lacks its end: that the trial stops"),
        (lambda log: without(log, "selected"), "the log lacks its end: that another arm is selected"),
        (lambda log: changed(log, "dropped", arm="low"), "when they are measured again: arm differ"),
        (lambda log: changed(log, "dropped", measure=0.9), "measure differ"),
        (lambda log: changed(log, "dropped", {"actor": "Ada"}), "is written by the software, not by 'Ada'"),
        (lambda log: changed(log, "stopped", rule="harm"), "rule differ"),
        (lambda log: changed(log, "stopped", why="because"), "why differ"),
        (lambda log: changed(log, "stopped", measures=[]), "measures differ"),
        (lambda log: changed(log, "stopped", selected="placebo"), "selected differ"),
        (lambda log: changed(log, "stopped", formulas="0" * 16, selected="placebo"), "it was decided by formulas 0000"),
        (lambda log: changed(log, "selected", because_of=3), "because_of differ"),
        (lambda log: [*log[:3], log[5], *log[3:]], "an event of the kind 'dropped' cannot be there"),
        (lambda log: [*log[:3], log[10]], "an event of the kind 'stopped' cannot be there"),
        (lambda log: [*log, log[-1]], "an event of the kind 'selected' cannot be there"),
        (lambda log: [*log, log[1]._replace(body=canonical({**log[1].content, "unit": "p5"}))], "has stopped by its"),
        (lambda log: added(log, "resumed", reason="go on"), "has stopped by its design, and stays so"),
        (lambda log: settings(log, alpha=0.4), "limits of a trial must be what its design says"),
        (lambda log: settings(log, design=_other_design(log, units=0)), "units must lie between 1"),
        (lambda log: settings(log, design=_other_design(log, arms=["low", "high"])), "arms of a trial must be what"),
        (lambda log: settings(log, design="docb"), "event 1 cannot be replayed"),
    ],
)  # fmt: skip
def test_what_a_design_gives_cannot_be_forged(designed, forge, said):
    found = problem(forge(designed))
    assert found is not None
    assert said in found


def _other_design(log, **values):
    return {**log[0].content["settings"]["design"], **values}


def test_a_clock_that_is_not_believed_says_so(monkeypatch):
    """It ran ahead once: later events keep that time, and say what the clock said."""
    trial = Trial(ARMS, 0.3, "docb", seed=7, name="knee")
    true, ahead = "2026-03-01T10:00:00.000000Z", "2038-01-19T03:14:08.000000Z"
    monkeypatch.setattr(events, "now", lambda: ahead)
    trial.ask("p1")
    monkeypatch.setattr(events, "now", lambda: true)
    trial.tell("p1", reward=1)
    assert "clock" not in trial.log[1].content
    assert (trial.log[2].time, trial.log[2].content["clock"]) == (ahead, true)
    assert f"[the clock said {true}" in describe(trial.log[2], trial.risks)
    found = trial.verify()
    assert (found.holds, found.misdated) == (True, 1)
    assert Trial.from_json(trial.to_json()).verify().misdated == 1
    monkeypatch.setattr(events, "now", lambda: "2039-01-01T00:00:00.000000Z")
    trial.tell("p1", risk=0)
    assert "clock" not in trial.log[3].content


def test_a_zero_has_no_sign(log):
    trial = Trial(ARMS, -0.0, "docb", seed=7, name="knee")
    trial.ask("p1")
    trial.tell("p1", reward=-0.0, risk=0)
    assert "-0.0" not in trial.to_json()
    assert not trial.tell("p1", reward=0.0).new


def test_a_record_that_kept_a_sign_still_holds(log):
    older = changed(log, "told", outcome=[1.0, -0.0])
    older = changed(older, "corrected", before=[1.0, -0.0])
    assert problem(older) is None


def test_a_saved_trial_that_says_a_name_twice(log):
    text = Trial(ARMS, 0.3, "docb", seed=7).to_json()
    with pytest.raises(TrialError, match='"format" stands twice in one object'):
        Trial.from_json('{"format":2,' + text[1:])


def test_a_hash_noted_before_is_found_anywhere():
    trial = Trial(ARMS, 0.3, "docb", seed=7)
    noted = trial.log[0].hash
    trial.ask()
    trial.tell("1", reward=1)
    assert trial.verify(expected=noted).after == 2
    assert trial.verify(expected=trial.log[-1].hash).after == 0
    other = trial.verify(expected="0" * 64)
    assert not other.holds
    assert f"no event has the hash {'0' * 64}" in other.problem
