"""Speed, in one run: every policy against a bare loop that only draws the same outcomes and counts them.

The bare loop is told the arms that TSBU played, in their order, and draws their outcomes from the same streams: it is
the limit for a simulator that decides nothing. Ratios are medians over interleaved repeats, on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from safebandit.arms import NOTES, State, at, new_arms
from safebandit.dispatch import compiled_here
from safebandit.instances import draw_reward, draw_risk, instance_by_name
from safebandit.policies import begin, choose, learn_reward, learn_risk, prepare, widths
from safebandit.simulation import simulate
from safebandit.streams import trial_streams
from safebandit.trial import Trial

POLICIES = (
    "docb", "topsi", "tsbu", "klbayes", "joint-kl", "safe-imed", "joint-ts", "joint-dirichlet", "empirical-kl",
    "naive-ts", "slack-ts", "bwcr", "pess",
)  # fmt: skip
COMMAND = (sys.executable, "-c", "from safebandit.cli import main; main()")
GOALS = {"docb": 1 / 12, "topsi": 1 / 16, "tsbu": 1 / 16, "bwcr": 1 / 40, "pess": 1 / 40}


@compiled_here
def played_arms(
    policy: Any, law: Any, limits: Any, arms: Any, stream: Any, notes: Any, outcomes: Any, out: Any
) -> None:
    """The arms that a policy plays, in order."""
    state = State(arms[0], len(arms), stream[0], notes[0])
    begin(policy, state, limits)
    for i in range(len(out)):
        k, _ = choose(policy, state, i + 1, limits)
        reward, mark = draw_reward(law, k, outcomes[k])
        risk = draw_risk(law, k, 0, mark, outcomes[k])
        play = at(state.first, k).asked
        at(state.first, k).asked = play + 1
        learn_reward(policy, state, k, play, reward, limits)
        learn_risk(policy, state, k, 0, play, risk, limits)
        out[i] = k


@compiled_here
def bare_loop(law: Any, outcomes: Any, played: Any, plays: Any, rewards: Any, risks: Any) -> None:
    """Draw the outcomes of given arms and count them."""
    for k in played:
        reward, mark = draw_reward(law, k, outcomes[k])
        risk = draw_risk(law, k, 0, mark, outcomes[k])
        plays[k] += 1
        rewards[k] += reward
        risks[k] += risk


def bare_seconds(instance: Any, horizon: int, trials: int) -> Callable[[], float]:
    """A function that plays the bare loop for so many trials and gives the seconds."""
    count = len(instance.mu)
    policy = prepare("tsbu", instance.arms, "least_risky", limits=instance.limits)
    played = np.zeros((trials, horizon), np.int64)
    for i in range(trials):
        random = trial_streams(1, i, count)
        arms = new_arms(random.keys, widths(policy))
        notes = np.zeros(1, NOTES)
        played_arms(policy, instance.law, instance.limits, arms, random.policy, notes, random.arms, played[i])

    def run() -> float:
        streams = [trial_streams(1, i, count).arms for i in range(trials)]
        counts = np.zeros(count, np.int64), np.zeros(count), np.zeros(count)
        began = time.perf_counter()
        for outcomes, arms in zip(streams, played, strict=True):
            bare_loop(instance.law, outcomes, arms, *counts)
        return time.perf_counter() - began

    run()
    return run


def compare_policies(horizon: int, trials: int, repeats: int) -> dict[str, Any]:
    """Rounds per second of every policy, and as a share of the bare loop's, on one core."""
    instance = instance_by_name("drug-trial", 0.21)
    bare = bare_seconds(instance, horizon, trials)
    simulate(instance, POLICIES, horizon=10, trials=1, workers=1)
    rounds = horizon * trials
    speeds: dict[str, list[float]] = {name: [] for name in ("bare loop", *POLICIES)}
    shares: dict[str, list[float]] = {name: [] for name in POLICIES}
    for _ in range(repeats):
        for policy in POLICIES:
            limit = rounds / bare()
            result = simulate(instance, policy, horizon=horizon, trials=trials, seed=1, workers=1, checkpoints=[])
            speed = result.rounds_per_second(policy) or 0.0
            speeds["bare loop"].append(limit)
            speeds[policy].append(speed)
            shares[policy].append(speed / limit)
    return {
        "rounds_per_second": {name: statistics.median(values) for name, values in speeds.items()},
        "share_of_bare_loop": {name: statistics.median(values) for name, values in shares.items()},
    }


def ask_tell_microseconds(count: int) -> float:
    """The median time of an ask and its tell, in memory, five arms."""
    trial = Trial(5, 0.21, "tsbu", seed=1)
    times = []
    for i in range(count):
        began = time.perf_counter()
        unit = trial.ask()
        if unit.id is not None:
            trial.tell(unit.id, reward=i % 2, risk=float(i % 10 == 0))
        times.append(time.perf_counter() - began)
    return 1e6 * statistics.median(times)


def seconds_of(*arguments: str, repeats: int) -> float:
    """The median time of a command in a process of its own, after one that warms the caches."""
    command = [*COMMAND, *arguments]
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def two_workers_speedup(horizon: int, trials: int, repeats: int) -> float:
    """How many times faster two workers are than one."""
    instance = instance_by_name("drug-trial", 0.21)
    ratios = []
    for _ in range(repeats):
        seconds = []
        for workers in (1, 2):
            began = time.perf_counter()
            simulate(instance, ["docb", "tsbu"], horizon=horizon, trials=trials, workers=workers)
            seconds.append(time.perf_counter() - began)
        ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios)


def peak_megabytes(horizon: int, trials: int) -> float:
    """The peak memory of the drug-trial study with its table, file and pictures, in a process of its own."""
    study = [
        "simulate",
        "--instance",
        "drug-trial",
        "--alpha",
        "0.21",
        "--horizon",
        str(horizon),
        "--trials",
        str(trials),
    ]
    command = [*COMMAND, *study, "--policy", "docb", "--policy", "topsi", "--policy", "tsbu"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*command, "--out", folder], check=True, capture_output=True)
        process = subprocess.Popen([*command, "--out", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1024


def measure(tiny: bool) -> dict[str, Any]:
    """All measurements; `tiny` only shows that they run."""
    horizon, trials, repeats = (500, 2, 1) if tiny else (50_000, 40, 7)
    memory = peak_megabytes(horizon, 2 if tiny else 500)
    version = seconds_of("--version", repeats=repeats)
    first_round = (
        "simulate",
        "--instance",
        "drug-trial",
        "--policy",
        "docb",
        "--horizon",
        "1",
        "--trials",
        "1",
        "--json",
    )
    first = seconds_of(*first_round, repeats=repeats)
    speedup = two_workers_speedup(horizon, trials, repeats)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        policies = compare_policies(horizon, trials, repeats)
        latency = ask_tell_microseconds(50 if tiny else 5_000)
    finally:
        os.sched_setaffinity(0, cores)
    return {
        **policies,
        "two_workers_speedup": speedup,
        "version_seconds": version,
        "first_round_seconds": first,
        "ask_tell_microseconds": latency,
        "peak_megabytes": memory,
    }


def report(measured: dict[str, Any]) -> str:
    """The measurements as text, beside what they should be."""
    lines = [f"{'':12}{'rounds/s':>14}{'of the bare loop':>18}{'goal':>8}"]
    for name, speed in measured["rounds_per_second"].items():
        share = measured["share_of_bare_loop"].get(name)
        shown = f"1/{1 / share:.1f}" if share else "1"
        goal = f"1/{1 / GOALS[name]:.0f}" if name in GOALS else ""
        lines.append(f"{name:12}{speed:14,.0f}{shown:>18}{goal:>8}")
    lines += [
        f"two workers against one          {measured['two_workers_speedup']:8.2f}    (goal: at least 1.7)",
        f"safebandit --version             {measured['version_seconds']:8.2f} s  (goal: under 0.3)",
        f"one round, in a second process   {measured['first_round_seconds']:8.2f} s  (goal: under 1.5)",
        f"ask + tell, five arms            {measured['ask_tell_microseconds']:8.1f} us (goal: under 100)",
        f"peak memory, 500-trial study     {measured['peak_megabytes']:8.0f} MB (goal: under 400)",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="a few rounds only, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder for bench.json")
    options = parser.parse_args()
    measured = measure(options.tiny)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "bench.json").write_text(json.dumps(measured, indent=2), encoding="utf-8")
    print(report(measured))
    print(f"kept in {options.out / 'bench.json'}")


if __name__ == "__main__":
    main()
