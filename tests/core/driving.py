"""The package driven by tests: by definition, step by step; by search, as the simulator does; and at one state."""

import functools
import math
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy import stats

from safebandit import Instance, instance_by_name
from safebandit.core.arms import CELL, CHANCE, INDEX, PERMISSIBLE, QUANTITY, REWARD, RISKS, Memory, quantity
from safebandit.core.called import called
from safebandit.core.conduct import plain_conduct
from safebandit.core.dispatch import compiled
from safebandit.core.indices import upper
from safebandit.core.kernels import (
    Costs,
    Told,
    Trials,
    empty_trials,
    kernels_for,
    memory_for,
    no_contexts,
    state_of,
)
from safebandit.core.laws import draw, draw_reward, draw_risk
from safebandit.core.policies import DoublyOptimistic, Setup, policy_from_text, prepare
from safebandit.core.rounds import play_trials, player_for
from safebandit.core.searches import notes_of, search_for
from safebandit.core.searches.bounds import clock, exceeds, line, near
from safebandit.core.searches.interface import as_cells, find
from safebandit.core.streams import STATE, trial_streams

# Each statistical test fails by chance with probability at most this, were its seed not fixed.
FALSE_ALARM = 1e-4
# Where an index's own numbers begin in a record, in numbers of eight bytes.
OWN = QUANTITY.fields["own"][1] // 8


def ready(policy, arms, limits, when_none="least_risky", risks=None, features=None):
    policy = policy_from_text(policy) if isinstance(policy, str) else policy
    return prepare(policy, Setup(arms, limits, when_none, risks, features=features))


# One unit after the other, however many are pending.
CONDUCT = plain_conduct(pending_cap=2**62).packed()


class Bench:
    """A policy and the memory of one trial: it decides by its definition, and writes its table."""

    def __init__(
        self, policy, count, alpha=0.3, *, seed=0, when_none="least_risky", arms=None, risks=None, features=None
    ):
        self.limits = alpha if isinstance(alpha, tuple) else (float(alpha),)
        names = arms or [f"arm {k}" for k in range(count)]
        means = [0.0] * count if risks is None else risks
        self.policy = ready(policy, names, self.limits, when_none, means, features)
        self.called = called(self.policy)
        self.kernels = kernels_for(self.called)
        streams = trial_streams(seed, 0, count)
        self.memory = memory_for(self.policy, streams.keys[None], streams.policy.copy(), self.limits, features)
        self.unknown = np.full(1 + len(self.limits), math.nan)
        self._one_told = self.told(0, self.unknown)
        self._news = self._one_told.news["value"][0]
        self._uncounted = np.zeros(3 + count, np.int64)
        self.begin()

    def begin(self):
        """As before the first play."""
        self.memory.bytes[:] = 0
        self.seen["limit"] = [math.nan, *self.limits]
        self.arms["asked"], self.arms["available"] = 0, 1
        self.kernels.begin(self.called, self.memory)
        return self

    @property
    def arms(self):
        return self.memory.arms[0]

    @property
    def seen(self):
        """The quantities, by arm and then reward and risks."""
        return self.memory.quantities[0]

    def own(self, k, j, width):
        """The own numbers of one quantity: they begin at the last field of its record."""
        return self.memory.bytes[0, k, j].view("f8")[OWN : OWN + width]

    def python(self, k, j):
        """One quantity as formulas called from Python read it."""
        fields = {name: self.seen[name][k, j] for name in ("plays", "pending", "ones", "total", "mean", "limit")}
        return SimpleNamespace(**fields, own=self.memory.bytes[0, k, j].view("f8")[OWN:])

    def learn(self, k, *outcome):
        """One play of arm k: its reward and its risks, NaN for what is not known."""
        asked, told = self.arms["asked"], self._one_told
        told.arms[0], told.plays[0] = k, asked[k]
        self._news[:] = outcome
        asked[k] += 1
        self.seen["pending"][k] += self._news == self._news
        self.kernels.learn(self.called, CONDUCT, self.memory, told)

    def told(self, k, outcome):
        """The next play of arm k, with nothing known of it before."""
        news, known = np.array([outcome], float).view(CELL), self.unknown[None].view(CELL)
        return Told(
            np.array([k]), self.arms["asked"][[k]], np.array([1]), news, known, np.array([False]), no_contexts(1)
        )

    def tell(self, values, k=0):
        """Begin again; arm k then has these rewards, and as many risks of the same values."""
        self.begin()
        for value in values:
            self.learn(k, *[value] * len(self.unknown))
        return self

    def set(self, k, j, plays, ones, *, total=None, pending=0):
        """Set the counts of one quantity, and not what an index keeps of it."""
        total = ones if total is None else total
        mean = min(1.0, total / plays) if plays > 0 else 0.0
        values = {"plays": plays, "ones": ones, "total": total, "mean": mean, "pending": pending}
        for field, value in values.items():
            self.seen[field][k, j] = value
        return self

    def jump(self, k, j, plays, ones):
        """Quantity j of arm k as it is after so many plays: all but the last are set, the last is learnt."""
        last = 1 if ones == plays else 0
        self.seen["plays"][k, j] = plays - 1
        self.seen["ones"][k, j] = self.seen["total"][k, j] = ones - last
        outcome = self.unknown.copy()
        outcome[j] = last
        self.learn(k, *outcome)

    def decide(self, t):
        self._answer(t, 1, self._uncounted)
        return self.answer

    def counts(self, t, times):
        """How often each arm is given in so many decisions at one state; behind the arms, WAIT and HOLD.

        An arm that a test has made unavailable is so for the unit that asks.
        """
        counts = np.zeros(3 + len(self.arms), np.int64)
        self._answer(t, times, counts)
        return np.delete(counts, len(self.arms))

    def _answer(self, t, times, counts):
        arms = self.arms
        arms["masked"] = 1 - arms["available"]
        self.answer = self.kernels.decide(self.called, CONDUCT, self.memory, t, times, counts)

    def table(self, t):
        """What a decision saw: permissible, reward index, chance, and the risk indices (rows of arms)."""
        self.decide(t)
        return self.columns()

    def columns(self):
        table = self.memory.table["value"]
        return table[:, PERMISSIBLE], table[:, INDEX], table[:, CHANCE], table[:, RISKS : RISKS + len(self.limits)]

    def gate(self, t):
        """The first arm's lower risk index, and whether it permits."""
        permissible, _, _, risks = self.table(t)
        return risks[0, 0], bool(permissible[0])

    def upper(self, t, pending=None):
        """The first arm's reward index; alpha must be such that it is permissible."""
        if pending is not None:
            self.seen["pending"][0, REWARD] = pending
        return self.table(t)[1][0]


@functools.cache
def pair(reward, safety, alpha=1.0):
    """One arm with these indices, kept: a new one costs more than to begin again."""
    return Bench(DoublyOptimistic(reward, safety, each_first=False), 1, alpha)


@compiled
def _find_often(search, policy, memory, work, notes, t, times, bar, counts, words):
    state = state_of(memory, 0, False)
    for _ in range(times):
        if bar > 0.0:
            notes[0].bar, notes[0].draws = bar, 0
        before = state.stream.counter
        k, none = find(search, policy, state, work[0, 0], notes[0], t)
        counts[k] += 1
        words[min(len(words) - 1, np.int64(state.stream.counter - before))] += 1
    return none


class Search(Bench):
    """The same with a search beside it, whose notes are kept from find to find."""

    def __init__(self, policy, count, alpha=0.3, **options):
        super().__init__(policy, count, alpha, **options)
        self.search = search_for(self.policy)
        work, self.notes = notes_of(self.search).room(1, count)
        self.work = work[:, :count]
        # How many words of the stream each find took; more than 31 are as 31.
        self.words = np.zeros(32, np.int64)

    def find(self, t, times=1, bar=0.0):
        """How often each arm is found at one state, whatever the bar where one is given."""
        counts = np.zeros(2 + len(self.arms), np.int64)
        self.words[:] = 0
        found = (self.search, self.policy, self.memory, self.work, self.notes)
        _find_often(*found, t, times, bar, counts, self.words)
        return counts


def walk(policy, instance, horizon, seed):
    """Round by round what the definition gives, before it is played: the bench, the clock and the arm."""
    bench = Bench(policy, len(instance.mu), instance.limits, seed=seed, arms=instance.arms, risks=instance.nu)
    outcomes, t = trial_streams(seed, 0, len(instance.mu)).arms, 1
    for _ in range(horizon):
        k, none = bench.decide(t)
        yield bench, t, k, none
        if k >= 0:
            bench.learn(k, *draw(instance.law, k, outcomes[k]))
            t += 1


# The steps of live trials, for a policy that is called by its address.
_DECIDE, _LEARN = kernels_for().decide, kernels_for().learn


@compiled
def _walk_on(policy, conduct, memory, law, outcomes, told, counts, arms, none):
    t = 1
    for i in range(arms.shape[0]):
        k, none[i] = _DECIDE(policy, conduct, memory, t, 1, counts)
        arms[i] = k
        if k >= 0:
            told.arms[0], told.plays[0] = k, memory.arms[0, k].asked
            memory.arms[0, k].asked += 1
            reward, place = draw_reward(law, k, outcomes[k])
            told.news[0, 0].value = reward
            for j in range(1, told.news.shape[1]):
                told.news[0, j].value = draw_risk(law, k, j - 1, place, outcomes[k])
            for j in range(told.news.shape[1]):
                memory.quantities[0, k, j].pending += 1
            _LEARN(policy, conduct, memory, told)
            t += 1


def walked(policy, instance, horizon, seed):
    """A `walk` to its end in one call: the bench, the arms that the definition gave, and where none was permissible."""
    bench = Bench(policy, len(instance.mu), instance.limits, seed=seed, arms=instance.arms, risks=instance.nu)
    outcomes = trial_streams(seed, 0, len(instance.mu)).arms
    told = bench.told(0, bench.unknown)
    arms, none = np.zeros(horizon, np.int64), np.zeros(horizon, bool)
    counts = np.zeros(3 + len(instance.mu), np.int64)
    _walk_on(bench.called, CONDUCT, bench.memory, instance.law, outcomes, told, counts, arms, none)
    return bench, arms, none


class Simulated(NamedTuple):
    """The arms that the simulator played, -1 where it held, and what it left."""

    played: np.ndarray
    memory: Memory
    out: Trials
    notes: np.ndarray


def simulated(policy, instance, horizon, seed, trial=0, *, before=None, costs=None, checkpoints=None):
    """One trial of the simulator; the arms are read off costs that name them. `before` may change its memory."""
    count, risks = len(instance.mu), len(instance.limits)
    policy = ready(policy, instance.arms, instance.limits, risks=instance.nu)
    search, random = search_for(policy), trial_streams(seed, trial, count)
    memory = memory_for(policy, random.keys[None], random.policy.copy(), instance.limits)
    times = np.arange(1, horizon + 1) if checkpoints is None else np.array(checkpoints)
    outcomes, out = np.zeros((1, count), STATE), empty_trials(1, len(times), count, risks)
    outcomes[0] = random.arms
    if before is not None:
        before(memory)
    work, notes = notes_of(search).room(1, count)
    play_trials(
        player_for(policy), instance.law, costs or Costs(np.arange(1.0, count + 1.0), np.zeros(count, bool), 0.0),
        times, memory, *as_cells(work, notes), outcomes, out, np.zeros(1, np.int64),
    )  # fmt: skip
    return Simulated(np.diff(out.regret[0], prepend=0.0).astype(int) - 1, memory, out, notes)


def decisions(policy, instance, horizon, seed, trial=0):
    return simulated(policy, instance, horizon, seed, trial).played.tolist()


@functools.cache
def problem(name):
    random = np.random.default_rng(7)
    return {
        "one arm": lambda: Instance.bernoulli([0.4], [0.2], 0.3),
        "two": lambda: instance_by_name("two-arm-example"),
        "five": lambda: instance_by_name("drug-trial"),
        "forty": lambda: Instance.bernoulli(random.random(40), 0.6 * random.random(40), 0.3),
        "a thousand": lambda: Instance.bernoulli(random.random(1_000), 0.6 * random.random(1_000), 0.3),
        "no risk tolerated": lambda: Instance.bernoulli([0.3, 0.5, 0.9], [0.0, 0.0, 0.1], 0.0),
        "every risk tolerated": lambda: Instance.bernoulli([0.3, 0.5, 0.6], [0.5, 0.9, 1.0], 1.0),
        "none safe": lambda: Instance.bernoulli([0.3, 0.5, 0.9], [0.5, 0.6, 0.9], 0.1, allow_infeasible=True),
        "ties": lambda: Instance.bernoulli([0.4] * 6, [0.2] * 6, 0.25),
        "beta": lambda: Instance.beta([0.3, 0.5, 0.6], [0.1, 0.25, 0.4], 0.3, deviation=0.2),
        "two risks": lambda: instance_by_name("dose-two-risks"),
        "two risks, none safe": lambda: Instance.bernoulli(
            [0.3, 0.5, 0.9], [[0.1, 0.6, 0.9], [0.7, 0.1, 0.2]], [0.2, 0.15], allow_infeasible=True
        ),
        "three finite risks": lambda: Instance.finite(
            [[(0.2, 0, 0.1, 0, 0.5), (0.9, 0.4, 0.3, 0, 0.5)], [(1, 0.5, 0.5, 0, 0.6), (0.3, 0, 0, 1, 0.4)]],
            [0.3, 0.3, 0.2],
        ),
        "two risks, one not tolerated": lambda: Instance.bernoulli([0.3, 0.6], [[0.1, 0.2], [0, 0.3]], [0.3, 0.0]),
    }[name]()


ONE_RISK = [
    "one arm", "two", "five", "forty", "a thousand", "no risk tolerated", "every risk tolerated", "none safe", "ties",
    "beta",
]  # fmt: skip
SEVERAL_RISKS = ["two risks", "two risks, none safe", "three finite risks", "two risks, one not tolerated"]
PROBLEMS = [*ONE_RISK, *SEVERAL_RISKS]


def assert_lockstep(policy, name, seed=3):
    """The simulator, by its search, plays arm for arm what the definition plays, by as many random numbers."""
    instance = problem(name) if isinstance(name, str) else name
    horizon = 1_300 if len(instance.mu) > 100 else 1_500
    found, memory, out, _ = simulated(policy, instance, horizon, seed)
    bench, given, none = walked(policy, instance, horizon, seed)
    for i, (by_search, k) in enumerate(zip(found, given, strict=True)):
        assert by_search == k, f"round {i + 1}: found {by_search}, but the definition plays {k}"
    assert memory.streams.tolist() == bench.memory.streams.tolist()
    # The very same facts, and the indices' own numbers.
    assert memory.arms.tolist() == bench.memory.arms.tolist()
    assert memory.bytes.tobytes() == bench.memory.bytes.tobytes()
    assert out.none_permissible[0] == none.sum()


@compiled
def _bounds(index, memory, t, bar, before):
    state = state_of(memory, 0, False)
    seen = quantity(state, 0, REWARD)
    value = upper(index, seen, t, state.stream)
    return (
        value,
        exceeds(index, seen, clock(index, t), bar, state.stream),
        near(index, seen, t, before, state.stream),
        line(index, seen, t, value, state.stream),
    )


def bounds(bench, t, bar=0.5, before=0.0):
    """The first arm's reward index, whether it exceeds `bar`, the index sought from `before`, and a line above it."""
    return _bounds(bench.policy.reward, bench.memory, t, bar, before)


def assert_frequencies(wins, chances):
    """Chi-square, with arms that are hardly expected to win taken together; fails by chance once in 10,000 seeds."""
    total = wins.sum()
    rare = chances * total < 10
    if rare.any():
        wins, chances = np.append(wins[~rare], wins[rare].sum()), np.append(chances[~rare], chances[rare].sum())
        if chances[-1] * total < 10:
            # Too few for the approximation: the exact law of so rare a count.
            assert stats.binomtest(int(wins[-1]), int(total), float(chances[-1])).pvalue > FALSE_ALARM
            wins, chances = wins[:-1], chances[:-1] / chances[:-1].sum()
    if len(wins) > 1:
        assert stats.chisquare(wins, chances * wins.sum()).pvalue > FALSE_ALARM


def with_parameters(text, parameters):
    return f"{text}{',' if ':' in text else ':'}{parameters}"
