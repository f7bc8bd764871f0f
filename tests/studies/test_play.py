"""Simulations of a study: what was saved is used where the same sources made it, and nothing of worth is lost."""

from __future__ import annotations

import pytest

from safebandit import Result, extend, instance_by_name, simulate
from safebandit.studies.play import Simulation, play_or_load
from safebandit.studies.saved import SavedResults

DRUG = instance_by_name("drug-trial")
WANTED = Simulation("drug", DRUG, {"docb": "docb"}, 100, 4, [10, 100])
AT_ONCE = {"horizon": 100, "seed": 1, "checkpoints": [10, 100]}


@pytest.fixture
def folder(tmp_path):
    """A folder whose run `drug` someone extended to 9 trials."""
    path = tmp_path / "drug.parquet"
    play(tmp_path)
    extend(Result.load(path), trials=9).save(path)
    return tmp_path


def play(folder, seed=1, said=None, **changes):
    """The result, and how many rounds were played for it."""
    steps = []
    saved = SavedResults(folder, said if said is None else said.append)
    result = play_or_load(WANTED._replace(**changes), seed=seed, saved=saved, progress=steps.append)
    return result, steps[-1].total if steps else 0


def test_of_an_extended_run_the_first_trials_are_used_and_the_others_stay(folder):
    said = []
    result, rounds = play(folder, said=said)
    assert (rounds, said) == (0, [])
    assert result.same_trials(simulate(DRUG, "docb", trials=4, **AT_ONCE))
    assert Result.load(folder / "drug.parquet").trials == 9


def test_after_an_edit_an_extended_run_is_played_again_and_kept_beside(folder, edited):
    before = Result.load(folder / "drug.parquet")
    edited()
    said = []
    result, rounds = play(folder, said=said)
    assert rounds == 4 * 100
    assert result.specification.sources == "edited"
    assert len(said) == 1
    assert f"differs in sources: played again, and its 9 trials are kept in {folder / 'drug.1.parquet'}" in said[0]
    assert Result.load(folder / "drug.1.parquet").same_trials(before)
    assert Result.load(folder / "drug.parquet").trials == 4
    assert play(folder)[1] == 0


def test_a_run_that_nobody_extended_makes_way_and_it_is_said(tmp_path, edited):
    play(tmp_path)
    edited()
    said = []
    assert play(tmp_path, said=said)[1] == 4 * 100
    assert said == [f"{tmp_path / 'drug.parquet'} differs in sources: played again"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drug.parquet"]


def test_another_seed_keeps_extended_runs_however_often(folder):
    for number in (1, 2):
        said = []
        play(folder, seed=1 + number, trials=1, said=said)
        assert "differs in seed: played again" in said[0]
        assert (folder / f"drug.{number}.parquet").is_file()
        extend(Result.load(folder / "drug.parquet"), trials=2).save(folder / "drug.parquet")


def test_a_policy_of_classes_from_outside_is_always_played_even_by_its_name(folder, monkeypatch):
    monkeypatch.setattr("safebandit.studies.play.is_ours", lambda policy: False)
    assert play(folder)[1] == 4 * 100


def test_a_summary_in_its_place_is_not_mistaken_for_trials(tmp_path):
    simulate(DRUG, "docb", trials=9, keep="summary", **AT_ONCE).save(tmp_path / "drug.parquet")
    said = []
    result, rounds = play(tmp_path, said=said)
    assert (result.trials, rounds) == (4, 400)
    assert "keeps a summary only" in said[0]
    assert (tmp_path / "drug.1.parquet").is_file()
