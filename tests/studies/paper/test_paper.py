"""The paper's reproduction at a tenth of its trials: everything is drawn, judged, reported, and resumed."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import safebandit as sb
from safebandit.errors import SimulationError
from safebandit.simulation.results import Result
from safebandit.studies.paper.claims import CLAIMS
from safebandit.studies.paper.evidence import FAILS, HOLDS
from safebandit.studies.paper.figures import FIGURES
from safebandit.studies.paper.reproduce import chosen_figures, needed_runs, reproduce
from safebandit.studies.paper.runs import RUNS, THEORY, THEORY_RUNS, play


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    return folder, reproduce(out=folder, quick=True)


def test_all_eleven_figures_have_pictures_and_numbers(made):
    folder, _ = made
    assert [figure.number for figure in FIGURES.values()] == list(range(1, 12))
    for name in FIGURES:
        for ending in (".png", ".svg", ".parquet"):
            assert (folder / "figures" / f"{name}{ending}").stat().st_size > 1_000


def test_the_settings_are_the_papers():
    settings = {name: (run.trials, run.horizon) for name, run in RUNS.items()}
    assert settings["case-1"] == settings["case-2"] == (100, 50_000)
    assert settings["drug-21"] == settings["schedules"] == (500, 50_000)
    assert settings["drug-19"] == (100, 50_000)
    assert {settings[f"gaps-{size}-{i}"] for size in ("large", "small") for i in range(1, 11)} == {(100, 20_000)}
    assert {settings[f"naive-{i}"] for i in range(10)} == {settings["slack"]} == {(200, 10_000)}
    assert [RUNS[f"naive-{i}"].alpha for i in range(10)] == pytest.approx([0.5 + i / 50 for i in range(10)], abs=1e-12)
    assert RUNS["slack"].policies == tuple(f"slack-ts:slack={2.0**i:g}" for i in range(-3, 4))
    assert sum(run.simulation().rounds for run in RUNS.values() if run.papers) == 324_000_000
    assert {run.policies for run in RUNS.values() if not run.papers} == {THEORY}


def test_plotted_numbers_are_the_simulated_ones(made):
    folder, _ = made
    result = Result.load(folder / "runs" / "drug-21.parquet")
    table = pd.read_parquet(folder / "figures" / "fig2.parquet")
    panel = table[(table["panel"].str.endswith("regret")) & (table["label"] == "tsbu")]
    np.testing.assert_allclose(panel["y"], result.curve("tsbu").mean(axis=0), rtol=1e-12)
    gaps = pd.read_parquet(folder / "figures" / "fig3.parquet")
    third = gaps[(gaps["panel"].str.startswith("small")) & (gaps["label"] == "docb")].iloc[2]
    assert third["y"] == np.median(Result.load(folder / "runs" / "gaps-small-3.parquet").final("docb"))


def test_the_report_says_every_verdict_and_loads_nothing_from_outside(made):
    folder, reproduction = made
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert {judgement.claim.name for judgement in reproduction.judgements} == {claim.name for claim in CLAIMS}
    for judgement in reproduction.judgements:
        section = text[text.index(f'<h3 id="{judgement.claim.name}">') :]
        assert judgement.verdict in section[: section.index("</h3>")]
    for name in FIGURES:
        assert f'id="{name}"' in text
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", text)
    assert "seed 1" in text
    assert sb.__version__ in text


def test_the_report_says_which_rules_were_changed_after_looking(made):
    folder, _ = made
    text = (folder / "report.html").read_text(encoding="utf-8")
    changed = [claim.name for claim in CLAIMS if claim.changed]
    assert changed == ["fluctuations-regret", "schedule-outliers", "within-bounds", "explicit-bounds"]
    assert text.count("<b>Changed after looking:</b>") == len(changed)
    head = text[: text.index('id="claims"')]
    assert all(f'<a href="#{name}">' in head for name in changed)


def test_findings_that_a_tenth_of_the_trials_settles(made):
    verdicts = {judgement.claim.name: judgement.verdict for judgement in made[1].judgements}
    for name in ("constants-21", "case-1-unsafe-linear", "insensitive-to-smaller-gap", "naive-linear"):
        assert verdicts[name] == HOLDS, name
    assert verdicts["constants-19"] == FAILS


def test_a_second_time_nothing_is_simulated_and_the_numbers_are_the_same(made):
    folder, reproduction = made
    before = {path.name: path.read_bytes() for path in (folder / "figures").glob("*.parquet")}
    steps = []
    again = reproduce(["fig2", "fig9"], out=folder, quick=True, progress=steps.append)
    assert steps == []
    assert {path.name: path.read_bytes() for path in (folder / "figures").glob("*.parquet")} == before
    first = {j.claim.name: j.parts for j in reproduction.judgements}
    for judgement in again.judgements:
        assert judgement.parts == first[judgement.claim.name]


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("safebandit.simulation.execution.CHUNK_ROUNDS", 20_000)
    calls = []

    def stop(step):
        calls.append(step)
        if len(calls) > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play({"naive-0": 20, "naive-1": 20}, folder=tmp_path, seed=1, workers=1, progress=stop)
    kept = Result.load(tmp_path / "naive-0.parquet")
    assert 0 < kept.trials < 20
    results = play({"naive-0": 20, "naive-1": 20}, folder=tmp_path, seed=1)
    whole = sb.simulate(
        kept.specification.instance, "naive-ts", horizon=10_000, trials=20, seed=1, checkpoints="linear"
    )
    assert results["naive-0"].same_trials(whole)


def test_figures_by_name():
    assert chosen_figures(["fig6", "fig2"]) == ["fig2", "fig6"]
    assert needed_runs(["fig2", "fig5"]) == ["drug-21"]
    with pytest.raises(SimulationError, match="unknown figure"):
        chosen_figures(["fig12"])


def test_claims_name_runs_that_exist_and_are_judged_once():
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names) >= 15
    for claim in CLAIMS:
        assert set(claim.runs) <= set(RUNS)
        assert set(claim.figures) <= set(FIGURES)
        assert claim.says
        assert claim.rule


def test_nothing_that_varies_with_the_seed_is_called_exact(made):
    certain = {j.claim.name for j in made[1].judgements if any(part.exact for part in j.parts)}
    assert certain == {"constants-21", "constants-19"}


def test_explicit_bounds_are_of_the_levels_that_were_played_and_can_fail(made):
    (explicit,) = [j for j in made[1].judgements if j.claim.name == "explicit-bounds"]
    assert explicit.verdict == HOLDS
    assert explicit.claim.runs == THEORY_RUNS
    judged = {part.label for part in explicit.parts}
    # At alpha = 0.19 the bounds of unsafe plays come to all 50,000 rounds.
    assert "theory-drug-19: docb:level=theory, regret, share of the bound" in judged
    assert not any(label.startswith("theory-drug-19") and "unsafe" in label for label in judged)
    assert "theory-drug-21: tsbu:schedule=proof, unsafe plays, share of the bound" in judged


def test_figures_say_what_their_text_says(made):
    folder, _ = made
    labels = set(pd.read_parquet(folder / "figures" / "fig2.parquet")["label"])
    assert {"Theorem 1, unsafe plays: 81.6 log t", "Theorem 1, regret: 137.1 log t (above the picture)"} <= labels
    # The mean of Pess is far from what most of its trials are like.
    unsafe = pd.read_parquet(folder / "figures" / "fig1.parquet")
    assert "pess, median" in set(unsafe[unsafe["panel"].str.startswith("case 2")]["label"])
    assert "docb, median" not in set(unsafe["label"])


def test_the_command_lists_and_runs_some_figures(tmp_path, command):
    assert "354,000,000" in command("paper", "--list").out
    assert "2,000,000" in command("paper", "fig9", "--list", "--trials", "20").out
    done = command("paper", "fig9", "--quick", "--out", str(tmp_path))
    assert "report:" in done.out
    assert "Naively sampled risks give linear regret" in done.out
    assert (tmp_path / "report.html").is_file()
    wrong = command("paper", "fig99")
    assert wrong.status == 2
    assert len(wrong.err.strip().splitlines()) == 1
