"""The benchmark runs, and says what it measured; no time is asserted."""

from __future__ import annotations

import doctest
import importlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bench
from bench import MARKED, options_from
from instructions import collected
from load import held
from safebandit.simulation.simulate import simulate
from speed import limit, report
from speed.analysis import ANALYSES
from speed.designs import DESIGNS
from speed.goals import MACHINE, as_share, judge
from speed.kept import Run, changes, previous, read
from speed.limit import BareLoop, played_arms
from speed.linear import LINEAR
from speed.problems import SEED, drug_trial, many_arms
from speed.size import FULL, QUICK, SHARE, TINY, Setting
from speed.spread import Spread
from speed.sweeps import Cell, affordable
from speed.tables import Table

ROOT = Path(__file__).resolve().parents[2]
BENCH = [sys.executable, str(ROOT / "benchmarks" / "bench.py")]


def flat(value, repeats=5):
    return Spread(value, value, value, repeats)


def cell(policy="docb", *, arms=5, horizon=50_000, played=None, cost=100.0, share=0.2):
    played = horizon if played is None else played
    return Cell(policy, f"arms-{arms}", arms, horizon, played, flat(cost), flat(10.0), flat(share))


def run_of(**parts):
    computer = {"processor": "p", "cores": 2, "system": "s", "python": "3", "numba": "0"}
    return Run(date="2020-01-02T03:04:05+00:00", computer=computer, settings={"study_trials": 500}, **parts)


def test_a_tiny_run_measures_everything_and_the_next_is_compared_with_it(tmp_path, monkeypatch, capsys):
    done = subprocess.run([*BENCH, "--tiny", "--out", str(tmp_path)], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    run = read(tmp_path / "bench-tiny.json")
    size = run.settings
    assert [(c.policy, c.arms) for c in run.arms] == [(p, k) for k in size["arms"] for p in TINY.policies]
    assert [(c.policy, c.horizon) for c in run.horizons] == [(p, t) for t in size["horizons"] for p in TINY.policies]
    assert len(run.limit) == len(size["arms"]) + len(size["horizons"])
    assert all(c.cost.median > 0 and c.share.low <= c.share.median <= c.share.high for c in run.horizons)
    # One by one and in batches, and each database.
    driven = [tuple(each[name] for name in Setting._fields) for each in run.service]
    assert driven == [tuple(each) for each in size["services"]]
    assert FULL.services == QUICK.services
    assert all(each["pairs"] == size["service_pairs"] // 32 * 32 and each["p50"] <= each["p99"] for each in run.service)
    assert all(each["processor"] >= 0.0 and each["desks_processor"] > 0.0 for each in run.service)
    assert all((each["database_processor"] > 0.0) <= (each["database"] == "PostgreSQL") for each in run.service)
    assert run.long["units"] == size["long_trial"]
    assert len(run.growth) == 2
    assert set(run.machine) == set(MACHINE)
    assert set(run.designs) == set(DESIGNS)
    assert set(run.linear) == set(LINEAR)
    assert set(run.analysis) == {*ANALYSES, "mixtures, from a file"}
    for ending in (".txt", ".png", ".svg"):
        assert (tmp_path / f"bench-tiny{ending}").stat().st_size > 1_000
    assert done.stdout.startswith((tmp_path / "bench-tiny.txt").read_text(encoding="utf-8"))
    assert "No run before" in done.stdout

    part = ["--tiny", "--only", "horizons", "--policy", "docb", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["bench.py", *part])
    bench.main()
    assert f"Against the run of {run.date}" in capsys.readouterr().out
    assert read(tmp_path / "bench-tiny.json") == run
    assert [c.policy for c in read(tmp_path / "bench-tiny-part.json").horizons] == ["docb"] * len(size["horizons"])


@pytest.mark.parametrize("instance", [drug_trial(), many_arms(20)], ids=lambda instance: instance.name)
def test_the_bare_loop_draws_what_the_simulator_drew(instance):
    # Longer than a slice in which the policy is followed.
    horizon = 4_500
    simulated = simulate(instance, "tsbu", horizon=horizon, trials=1, seed=SEED).of("tsbu")
    bare = BareLoop(instance, horizon=horizon)
    assert len(bare.told) == horizon
    counted = bare.play(trials=1)
    assert np.array_equal(counted.plays, simulated.plays[0])
    assert np.array_equal(counted.rewards, simulated.reward[0])
    assert np.array_equal(counted.risks, simulated.risk[0])
    assert np.array_equal(bare.play(trials=3).plays, 3 * simulated.plays[0])


def test_a_policy_is_followed_for_so_many_rounds(monkeypatch):
    monkeypatch.setattr(limit, "FOLLOWED", 500)
    told = played_arms(drug_trial(), "tsbu", horizon=10_000)
    assert np.array_equal(told, played_arms(drug_trial(), "tsbu", horizon=500))
    assert len(told) == 500


@pytest.mark.parametrize("count", [2, 5, 1_000])
def test_instances_of_many_arms(count):
    instance = many_arms(count)
    assert instance.nu[0] == instance.nu.min()
    assert sorted(instance.mu) == pytest.approx(np.linspace(0.1, 0.9, count))
    assert sorted(instance.nu) == pytest.approx(np.linspace(0.05, 0.55, count))
    assert abs(len(instance.unsafe_arms) - count / 2) <= 1
    assert np.array_equal(instance.mu, many_arms(count).mu)


def test_spread_is_median_and_quartiles():
    values = [3.0, 9.0, 1.0, 4.0, 1.5, 2.0]
    spread = Spread.of(values)
    assert (spread.low, spread.median, spread.high) == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]))
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0, 1)


def test_spreads_differ_when_their_quartiles_lie_apart_and_are_known():
    spread = Spread(2.0, 1.0, 3.0, 5)
    assert spread.differs(Spread(5.0, 3.1, 6.0, 5))
    assert Spread(5.0, 3.1, 6.0, 5).differs(spread)
    assert not spread.differs(Spread(5.0, 2.9, 6.0, 5))
    assert not spread.differs(Spread(5.0, 3.1, 6.0, 2))


def test_a_slow_trial_is_never_tried_for_much_longer_than_allowed():
    tried = []

    def seconds(rounds):
        # As a policy that plays each arm once for nothing and then thinks for a millisecond.
        tried.append(max(0, rounds - 1_000) / 1_000)
        return tried[-1]

    played, took = affordable(seconds, arms=1_000, horizon=1_000_000, longest=10.0)
    assert 1_000 < played < 1_000_000
    assert took == tried[-1] == max(tried)
    assert sum(tried) < 1.5 * 10.0
    assert took > 10.0 / 4


def test_goals_are_judged_by_what_they_are_about():
    goals = judge(
        run_of(
            horizons=[cell("docb", share=0.17), cell("tsbu", share=0.12), cell("docb", horizon=10_000, share=0.5)],
            arms=[
                cell("docb", arms=10, cost=10.0), cell("docb", arms=1_000, cost=201.0),
                cell("tsbu", arms=10, cost=10.0), cell("tsbu", arms=1_000, cost=201.0),
                cell("topsi", arms=10, cost=10.0), cell("topsi", arms=1_000, cost=10.0, played=2_000),
                cell("pess", arms=10, cost=10.0), cell("pess", arms=1_000, cost=1_000.0),
            ],
            machine={"version": flat(0.2), "two workers": flat(1.6), "cold start": flat(99.0)},
        )
    )  # fmt: skip
    # 0.12 < 1/8; 20.1 is too much for an index, not for sampling; cut short is another figure; pess has no goal.
    assert [goal.met for goal in goals] == [True, False, False, True, None, True, False]


def test_a_run_is_kept_and_read_again_and_the_one_before_stays(tmp_path):
    path = tmp_path / "bench.json"
    assert read(path) is None
    first = run_of(arms=[cell(), Cell("bwcr", "x", 9, 100, 0, None, None, None)], machine={"version": flat(0.2)})
    second = replace(first, date="2021-01-01T00:00:00+00:00")
    first.write(path)
    second.write(path)
    assert read(path) == second
    assert read(previous(path)) == first
    path.write_text(json.dumps({"format": -1}), encoding="utf-8")
    assert read(path) is None


def test_changes_compare_the_same_cells_and_are_sure_beyond_the_spread():
    same = [cell("joint-kl"), cell("topsi"), cell("klbayes"), cell("safe-imed")]
    before = run_of(horizons=[cell("docb", share=0.1), cell("tsbu"), cell("pess", played=100), *same])
    slower = replace(cell("docb"), share=Spread(0.05, 0.04, 0.06, 5))
    unsure = replace(cell("tsbu"), share=Spread(0.4, 0.1, 0.5, 5))
    found = changes(run_of(horizons=[slower, unsure, cell("pess"), cell("bwcr"), *same]), before)
    assert [change.ratio for change in found] == pytest.approx([0.5, 2.0, 1, 1, 1, 1])
    assert [change.sure for change in found] == [True, False, False, False, False, False]
    said = report.text(run_of(horizons=[slower, unsure, *same]), before)
    assert "all figures together x1.00; beyond that and beyond the noise of 6 figures, 1 changed" in said
    assert "x0.50 (!)" in said


def test_noise_between_runs_is_seldom_a_change():
    """Two runs of 150 figures that differ by noise of 14 % all told, narrow inside each run: beyond four deviations lie
    6 in 100,000 figures, so of 3,000 more than three with a chance below 1 in 10,000 (somewhat more, as that is
    estimated); and one figure that fell to a fifth is found.
    """
    rng = np.random.default_rng(3)

    def noisy(name, share=0.2):
        median = share * np.exp(0.1 * rng.standard_normal())
        return replace(cell(name), share=Spread(median, 0.99 * median, 1.01 * median, 5))

    false_changes = 0
    for _ in range(20):
        names = [f"policy {i}" for i in range(150)]
        before, now = (run_of(horizons=[noisy(name) for name in names]) for _ in range(2))
        false_changes += sum(change.sure for change in changes(now, before))
        worse = run_of(horizons=[*now.horizons[:-1], noisy(names[-1], 0.04)])
        assert changes(worse, before)[-1].sure
    assert false_changes <= 3


def test_the_service_is_judged_by_its_goals():
    """Met and missed, by numbers on both sides."""
    sqlite = {
        "database": "SQLite", "workers": 1, "batch": 1, "trials": 1, "pairs": 9, "pairs_per_second": 801.0, "p50": 1.0,
        "p99": 51.0, "processor": 1.0,
    }  # fmt: skip
    postgres = {**sqlite, "database": "PostgreSQL", "trials": 4, "pairs_per_second": 100.0}
    service = [
        sqlite,
        {**sqlite, "batch": 100, "pairs_per_second": 7999.0},
        postgres,
        {**postgres, "workers": 2, "pairs_per_second": 90.0},
        {**postgres, "share": SHARE},
        {**postgres, "share": SHARE, "workers": 2, "pairs_per_second": 161.0},
    ]
    long = {"units": 100_000.0, "verify": 15.1, "verify safe-ids": 14.9, "from a checkpoint": 1.0, "correction": 30.0}
    run = run_of(service=service, growth=[100.0, 140.0], long=long)
    assert [(goal.measured, goal.met) for goal in judge(run)] == [
        ("801", True), ("51.0 ms", False), ("7,999", False), ("1.61 times", True), ("15.1 s", False),
        ("14.9 s", True), ("1.40", True),
    ]  # fmt: skip
    # Workers that were not held share the cores with all the rest: they are told, not judged.
    few = run_of(service=service[:4], growth=[100.0, 160.0], long={**long, "units": 9.0})
    assert [goal.met for goal in judge(few)] == [True, False, False, None, None, False]
    assert "No worker was held" in report.text(few, None)
    told = report.text(run, None)
    assert "SQLite" in told
    shown = next(table for table in report.tables(run, None) if table.title.startswith("The service"))
    assert [row[1:3] for row in shown.rows[2:]] == [("1", ""), ("2", ""), ("1", f"{SHARE:.0%}"), ("2", f"{SHARE:.0%}")]
    assert "No worker was held" not in told


def test_a_process_is_held_by_the_group_that_the_system_has_for_it(tmp_path, monkeypatch):
    """Both versions of cgroups, as files of a folder; and neither."""
    monkeypatch.setattr(held, "ROOT", tmp_path)
    monkeypatch.setattr(held, "OWN", tmp_path / "own")
    with pytest.raises(held.CannotHoldError, match="there is no cgroup"), held.held([7], 0.3):
        pass
    of_two, of_one = tmp_path / "slice", tmp_path / "cpu"
    (of_two / "session").mkdir(parents=True)
    (of_two / "cgroup.subtree_control").write_text("memory cpu")
    (tmp_path / "own").write_text("0::/slice/session\n")
    assert held.find_place() == (of_two, of_two / "session", True)
    of_one.mkdir()
    (of_one / "cpu.cfs_quota_us").write_text("-1")
    (tmp_path / "own").write_text("2:cpu,cpuacct:/outside\n1:name=systemd:/\n0::/slice/session\n")
    assert held.find_place() == (of_one, of_one, False)
    # A group of the system goes with its files.
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    with held.held([7, 8], 0.3):
        groups = sorted(of_one.glob("safebandit-bench-*"))
        found = [
            [(each / name).read_text() for name in ("cpu.cfs_period_us", "cpu.cfs_quota_us", "cgroup.procs")]
            for each in groups
        ]
        assert found == [["10000", "3000", "7"], ["10000", "3000", "8"]]
    assert not list(of_one.glob("safebandit-bench-*"))
    assert (of_one / "cgroup.procs").read_text() in "78"


def test_a_cell_cut_short_or_skipped_is_marked():
    cells = [cell("docb", cost=50.0, played=100), Cell("pess", "arms-5", 5, 50_000, 0, None, None, None)]
    costs = next(table for table in report.tables(run_of(arms=cells), None) if table.title.startswith("Nano"))
    assert costs.rows == [["docb", "50.0*"], ["pess", "-"]]
    assert costs.note == report.CUT


def test_a_table_as_text_and_as_markdown():
    table = Table("Title", ("name", "x"), [("a", "1"), ("bcdef", "22")], "note")
    assert table.text() == "Title\n\nname    x\na       1\nbcdef  22\nnote"
    assert table.markdown() == "**Title**\n\n| name | x |\n| --- | ---: |\n| a | 1 |\n| bcdef | 22 |\n\nnote"


def test_the_page_has_room_for_the_tables():
    assert len(MARKED.findall((ROOT / "docs" / "explanation" / "speed.md").read_text(encoding="utf-8"))) == 1


@pytest.mark.parametrize("part", [["--quick"], ["--tiny"], ["--policy", "docb"], ["--only", "limit"]])
def test_only_a_whole_run_is_written_into_the_docs(part, capsys):
    with pytest.raises(SystemExit):
        options_from(["--docs", *part])
    assert "--docs needs the whole run" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["goals", "spread", "sweeps"])
def test_examples_in_the_benchmark_run(module):
    done = doctest.testmod(importlib.import_module(f"speed.{module}"))
    assert done.attempted > 0
    assert done.failed == 0


def test_instructions_are_counted_in_two_processes_per_policy(tmp_path):
    inside = [sys.executable, str(ROOT / "benchmarks" / "instructions.py"), "--inside", "--trials", "1"]
    done = subprocess.run([*inside, "bare loop", "tsbu"], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    lines = [line.rsplit(maxsplit=2) for line in done.stdout.splitlines()]
    assert [name for name, *_ in lines] == ["bare loop", "tsbu"]
    assert len({process for _, *processes in lines for process in processes}) == 4
    log = tmp_path / "1.log"
    log.write_text(
        "==1== Events    : Ir\n==1== Collected : 1234567\n==1== I   refs:      1,234,567\n", encoding="utf-8"
    )
    assert collected(log) == 1_234_567


def test_shares_are_shown_as_fractions():
    assert as_share(1 / 6) == "1/6.0"
    assert as_share(1 / 12_345) == "1/12,345"
