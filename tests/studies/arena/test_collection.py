"""The collection holds what its reasons say, and stays as it is."""

from __future__ import annotations

import re

import numpy as np
import pytest

from safebandit.errors import InstanceError
from safebandit.studies.arena.collection import COLLECTION, at_limit, chosen_entries, random_instance


@pytest.mark.parametrize("entry", COLLECTION.values(), ids=lambda entry: entry.name)
def test_every_entry_says_why_and_can_be_played(entry):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.name)
    assert entry.reason
    assert "\n" not in entry.reason
    instance = entry.instance
    assert instance.name == entry.name
    assert instance.best_arm is not None
    assert (instance.costs > 0).any()


def test_the_limit_is_where_the_best_arms_risk_is_alpha():
    limits = {name for name, entry in COLLECTION.items() if at_limit(entry.instance)}
    for name, entry in COLLECTION.items():
        instance = entry.instance
        best = instance.risk_means[:, instance.best_arm]
        assert (name in limits) == any(risk == alpha for risk, alpha in zip(best, instance.limits, strict=True))
    assert {"policy-case-1", "bayes-schedules", "limit-opposed", "limit-hazard", "limit-comonotone"} <= limits
    assert "drug-trial-21" not in limits


def test_dominated_arms_are_worse_and_unsafe():
    for name in ("dominated-two", "dominated-five", "dominated-near", "dominated-opposed", "dominated-comonotone",
                 "limit-dominated", "limit-opposed"):  # fmt: skip
        instance = COLLECTION[name].instance
        others = np.delete(np.arange(len(instance.mu)), instance.best_arm)
        assert (instance.efficiency_gaps[others] > 0).all(), name
        assert (instance.safety_gaps[others] > 0).all(), name


@pytest.mark.parametrize(("name", "sign"), [("dominated-opposed", -1), ("limit-opposed", -1), ("limit-comonotone", 1)])
def test_outcomes_are_tied_exactly(name, sign):
    instance = COLLECTION[name].instance
    for arm in range(len(instance.mu)):
        reward, risk = instance.draw(arm, 200).T
        assert (reward == (risk if sign > 0 else 1 - risk)).all()


def test_random_instances_follow_their_law():
    drawn = [random_instance(number) for number in range(1, 401)]
    sizes = np.bincount([len(instance.mu) for instance in drawn], minlength=11)[2:]
    # Feasibility favours many arms, but every size comes up: a chance of missing one is below 1e-9.
    assert (sizes > 0).all()
    assert sizes.sum() == 400
    # mu is free of the condition, so uniform: its mean is 0.5 within five standard errors (error rate 6e-7).
    mu = np.concatenate([instance.mu for instance in drawn])
    assert abs(mu.mean() - 0.5) < 5 * np.sqrt(1 / 12 / len(mu))
    assert all((instance.nu <= instance.alpha).any() for instance in drawn)


def test_instances_by_name():
    assert [entry.name for entry in chosen_entries(["one-safe", "drug-trial-21"])] == ["drug-trial-21", "one-safe"]
    assert len(chosen_entries()) == len(COLLECTION) > 30
    with pytest.raises(InstanceError, match='unknown instance "one-saf" of the arena; did you mean "one-safe"'):
        chosen_entries(["one-saf"])
