"""Algorithms 1 to 3 once more, slowly and from the paper: every decision, and the table that it writes."""

import numpy as np
import pytest
from scipy import stats

from safebandit import Instance, simulate
from safebandit.core.laws import draw
from safebandit.core.policies import WAIT, policy_from_text
from safebandit.core.streams import trial_streams

from .. import driving, plain

HELD = -1


def each(formula, seen):
    """A formula of one arm's outcomes, for every arm."""
    return np.array([formula(values) for values in seen["values"]])


def weights(index, seen, mirrored):
    return np.array([plain.split(1.0 - np.array(v) if mirrored else v, index.bins) for v in seen["values"]])


REWARDS = {
    "KLUpper": lambda index, seen, t, alpha: plain.kl_upper_index(
        index.level.name, seen["plays"], seen["total"], t, tail=index.tail
    ),
    "BayesUpper": lambda index, seen, t, alpha: plain.bayes_upper_index(
        index.schedule.name, seen["plays"], seen["ones"], t, tail=index.tail
    ),
    "HoeffdingUpper": lambda index, seen, t, alpha: plain.hoeffding_upper_index(
        index.level.name, seen["plays"], seen["total"], t, tail=index.tail
    ),
    "VarianceUpper": lambda index, seen, t, alpha: each(
        lambda values: plain.variance_upper_index(index.zeta, index.c, values, t), seen
    ),
    "EmpiricalUpper": lambda index, seen, t, alpha: (
        1.0 - plain.empirical_lower_indices(index.level.name, weights(index, seen, True), t, tail=index.tail)
    ),
    "BettingUpper": lambda index, seen, t, alpha: each(
        lambda values: plain.betting_upper_index(index.level.name, index.grid, values, t, tail=index.tail), seen
    ),
}
RISKS = {
    "KLLower": lambda index, seen, t, alpha: plain.kl_lower_index(
        index.level.name, seen["plays"], seen["total"], t, tail=index.tail
    ),
    "BayesLower": lambda index, seen, t, alpha: plain.bayes_lower_index(
        index.schedule.name, seen["plays"], seen["ones"], t, alpha, tail=index.tail
    ),
    "HoeffdingLower": lambda index, seen, t, alpha: plain.hoeffding_lower_index(
        index.level.name, seen["plays"], seen["total"], t, tail=index.tail
    ),
    "VarianceLower": lambda index, seen, t, alpha: each(
        lambda values: plain.variance_lower_index(index.zeta, index.c, values, t), seen
    ),
    "EmpiricalLower": lambda index, seen, t, alpha: plain.empirical_lower_indices(
        index.level.name, weights(index, seen, False), t, tail=index.tail
    ),
    "BettingLower": lambda index, seen, t, alpha: each(
        lambda values: plain.betting_lower_index(index.level.name, values, t, alpha, tail=index.tail), seen
    ),
}
# Of these, bisection ends just above 0; the smallest mean that data with a risk allow is above 0.
ABOVE_ZERO = ("KLLower", "BayesLower", "EmpiricalLower")


def counts(arms):
    return {
        "plays": np.zeros(arms), "total": np.zeros(arms), "ones": np.zeros(arms), "values": [[] for _ in range(arms)]
    }  # fmt: skip


def near(values, best):
    """The arms that share the best value; 1e-9 is far above rounding and far below a difference of two counts."""
    return set(np.flatnonzero(np.abs(values - best) <= 1e-9).tolist())


def close(found, expected):
    """Whether two arrays are equal to 1e-7, and unknown at the same places."""
    with np.errstate(invalid="ignore"):
        near = (found == expected) | (np.abs(found - expected) <= 1e-7)
    return found.shape == expected.shape and bool((near | (np.isnan(found) & np.isnan(expected))).all())


class Paper:
    """A policy by the book: all indices of all arms, in every round.

    With m risks an arm is permissible if every risk is, by an index of round m t; with a head start, of m (t + t0); and
    where exclusion lasts, t is the round after that in which the arm was last played.
    """

    def __init__(self, text, instance, seed):
        self.policy = policy_from_text(text)
        self.instance, self.limits = instance, instance.limits
        self.arms = len(instance.mu)
        self.streams = trial_streams(seed, 0, self.arms)
        self.reward, self.risks = counts(self.arms), [counts(self.arms) for _ in self.limits]
        self.t, self.learnt = 1, [0] * self.arms

    def candidates(self, table):
        """The arms that may be played in this round: one, or those that tie; HELD alone where it holds.

        The table that the decision wrote is held to the same numbers.
        """
        first = self.policy.each_first and self.t <= self.arms
        excess, safe, unclear = [], [], []
        for risk, alpha in zip(self.risks, self.limits, strict=True):
            lower = self.lower(risk, alpha)
            excess.append(lower - alpha)
            zero = alpha == 0.0 and type(self.policy.safety).__name__ in ABOVE_ZERO
            safe.append(risk["total"] == 0.0 if zero else lower <= alpha)
            # L = alpha happens exactly, as after one risk at t = 1/alpha; rounding decides it then, either way.
            unclear.append((0.0 < alpha < 1.0) & (np.abs(lower - alpha) < 1e-12))
        written, found, _, risks = table
        permissible, clear = written == 1.0, ~np.any(unclear, axis=0)
        assert close(risks.T, np.array(excess) + np.array(self.limits)[:, None])
        assert (permissible == np.all(safe, axis=0))[clear].all()
        if first:
            assert np.isnan(found).all()
            return {self.t - 1}
        if permissible.any():
            expected = np.where(permissible, self.indices(permissible), np.nan)
            assert close(found, expected)
        return self.among(permissible, np.max(excess, axis=0))

    def lower(self, risk, alpha):
        index, head_start = RISKS[type(self.policy.safety).__name__], self.policy.head_start
        if not self.policy.lasting:
            return index(self.policy.safety, risk, len(self.limits) * (self.t + head_start), alpha)
        # Each arm by the round in which it learnt last; an arm that never did by the present one.
        clocks = [len(self.limits) * ((self.learnt[k] or self.t) + head_start) for k in range(self.arms)]
        return np.array([index(self.policy.safety, risk, clock, alpha)[k] for k, clock in enumerate(clocks)])

    def among(self, permissible, excess):
        if permissible.any():
            return self.best(permissible)
        if self.policy.when_none == "hold":
            return {HELD}
        if self.policy.when_none in (None, "least_risky"):
            return near(excess, excess.min())
        return {self.instance.arms.index(self.policy.when_none)}

    def indices(self, permissible):
        return REWARDS[type(self.policy.reward).__name__](self.policy.reward, self.reward, self.t, None)

    def best(self, permissible):
        upper = np.where(permissible, self.indices(permissible), -np.inf)
        return near(upper, upper.max())

    def play(self, k):
        play = int(self.reward["plays"][k])
        outcome = draw(self.instance.law, k, self.streams.arms[k])
        for place, (seen, value) in enumerate(zip((self.reward, *self.risks), outcome, strict=True)):
            seen["plays"][k] += 1
            seen["total"][k] += value
            seen["values"][k].append(value)
            seen["ones"][k] += plain.reduced_bit(self.streams.keys[k], len(outcome) * play + place, value)
        self.t += 1
        self.learnt[k] = self.t


def assert_by_the_book(text, name, rounds=450, seed=3, book=Paper):
    """The definition plays and writes what the paper says; how often later rounds left no choice, and the arms played.

    That the simulator plays the same is held for every policy by the tests of its search.
    """
    instance = driving.problem(name) if isinstance(name, str) else name
    paper, decided, played = book(text, instance, seed), [], []
    for bench, t, k, _ in driving.walk(text, instance, rounds, seed):
        # At first every round, then one of nine: the paper is slow.
        if len(played) < 60 or len(played) % 9 == 0:
            candidates = paper.candidates(bench.columns())
            assert k in candidates, f"round {t} of {text}: {k}, but the paper plays {candidates}"
            decided.append(len(candidates) == 1)
        played.append(k)
        if k != HELD:
            paper.play(k)
    return np.mean(decided[60:]), np.array(played)


POLICIES = [
    "docb",
    "docb:level=theory",
    "klbayes:level=theory,schedule=theory",
    "bayes-upper+bayes-lower:reward.schedule=theory,safety.schedule=proof,each_first=false",
    "hoeffding-upper+hoeffding-lower:safety.level=theory",
    "variance-upper+variance-lower:reward.zeta=0.5,reward.c=0.5,safety.zeta=0.5,safety.c=0.2",
    "empirical-kl:bins=12",
    "betting-upper+betting-lower:reward.grid=16,each_first=false",
]
NAMES = [name for name in driving.PROBLEMS if name != "a thousand"]
# Every policy meets bits and numbers between, several risks, and no arm that is safe; its parts know nothing more of a
# problem. The others are met by two policies, which have indices of both kinds.
BY_ALL = ("five", "beta", "two risks", "none safe")


def pairs(policies, by_every_problem):
    """Every policy with the problems that differ in kind, and some policies with every problem."""
    return [(text, name) for text in policies for name in NAMES if name in BY_ALL or text in by_every_problem]


@pytest.mark.parametrize(("text", "name"), pairs(POLICIES, POLICIES[1:3]))
def test_decisions_and_tables_are_those_of_the_paper(text, name):
    decided, _ = assert_by_the_book(text, name)
    if name in ("five", "two risks"):
        # Most rounds have one answer: the comparison is not empty.
        assert decided > 0.5


@pytest.mark.parametrize("name", ["five", "beta", "two risks", "none safe"])
@pytest.mark.parametrize(
    "text",
    [
        "docb:tail=0.5,lasting=true,head_start=20",
        "klbayes:level=theory,schedule=theory,tail=0.25",
        "bayes-upper+bayes-lower:reward.tail=0.25,safety.schedule=proof,safety.tail=0.25,lasting=true",
        "hoeffding-upper+hoeffding-lower:reward.tail=0.1,safety.tail=0.5",
        "empirical-kl:bins=12,tail=0.25",
        "betting-upper+betting-lower:reward.grid=16,reward.tail=0.1,safety.tail=0.5,lasting=true",
    ],
)
def test_higher_levels_and_lasting_exclusion_are_their_definition(text, name):
    assert_by_the_book(text, name, rounds=250)


@pytest.mark.parametrize("text", ["docb", "klbayes"])
def test_some_thousand_rounds_of_the_drug_trial(text):
    decided, _ = assert_by_the_book(text, "five", 2_500, seed=8)
    assert decided > 0.8


def test_a_thousand_arms():
    assert_by_the_book("klbayes", "a thousand", 1_150)


def test_the_comparison_would_notice_another_formula():
    class Other(Paper):
        def indices(self, permissible):
            return super().indices(permissible) - 1e-6 * (self.t > 50)

    with pytest.raises(AssertionError):
        assert_by_the_book("docb", "five", book=Other)


@pytest.mark.parametrize("when_none", ["least_risky", "hold", "2"])
@pytest.mark.parametrize("name", ["none safe", "two risks, none safe"])
@pytest.mark.parametrize("text", ["docb", "klbayes"])
def test_what_happens_while_no_arm_is_permissible(text, name, when_none):
    _, played = assert_by_the_book(f"{text}:when_none={when_none}", name, 500, seed=5)
    if when_none == "hold":
        # A round without a play does not move the clock: once no arm is permissible, none ever is again.
        first = int(np.argmax(played < 0))
        assert (played[first:] == HELD).all()
        assert 3 <= first < 450
    else:
        assert (played >= 0).all()
    # And the simulator, too.
    assert driving.decisions(f"{text}:when_none={when_none}", driving.problem(name), 500, 5) == played.tolist()


@pytest.mark.parametrize("text", ["kl-upper+kl-lower:each_first=false", "imed+bayes-lower:each_first=false"])
def test_an_arm_that_waits_is_not_given_and_pending_plays_count_as_plays(text):
    random, bench = np.random.default_rng(11), driving.Bench(text, 6, 0.5)
    means, t, waited = random.random(6), 1, 0
    for i in range(400):
        bench.arms["available"] = available = random.random(6) < 0.4
        bench.seen["pending"][:, 0] = pending = random.integers(0, 4, 6) if i % 2 else 0
        k, none = bench.decide(t)
        assert not none
        if not available.any():
            waited += 1
            assert k == WAIT
            continue
        seen = bench.seen[:, 0]
        plays, mean = seen["plays"] + pending, seen["total"] / np.maximum(seen["plays"], 1)
        if text.startswith("kl"):
            values = np.where(seen["plays"] == 0, 1.0, plain.kl_upper_index("practical", plays, mean * plays, t))
        else:
            # All means count, also those of arms that wait.
            against = np.where((mean < mean.max()) & (seen["plays"] > 0), plain.divergence(mean, mean.max()), 0.0)
            values = np.full(6, np.inf)
            values[plays > 0] = -(plays * against + np.log(np.maximum(plays, 1)))[plays > 0]
        values = np.where(available, values, -np.inf)
        assert values[k] >= values.max() - 1e-9
        assert (np.isnan(bench.columns()[1]) == ~available).all()
        bench.learn(k, float(random.random() < means[k]), 0.0)
        t += int(random.integers(1, 100))
    assert waited > 5


@pytest.mark.parametrize("copies", [2, 3])
def test_copies_of_a_risk_are_one_risk_whose_gate_is_asked_about_a_later_round(copies):
    # Outcomes of one risk, and the same outcomes with the risk written down more than once.
    rows = [
        [(0, 0, 0.6), (1, 0, 0.3), (1, 1, 0.1)],
        [(1, 0, 0.5), (0, 1, 0.2), (0, 0, 0.3)],
        [(1, 1, 0.5), (0, 0, 0.5)],
    ]
    one = Instance.finite(rows, 0.3)
    several = Instance.finite([[(r, *[s] * copies, p) for r, s, p in arm] for arm in rows], 0.3)
    assert several.limits == (0.3,) * copies

    class Copied(Paper):
        """One risk, by an index of round m t."""

        def __init__(self, text, instance, seed):
            super().__init__(text, one, seed)

        def candidates(self, table):
            if self.t <= self.arms:
                return {self.t - 1}
            lower = plain.kl_lower_index("practical", self.risks[0]["plays"], self.risks[0]["total"], copies * self.t)
            return self.best(lower <= 0.3)

    decided, played = assert_by_the_book("docb", several, 600, seed=9, book=Copied)
    assert decided > 0.6
    # The wider gate is another policy than that of one risk: the level matters here.
    assert played.tolist() != driving.decisions("docb", one, 600, seed=9)


def test_the_plays_of_the_simulator_are_those_of_simulate():
    instance = driving.problem("five")
    result = simulate(instance, ["docb", "tsbu"], horizon=700, trials=3, seed=8, workers=1)
    for text in ("docb", "tsbu"):
        for trial in range(3):
            played = driving.decisions(text, instance, 700, 8, trial)
            assert result.of(text).plays[trial].tolist() == np.bincount(played, minlength=5).tolist()


def test_held_rounds_are_counted_and_cost_the_best_reward():
    instance = Instance.bernoulli([0.3, 0.6], [0.1, 0.2], 0.3)
    # With no risk tolerated from the outset every arm is soon shut out.
    strict = instance.with_alpha(0.2)
    text = "docb:when_none=hold"
    result = simulate(strict, text, horizon=400, trials=40, seed=2, checkpoints=[400])
    kept = result.of(text)
    assert (kept.plays.sum(axis=1) + kept.held == 400).all()
    assert (kept.none_permissible >= kept.held).all()
    assert kept.held.max() > 0
    expected = kept.plays @ strict.costs + strict.best_mean * kept.held
    assert kept.regret[:, -1] == pytest.approx(expected, rel=1e-12)


def test_unplayed_arms_tie_and_each_is_as_likely():
    # Without a first round robin all indices are 1 in round 1.
    instance = Instance.bernoulli([0.5] * 4, [0.1] * 4, 0.5)
    text = "kl-upper+kl-lower:each_first=false"
    result = simulate(instance, text, horizon=1, trials=4_000, seed=6)
    # Chi-square over 4,000 independent trials.
    assert stats.chisquare(result.of(text).plays.sum(axis=0)).pvalue > driving.FALSE_ALARM


def test_least_risky_arms_tie_and_each_is_as_likely():
    # Every risk is 1 and none is tolerated: after the first plays all lower indices are equal.
    instance = Instance.bernoulli([0.5] * 3, [1.0] * 3, 0.0, allow_infeasible=True)
    result = simulate(instance, "docb", horizon=4, trials=3_000, seed=6)
    extra = result.of("docb").plays.sum(axis=0) - 3_000
    assert extra.sum() == 3_000
    assert stats.chisquare(extra).pvalue > driving.FALSE_ALARM
