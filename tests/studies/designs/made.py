"""Trials that were made up, and a design and a scenario for them: what summaries are computed from."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import safebandit as sb
from safebandit.studies.designs.cells import Cell
from safebandit.studies.designs.corrected import CorrectedRuns
from safebandit.studies.designs.truth import truth_of
from safebandit.trials.simulated import Runs

MU, NU, ALPHA = [0.2, 0.5, 0.4, 0.7], [0.1, 0.25, 0.3, 0.6], 0.3


def made_design(**changes):
    """All that summaries ask of a design."""
    said = {
        "arms": ("a", "b", "c", "d"), "alpha": ALPHA, "limits": (ALPHA,), "risks": ("risk",), "rewarded": True,
        "control": None, "least_reward": None, "units": 40, "title": "made", "policy": "equal", "stop": (),
        "select": None,
        "causes": ("most units", "no arm", "policy", "harm", "superiority"),
        "then": ("route",),
        "strata": (),
    }  # fmt: skip
    said |= changes
    if isinstance(said["alpha"], tuple):
        said["limits"] = said["alpha"]
    return SimpleNamespace(**said)


def made_scenario(mu=MU, nu=NU, name="made"):
    return sb.Scenario(name, mu=mu, nu=nu)


def made_runs(count=200, arms=4, risks=1, seed=3):
    """Trials of plausible numbers, some of which select nothing, and some arms of which nothing was heard."""
    rng = np.random.default_rng(seed)
    plays = rng.integers(0, 12, (count, arms))
    reward_plays = rng.integers(0, plays + 1)
    risk_plays = rng.integers(0, plays[:, None, :] + 1, (count, risks, arms))
    size = plays.sum(axis=1)
    return Runs(
        plays, plays[:, None], rng.binomial(plays, 0.5).astype(float),
        rng.binomial(plays[:, None, :], 0.3, (count, risks, arms)).astype(float),
        reward_plays, rng.binomial(reward_plays, 0.5).astype(float), risk_plays,
        rng.binomial(risk_plays, 0.3).astype(float), rng.integers(-1, arms, count), rng.integers(-1, arms, count),
        rng.integers(0, 5, count), size, size * 1.5, rng.integers(0, 2, (count, arms)),
        rng.integers(0, 2, (count, arms)), rng.integers(0, 9, count), np.zeros(count, int), np.zeros(count),
        np.zeros(count, int), np.zeros(count, int), np.full(count, -1), rng.integers(0, 2, count), 1.25,
    )  # fmt: skip


def made_corrected(count=30, arms=4, risks=1, seed=5):
    """Corrected means of the first trials, some of which have none."""
    rng = np.random.default_rng(seed)
    means = rng.random((count, 1 + risks, arms))
    means[rng.random(means.shape) < 0.2] = np.nan
    chosen = np.where(rng.random((count, 1 + risks)) < 0.2, np.nan, rng.random((count, 1 + risks)))
    return CorrectedRuns(means, means - 0.2, means + 0.2, chosen, chosen - 0.2, chosen + 0.2)


def made_cell(*, mu=MU, nu=NU, runs=None, corrected=None, **changes):
    design = made_design(**changes)
    runs = made_runs(arms=len(design.arms), risks=len(design.limits)) if runs is None else runs
    return Cell(design, truth_of(design, made_scenario(mu, nu)), runs, corrected)
