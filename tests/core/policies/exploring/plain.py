"""The published algorithms of pure exploration, written out in plain Python: what ours are held to."""

import math

import numpy as np
from scipy import optimize

SETS = {
    "risk1 + risk2 <= 0.5, risk1 <= 0.3": ([[0, 1, 1], [0, 1, 0]], [0.5, 0.3]),
    "reward - risk2 >= 0.1, risk1 <= 0.4": ([[-1, 0, 1], [0, 1, 0]], [-0.1, 0.4]),
    None: ([[0, 1, 0], [0, 0, 1]], [0.3, 0.3]),
}


class PlainSet:
    """Half-spaces as they are written, and distances by SciPy."""

    def __init__(self, text):
        self.a, self.b = (np.array(part, float) for part in SETS[text])

    def contains(self, x):
        return bool((self.a @ x <= self.b + 1e-12).all())

    def distance(self, x):
        """To the boundary: from inside the least distance to a plane, from outside that to the nearest point."""
        if self.contains(x):
            return float(np.min((self.b - self.a @ x) / np.linalg.norm(self.a, axis=1)))
        found = optimize.minimize(
            lambda y: ((y - x) ** 2).sum(), np.zeros(len(x)), jac=lambda y: 2 * (y - x), method="SLSQP",
            constraints={"type": "ineq", "fun": lambda y: self.b - self.a @ y, "jac": lambda _: -self.a},
            options={"ftol": 1e-14},
        )  # fmt: skip
        return math.sqrt(found.fun)


def apt(plain, plays, means, tolerance):
    """What MD-APT minimises, arm by arm."""
    return [math.sqrt(n) * (plain.distance(x) + tolerance) for n, x in zip(plays, means, strict=True)]


def ucbe(plain, plays, means, a):
    """What MD-UCBE minimises, arm by arm."""
    return [plain.distance(x) - math.sqrt(a / n) for n, x in zip(plays, means, strict=True)]


def sar(plain, draw, arms, units):
    """MD-SAR from its first unit to its last: the arms that it gives, in order. `draw(k)` is an outcome of arm k."""
    log_bar = 0.5 + sum(1 / i for i in range(2, arms + 1))
    active, before, given = list(range(arms)), 0, []
    seen = {k: [] for k in range(arms)}
    for phase in range(1, arms):
        end = math.ceil((units - arms) / (log_bar * (arms + 1 - phase)))
        for _ in range(end - before):
            for k in active:
                seen[k].append(draw(k))
                given.append(k)
        before = end
        active.remove(max(active, key=lambda k: plain.distance(np.mean(seen[k], axis=0))))
    return given


def lucb(plain, plays, means, delta):
    """TF-LUCB at one state: refuted and certified arms, bounds of rewards, and the best, its rival, whether to stop."""
    arms, size = means.shape
    width = np.sqrt(np.log(4 * arms * size * plays**2 / delta) / (2 * plays))
    values, spread = means @ plain.a.T, np.abs(plain.a).sum(axis=1)
    refuted = (values - spread * width[:, None] > plain.b).any(axis=1)
    certified = (values + spread * width[:, None] <= plain.b).all(axis=1)
    low, high = np.maximum(0, means[:, 0] - width), np.minimum(1, means[:, 0] + width)
    left = [k for k in range(arms) if not refuted[k]]
    if not left:
        return refuted, certified, low, high, None, None, True
    best = max(left, key=lambda k: (means[k, 0], -k))
    others = [k for k in left if k != best]
    rival = max(others, key=lambda k: (high[k], -k)) if others else None
    stop = bool(certified[best]) and (rival is None or low[best] >= high[rival])
    return refuted, certified, low, high, best, rival, stop
