"""Rewards and risks drawn together: held to drawing every arm, in law, and in what is shown of a decision."""

import math

import numpy as np
import pytest
from safebandit.core.indices.bar import BAR, BELOW
from scipy import stats

from safebandit import Trial
from safebandit.core.arms import EVERY, new_memory, risk_fields
from safebandit.core.indices import SampledRisk, Thompson
from safebandit.core.kernels import kernels_for
from safebandit.core.policies import HOLD, WAIT, DoublyOptimistic, policy_from_text, prepare, widths
from safebandit.core.streams import trial_streams

from .. import plain

# Each statistical test below fails by chance with probability at most this, were its seed not fixed.
FALSE_ALARM = 1e-4
ROUND = 3_000

# (plays, rewards, risks...) per arm, and alpha: where the gate is open, shut and in doubt, and where no arm is likely.
STATES = {
    "one arm": ([(12, 5, 4)], 0.3),
    "two arms": ([(12, 5, 2), (30, 14, 11)], 0.3),
    "nothing seen": ([(0, 0, 0), (0, 0, 0), (0, 0, 0)], 0.3),
    "equal arms": ([(20, 10, 6)] * 4, 0.3),
    "the best is unsafe": ([(60, 50, 50), (60, 30, 6), (60, 28, 8)], 0.3),
    "all in doubt": ([(40, 30, 14), (50, 20, 16), (25, 12, 8), (30, 3, 9), (10, 1, 3)], 0.3),
    "hardly any is permissible": ([(40, 30, 25), (50, 20, 28), (25, 12, 14)], 0.3),
    "two risks": ([(40, 30, 8, 20), (50, 20, 10, 24), (25, 12, 9, 2)], (0.3, 0.5)),
    "rewards of 0 and 1": ([(6, 0, 1), (6, 6, 3), (3, 3, 0), (0, 0, 0)], 0.3),
    "any risk": ([(20, 9, 20), (20, 12, 3)], 1.0),
    "no risk": ([(20, 9, 20), (20, 12, 0), (0, 0, 0)], 0.0),
    "many plays": ([(5_000, 2_500, 1_510), (5_000, 2_540, 1_530), (400, 190, 60)], 0.3),
}
POLICIES = {"naive-ts": 0.0, "slack-ts": 0.25, "slack-ts:slack=1.5": 1.5}


class Desk:
    """Arms that have seen what a test says, and a policy that is asked about them."""

    def __init__(self, text, counts, alpha, *, when_none="least_risky", seed=0):
        self.limits = alpha if isinstance(alpha, tuple) else (alpha,)
        self.policy = prepare(
            policy_from_text(text), [str(k) for k in range(len(counts))], when_none, limits=self.limits
        )
        self.kernels = kernels_for(self.policy)
        streams = trial_streams(seed, 0, len(counts))
        self.memory = new_memory(streams.keys, streams.policy.copy(), widths(self.policy), len(self.limits))
        self.arms, self.notes = self.memory.arms, self.memory.notes
        self.kernels.begin(self.policy, self.memory, self.limits)
        for k, (plays, *ones) in enumerate(counts):
            for field, count in zip(("reward", *risk_fields(len(self.limits))), ones, strict=True):
                self.arms[field]["plays"][k], self.arms[field]["ones"][k] = plays, count
                self.arms[field]["total"][k] = count
                self.arms[field]["mean"][k] = count / plays if plays else 0.0
        self.notes["changed"] = EVERY

    def decide(self, t=ROUND):
        return self.kernels.decide(self.policy, self.memory, self.limits, t)

    def learn(self, k, reward, risk):
        play = int(self.arms["asked"][k])
        self.arms["asked"][k] += 1
        self.kernels.learn(self.policy, self.memory, self.limits, k, play, reward, (risk,), math.nan, (math.nan,))

    def answers(self, decisions, *, bar=None):
        """How often each arm is played, each as the least risky one, and behind them how often it waits and holds."""
        found = np.zeros(2 * len(self.arms) + 2, int)
        for _ in range(decisions):
            if bar is not None:
                self.notes["bar"], self.notes["work"], self.notes["changed"] = bar, 0, EVERY
            k, none = self.decide()
            found[k + len(self.arms) * none if k >= 0 else k] += 1
        return found


def plain_draws(counts, limits, slack, size, random, t=ROUND):
    """Every arm's drawn reward and lower risk indices (rows), by the definition."""
    rewards = np.array([random.beta(ones[0] + 1, plays - ones[0] + 1, size) for plays, *ones in counts])
    lower = np.empty((len(counts), len(limits), size))
    for k, (plays, _, *risks) in enumerate(counts):
        for j, ones in enumerate(risks):
            law = stats.beta(ones + 1, plays - ones + 1)
            shift = slack * law.std() * math.sqrt(math.log(t * len(limits)))
            lower[k, j] = random.beta(ones + 1, plays - ones + 1, size) - shift
    return rewards, lower


def plain_answers(counts, alpha, slack, size=200_000, available=None, rule="least_risky"):
    """What a policy that draws every arm answers, counted as `Desk.answers` does."""
    limits = np.array(alpha if isinstance(alpha, tuple) else (alpha,))
    rewards, lower = plain_draws(counts, limits, slack, size, np.random.default_rng(5))
    excess = (lower - limits[:, None]).max(axis=1)
    count, some = len(counts), np.ones(len(counts), bool) if available is None else np.array(available)
    safe = excess <= 0.0
    best = np.where(safe & some[:, None], rewards, -1.0)
    least = np.where(some[:, None], excess, np.inf).argmin(axis=0)
    answer = np.where(best.max(axis=0) >= 0.0, best.argmax(axis=0), count + least if rule == "least_risky" else HOLD)
    answer = np.where((best.max(axis=0) < 0.0) & safe.any(axis=0), WAIT, answer)
    return np.bincount(np.where(answer < 0, 2 * count + 2 + answer, answer), minlength=2 * count + 2)


# --- decisions ---


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("text", POLICIES)
def test_arms_are_played_as_often_as_if_all_were_drawn(text, state):
    counts, alpha = STATES[state]
    found = Desk(text, counts, alpha).answers(20_000)
    assert plain.same_law(found, plain_answers(counts, alpha, POLICIES[text])) > FALSE_ALARM


@pytest.mark.parametrize("state", ["all in doubt", "hardly any is permissible", "two risks", "nothing seen"])
def test_the_comparison_would_notice_another_slack(state):
    counts, alpha = STATES[state]
    assert plain.same_law(Desk("slack-ts", counts, alpha).answers(20_000), plain_answers(counts, alpha, 0.0)) < 1e-9


@pytest.mark.parametrize("bar", [0.02, 0.3, 0.5, 0.7, 0.97])
@pytest.mark.parametrize("text", ["naive-ts", "slack-ts"])
def test_who_is_played_does_not_depend_on_the_bar(text, bar):
    counts, alpha = STATES["all in doubt"]
    found = Desk(text, counts, alpha, seed=2).answers(10_000, bar=bar)
    assert plain.same_law(found, plain_answers(counts, alpha, POLICIES[text])) > FALSE_ALARM


@pytest.mark.parametrize("when_none", ["hold", "least_risky"])
@pytest.mark.parametrize("text", ["naive-ts", "slack-ts"])
def test_an_arm_that_waits_for_outcomes_is_not_given(text, when_none):
    counts, alpha = [(40, 30, 20), (50, 20, 16), (25, 12, 11)], 0.3
    desk = Desk(text, counts, alpha, when_none=when_none, seed=3)
    available = [True, False, True]
    desk.arms["available"] = available
    found = desk.answers(20_000)
    assert found[WAIT] > 1_000
    assert found[1] == found[4] == 0
    expected = plain_answers(counts, alpha, POLICIES[text], available=available, rule=when_none)
    assert plain.same_law(found, expected) > FALSE_ALARM


@pytest.mark.parametrize("count", [33, 1_000])
def test_arms_alike_are_played_alike(count):
    desk = Desk("naive-ts", [(4, 2, 1)] * count, 0.3, seed=4)
    found = desk.answers(20 * count)
    assert found[count:].sum() == 0
    assert stats.chisquare(found[:count]).pvalue > FALSE_ALARM


def chance_of_first(laws, gates):
    """The chance that the first arm is played: open, and above all others that are, by Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    points = laws[0].ppf(0.5 * (nodes + 1.0))
    others = [1.0 - gate * law.sf(points) for law, gate in zip(laws[1:], gates[1:], strict=True)]
    return float(gates[0] * 0.5 * (weights @ np.prod(others, axis=0)))


@pytest.mark.parametrize("text", POLICIES)
def test_the_first_arm_is_played_with_the_right_chance_while_arms_learn(text):
    # Plays less their chances, of which each is given the past, have mean 0: |z| > 4 in 1 case of 15,000.
    random, slack, alpha = np.random.default_rng(8), POLICIES[text], 0.3
    desk = Desk(text, [(10, 5, 3), (10, 4, 2), (10, 8, 5)], alpha, seed=8)
    excess, variance = 0.0, 0.0
    for t in range(31, 1_531):
        laws = [stats.beta(seen["ones"] + 1, seen["plays"] - seen["ones"] + 1) for seen in desk.arms["reward"]]
        risks = [stats.beta(seen["ones"] + 1, seen["plays"] - seen["ones"] + 1) for seen in desk.arms["risk"]]
        gates = [law.cdf(alpha + slack * law.std() * math.sqrt(math.log(t))) for law in risks]
        chance = chance_of_first(laws, gates)
        k, none = desk.decide(t)
        excess += (k == 0 and not none) - chance
        variance += chance * (1.0 - chance)
        desk.learn(k, float(random.random() < (0.5, 0.45, 0.7)[k]), float(random.random() < (0.28, 0.2, 0.35)[k]))
        # The chance that is carried is that of the counts.
        seen = desk.arms["risk"][0]
        if seen["own"][BAR] > 0.0:
            law = stats.beta(seen["ones"] + 1, seen["plays"] - seen["ones"] + 1)
            assert seen["own"][BELOW] == pytest.approx(law.cdf(seen["own"][BAR]), abs=1e-11)
    assert variance > 100.0
    assert abs(excess) < 4.0 * math.sqrt(variance)


def test_another_prior_is_drawn_arm_by_arm():
    counts, alpha, prior = [(10, 5, 3), (12, 4, 2)], 0.3, (0.5, 2.0)
    policy = DoublyOptimistic(Thompson(), SampledRisk(0.0, *prior), each_first=False)
    desk = Desk("naive-ts", counts, alpha)
    desk.policy = prepare(policy, ["0", "1"], "least_risky", limits=(alpha,))
    shut = np.prod([stats.beta.sf(alpha, ones + prior[0], plays - ones + prior[1]) for plays, _, ones in counts])
    assert stats.binomtest(int(desk.answers(20_000)[2:4].sum()), 20_000, float(shut)).pvalue > FALSE_ALARM


# --- what is shown ---


@pytest.mark.parametrize("state", ["all in doubt", "hardly any is permissible", "two risks", "one arm"])
@pytest.mark.parametrize("text", POLICIES)
def test_what_is_shown_are_draws_that_give_the_decision(text, state):
    counts, alpha = STATES[state]
    desk = Desk(text, counts, alpha, seed=6)
    tables = np.full((4_000, len(counts), 3 + len(desk.limits)), np.nan)
    for table in tables:
        copied = desk.memory.copy()
        desk.kernels.look(desk.policy, copied, desk.limits, ROUND, table)
        k, none = desk.decide()
        permissible = (table[:, 3:] <= desk.limits).all(axis=1)
        assert (table[:, 0] == permissible).all()
        assert (np.isnan(table[:, 1]) == ~permissible).all()
        assert none == (not permissible.any())
        if none:
            assert k == (table[:, 3:] - desk.limits).max(axis=1).argmin()
        else:
            assert k == np.nanargmax(table[:, 1])
    rewards, lower = plain_draws(counts, desk.limits, POLICIES[text], 40_000, np.random.default_rng(7))
    for k in range(len(counts)):
        for j in range(len(desk.limits)):
            assert stats.ks_2samp(tables[:, k, 3 + j], lower[k, j]).pvalue > FALSE_ALARM
        shown = tables[~np.isnan(tables[:, k, 1]), k, 1]
        if len(shown) > 100:
            assert stats.ks_2samp(shown, rewards[k]).pvalue > FALSE_ALARM


def test_what_is_shown_before_every_arm_was_played():
    trial = Trial(3, 0.3, "thompson+sampled-risk", seed=1)
    explained = trial.explain()
    assert explained.chosen == trial.ask().arm
    assert all(view.reward_index is None and view.risk_index is not None for view in explained.arms)


@pytest.mark.parametrize("text", POLICIES)
def test_the_explained_arm_is_the_arm_that_is_given(text):
    random = np.random.default_rng(9)
    trial, copies = Trial(4, 0.3, text, seed=9), []
    for i in range(300):
        if i in (30, 100, 257):
            copies.append(Trial.from_json(trial.to_json()))
        explained = trial.explain()
        unit = trial.ask()
        assert unit.arm == explained.chosen
        # A trial read back goes on alike.
        assert [each.ask() for each in copies] == [unit] * len(copies)
        if not unit.held:
            reward, risk = (random.random(2) < (0.5, 0.25)).astype(int).tolist()
            for each in (trial, *copies):
                each.tell(unit.id, reward=reward, risk=risk)


@pytest.mark.parametrize("text", POLICIES)
def test_a_hold_is_explained_by_the_draws_that_made_it(text):
    held = 0
    for seed in range(12):
        trial = Trial(2, 0.3, text, seed=seed)
        for _ in range(40):
            explained = trial.explain()
            unit = trial.ask()
            if unit.held:
                held += 1
                assert unit.why == explained.why == trial.explain().why
                assert "no arm is permissible" in unit.why
                break
            trial.tell(unit.id, reward=1, risk=1)
    assert held > 5


@pytest.mark.parametrize("t", [2**61, 2**62, 2**63 - 1])
def test_rounds_beyond_all_bounds_are_answered(t):
    k, _ = Desk("slack-ts", [(10, 5, 2), (10, 4, 1)], 0.3).decide(t)
    assert k in (0, 1)
