"""A trial at a glance says nothing impossible: means lie in their intervals, theory counts on no more than there is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from safebandit.problems import Instance
from safebandit.problems.theory import bounds_of
from safebandit.trials.design import Design
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.overview import credible_intervals, expectation, overview


@pytest.fixture
def ledger(empty_file, tmp_path):
    path = tmp_path / "trials.db"
    path.write_bytes(empty_file.read_bytes())
    with Ledger(path) as opened:
        yield opened


def intervals(plays, totals, *prior):
    """One arm with these quantities."""
    seen = np.zeros((1, len(plays)), dtype=[("plays", float), ("total", float)])
    seen["plays"], seen["total"] = [plays], [totals]
    return credible_intervals(seen, *prior)[0]


def by_brute_force(plays, total, points=400_001):
    """The densest points of the likelihood that hold 95 % of it, on a fine grid."""
    grid = np.linspace(0.0, 1.0, points)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(total > 0, total * np.log(grid), 0.0) + np.where(
            plays > total, (plays - total) * np.log1p(-grid), 0.0
        )
    density = np.exp(logs - logs.max())
    order = np.argsort(-density, kind="stable")
    held = grid[order[: np.searchsorted(np.cumsum(density[order]), 0.95 * density.sum()) + 1]]
    return held.min(), held.max()


CASES = [(1, 0.0), (1, 1.0), (10, 0.0), (10, 0.02), (10, 9.97), (12, 5.0), (298, 65.0), (40, 40.0), (7, 3.25)]


def test_an_interval_is_the_shortest_that_holds_95_percent():
    found = intervals(*zip(*CASES, strict=True))
    for (plays, total), ends in zip(CASES, found, strict=True):
        assert ends == pytest.approx(by_brute_force(plays, total), abs=2e-5), (plays, total)


def test_an_interval_is_that_of_its_prior():
    """A Beta prior of whole numbers is so many more outcomes; with less than one of them the density has no top."""
    assert intervals([7], [3.0], (3.0, 5.0))[0] == pytest.approx(intervals([13], [5.0])[0])
    ((low, high),) = intervals([10], [0.0], (0.5, 0.5))
    assert low == 0.0
    assert high == pytest.approx(stats.beta.ppf(0.95, 0.5, 10.5), abs=1e-6)


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_a_mean_lies_in_its_interval(plays, share):
    total = share * plays
    ((low, high),) = intervals([plays], [total])
    assert 0 <= low <= total / plays <= high <= 1


def test_nothing_is_said_of_a_mean_without_outcomes():
    assert intervals([0, 3], [0.0, 0.0])[0] is None


HARD = Instance.bernoulli(mu=[0.5, 0.45, 0.6], nu=[0.1, 0.15, 0.3], alpha=0.2)


def test_theory_is_told_from_where_its_plays_fit_into_the_units():
    bounds = bounds_of(HARD)
    promised = sum(arm.plays_slope for arm in bounds.arms if arm.cost > 0)
    first = next(units for units in range(3, 10**6) if promised * math.log(units) <= units)
    before, there = expectation(bounds, first - 1), expectation(bounds, first)
    assert (before.regret, before.unsafe_plays) == (None, None)
    at = bounds.at(first)
    assert there.regret == pytest.approx(at.leading_regret)
    assert there.unsafe_plays == pytest.approx(at.leading_unsafe_plays)
    assert there.least_regret == pytest.approx(at.lower_leading_regret)
    assert there.least_unsafe_plays == pytest.approx(at.lower_leading_unsafe_plays)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6), st.integers(3, 10**5))
def test_theory_never_counts_on_more_than_there_is(means, units):
    """Risks a last digit above alpha, too, where nothing is known to be finite."""
    means = [(0.5, 0.1), *means, (0.7, np.nextafter(0.2, 1.0)), (0.2, 0.2)]
    mu, nu = zip(*means, strict=True)
    instance = Instance.bernoulli(mu=mu, nu=nu, alpha=0.2)
    found = expectation(bounds_of(instance), units)
    for plays in (found.unsafe_plays, found.least_unsafe_plays):
        assert plays is None or 0 <= plays <= units
    for regret in (found.regret, found.least_regret):
        assert regret is None or 0 <= regret <= units * max(instance.costs)


def test_theory_in_a_short_trial_says_nothing(ledger):
    """Regret of 19.7 after 12 units is no news; after many it is."""
    ledger.create("short", Settings.read(["a", "b"], 0.2, policy="docb", seed=1, pending_cap=9), actor="x")
    with ledger.writing() as writing:
        for n in range(12):
            arm = writing.trial("short").ask(f"u{n}", actor="x").arm
            writing.trial("short").tell(f"u{n}", reward=0.5 if arm == "a" else 0.4, risk=0.0, actor="x")
    now, later = overview(ledger, "short").expected
    assert (now.horizon, now.regret, now.least_regret) == (12, None, None)
    assert later.horizon == 120


def test_chances_that_were_not_drawn_are_exact(ledger):
    ledger.create("held", Settings.read(["a", "b"], 0.05, policy="docb", seed=1), actor="x")
    with ledger.writing() as writing:
        for n in range(100):
            if writing.trial("held").ask(f"u{n}", actor="x").held:
                break
            writing.trial("held").tell(f"u{n}", reward=1, risk=1, actor="x")
    assert overview(ledger, "held").propensities == "exact"


def test_a_trial_says_what_its_intervals_are(ledger):
    ledger.create("plain", Settings.read(["a", "b"], alpha=0.3, policy="docb", seed=1))
    design = Design(["a", "b"], alpha=0.3, policy="docb", units=9, prior=[0.5, 2])
    ledger.create("by-design", Settings.by_design(design, seed=1))
    said = {name: overview(ledger, name).intervals for name in ("plain", "by-design")}
    assert said == {
        "plain": "95 % credible, the shortest, from the prior Beta(1, 1)",
        "by-design": "95 % credible, the shortest, from the prior Beta(0.5, 2)",
    }
    unit = ledger.ask("by-design", "u")
    ledger.tell("by-design", "u", reward=1, risk=0)
    (arm,) = (each for each in overview(ledger, "by-design").arms if each.arm == unit.arm)
    assert arm.reward_interval == intervals([1], [1.0], (0.5, 2.0))[0]
    assert Design.from_dict(design.to_dict()).prior == (0.5, 2.0)
    assert "credible intervals are from Beta(0.5, 2)" in design.describe()
