"""Systems of others: the same decisions as their algorithms written down plainly, and what their papers promise."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import safebandit as sb
from safebandit.core.laws import draw
from safebandit.core.policies import HOLD, WAIT, Setup, policy_from_text, policy_to_text, prepare
from safebandit.core.streams import trial_streams
from safebandit.errors import PolicyError

from .. import driving

SEED = 5
UNITS = 1_200


class Plain:
    """What a system has seen: plays, total reward and total risks of every arm, drawn as the simulator draws them."""

    def __init__(self, instance, seed=SEED):
        self.instance, self.arms = instance, len(instance.mu)
        self.limits = np.array(instance.limits)
        self.plays, self.reward = np.zeros(self.arms), np.zeros(self.arms)
        self.risk = np.zeros((len(self.limits), self.arms))
        self.streams = trial_streams(seed, 0, self.arms).arms

    def play(self, k):
        reward, *risks = draw(self.instance.law, k, self.streams[k])
        self.plays[k] += 1
        self.reward[k] += reward
        self.risk[:, k] += risks


def near_top(values):
    """The arms of the largest value; rounding is far below 1e-12 of it."""
    return set(np.flatnonzero(values >= np.max(values) * (1.0 - 1e-12)).tolist())


class PrimalDual(Plain):
    """Algorithm PrimalDualBwK: prices as products, resources the risks and time, all budgets rescaled to the least."""

    def __init__(self, instance, units):
        super().__init__(instance)
        self.budgets = self.limits * units
        self.budget, self.resources = self.budgets.min(), 1 + len(self.limits)
        self.epsilon = math.sqrt(math.log(self.resources) / self.budget)
        self.c = math.log(self.resources * units * self.arms)
        self.prices, self.costs, self.units = np.ones(self.resources), None, units

    def rad(self, value):
        return np.sqrt(self.c * value / self.plays) + self.c / self.plays

    def candidates(self, t, table):
        self.costs = None
        if (self.risk.sum(axis=1) + 1.0 > self.budgets + 1e-9).any() or t > self.units:
            return {HOLD}
        if t <= self.arms:
            return {t - 1}
        upper = np.clip(self.reward / self.plays + self.rad(self.reward / self.plays), 0.0, 1.0)
        lower = np.clip(self.risk / self.plays - self.rad(self.risk / self.plays), 0.0, 1.0)
        scaled = lower * (self.budget / self.budgets)[:, None]
        self.costs = np.vstack([scaled, np.full(self.arms, self.budget / self.units)])
        rate = upper / (self.prices @ self.costs)
        # The policy's prices are relative to the largest.
        assert table[1] * (rate[0] / table[1][0]) == pytest.approx(rate, rel=1e-9)
        assert pytest.approx(scaled, abs=1e-12) == table[3].T
        return near_top(rate)

    def play(self, k):
        super().play(k)
        if self.costs is not None:
            self.prices *= (1.0 + self.epsilon) ** self.costs[:, k]


class Conservative(Plain):
    """Algorithm Conservative UCB with a known baseline."""

    def __init__(self, instance, baseline, mean, loss, delta):
        super().__init__(instance)
        self.baseline, self.mean, self.loss, self.delta = baseline, mean, loss, delta

    def candidates(self, t, table):
        upper, lower = np.full(self.arms, math.inf), np.zeros(self.arms)
        for i in range(self.arms):
            if i == self.baseline:
                upper[i] = lower[i] = self.mean
            elif self.plays[i] > 0:
                psi = 2.0 * math.log((self.arms - 1) * self.plays[i] ** 3 / self.delta)
                width = math.sqrt(psi / self.plays[i])
                mean = self.reward[i] / self.plays[i]
                upper[i], lower[i] = mean + width, max(0.0, mean - width)
        assert table[1] == pytest.approx(upper, rel=1e-12)
        tops = np.flatnonzero(upper == upper.max()) if np.isinf(upper).any() else near_top(upper)
        spare = {j: self.plays @ lower + lower[j] - (1.0 - self.loss) * t * self.mean for j in tops}
        # After nine rounds of ten with loss 0.1 it is exactly 0, but for rounding.
        return {int(j) if left > -1e-9 else self.baseline for j, left in spare.items()}


class ConLCB(Plain):
    """Algorithm Con-LCB for means of outcomes in [0, 1]; losses are rewards with the opposite sign."""

    def __init__(self, instance, units):
        super().__init__(instance)
        self.units = units

    def candidates(self, t, table):
        if t <= self.arms:
            return {t - 1}
        width = np.sqrt((math.log(2) + 2 * math.log(self.units)) / (2 * self.plays))
        loss = -self.reward / self.plays - width
        excess = (self.risk / self.plays - width - self.limits[:, None]).max(axis=0)
        plausible = excess <= 0
        assert (table[0] == plausible).all()
        if plausible.any():
            assert table[1][plausible] == pytest.approx(-loss[plausible], rel=1e-12)
            return set(np.flatnonzero(plausible & (loss <= loss[plausible].min() + 1e-12)).tolist())
        return set(np.flatnonzero(excess <= excess.min() + 1e-12).tolist())


CASES = [
    *(("bwk:units={units}", name, PrimalDual, (UNITS,)) for name in ("two", "five", "beta", "two risks")),
    ("bwk:units=200", "five", PrimalDual, (200,)),
    ("conservative:baseline=#1,baseline_reward=0.4,loss=0.1", "five", Conservative, (1, 0.4, 0.1, 0.05)),
    ("conservative:baseline=#0,baseline_reward=0.3,loss=0.31,delta=0.2", "beta", Conservative, (0, 0.3, 0.31, 0.2)),
    ("conservative:baseline_reward=0.39", "ties", Conservative, (0, 0.39, 0.1, 0.05)),
    *(("con-lcb:units={units}", name, ConLCB, (UNITS,)) for name in ("five", "none safe", "beta", "ties", "two risks")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "system", "parameters"), CASES)
def test_it_decides_as_its_algorithm_does(text, name, system, parameters):
    instance, text = driving.problem(name), text.format(units=UNITS)
    plain, given = system(instance, *parameters), set()
    for bench, t, k, _ in driving.walk(text, instance, UNITS, SEED):
        expected = plain.candidates(t, bench.columns())
        assert k in expected, f"round {t}: {k} is given, but the algorithm plays one of {expected}"
        given.add(k)
        if k == HOLD:
            break
        plain.play(k)
    assert len(given) > 1


@pytest.mark.parametrize("name", ["five", "none safe", "two risks"])
def test_con_lcb_is_found_by_lines_as_by_its_definition(name):
    driving.assert_lockstep("con-lcb:units=1500", name)


@functools.cache
def bench(text, count, alpha):
    return driving.Bench(text, count, alpha)


def published(text, plays, rewards, risks, alpha, units, delta):
    """The bounds of mixtures as their papers have them: rewards, risks; the safe arm is the first, of risk 0."""
    arms = len(plays)
    if text == "bwcr":
        c, mean, cost = math.log(arms * units * 2 / delta), rewards / (plays + 1), risks / (plays + 1)

        def rad(value):
            return np.sqrt(c * value / (plays + 1)) + c / (plays + 1)

        return np.minimum(1.0, mean + 2 * rad(mean)), np.maximum(0.0, cost - 2 * rad(cost))
    n = np.maximum(plays, 1)
    beta = np.sqrt(2 * math.log(4 * arms * units / delta) / n)
    unplayed = plays == 0
    reward, risk = (np.where(unplayed, 1.0, total / n) for total in (rewards, risks))
    cost = risk + beta
    cost[0] = 0.0
    return reward + (1 + 2 / alpha) * beta, cost


@pytest.mark.parametrize("text", ["bwcr", "pess"])
@pytest.mark.parametrize("seed", range(6))
def test_published_bounds_are_those_of_the_papers(text, seed):
    rng = np.random.default_rng(seed)
    plays = rng.integers(0, 4_000, 4) * (rng.random(4) < 0.8)
    rewards, risks = rng.binomial(plays, rng.random(4)), rng.binomial(plays, rng.random(4))
    alpha, units, delta = 0.3, 20_000, 0.1
    one = bench(f"{text}:bounds=published,units={units},delta={delta}", 4, alpha)
    for k in range(4):
        one.set(k, 0, plays[k], rewards[k]).set(k, 1, plays[k], risks[k])
        one.arms["asked"][k] = plays[k]
    permitted, reward, chance, risk = one.table(int(plays.sum()) + 1)
    expected = published(text, plays, rewards, risks, alpha, units, delta)
    assert reward == pytest.approx(expected[0], rel=1e-12)
    assert risk[:, 0] == pytest.approx(expected[1], rel=1e-12)
    assert (permitted == (expected[1] <= alpha)).all()
    if permitted.any():
        # The mixture itself is held to the linear program elsewhere.
        assert chance.sum() == pytest.approx(1.0)
        assert chance @ risk[:, 0] <= alpha + 1e-12


@pytest.mark.parametrize("name", ["drug-trial", "two-arm-example", "policy-case-2"])
def test_bwk_never_exceeds_its_budget(name):
    instance = sb.instance_by_name(name)
    kept = sb.simulate(instance, "bwk", horizon=2_000, trials=30, seed=3).of("bwk")
    spent, budget = kept.risk.reshape(30, -1).sum(axis=1), instance.alpha * 2_000
    assert (spent <= budget + 1e-9).all()
    # And once it is gone, nothing more is played.
    assert ((kept.held == 0) | (spent + 1 > budget)).all()
    assert (kept.plays.sum(axis=1) + kept.held == 2_000).all()


def test_con_lcb_plays_no_arm_more_often_than_its_paper_says():
    # An arm of gap g is played at most 1 + 2 log(2 T^2) / g^2 times unless some bound fails, which it does with
    # probability at most 2 K / T for one trial: 30 trials fail once in 66 seeds.
    instance, units = sb.Instance.bernoulli([0.5, 0.8, 0.9], [0.1, 0.2, 0.8], 0.4), 20_000
    kept = sb.simulate(instance, "con-lcb", horizon=units, trials=30, seed=3).of("con-lcb")
    level = math.log(2 * units**2)
    for arm, gap in ((0, 0.3), (2, 0.4)):
        assert (kept.plays[:, arm] <= 1 + 2 * level / gap**2).all()
    # The first arm is played until its width is as much more than the best arm's as its mean is less; three standard
    # errors. The last is not excluded before its width is 1 - 0.4, were it to harm every time.
    width = 0.3 + math.sqrt(level / (2 * kept.plays[:, 1].mean()))
    assert abs(kept.plays[:, 0].mean() - level / (2 * width**2)) < 3 * kept.plays[:, 0].std() / math.sqrt(30)
    assert (kept.plays[:, 2] >= level / (2 * 0.6**2)).all()


def test_bwk_waits_for_what_is_pending_and_holds_when_the_budget_is_gone():
    trial = sb.Trial(["a", "b"], alpha=0.2, policy="bwk", units=10, seed=1)
    # Two harms may happen. Two units are out, and a third might be one harm too many.
    first, second, third = trial.ask(), trial.ask(), trial.ask()
    assert [unit.waiting for unit in (first, second, third)] == [False, False, True]
    trial.tell(first.id, reward=1, risk=1)
    trial.tell(second.id, reward=1, risk=0)
    fourth = trial.ask()
    assert fourth.arm is not None
    trial.tell(fourth.id, reward=1, risk=1)
    explained = trial.explain()
    assert explained.chosen is None
    assert explained.table()["harms left"].tolist() == [0.0, 0.0]
    assert "the budget is gone" in str(explained)
    assert trial.ask().held
    assert trial.replay() == []
    assert policy_from_text(trial.settings.policy) == sb.Knapsacks(10)


def test_a_policy_that_asks_for_the_planned_units_is_kept_with_them():
    for text in ("con-lcb", "bwcr:bounds=published", "bwk"):
        trial = sb.Trial(2, alpha=0.2, policy=text, units=77)
        assert "units=77" in trial.settings.policy
        assert trial.ask().arm is not None


def test_bwk_gives_no_arm_behind_the_planned_units():
    bench = driving.Bench("bwk:units=30", 3)
    assert bench.decide(30)[0] >= 0
    assert bench.decide(31) == (HOLD, True)
    bench.arms["available"] = 0
    assert bench.decide(30) == (WAIT, False)


def test_a_conservative_trial_says_why():
    trial = sb.Trial(["usual", "new"], alpha=0.9, policy="conservative:baseline=usual,baseline_reward=0.5", seed=1)
    explained = trial.explain()
    # One unit of the new arm might earn nothing: the promise is 0.45.
    assert explained.chosen == "usual"
    assert "the baseline arm" in explained.why
    table = explained.table()
    assert table["to spare"].tolist() == pytest.approx([0.05, -0.45])
    assert "the promise might be broken by 0.45" in table.loc["new", "why"]
    arms = []
    for _ in range(10):
        unit = trial.ask()
        arms.append(unit.arm)
        trial.tell(unit.id, reward=1, risk=0)
    # After n units of the usual arm, 0.5 n - 0.45 (n + 1) is at least 0 from n = 9 on.
    assert arms == ["usual"] * 9 + ["new"]


@pytest.mark.parametrize(
    ("text", "limits", "words"),
    [
        ("bwk", (0.3,), ["bwk must know how many units are planned", "give units="]),
        ("bwk:units=0", (0.3,), ["units must be at least 1", "got 0"]),
        ("bwk:units=x", (0.3,), ["units must be a whole number", "x"]),
        ("bwk:units=100", (0.0,), ["a budget of at least one harm", "0 * 100 = 0", "raise alpha"]),
        ("bwk:units=100", (0.3, 0.001), ["a budget of at least one harm", "0.001 * 100 = 0.1"]),
        ("con-lcb", (0.3,), ["PlannedLower must know how many units are planned", "units="]),
        ("con-lcb:units=0", (0.3,), ["units", "must be above 0", "0"]),
        ("bwcr:bounds=published", (0.3,), ["must know how many units are planned"]),
        ("bwcr:bounds=published,units=10,delta=1", (0.3,), ["delta", "between 0 and 1"]),
        ("bwcr:bounds=published,units=10", (0.3, 0.2), ["one risk, got 2"]),
        ("pess:bounds=published,units=10,safe_risk=0.3", (0.3,), ["slack", "must be above 0"]),
        ("conservative", (0.3,), ['baseline arm "0" must be known', "baseline_reward="]),
        ("conservative:baseline=placebo,baseline_reward=0.1", (0.3,), ["baseline must be an arm", "'placebo'"]),
        ("conservative:baseline=#3,baseline_reward=0.1", (0.3,), ["baseline must be an arm", "3"]),
        ("conservative:baseline_reward=1.5", (0.3,), ["baseline_reward must lie in [0, 1]", "1.5"]),
        ("conservative:baseline_reward=0.5,loss=0", (0.3,), ["loss must lie between 0 and 1", "0"]),
        ("conservative:baseline_reward=0.5,delta=2", (0.3,), ["delta must lie between 0 and 1", "2"]),
    ],
)  # fmt: skip
def test_mistakes(text, limits, words):
    with pytest.raises(PolicyError) as caught:
        prepare(policy_from_text(text), Setup(("0", "1", "2"), limits, "hold"))
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_bounds_that_do_not_exist():
    with pytest.raises(PolicyError, match="bounds must be one of kl, published, got 'tight'"):
        policy_from_text("bwcr:bounds=tight")


def test_published_bounds_are_read_back():
    for text in ("bwcr:bounds=published,delta=0.1,units=50", "pess:bounds=published,safe_risk=0.1"):
        policy = policy_from_text(text)
        assert policy_from_text(policy_to_text(policy)) == policy
