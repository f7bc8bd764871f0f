"""Designs that only explore are designs like any other: texts, files, live trials, explanations and verification."""

import re

import numpy as np
import pytest

import safebandit as sb
from safebandit.errors import DesignError, PolicyError
from safebandit.trials.simulated import simulate_design

ARMS = ["low", "mid", "high"]
INSTANCE = sb.Instance.bernoulli([0.3, 0.7, 0.8], [0.05, 0.1, 0.9], 0.4, arms=ARMS)
TEXTS = (
    'md-apt:units=60,alpha=0.4,safe_set="risk <= 0.4, reward >= 0.2",tolerance=0.01',
    "md-ucbe:units=60,alpha=0.4,explore=0.5",
    "md-sar:units=60,alpha=0.4",
    "tf-lucb:units=300,alpha=0.4,delta=0.2",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_design_is_read_back_and_played_live_as_simulated(text):
    design = sb.design_from_text(text, arms=ARMS)
    assert sb.design_to_text(design) == text
    assert sb.Design.from_toml(design.to_toml()) == design
    assert "safe set" in design.describe()
    runs = simulate_design(design, sb.Scenario("truth", instance=INSTANCE), trials=1, seed=3)
    trial, given = sb.Trial(design=design, seed=3), []
    outcomes = [iter(INSTANCE.draw(k, 300, seed=3)) for k in range(3)]
    for _ in range(int(runs.size[0])):
        asked = trial.ask()
        given.append(ARMS.index(asked.arm))
        reward, risk = next(outcomes[given[-1]])
        trial.tell(asked.id, reward=reward, risk=risk)
    assert np.bincount(given, minlength=3).tolist() == runs.plays[0].tolist()
    assert trial.stopped or len(given) == design.units
    assert ARMS.index(trial.selected) == runs.selected[0] == 1
    assert trial.verify().holds


def test_what_a_decision_says():
    trial = sb.Trial(design=sb.design_from_text(TEXTS[0], arms=ARMS), seed=1)
    for _ in range(3):
        trial.tell(trial.ask().id, reward=1, risk=0)
    trial.ask()
    table = trial.explain().table()
    assert table["distance inside"].tolist() == pytest.approx([0.4] * 3)
    assert "its means lie 0.4 inside of the safe set" in str(trial.explain())


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ("md-apt:units=60", DesignError, 'design "md-apt" needs alpha, the risk that is tolerated'),
        ("md-apt:alpha=.3", DesignError, 'design "md-apt" needs units; write md-apt:units=..., for example'),
        ("md-sar:units=2,alpha=.3", PolicyError, "units of md-sar must be at least 1 for each of 3 arms, got 2"),
        ('tf-lucb:units=9,alpha=.3,safe_set="risk2 <= 1"', PolicyError, 'unknown "risk2" in the half-space'),
        ('tf-lucb:units=9,alpha=.3,safe_set="risk <= -1"', PolicyError, "the safe set is empty"),
    ],
)
def test_mistakes(text, error, why):
    with pytest.raises(error, match=re.escape(why)):
        sb.design_from_text(text, arms=ARMS)


def test_rewards_are_needed_where_they_are_asked_about():
    for policy in ("tf-lucb", 'md-apt:safe_set="reward >= 0.2"'):
        with pytest.raises(DesignError, match="decides by rewards"):
            sb.Design(ARMS, 0.3, policy, 30, rewarded=False, select="none")
    assert sb.Design(ARMS, 0.3, "md-apt", 30, rewarded=False, select="none").units == 30
