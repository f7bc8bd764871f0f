"""Looking again with more trials: errors are spent, saved runs are extended and never lost, and it comes to an end."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import safebandit as sb
from safebandit.errors import SimulationError
from safebandit.simulation.results import Result
from safebandit.studies.paper.claims import claim, sampled_risks
from safebandit.studies.paper.evidence import HOLDS, UNDECIDED
from safebandit.studies.paper.figures import FIGURES
from safebandit.studies.paper.intervals import of_mean
from safebandit.studies.paper.looks import Look, look_at, next_trials
from safebandit.studies.paper.reproduce import asked_trials, reproduce
from safebandit.studies.paper.runs import RUNS, play

NAIVE = [f"naive-{i}" for i in range(10)]


class Blank:
    """A picture that takes no time to draw."""

    def save(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        return path


@pytest.fixture
def small(monkeypatch):
    """Figure 9 in a moment: 8 trials of 300 rounds each, and nothing is drawn."""
    monkeypatch.setitem(FIGURES, "fig9", replace(FIGURES["fig9"], draw=lambda results: Blank()))
    for name in NAIVE:
        monkeypatch.setitem(RUNS, name, replace(RUNS[name], trials=8, horizon=300))


def test_all_looks_together_spend_at_most_five_percent():
    assert Look().confidence == 0.95
    spent = [1 - Look(k).confidence for k in range(1, 5_000)]
    assert spent[:3] == pytest.approx([0.025, 0.05 / 6, 0.05 / 12])
    assert 0.0499 < sum(spent) < 0.05


def test_looking_until_it_is_decided_deceives_as_seldom_as_is_said():
    """A mean at the very end of its range: each decision is an error.

    400 trials of six looks, at 40 to 1,280 numbers. At most 5 % may err: more than 34 do with a chance below 0.2 %.
    Looks at 95 % each err in about 17 %: fewer than 44 do with a chance below 0.1 %.
    """
    rng = np.random.default_rng(1)
    wrong = {"spent": 0, "same": 0}
    for _ in range(400):
        values = rng.normal(size=1_280)
        for kind, confidences in (("spent", [Look(k).confidence for k in range(1, 7)]), ("same", [0.95] * 6)):
            looks = zip((40 * 2**k for k in range(6)), confidences, strict=True)
            found = [of_mean(values[:n], confidence) for n, confidence in looks]
            wrong[kind] += any(low > 0.0 or high < 0.0 for low, high in found)
    assert wrong["spent"] <= 34
    assert wrong["same"] >= 44


def results_of(**trials):
    """Results under the names of runs, with so many trials whose regrets are 0, 1, 2, ..."""
    made = {}
    for name, count in trials.items():
        result = sb.simulate("naive-sampling", "docb", horizon=2, trials=count)
        result.of("docb").regret[:] = np.arange(count)[:, None]
        made[name.replace("_", "-")] = result
    return made


@claim.claim("made-up", "fig6", "drug-21 drug-19", "nowhere", "Regret is positive.", "The mean is above 0.")
def made_up(results, evidence):
    return [evidence.mean(name, result.final("docb"), 0.0, np.inf) for name, result in results.items()]


ASKED = {"drug-21": 500, "drug-19": 100}


@pytest.mark.parametrize(
    ("saved", "again", "look", "seen"),
    [
        # As many as were asked for, in one of the runs at least: one look.
        ((500, 100), False, 0, (500, 100)),
        ((500, 900), False, 0, (500, 100)),
        # More than were asked for: someone may have looked at 1, 2 and 4 times the trials.
        ((1500, 300), False, 3, (1500, 300)),
        ((2000, 900), False, 3, (2000, 400)),
        # Looks until it is decided are at 1, 2, 4, ... times the trials.
        ((500, 100), True, 1, (500, 100)),
        ((1500, 300), True, 2, (1000, 200)),
        ((2000, 900), True, 3, (2000, 400)),
    ],
)
def test_which_look_it_is_follows_from_the_trials_alone(saved, again, look, seen):
    results = results_of(drug_21=saved[0], drug_19=saved[1])
    found = look_at(made_up, results, ASKED, again=again)
    assert found.look.number == look
    assert tuple(found.trials.values()) == seen
    # The first trials, all of them: 0, 1, 2, ... have this mean.
    assert [part.estimate for part in found.parts] == [(count - 1) / 2 for count in seen]


def test_only_runs_of_undecided_claims_are_extended_and_never_beyond_the_most():
    results = results_of(drug_21=500, drug_19=100)
    decided = look_at(made_up, results, ASKED, again=True)
    assert decided.verdict == HOLDS
    for result in results.values():
        result.of("docb").regret[::2] *= -1
    undecided = look_at(made_up, results, ASKED, again=True)
    assert undecided.verdict == UNDECIDED
    assert next_trials([decided], 10_000) == {}
    assert next_trials([decided, undecided], 1_000) == {"drug-21": 1_000, "drug-19": 200}
    assert next_trials([undecided], 999) == {}


def test_a_saved_run_is_extended_and_a_longer_one_is_used_and_never_overwritten(small, tmp_path):
    path = tmp_path / "naive-3.parquet"
    assert play({"naive-3": 5}, folder=tmp_path, seed=1)["naive-3"].trials == 5
    extended = play({"naive-3": 12}, folder=tmp_path, seed=1)["naive-3"]
    made = extended.specification
    at_once = sb.simulate(made.instance, "naive-ts", horizon=300, trials=12, seed=1, checkpoints="linear")
    assert extended.same_trials(at_once)
    kept = path.read_bytes()
    assert play({"naive-3": 7}, folder=tmp_path, seed=1)["naive-3"].same_trials(at_once)
    assert path.read_bytes() == kept


def test_until_decided_stops_at_the_most_and_the_same_command_again_plays_nothing(small, tmp_path):
    said, steps = [], []
    first = reproduce(["fig9"], out=tmp_path, until_decided=True, most=40, say=said.append)
    assert not first.interrupted
    (falls,) = [j for j in first.judgements if j.claim.name == "naive-improves"]
    # Eight trials do not show that regret falls at each step, nor do 16 and 32; 64 would be more than 40.
    assert (falls.verdict, falls.look.number, set(falls.trials.values())) == (UNDECIDED, 3, {32})
    assert falls.look.confidence == pytest.approx(1 - 0.05 / 12)
    assert len(said) == 2
    assert Result.load(tmp_path / "runs" / "naive-1.parquet").trials == 8
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "99.58 % interval" in text
    assert "1 - 0.05/(k (k + 1))" in text
    again = reproduce(["fig9"], out=tmp_path, until_decided=True, most=40, progress=steps.append)
    assert steps == []
    assert [j.parts for j in again.judgements] == [j.parts for j in first.judgements]
    # Asked for fewer, the report uses what is there, says so, and is as sure as a later look must be.
    fewer = reproduce(["fig9"], out=tmp_path, trials=4, progress=steps.append)
    assert steps == []
    assert {j.look.number for j in fewer.judgements if j.claim.name == "naive-improves"} == {3}
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.search(r"Saved ones that have more were used: naive-0\s+\(32\), naive-1\s+\(8\)", text)


def test_ctrl_c_between_looks_leaves_a_report_of_the_last_and_the_same_command_goes_on(small, tmp_path):
    def stop(step):
        if step.total != 8 * 300 * 10:
            raise KeyboardInterrupt

    stopped = reproduce(["fig9"], out=tmp_path, until_decided=True, most=16, progress=stop)
    assert stopped.interrupted
    assert {j.look.number for j in stopped.judgements} == {1}
    assert stopped.report.is_file()
    assert Result.load(tmp_path / "runs" / "naive-0.parquet").trials == 8
    went_on = reproduce(["fig9"], out=tmp_path, until_decided=True, most=16)
    assert not went_on.interrupted
    assert 2 in {j.look.number for j in went_on.judgements}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"quick": True, "trials": 9}, "give one"),
        ({"trials": 1}, "trials must be at least 2"),
        ({"until_decided": True, "trials": 9}, "leave quick and trials out"),
        ({"until_decided": True, "quick": True}, "leave quick and trials out"),
        ({"until_decided": True, "most": 0}, "most must be at least 2"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_played(wrong, why, tmp_path):
    with pytest.raises(SimulationError, match=why):
        reproduce(["fig9"], out=tmp_path, **wrong)
    assert list(tmp_path.iterdir()) == []


def test_how_many_trials_are_asked_for():
    assert asked_trials(["drug-21", "drug-19"]) == ASKED
    assert asked_trials(["drug-21", "drug-19"], quick=True) == {"drug-21": 50, "drug-19": 10}
    assert asked_trials(["drug-21", "drug-19"], trials=70) == {"drug-21": 70, "drug-19": 70}
    assert sampled_risks.naive_improves.runs == ("naive-0", "naive-3", "naive-6", "naive-9")
