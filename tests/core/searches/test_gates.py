"""Gates that are asked only when they may have changed: open in the very round in which the definition opens them."""

import math

import numpy as np
import pytest

from safebandit.core.searches.interface import NEVER

from .. import driving, plain

BILLION = 10**9
EDGE = 2**53
POLICY = "topsi:when_none=hold"


@pytest.mark.parametrize("limits", [(0.3,), (0.3, 0.5)])
@pytest.mark.parametrize("steps", [1, 7, 200])
def test_a_gate_opens_in_the_round_in_which_the_evidence_permits_it(limits, steps):
    search, count = driving.Search(POLICY, 12, limits), 12
    for k in range(count):
        for i in range(12):
            search.learn(k, 0.0, *[float(i < k)] * len(limits))
    # The most evidence of any risk decides, against the budget of round m t.
    against = np.max([plain.kl_evidence(np.full(12, 12), np.arange(12), alpha) for alpha in limits], axis=0)
    opened = set()
    for t in range(13, 13 + 300 * steps, steps):
        k = search.find(t).argmax()
        permitted = against <= math.log(t * len(limits))
        assert search.work["open"][0].astype(bool).tolist() == permitted.tolist(), t
        assert search.notes["open_arms"][0] == permitted.sum()
        assert permitted[k]
        opened.add(int(permitted.sum()))
    assert len(opened) > 2


@pytest.mark.parametrize("t", [BILLION, EDGE + 1, 2**60 + 1])
def test_the_clock_and_the_notes_of_later_rounds_are_whole(t):
    search = driving.Search(POLICY, 3, 0.2)
    for k, (ones, risks) in enumerate([(0.5, 0.1), (0.4, 0.1), (0.9, 0.9)]):
        search.jump(k, 0, BILLION + k, int(ones * BILLION))
        search.jump(k, 1, BILLION + k, int(risks * BILLION))
    assert search.find(t)[0] == 1
    # Up to this round the gate surely stays closed, and is not asked again; in the next it is.
    seen = t + t // 16 + 8
    for later in (t, t + 1, seen):
        assert search.find(later)[0] == 1
        assert search.work["ask_at"].tolist() == [[NEVER, NEVER, seen + 1]]
        assert (search.notes["ask_at"][0], search.notes["looked_until"][0]) == (seen + 1, seen)
    later = seen + 1
    assert search.find(later)[0] == 1
    assert search.work["ask_at"][0, 2] == later + later // 16 + 9


@pytest.mark.parametrize("limits", [(0.3,), (0.3, 0.4)])
@pytest.mark.parametrize("text", ["tsbu", "tsbu:lasting=true,tail=0.5", "topsi:lasting=true,head_start=5"])
def test_gates_are_as_the_definition_has_them_in_every_round(text, limits):
    search, random = driving.Search(text, 6, limits, seed=2), np.random.default_rng(1)
    means, closed = [0.1, 0.25, 0.3, 0.35, 0.5, 0.9], set()
    for t in range(1, 600):
        k = t - 1 if search.policy.each_first and t <= 6 else int(search.find(t).argmax())
        if t > 6:
            search.decide(t)
            permissible = search.columns()[0]
            assert search.work["open"][0].tolist() == permissible.tolist(), t
            closed |= set(np.flatnonzero(permissible == 0.0).tolist())
        search.learn(k, random.random() < 0.5, *[random.random() < means[k]] * len(limits))
    assert closed


def test_a_closed_gate_opens_with_nothing_new_known_unless_exclusion_lasts():
    for text, rounds in (("tsbu", True), ("tsbu:lasting=true", False)):
        bench = driving.Bench(text, 2, 0.3, when_none="hold")
        for _ in range(4):
            bench.learn(0, 1.0, 1.0)
            bench.learn(1, 0.0, 0.0)
        assert bench.table(9)[0].tolist() == [0.0, 1.0]
        for i in range(8, 2_000):
            bench.learn(1, 0.0, 0.0)
            bench.decide(i + 2)
        assert bench.columns()[0].tolist() == [float(rounds), 1.0]
        # Its own outcomes say otherwise: by them it is asked about the present round.
        bench.learn(0, 1.0, 0.0)
        assert bench.table(2_002)[0].tolist() == [1.0, 1.0]


def test_where_no_gate_is_open_nothing_is_played_until_one_opens():
    search = driving.Search(POLICY, 1, 0.3)
    for _ in range(5):
        search.learn(0, 1.0, 1.0)
    # N d(1||alpha) = 5 log(10/3): held until t is e to that, which is not a whole number.
    for t in range(6, 450):
        assert search.find(t).tolist() == ([0, 0, 1] if t < (10 / 3) ** 5 else [1, 0, 0])
