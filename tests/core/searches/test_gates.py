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


def test_where_no_gate_is_open_nothing_is_played_until_one_opens():
    search = driving.Search(POLICY, 1, 0.3)
    for _ in range(5):
        search.learn(0, 1.0, 1.0)
    # N d(1||alpha) = 5 log(10/3): held until t is e to that, which is not a whole number.
    for t in range(6, 450):
        assert search.find(t).tolist() == ([0, 0, 1] if t < (10 / 3) ** 5 else [1, 0, 0])
