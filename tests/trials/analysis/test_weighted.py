"""Means by inverse propensities: by a plain transcription, by coverage, and what is refused."""

import math

import numpy as np
import pytest

import safebandit as sb
from safebandit.errors import TrialError
from safebandit.trials.analysis.weighted import adaptive_mean


def run(policy, units=160, told=lambda i: True, seed=2):
    trial, rng = sb.Trial(["a", "b"], alpha=0.4, policy=policy, seed=seed), np.random.default_rng(seed)
    for i in range(units):
        asked = trial.ask()
        value = float(rng.random() < {"a": 0.3, "b": 0.6}[asked.arm])
        trial.tell(asked.unit, reward=value if told(i) else None, risk=float(rng.random() < 0.2))
    return trial


def plain(values, given, chances):
    """Hadad et al.'s estimate, unit by unit: its weights are sqrt(chance), its plug-in means of the past."""
    scores, weights, plays, total = [], [], 0, 0.0
    for value, mine, chance in zip(values, given, chances, strict=True):
        before = (total + 0.5) / (plays + 1)
        scores.append(before + (value - before) / chance if mine else before)
        weights.append(math.sqrt(chance))
        if mine:
            plays, total = plays + 1, total + value
    mean = sum(h * score for h, score in zip(weights, scores, strict=True)) / sum(weights)
    squares = sum((h * (score - mean)) ** 2 for h, score in zip(weights, scores, strict=True))
    return mean, math.sqrt(squares) / sum(weights)


def test_means_and_differences_are_those_of_the_definition():
    trial = run("tsbu:floor=0.2")
    asked = [event.content for event in trial.log if event.kind == "asked"]
    rewards = [unit.outcome[0] for unit in trial._store.units()]
    found, expected = sb.weighted(trial, control="a"), {}
    for arm in "ab":
        given = [content["arm"] == arm for content in asked]
        chances = [content["arms"][arm]["propensity"] for content in asked]
        expected[arm] = plain(rewards, given, chances)
        mean = found.mean(arm)
        assert (mean.mean, mean.error) == pytest.approx(expected[arm], abs=1e-7)
        half = 1.959964 * mean.error
        assert mean.interval == pytest.approx([max(0.0, mean.mean - half), mean.mean + half], abs=1e-6)
        ipw = sum(value / chance for value, mine, chance in zip(rewards, given, chances, strict=True) if mine) / 160
        assert mean.ipw == pytest.approx(ipw, abs=1e-7)
        assert mean.least == pytest.approx(min(chances), abs=1e-7)
    difference = found.differences[0]
    assert (difference.arm, difference.control, difference.endpoint) == ("b", "a", "reward")
    assert difference.difference == pytest.approx(expected["b"][0] - expected["a"][0], abs=1e-7)
    assert difference.error == pytest.approx(math.hypot(expected["a"][1], expected["b"][1]), abs=1e-7)
    assert found.kind == "asymptotic normal interval"


def test_intervals_cover_where_chances_follow_the_outcomes():
    # 1,000 trials of 400 units at the null: arms alike, chances by Thompson's rule with a floor of .1, two arms.
    rng, trials, units, mu = np.random.default_rng(8), 1_000, 400, 0.4
    plays, total = np.zeros((trials, 2)), np.zeros((trials, 2))
    arms, values, chances = (np.zeros((trials, units)) for _ in range(3))
    for t in range(units):
        draws = rng.beta(total[:, None] + 1, (plays - total)[:, None] + 1, (trials, 10, 2))
        chances[:, t] = 0.1 + 0.8 * (draws[:, :, 1] > draws[:, :, 0]).mean(axis=1)
        arms[:, t] = rng.random(trials) < chances[:, t]
        values[:, t] = rng.random(trials) < mu
        chosen = arms[:, t].astype(int)
        plays[np.arange(trials), chosen] += 1
        total[np.arange(trials), chosen] += values[:, t]
    found = [adaptive_mean(values[i], arms[i] == 1, chances[i]) for i in range(trials)]
    means, errors = np.array(found).T
    covered = np.mean(np.abs(means - mu) <= 1.96 * errors)
    # Three standard errors of a share of 95 %: outside in 3 of 1,000 cases.
    assert covered == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / trials))
    # Four of a mean's: outside in 6 of 100,000. Plain means are biased here, weighted ones are not, or far less.
    weighted = np.where(arms == 1, values / chances, 0.0).mean(axis=1)
    assert abs(weighted.mean() - mu) < 4 * weighted.std() / math.sqrt(trials)
    plain_means = total[:, 1] / np.maximum(plays[:, 1], 1)
    assert mu - plain_means.mean() > 4 * plain_means.std() / math.sqrt(trials)
    assert abs(means.mean() - mu) < 0.5 * (mu - plain_means.mean())


def test_what_cannot_be_weighted_is_refused_with_the_reason():
    first = sb.weighted(run("docb", units=20)).means[0]
    assert (first.mean, first.ipw, first.interval) == (None, None, None)
    assert "its chance was 0 for" in first.refused
    seldom = sb.weighted(run("tsbu:floor=0.2"), least=0.5, control="b")
    assert "its chance was below 0.5 for" in seldom.mean("a").refused
    assert seldom.differences[0].refused == seldom.mean("a").refused
    missing = sb.weighted(run("tsbu:floor=0.2", told=lambda i: i % 10 > 0))
    assert missing.mean("a").refused.startswith("it is not known of 16 of 160 units, more than 5%")
    assert missing.mean("a", "risk").refused is None
    assert sb.weighted(run("tsbu:floor=0.2", units=15)).mean("a").refused.endswith("at least 20 are needed")
    few = sb.weighted(run("tsbu:floor=0.2", told=lambda i: i % 40 > 0))
    assert few.mean("a").missing == 4
    assert any("left out" in each for each in few.assumptions)
    assert sb.weighted(sb.Trial(2, 0.3, "docb", seed=1)).means[0].refused == "no unit was given an arm yet"
    with pytest.raises(TrialError, match="least must lie between 0 and 1"):
        sb.weighted(run("docb", units=2), least=0)
    with pytest.raises(TrialError, match="confidence must lie between 0 and 1, got 95"):
        sb.weighted(run("docb", units=2), confidence=95)


def test_a_table_of_units_lacks_the_chances_of_other_arms(tmp_path):
    (tmp_path / "units.csv").write_text("arm,reward,risk,propensity\na,1,0,0.5\nb,0,0,0.5\n")
    refused = sb.weighted(tmp_path / "units.csv").means[0].refused
    assert refused.startswith("the chance of this arm was not recorded for 2 of 2 units; take the trial or its record")


def test_outcomes_that_are_nearly_all_the_same_are_refused():
    trial = sb.Trial(["a", "b"], alpha=0.5, policy="tsbu:floor=0.3", seed=1, pending_cap=100)
    for i in range(80):
        trial.tell(trial.ask(str(i)).id, reward=i % 2, risk=0)
    found = {(mean.arm, mean.endpoint): mean for mean in sb.weighted(trial).means}
    assert found["a", "reward"].refused is None
    assert "nearly all the same (they add up to 0 of" in found["a", "risk"].refused


def test_an_endpoint_is_found_by_its_name_and_the_only_risk_as_risk():
    trial = sb.Trial(["a", "b"], alpha=0.5, risks=["toxicity"], policy="tsbu:floor=0.3", seed=1)
    for i in range(80):
        trial.tell(trial.ask(str(i)).id, reward=i % 2, risk=i % 3 == 0)
    found = sb.weighted(trial)
    assert found.mean("a", "risk") == found.mean("a", "toxicity")
    assert sb.analyse(trial).estimate("a", "risk").known > 0
    assert sb.what_if(trial, "tsbu").outcome("risk").known == 80
    with pytest.raises(TrialError, match=r"nothing is said of 'toxic' here; did you mean .toxicity."):
        found.mean("a", "toxic")
    with pytest.raises(TrialError, match="there is no arm 'c' here; known: a, b"):
        found.mean("c")


def test_that_unseen_risks_count_as_harm_is_said():
    trial = sb.Trial(["a", "b"], alpha=0.5, policy="tsbu:floor=0.3", seed=1, pending_cap=100)
    for i in range(80):
        unit = trial.ask(str(i))
        if i % 20:
            trial.tell(unit.id, reward=i % 2, risk=i % 3 == 0)
        else:
            trial.give_up(unit.id, reason="not heard of")
    for said in (sb.weighted(trial).assumptions, sb.what_if(trial, "tsbu").assumptions):
        assert sum("risks that nobody saw, of 4 units given up, count as harm" in each for each in said) == 1
