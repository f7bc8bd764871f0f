"""Superior arms and those behind: by their definitions on random counts; and how often evidence is wrong, exactly."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from safebandit.core.stopping import Behind, BehindE, SuperiorityE

from ..states import States

STATES = States(60, 3, seed=7, most=30)


def evidence(s, n, r, m):
    """E against "the mean behind s of n is at most that behind r of m": an integral and a search, as defined."""

    def likelihood(p, q):
        return p**s * (1 - p) ** (n - s) * q**r * (1 - q) ** (m - r)

    def inner(p):
        # Over all q below p, by the incomplete Beta function.
        return p**s * (1 - p) ** (n - s) * special.betainc(r + 1, m - r + 1, p) * special.beta(r + 1, m - r + 1)

    top = integrate.quad(inner, 0, 1, epsabs=0, epsrel=1e-10, points=[s / n if n else 0.5], limit=200)[0] * 2
    # The likelihood is largest at both shares, if those are in order, and otherwise where both means are the same.
    shares = s / n if n else 0.0, r / m if m else 1.0
    if shares[0] <= shares[1]:
        return top / likelihood(*shares)
    worst = optimize.minimize_scalar(
        lambda q: -likelihood(q, q), bounds=(0, 1), method="bounded", options={"xatol": 1e-9}
    )
    return top / -worst.fun


def test_evidence_is_its_definition_against_every_other_and_against_a_control():
    behind = STATES.measured(BehindE())
    among, against = STATES.measured(SuperiorityE()), STATES.measured(SuperiorityE(0.1, "arm 1"))
    plays, ones = STATES.plays[:, :, 0], STATES.ones[:, :, 0]
    for row in range(len(among)):
        pairs = {
            (k, c): evidence(ones[row, k], plays[row, k], ones[row, c], plays[row, c])
            for k, c in itertools.permutations(range(3), 2)
        }
        for k in range(3):
            rivals = [c for c in range(3) if c != k and not STATES.dropped[row, c]]
            gone = STATES.dropped[row, k]
            expected = math.nan if gone or not rivals else min(pairs[k, c] for c in rivals) / 6
            assert among[row, k] == pytest.approx(expected, rel=1e-5, nan_ok=True)
            expected = math.nan if gone or k == 1 else pairs[k, 1] / 2
            assert against[row, k] == pytest.approx(expected, rel=1e-5, nan_ok=True)
            expected = math.nan if gone else max((pairs[c, k] for c in rivals), default=0.0) / 2
            assert behind[row, k] == pytest.approx(expected, rel=1e-5, nan_ok=True)
    assert (among > 5).any()


def test_an_arm_behind_the_leading_one_is_found():
    found = STATES.measured(Behind(0.9, 2))
    reached = 0
    for row in range(40):
        plays, ones = STATES.plays[row, :, 0], STATES.ones[row, :, 0]
        left = [k for k in range(3) if not STATES.dropped[row, k] and plays[k] > 0]
        best = max(left, key=lambda k: ones[k] / plays[k], default=None)
        for k in range(3):
            if best in (None, k) or k not in left or min(plays[k], plays[best]) < 2:
                assert math.isnan(found[row, k])
                continue
            laws = [stats.beta(ones[i] + 1, plays[i] - ones[i] + 1) for i in (best, k)]
            expected = integrate.quad(lambda x, laws=laws: laws[0].pdf(x) * laws[1].cdf(x), 0, 1, limit=200)[0]
            assert found[row, k] == pytest.approx(expected, abs=1e-7)
            reached += expected >= 0.9
    assert reached > 0


def chance_ever(table, means, most):
    """The chance that two arms, played in turn, ever come to counts that the table says yes to: exact."""
    alive, ever = {(0, 0): 1.0}, 0.0
    for played in range(most):
        k = played % 2
        after = {}
        for (s, r), chance in alive.items():
            for bit, share in ((0, 1.0 - means[k]), (1, means[k])):
                key = (s + bit, r) if k == 0 else (s, r + bit)
                after[key] = after.get(key, 0.0) + chance * share
        counts = ((played + 2) // 2, (played + 1) // 2)
        alive = {}
        for key, chance in after.items():
            if table[counts, key]:
                ever += chance
            else:
                alive[key] = chance
    return ever


@pytest.mark.parametrize("control", [-1, 0])
def test_an_arm_is_ever_called_superior_as_rarely_as_promised(control):
    delta, most = 0.2, 60
    counts = [((p + 2) // 2, (p + 1) // 2) for p in range(most)]
    rows = [(c, (s, r)) for c in counts for s in range(c[0] + 1) for r in range(c[1] + 1)]
    states = States(len(rows), 2, dropped=0.0)
    plays = np.array([c for c, _ in rows])[:, :, None] * [1, 1]
    states.set(plays, np.array([o for _, o in rows])[:, :, None] * [1, 0])
    found = states.measured(SuperiorityE(delta, control))
    table = dict(zip(rows, (found >= 1 / delta).any(axis=1), strict=True))
    # That the first arm is dropped for being behind, which it is not if its mean is no smaller.
    dropped = dict(zip(rows, states.measured(BehindE(delta))[:, 0] >= 1 / delta, strict=True))
    assert 0.05 * delta < chance_ever(dropped, (0.5, 0.5), most) <= delta
    assert chance_ever(dropped, (0.6, 0.5), most) < chance_ever(dropped, (0.5, 0.5), most)
    assert chance_ever(dropped, (0.1, 0.8), most) > 0.9
    for mean in (0.2, 0.5):
        assert 0.05 * delta < chance_ever(table, (mean, mean), most) <= delta
    if control == 0:
        # Arm 1 is worse than its control.
        assert chance_ever(table, (0.6, 0.5), most) < chance_ever(table, (0.5, 0.5), most)
    assert chance_ever(table, (0.1, 0.8), most) > 0.9
