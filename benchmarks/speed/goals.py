"""What the speed should be, and whether it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from safebandit.core.policies.catalogue import recommended
from speed import analysis
from speed.designs import DESIGNS
from speed.kept import Run
from speed.linear import GOAL as BY_FEATURES
from speed.size import FEWER, SHARE
from speed.sweeps import Cell

# Rounds per second as a share of the bare loop's, at least: the drug trial, over GOAL_HORIZON rounds.
GOAL_HORIZON = 50_000
SHARES = {
    "docb": 1 / 6, "klbayes": 1 / 6, "joint-kl": 1 / 6, "safe-imed": 1 / 6,
    "topsi": 1 / 8, "tsbu": 1 / 8,
    "joint-ts": 1 / 13, "joint-dirichlet": 1 / 13,
    "bwk": 1 / 20, "conservative": 1 / 20, "con-lcb": 1 / 20,
    "naive-ts": 1 / 60, "slack-ts": 1 / 60, "bwcr": 1 / 60, "pess": 1 / 60, "empirical-kl": 1 / 60,
}  # fmt: skip
# Megabytes are those of a study of so many trials.
GOAL_TRIALS = 500
# The cost of a round with 1,000 arms in those with 10, at most, over the same whole horizon.
FEW, MANY = 10, 1_000
INDEX_GROWTH, SAMPLING_GROWTH = 20.0, 30.0
SAMPLING = ("topsi", "tsbu", "joint-ts")
INDEX = ("docb", "klbayes", "joint-kl", "safe-imed")


class Aim(NamedTuple):
    """What a figure of the machine means, its unit, and the goal: at least or at most so much, if there is one."""

    about: str
    unit: str
    goal: float | None = None
    at_least: bool = False


MACHINE = {
    "cold start": Aim("first round ever, compiling included", "s"),
    "warm start": Aim("one round, in a second process", "s", 1.5),
    "version": Aim("safebandit --version", "s", 0.3),
    "two workers": Aim("two workers against one", "times", 1.7, at_least=True),
    "ask + tell": Aim("ask and tell, five arms", "us", 100.0),
    "safe-ids": Aim("a unit of safe-ids, five arms, 400 units", "us", 20.0),
    "safe-ids, 20 arms": Aim("a unit of safe-ids, twenty arms, 400 units", "us", 100.0),
    "peak memory": Aim("peak memory of the drug-trial study", "MB", 400.0),
}


# Of the service on SQLite with one worker: pairs of ask and tell per second, and the latency that 99 in 100 stay under.
PAIRS_PER_SECOND, P99_MILLISECONDS = 800.0, 50.0
# Of batches of so many, there; and of two workers on PostgreSQL against one, over several trials, where each worker has
# a share of a core that nobody else can take from it: on two cores all would share them with the server and the desks.
BATCH, BATCHED_PER_SECOND, TWO_WORKERS = 100, 8000.0, 1.6
# Seconds to verify a trial of so many units.
LONG_UNITS, VERIFY_SECONDS = 100_000, 15.0
# What a decision in a long trial may cost in those of a short one.
LONG_TRIAL = 1.5


class Goal(NamedTuple):
    """One goal beside what was measured; `met` is None where the measurement is not what the goal is about."""

    what: str
    measured: str
    wanted: str
    met: bool | None


def judge(run: Run) -> Iterator[Goal]:
    """Every goal for which there is a measurement."""
    for cell in run.horizons:
        if cell.policy in SHARES and cell.horizon == GOAL_HORIZON and cell.share is not None:
            goal, share = SHARES[cell.policy], cell.share.median
            what = f"{cell.policy}: share of the bare loop, drug trial"
            yield Goal(what, as_share(share), f"at least {as_share(goal)}", share >= goal)
    costs = {(cell.policy, cell.arms): cell for cell in run.arms}
    for policy in dict.fromkeys(cell.policy for cell in run.arms):
        if policy in (*INDEX, *SAMPLING) and (policy, FEW) in costs and (policy, MANY) in costs:
            yield _growth(costs[policy, FEW], costs[policy, MANY])
    for name, spread in run.machine.items():
        aim = MACHINE[name]
        if aim.goal is not None:
            met = spread.median >= aim.goal if aim.at_least else spread.median < aim.goal
            about_it = name != "peak memory" or run.settings["study_trials"] == GOAL_TRIALS
            wanted = f"{'at least' if aim.at_least else 'under'} {aim.goal:g} {aim.unit}"
            yield Goal(aim.about, f"{spread.median:.3g} {aim.unit}", wanted, met if about_it else None)
    for name, spread in run.designs.items():
        most, spent = DESIGNS[name].goal, spread.median
        yield Goal(f"10,000 trials: {name}", f"{spent:.3g} s", f"under {most:g} s", spent < most)
    for name, spread in run.linear.items():
        what, wanted = f"{name}: rounds per second by features", f"at least {BY_FEATURES:,}"
        yield Goal(what, f"{spread.median:,.0f}", wanted, spread.median >= BY_FEATURES)
    for name, spread in run.analysis.items():
        about_it = run.settings["long_trial"] == analysis.UNITS
        what, wanted = f"analysis of {analysis.UNITS:,} units: {name}", f"under {analysis.GOAL:g} s"
        yield Goal(what, f"{spread.median:.3g} s", wanted, spread.median < analysis.GOAL if about_it else None)
    yield from _service(run)


def _service(run: Run) -> Iterator[Goal]:
    for each in run.service:
        if (each["database"], each["workers"], each["batch"]) == ("SQLite", 1, BATCH):
            speed, wanted = each["pairs_per_second"], f"at least {BATCHED_PER_SECOND:,.0f}"
            met = speed >= BATCHED_PER_SECOND
            yield Goal(f"service: pairs per second in batches of {BATCH}, SQLite", f"{speed:,.0f}", wanted, met)
        if (each["database"], each["workers"], each["batch"]) == ("SQLite", 1, 1):
            speed, slow = each["pairs_per_second"], each["p99"]
            wanted = f"at least {PAIRS_PER_SECOND:g}"
            yield Goal("service: pairs per second, SQLite", f"{speed:,.0f}", wanted, speed >= PAIRS_PER_SECOND)
            wanted = f"under {P99_MILLISECONDS:g} ms"
            yield Goal("service: latency of 99 in 100, SQLite", f"{slow:.1f} ms", wanted, slow < P99_MILLISECONDS)
    one, two = (_held_on_postgres(run, workers) for workers in (1, 2))
    if one and two:
        what = f"service: two workers against one, each held to {SHARE:.0%} of a core, PostgreSQL, several trials"
        yield Goal(what, f"{two / one:.2f} times", f"at least {TWO_WORKERS:g} times", two / one >= TWO_WORKERS)
    if run.long:
        about_it, wanted = run.long["units"] == LONG_UNITS, f"under {VERIFY_SECONDS:g} s"
        for key, policy in (("verify", recommended(LONG_UNITS, 1)), (f"verify {FEWER}", FEWER)):
            what, spent = f"verification of {LONG_UNITS:,} units, {policy}", run.long[key]
            yield Goal(what, f"{spent:.1f} s", wanted, spent < VERIFY_SECONDS if about_it else None)
    if run.growth:
        few, many = run.growth
        what = "service: a pair in a trial of 100,000 events in those of 100"
        yield Goal(what, f"{many / few:.2f}", f"at most {LONG_TRIAL:g}", many / few <= LONG_TRIAL)


def _held_on_postgres(run: Run, workers: int) -> float | None:
    """Pairs per second on PostgreSQL, over several trials, of workers that are held to their share."""
    found = (each for each in run.service if (each["database"], each["workers"]) == ("PostgreSQL", workers))
    held = (each for each in found if each["trials"] > 1 and each.get("share") == SHARE)
    return next((float(each["pairs_per_second"]) for each in held), None)


def _growth(few: Cell, many: Cell) -> Goal:
    """The cost of a round with many arms in those with few; over a part of the horizon it would be another figure."""
    most = SAMPLING_GROWTH if few.policy in SAMPLING else INDEX_GROWTH
    what, wanted = f"{few.policy}: a round with {MANY:,} arms in rounds with {FEW}", f"at most {most:g}"
    if few.cost is None or many.cost is None:
        return Goal(what, "takes too long", wanted, None)
    growth = many.cost.median / few.cost.median
    if few.played < few.horizon or many.played < many.horizon:
        return Goal(what, f"{growth:.1f} (cut short)", wanted, None)
    return Goal(what, f"{growth:.1f}", wanted, growth <= most)


def as_share(share: float) -> str:
    """A share as a fraction.

    >>> as_share(0.125), as_share(0.004)
    ('1/8.0', '1/250')
    """
    inverse = 1 / share
    return f"1/{inverse:.1f}" if inverse < 100 else f"1/{inverse:,.0f}"
