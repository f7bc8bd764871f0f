"""Recommendations: the truths and trials behind them, against plain loops; the front, the rule, and bad input."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

import safebandit as sb
from safebandit import Instance, SafebanditError, Trial, recommend, simulate
from safebandit.core.laws import draw
from safebandit.core.streams import trial_streams
from safebandit.studies.recommend.plan import CANDIDATES, make_plan
from safebandit.studies.recommend.play import draw_truths, play
from safebandit.studies.recommend.summary import Estimate, Score, choose, mean, measure, on_front, share
from safebandit.studies.recommend.truths import PRIORS, read_truths

K, ALPHA, UNITS, TRIALS, SEED = 3, 0.3, 36, 40, 7
SMALL = {"units": UNITS, "trials": TRIALS, "seed": SEED, "policies": ["docb", "equal"]}


def plan_for(truths, policies=("docb", "equal"), **changes):
    settings = {"units": UNITS, "trials": TRIALS, "seed": SEED, "more_than": None, **changes}
    return make_plan(truths, list(policies), **settings)


@pytest.fixture(scope="module")
def small():
    return recommend(K, ALPHA, **SMALL, workers=1)


@pytest.fixture(scope="module")
def trials():
    """What was played of the small recommendation, and on which truths."""
    plan = plan_for(read_truths(K, ALPHA, "uniform", None))
    truths = draw_truths(plan)
    return truths, play(plan, truths, workers=2)


def test_truths_come_from_the_stated_prior():
    many = read_truths(2, [0.2, 0.8], "uniform", None)
    drawn = [many.of_trial(i, 1) for i in range(400)]
    assert all(one.best_arm is not None for one in drawn)
    nu = np.array([one.risk_means for one in drawn])
    assert nu[:, 0].max() < 0.4
    assert 0.8 < nu[:, 1].max() < 1.0
    # Rewards have no part in what is drawn again. A false alarm for 1 seed in 1,000.
    assert stats.kstest(np.ravel([one.mu for one in drawn]), "uniform").pvalue > 0.001
    # Given that an arm is safe, its risks are uniform below their limits.
    safe = (nu <= np.array([0.2, 0.8])[:, None]).all(axis=1)
    assert stats.kstest(nu[:, 0][safe] / 0.2, "uniform").pvalue > 0.001
    # Of two arms, each safe with chance 1/2 * 4/5: both are in 16 of 64 that have one. Within 4 standard errors.
    assert abs(safe.all(axis=1).mean() - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 400)


def test_ordered_truths_rise_from_arm_to_arm():
    drawn = [read_truths(5, ALPHA, "ordered", None).of_trial(i, 1) for i in range(20)]
    assert all((np.diff(one.mu) >= 0).all() and (np.diff(one.nu) >= 0).all() for one in drawn)


def test_a_truth_depends_on_the_seed_and_its_number_alone():
    truths = read_truths(K, ALPHA, "uniform", None)
    first, again = truths.of_trial(5, 1), truths.of_trial(5, 1)
    assert np.array_equal(first.mu, again.mu)
    others = [truths.of_trial(6, 1), truths.of_trial(5, 2)]
    assert not any(np.array_equal(first.mu, other.mu) for other in others)


def test_equal_randomisation_against_a_plain_loop(trials):
    truths, played = trials
    found = measure(played["equal"], truths, (ALPHA,))
    times = UNITS // K
    for i, truth in enumerate(truths):
        streams = trial_streams(SEED, i, K).arms
        outcomes = np.array([[draw(truth.law, k, streams[k]) for _ in range(times)] for k in range(K)])
        reward, risk = outcomes[:, :, 0].sum(axis=1), outcomes[:, :, 1].sum(axis=1)
        gaps = np.maximum(max(truth.mu[truth.nu <= ALPHA]) - truth.mu, truth.nu - ALPHA).clip(0)
        likely = stats.beta(1 + risk, 1 + times - risk).cdf(ALPHA) >= 0.5
        chosen = np.where(likely, reward, -1).argmax() if likely.any() else None
        best = np.where(truth.nu <= ALPHA, truth.mu, -1).argmax()
        assert found.regret[i] == pytest.approx(times * gaps.sum(), rel=1e-12)
        assert found.unsafe_plays[i] == times * (truth.nu > ALPHA).sum()
        assert found.harms[i] == risk.sum()
        assert found.best_selected[i] == (chosen == best)
        assert found.unsafe_selected[i] == (chosen is not None and truth.nu[chosen] > ALPHA)


def test_the_first_trial_against_a_live_one(trials):
    truths, played = trials
    truth, streams = truths[0], trial_streams(SEED, 0, K).arms
    trial, plays, harms = Trial(list(truth.arms), ALPHA, "docb:when_none=least_risky", seed=SEED), np.zeros(K), 0.0
    for _ in range(UNITS):
        unit = trial.ask()
        k = truth.arms.index(unit.arm)
        reward, risk = draw(truth.law, k, streams[k])
        trial.tell(unit.id, reward=reward, risk=risk)
        plays[k], harms = plays[k] + 1, harms + risk
    assert played["docb"].plays[0].tolist() == plays.tolist()
    assert measure(played["docb"], truths, (ALPHA,)).harms[0] == harms


def test_given_truths_are_played_as_the_simulator_does():
    one = Instance.bernoulli([0.3, 0.5, 0.9], [0.1, 0.2, 0.6], ALPHA)
    two = Instance.bernoulli([0.9, 0.5, 0.3], [0.1, 0.2, 0.6], ALPHA)
    plan = plan_for(read_truths(None, None, "uniform", [one, two]), trials=9)
    played = play(plan, draw_truths(plan), workers=2)
    for start, instance in enumerate((one, two)):
        alone = simulate(instance, ["docb", "equal"], horizon=UNITS, trials=9, seed=SEED, checkpoints=[UNITS])
        for label in ("docb", "equal"):
            for mine, theirs in zip(played[label], alone.of(label), strict=True):
                assert np.array_equal(mine[start::2], theirs[start::2])


def test_the_same_bits_for_any_number_of_workers_and_policies(small):
    assert recommend(K, ALPHA, **SMALL, workers=3).to_dict() == small.to_dict()
    alone = recommend(K, ALPHA, **{**SMALL, "policies": ["equal"]})
    (equal,) = (one for one in small.scores if one.policy == "equal")
    assert alone.scores[0][:8] == equal[:8]
    assert recommend(K, ALPHA, **{**SMALL, "seed": 8}).to_dict()["candidates"] != small.to_dict()["candidates"]


def test_the_first_trials_of_more_are_the_same(trials):
    plan = plan_for(read_truths(K, ALPHA, "uniform", None), trials=12)
    few, many = play(plan, draw_truths(plan), workers=1)["docb"], trials[1]["docb"]
    assert all(np.array_equal(a, b[:12]) for a, b in zip(few, many, strict=True))


def test_intervals():
    values = np.random.default_rng(1).exponential(5.0, 30)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert mean(values) == pytest.approx((values.mean(), expected.low, expected.high))
    assert mean(np.array([0.0, 9.0]), 0.0).low == 0.0
    assert share(np.zeros(40, bool)) == pytest.approx((0.0, 0.0, 1 - 0.025 ** (1 / 40)))
    half = share(np.arange(40) < 10)
    assert half == pytest.approx((0.25, stats.beta.ppf(0.025, 10, 31), stats.beta.ppf(0.975, 11, 30)))


def test_the_front_by_brute_force():
    rng = np.random.default_rng(2)
    for _ in range(50):
        # Few values, so that there are ties.
        points = {str(i): tuple(rng.integers(0, 5, 2).tolist()) for i in range(7)}
        beaten = {
            a
            for (a, x), (_, y) in itertools.product(points.items(), repeat=2)
            if y[0] <= x[0] and y[1] <= x[1] and (y[0] < x[0] or y[1] < x[1])
        }
        assert on_front(points) == set(points) - beaten


def scored(label, regret, unsafe, over, front=True):
    numbers = [Estimate(regret, 0, 0), Estimate(unsafe, 0, 0), *(Estimate(0, 0, 0) for _ in range(4))]
    return Score(label, label, *numbers, Estimate(0, over, 0), front)


@pytest.mark.parametrize(
    ("others", "choice"),
    [
        ([], "least"),
        ([("near", 10.4, 40.0, 0.1)], "near"),
        ([("not so near", 10.6, 40.0, 0.1)], "least"),
        ([("perhaps as good", 12.0, 40.0, -0.1)], "perhaps as good"),
        ([("fewer", 10.4, 40.0, 0.1), ("fewest", 10.45, 30.0, 0.1)], "fewest"),
        ([("beaten", 10.5, 40.0, 0.1, False), ("near", 10.4, 40.0, 0.1)], "near"),
    ],
)
def test_the_rule_of_choice(others, choice):
    assert choose([scored("least", 10.0, 50.0, 0.0), *(scored(*one) for one in others)]).policy == choice


def test_what_is_recommended_is_said_with_its_numbers(small):
    assert small.choice == small.chosen.policy == "docb"
    assert small.chosen.on_front
    assert small.reference.policy == "equal"
    assert f"{small.chosen.unsafe_plays.value:.1f} of 36 (equal: {small.reference.unsafe_plays.value:.1f})" in small.why
    table = small.table()
    assert table.loc["docb", "recommended"]
    assert not table.loc["equal", "recommended"]
    assert (table["regret_low"] < table["regret"]).all()
    assert (table["more_than_high"] >= table["more_than"]).all()
    with pytest.raises(dataclasses.FrozenInstanceError):
        small.seconds = 0.0


def test_how_many_are_too_many_can_be_said(small, trials):
    assert small.plan.more_than == 3
    unsafe = trials[1]["docb"].unsafe_plays[:, -1]
    (docb,) = (one for one in recommend(K, ALPHA, **SMALL, more_than=9).scores if one.policy == "docb")
    assert docb.more_than.value == (unsafe > 9).mean()
    assert small.chosen.more_than.value == (unsafe > 3).mean()


def usual(limits, units=400):
    truths = read_truths(K, limits, "uniform", None)
    return make_plan(truths, None, units=units, trials=2, seed=1, more_than=None)


def test_the_usual_candidates():
    assert list(usual(ALPHA).candidates) == list(CANDIDATES)
    # At this size safe-ids has these odds by itself: nothing is played twice.
    assert list(usual(ALPHA, 2_000).candidates) == [one for one in CANDIDATES if one != "safe-ids:odds=0.5"]
    two = usual([0.3, 0.2])
    assert list(two.cannot) == ["joint-dirichlet"]
    assert set(two.candidates) == set(CANDIDATES) - {"joint-dirichlet"}


def test_several_risks():
    found = recommend(K, [0.3, 0.4], **SMALL)
    document = found.to_dict()
    assert document["truths"]["alpha"] == [0.3, 0.4]
    assert 0 < found.reference.harms.value < 2 * UNITS


def test_ctrl_c_stops_it():
    def press(step):
        if step.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recommend(K, ALPHA, **SMALL, progress=press)


def test_progress_comes_to_its_end():
    steps = []
    recommend(K, ALPHA, **SMALL, progress=steps.append)
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1].done == steps[-1].total == 2 * UNITS * TRIALS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "random truths need arms, how many there are: give arms=5, or a truth of your own"),
        ({"arms": 3}, "random truths need alpha: give alpha=0.2"),
        ({"arms": 1, "alpha": 0.2}, "arms must be at least 2"),
        ({"arms": 3, "alpha": 1.2}, r"alpha must lie in \[0, 1\], got 1.2"),
        ({"arms": 3, "alpha": 0.2, "prior": "unifrom"}, 'did you mean "uniform"'),
        ({"arms": 3, "alpha": 0.2, "units": 0}, "units must be at least 1"),
        ({"arms": 3, "alpha": 0.2, "trials": 1}, "trials must be at least 2"),
        ({"arms": 3, "alpha": 0.2, "seed": -1}, "seed must be at least 0"),
        ({"arms": 3, "alpha": 0.2, "workers": 0}, "workers must be at least 1"),
        ({"arms": 3, "alpha": 0.2, "units": 36, "more_than": 36}, r"more_than must be below the units \(36\), got 36"),
        ({"arms": 3, "alpha": 0.2, "policies": ["tbsu"]}, 'did you mean "tsbu"'),
        ({"arms": 3, "alpha": 0.2, "policies": []}, "at least one policy is needed"),
        ({"arms": 3, "alpha": 0.2, "policies": ["pess"]}, "mean risk of the safe arm"),
        ({"arms": 3, "alpha": [0.2, 0.3], "policies": ["joint-dirichlet"]}, "one risk, got 2"),
        ({"arms": 3, "instances": "drug-trial"}, "given truths have their own arms, got arms=3"),
        ({"instances": []}, "at least one truth is needed"),
        ({"instances": ["drug-trial", "two-arm-example"]}, "truths must have the same arms and alpha"),
        ({"instances": "drug-trail"}, 'did you mean "drug-trial"'),
    ],
)
def test_bad_input_is_refused_in_one_line_before_anything_is_played(arguments, message):
    steps = []
    with pytest.raises(SafebanditError, match=message) as refused:
        recommend(**{"policies": ["docb"], **arguments}, progress=steps.append)
    assert "\n" not in str(refused.value)
    assert steps == []


def test_the_prior_is_stated(small):
    assert "mean risks uniform on 0 to twice alpha" in small.to_dict()["truths"]["about"]
    assert all("drawn again until an arm is safe" in prior.about for prior in PRIORS.values())


def test_the_page_escapes_names_and_says_it_in_plain_words(tmp_path):
    name = "<b>$5 & more</b>"
    instance = Instance.bernoulli([0.3, 0.6], [0.1, 0.6], ALPHA, arms=["<i>low</i>", "high"], name=name)
    policies = {"<u>ours</u>": "docb", "equal": "equal"}
    found = recommend(instances=instance, **{**SMALL, "policies": policies})
    page = found.write(tmp_path / "new")
    text = page.read_text(encoding="utf-8")
    for raw, shown in (
        (name, "&lt;b&gt;$5 &amp; more&lt;/b&gt;"),
        ("<i>low", "&lt;i&gt;low"),
        ("<u>ours", "&lt;u&gt;ours"),
    ):
        assert raw not in text
        assert shown in text
    plain = " ".join(text.split())
    assert "of 36 units are expected to get an unsafe arm" in plain
    assert "is the chance that more than 3 do" in plain
    assert "http" not in text
    assert {path.relative_to(page.parent).as_posix() for path in page.parent.rglob("*.*")} == {
        "index.html", "recommendation.json", "figures/front.png", "figures/front.svg",
    }  # fmt: skip
    assert json.loads((page.parent / "recommendation.json").read_text()) == json.loads(json.dumps(found.to_dict()))


def test_a_page_where_nothing_is_unsafe(tmp_path):
    safe = Instance.bernoulli([0.3, 0.6], [0.0, 0.0], ALPHA)
    found = recommend(instances=safe, **{**SMALL, "policies": ["docb"]})
    assert found.chosen.unsafe_plays == (0.0, 0.0, 0.0)
    assert found.reference is None
    assert "if all arms were given equally often" not in found.write(tmp_path).read_text(encoding="utf-8")


def test_it_is_a_name_of_the_package():
    assert sb.recommend is recommend
    assert isinstance(sb.recommend(2, 0.5, units=4, trials=2, policies="docb"), sb.Recommendation)
