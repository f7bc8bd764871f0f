"""The arena as a whole: what it writes, what it takes up again, and what it refuses."""

from __future__ import annotations

import html
import itertools
import json
import re

import pytest

import safebandit as sb
from safebandit.core.policies import POLICIES
from safebandit.errors import InstanceError, PolicyError, SimulationError
from safebandit.simulation.results import Result
from safebandit.simulation.summaries import METRICS
from safebandit.sources import sources
from safebandit.studies.arena import COLLECTION, run_arena
from safebandit.studies.arena.plan import (
    QUICK_UNITS,
    UNITS,
    ArenaSettings,
    checkpoints,
    least_risky_arm,
    make_plan,
    read_settings,
)
from safebandit.studies.arena.resampling import STATISTICS

# One of each kind: confidence bounds, a mixture that cannot play two risks, and the sampling baseline.
THREE = ["docb", "pess", "tsbu"]
# In the collection's order, with one at the limit, one of two risks, and one without an unsafe arm.
SHOWN = ["drug-trial-21", "bayes-schedules", "dominated-two", "two-risks", "all-safe", "one-safe"]
SOME = ["two-arm-example", "policy-case-1", "dominated-two", "random-3"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arena")
    return folder, run_arena(SHOWN, THREE, out=folder, quick=True)


@pytest.fixture
def no_page(monkeypatch):
    """Most of the time of a small arena goes into its pictures; not where only its numbers are looked at."""
    monkeypatch.setattr("safebandit.studies.arena.report.write_report", lambda arena, folder: folder / "index.html")


def test_a_table_has_a_row_for_every_policy_by_rank(made):
    _, arena = made
    for board in arena.boards:
        table = board.table()
        assert table.index.tolist() == [row.policy for row in board.leaderboard]
        assert table["mean_rank"].is_monotonic_increasing
        assert table.loc[arena.settings.baseline, ["mean_ratio", "unsafe_ratio"]].tolist() == [1.0, 1.0]


def test_the_document_has_every_number_of_every_size_policy_and_instance(made):
    folder, arena = made
    document = json.loads((folder / "arena.json").read_text(encoding="utf-8"))
    assert document == json.loads(json.dumps(arena.to_dict(), allow_nan=False))
    assert set(document) == {"version", "settings", "interrupted", "method", "sizes"}
    assert document["version"] == sb.__version__
    assert document["settings"] == {
        "baseline": "tsbu", "units": list(QUICK_UNITS), "trials": None, "seed": 1, "quick": True, "policies": THREE,
    }  # fmt: skip
    assert [size["units"] for size in document["sizes"]] == list(QUICK_UNITS)
    for size in document["sizes"]:
        assert [one["name"] for one in size["instances"]] == SHOWN
        assert {row["policy"] for row in size["leaderboard"]} == set(THREE)
    for units, one in ((size["units"], one) for size in document["sizes"] for one in size["instances"]):
        assert {*one["policies"], *one["cannot_play"]} == set(THREE)
        assert one["specification"]["horizon"] == units
        assert sorted(score["rank"] for score in one["policies"].values())[0] >= 1
        for score in one["policies"].values():
            others = {"over_lower_bound", "slope_over_lower_bound", "unsafe_share"}
            assert set(score) == {"text", "rank", *METRICS, *others}
            for metric in METRICS:
                assert list(score[metric]) == list(STATISTICS)
                assert all(set(s) == {"value", "ratio", "low", "high", "wide"} for s in score[metric].values())


def test_all_policies_play_unless_some_are_named(no_page):
    arena = run_arena(["one-safe"], units=36, quick=True)
    # No instance of the collection has features.
    wanted = [name for name in POLICIES if name not in ("linear", "doss", "safe-lucb", "safe-lts", "colts")]
    assert arena.policies == wanted
    (board,) = arena.boards
    assert set(board.standings[0].scores) == {row.policy for row in board.leaderboard} == set(wanted)
    assert board.unplayed == {}


def test_the_document_can_be_run_again(made):
    folder, _ = made
    document = json.loads((folder / "arena.json").read_text(encoding="utf-8"))
    one = next(item for item in document["sizes"][1]["instances"] if item["name"] == "one-safe")
    specification = one["specification"]
    again = sb.simulate(
        sb.Instance.from_dict(specification["instance"]), specification["policies"], horizon=specification["horizon"],
        trials=one["trials"], seed=specification["seed"], checkpoints=specification["checkpoints"],
    )  # fmt: skip
    assert again.same_trials(Result.load(folder / "runs" / "1000" / "one-safe.parquet"))
    for label, score in one["policies"].items():
        assert score["regret"]["mean"]["value"] == again.final(label).mean()


def test_the_page_shows_everything_and_loads_nothing_from_outside(made):
    folder, arena = made
    text = (folder / "index.html").read_text(encoding="utf-8")
    for name, units in itertools.product(SHOWN, QUICK_UNITS):
        section = text[text.index(f'<h4 id="{name}-{units}">') :]
        section = section[: section.index("</section>")]
        assert COLLECTION[name].reason in html.unescape(section)
        assert all(re.search(rf"<td>{policy}(<|$)", section) for policy in THREE)
        assert f"trials of {units:,} units" in section
    places = [text.index(f'id="{name}-{units}"') for units in QUICK_UNITS for name in ("units", "mean", "instances")]
    assert places == sorted(places)
    words = re.sub(r"data:image/png;base64,[^\"]*", "", text[text.index("<body>") :])
    assert not re.search(r"\b(nan|inf|none)\b", words, flags=re.IGNORECASE)
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", text)
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(re.findall(r'id="([^"]+)"', text))
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text
    names = {"ranks", "q99-1000", "slope-1000"}
    names |= {f"{name}-{units}" for name in ("mean", "unsafe", "trade-off") for units in QUICK_UNITS}
    drawn = {path.name: path.stat().st_size for path in (folder / "figures").iterdir()}
    assert set(drawn) == {f"{name}{ending}" for name in names for ending in (".png", ".svg")}
    assert min(drawn.values()) > 1_000
    assert len(arena.standings) == len(SHOWN) * len(QUICK_UNITS)


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_cores(tmp_path, no_page):
    documents = []
    for workers in (1, 3):
        folder = tmp_path / str(workers)
        run_arena(SOME, ["docb"], quick=True, out=folder, workers=workers)
        documents.append((folder / "arena.json").read_bytes())
    assert documents[0] == documents[1]
    run_arena(SOME, ["docb"], quick=True, out=tmp_path / "1", seed=2)
    assert (tmp_path / "1" / "arena.json").read_bytes() != documents[0]


def test_what_was_played_is_not_played_again(tmp_path, no_page):
    steps = []
    settings = {"units": 200, "out": tmp_path}
    run_arena(SOME[:2], ["docb"], trials=6, **settings, progress=steps.append)
    assert steps[-1].total == 2 * 2 * 6 * 200
    assert max(step.done for step in steps) == steps[-1].total

    steps.clear()
    first = run_arena(SOME[:2], ["docb"], trials=6, **settings, progress=steps.append)
    assert steps == []

    # A new policy plays alone, and those that are not asked for stay in the file.
    run_arena(SOME[:2], ["topsi"], trials=6, **settings, progress=steps.append)
    assert {step.what.split()[-1] for step in steps} == {"topsi"}
    assert sorted(Result.load(tmp_path / "runs" / "200" / f"{SOME[0]}.parquet").policies) == ["docb", "topsi", "tsbu"]

    # More trials are added, fewer are taken from what is there.
    steps.clear()
    more = run_arena(SOME[:2], ["docb", "topsi"], trials=9, **settings, progress=steps.append)
    assert max(step.done for step in steps) == 2 * 3 * 9 * 200
    at_once = run_arena(SOME[:2], ["docb", "topsi"], trials=9, units=200)
    assert more.to_dict() == at_once.to_dict()
    steps.clear()
    fewer = run_arena(SOME[:2], ["docb"], trials=6, **settings, progress=steps.append)
    assert steps == []
    assert fewer.to_dict() == first.to_dict()
    assert Result.load(tmp_path / "runs" / "200" / f"{SOME[0]}.parquet").trials == 9


def test_a_size_more_plays_only_that_size(tmp_path, no_page):
    steps = []
    settings = {"trials": 8, "out": tmp_path, "progress": steps.append}
    alone = run_arena(SOME[:2], ["docb"], units=36, **settings)
    steps.clear()
    both = run_arena(SOME[:2], ["docb"], units=[50, 36], **settings)
    assert {step.what.split(",")[0] for step in steps} == {"50 units"}
    assert [board.units for board in both.boards] == [36, 50]
    assert both.to_dict()["sizes"][0] == alone.to_dict()["sizes"][0]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["36", "50"]
    steps.clear()
    run_arena(SOME[:2], ["docb"], units=[36, 50], **settings)
    assert steps == []


def test_policies_not_made_for_a_size_play_it_only_when_they_are_named():
    settings = ArenaSettings(units=(5_000, 5_001))
    short, long = make_plan(["one-safe"], None, settings)
    assert "safe-ids" in short.policies
    assert long.cannot == {"safe-ids": "not made for this size: for up to 5,000 units"}
    assert [set(task.policies) for task in make_plan(["one-safe"], ["safe-ids"], settings)] == 2 * [
        {"tsbu", "safe-ids"}
    ]


def test_who_does_not_play_a_size_is_shown_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr("safebandit.studies.arena.plan.MADE_FOR", {"docb": 40})
    monkeypatch.setattr("safebandit.studies.arena.plan.POLICIES", {name: POLICIES[name] for name in THREE})
    arena = run_arena(SOME[:1], units=[36, 50], trials=4, out=tmp_path)
    assert [board.unplayed for board in arena.boards] == [{}, {"docb": "not made for this size: for up to 40 units"}]
    last = arena.to_dict()["sizes"][1]["leaderboard"][-1]
    assert (last["policy"], last["instances"], last["mean_rank"]) == ("docb", 0, None)
    assert "not made for this size" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_usual_sizes_and_trials():
    assert read_settings().units == UNITS == (36, 100, 400, 2_000, 50_000)
    tasks = make_plan(["bayes-schedules", "one-safe"], ["docb"], read_settings())
    assert [(task.units, task.trials) for task in tasks if task.entry.name == "one-safe"] == [
        (36, 1_000), (100, 1_000), (400, 400), (2_000, 200), (50_000, 200),
    ]  # fmt: skip
    tasks_of_two = make_plan(["one-safe"], ["docb"], read_settings([400, 36], trials=[5, 9]))
    assert [(task.units, task.trials) for task in tasks_of_two] == [(36, 9), (400, 5)]
    # Rare long runs need many trials where the best arm's risk is alpha.
    assert [task.trials for task in tasks if task.entry.name == "bayes-schedules"] == [1_000, 1_000, 400, 200, 1_000]


@pytest.mark.parametrize("change", ["seed", "units", "sources", "cut short"])
def test_other_runs_are_not_mistaken_for_this_one(change, tmp_path, edited, no_page):
    settings = {"units": 100, "trials": 3, "seed": 1, "out": tmp_path}
    run_arena(SOME[:1], ["docb"], **settings)
    if change == "sources":
        edited()
    elif change == "cut short":
        path = tmp_path / "runs" / "100" / f"{SOME[0]}.parquet"
        path.write_bytes(path.read_bytes()[:500])
    else:
        settings[change] += 1
    steps = []
    again = run_arena(SOME[:1], ["docb"], **settings, progress=steps.append)
    assert steps[-1].done == steps[-1].total
    fresh = run_arena(SOME[:1], ["docb"], **{**settings, "out": None})
    assert again.to_dict() == fresh.to_dict()


def test_sources_of_formulas_are_told_apart():
    assert re.fullmatch(r"[0-9a-f]{16}", sources())


def test_an_interrupted_run_reports_what_was_finished_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("safebandit.simulation.execution.CHUNK_ROUNDS", 600)

    def stop(step):
        if "policy-case-1: " in step.what and step.done > 1.6 * step.total / 3:
            raise KeyboardInterrupt

    names, settings = SOME[:3], {"units": 300, "trials": 40, "out": tmp_path, "workers": 1}
    kept = run_arena(names, ["docb"], **settings, progress=stop)
    assert kept.interrupted
    assert [one.task.entry.name for one in kept.standings] == [SOME[0]]
    document = json.loads((tmp_path / "arena.json").read_text(encoding="utf-8"))
    assert document["interrupted"] is True
    assert [one["name"] for size in document["sizes"] for one in size["instances"]] == [SOME[0]]
    assert "interrupted" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 0 < Result.load(tmp_path / "runs" / "300" / "policy-case-1.parquet").trials < 40
    steps = []
    whole = run_arena(names, ["docb"], **settings, progress=steps.append)
    assert steps[0].done > steps[0].total / 3
    assert whole.to_dict() == run_arena(names, ["docb"], units=300, trials=40).to_dict()


def test_an_interruption_before_anything_is_finished_is_passed_on(tmp_path):
    def stop(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_arena(SOME, ["docb"], quick=True, out=tmp_path / "out", progress=stop)
    assert not (tmp_path / "out" / "index.html").exists()


def test_an_interruption_does_not_cost_what_was_there(tmp_path, no_page):
    settings = {"units": 300, "trials": 10, "out": tmp_path, "workers": 1}
    run_arena(SOME[:1], ["docb"], **settings)
    before = (tmp_path / "runs" / "300" / f"{SOME[0]}.parquet").read_bytes()

    def stop(step):
        if step.what.endswith("topsi"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_arena(SOME[:1], ["docb", "topsi"], **settings, progress=stop)
    assert (tmp_path / "runs" / "300" / f"{SOME[0]}.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"instances": ["dominated-tow"]}, InstanceError, 'did you mean "dominated-two"'),
        ({"policies": ["tbsu"]}, PolicyError, 'did you mean "tsbu"'),
        ({"policies": ["docb", "docb"]}, SimulationError, "given twice"),
        ({"policies": []}, SimulationError, "at least one policy"),
        ({"baseline": "tbsu"}, PolicyError, 'did you mean "tsbu"'),
        ({"trials": 0}, SimulationError, "trials must be at least 1"),
        ({"trials": [5, 5, 5]}, SimulationError, "one for each of 2 sizes, got 3"),
        ({"units": 0}, SimulationError, "units must be at least 1"),
        ({"units": [36, 1.5]}, SimulationError, "whole number"),
        ({"units": "36,100"}, SimulationError, "whole number"),
        ({"units": []}, SimulationError, "at least one size"),
        ({"units": [36, 100, 36]}, SimulationError, "got 36 twice"),
        ({"seed": -1}, SimulationError, "seed must be at least 0"),
        ({"workers": 0}, SimulationError, "workers must be at least 1"),
    ],
)
def test_mistakes_are_found_before_anything_runs(arguments, error, words, tmp_path):
    steps = []
    with pytest.raises(error, match=words):
        run_arena(**{"quick": True, **arguments}, out=tmp_path / "out", progress=steps.append)
    assert steps == []
    assert list(tmp_path.iterdir()) == []


def test_a_policy_that_cannot_play_is_shown_with_the_reason(tmp_path):
    # Arm 1 of the two is a certain harm: nobody may take it for safe.
    arena = run_arena(["two-arm-example", "all-safe"], ["pess:safe_arm=#1", "docb"], trials=3, units=50, out=tmp_path)
    first, second = arena.to_dict()["sizes"][0]["instances"]
    assert list(first["cannot_play"]) == ["pess:safe_arm=#1"]
    assert "must lie in [0, alpha]" in first["cannot_play"]["pess:safe_arm=#1"]
    assert second["cannot_play"] == {}
    row = next(row for row in arena.boards[0].leaderboard if row.policy == "pess:safe_arm=#1")
    assert row.instances == 1
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "does not play: the safe arm" in text
    assert "1 of 2 instances" in text
    # Without an instance at the limit there is no trade-off to show, nor a link to it.
    assert "trade-off" not in text


def test_a_baseline_that_cannot_play_leaves_no_ratios(tmp_path):
    arena = run_arena(["two-arm-example"], ["docb"], baseline="pess:safe_arm=#1", trials=3, units=50, out=tmp_path)
    (board,) = arena.boards
    (one,) = board.standings
    assert one.scores["docb"].mean.ratio is None
    assert board.leaderboard[0].mean_ratio is None
    assert board.leaderboard[-1].policy == "pess:safe_arm=#1"
    assert board.to_dict()["leaderboard"][-1]["mean_rank"] is None


def test_a_policy_that_needs_a_safe_arm_is_told_the_least_risky():
    for task in make_plan([], None, ArenaSettings(units=(36,))):
        instance = task.entry.instance
        arm = least_risky_arm(instance)
        if len(instance.limits) > 1:
            assert set(task.cannot) == {"bwcr", "pess", "joint-dirichlet"}
            assert all("one risk, got 2" in reason for reason in task.cannot.values())
            continue
        assert instance.nu[arm] == instance.nu.min()
        assert task.policies["pess"] == f"pess:safe_arm=#{arm}"
        assert task.policies["conservative"] == f"conservative:baseline=#{arm}"
        # Where not one harm is tolerated among 36 units, there is no budget.
        assert set(task.cannot) == ({"bwk"} if instance.alpha * 36 < 1 else set())
    (task,) = make_plan(["one-safe"], ["pess:level=theory"], ArenaSettings(units=(36,)))
    assert task.policies["pess:level=theory"] == "pess:level=theory,safe_arm=#0"


def test_the_safest_of_arms_with_several_risks():
    class Several:
        nu = ((0.1, 0.3, 0.0), (0.2, 0.0, 0.5))
        alpha = (0.4, 0.2)

    # To spare, of either risk: arm 0 0.3 and 0.0, arm 1 0.1 and 0.2, arm 2 0.4 and -0.3.
    assert least_risky_arm(Several()) == 1


def test_ones_own_policies_take_part():
    from safebandit.core.indices import KLLower, Thompson

    mine = sb.DoublyOptimistic(reward=Thompson(), safety=KLLower())
    arena = run_arena(["dominated-two"], {"mine": mine, "topsi": "topsi"}, trials=4, units=60)
    scores = arena.standings[0].scores
    assert set(scores) == {"tsbu", "mine", "topsi"}
    assert scores["mine"].statistics == scores["topsi"].statistics


def test_checkpoints_end_at_the_horizon_and_have_a_tenth_of_it():
    for horizon in (10, 300, 1_000, 20_000, 50_000):
        times = checkpoints(horizon)
        assert times[-1] == horizon
        assert horizon // 10 in times
        assert times == sorted(set(times))
    assert checkpoints(1) == [1]
