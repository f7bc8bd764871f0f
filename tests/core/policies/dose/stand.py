"""A dose-finding design at any state: counts of every dose and the present one are set, and it is asked."""

import numpy as np
from scipy import special

from ... import driving


class Stand(driving.Bench):
    """Doses with so many units and harms (and efficacies) each, at a present dose."""

    def at(self, present, plays, harms, effects=None):
        for k, n in enumerate(plays):
            self.set(k, 1, n, harms[k])
            self.set(k, 0, n, effects[k] if effects is not None else 0)
            self.arms["asked"][k] = n
        self.memory.courses["last"] = present
        return self

    def next(self):
        """The dose that is given, or HOLD, WAIT or DONE."""
        return self.decide(1)[0]

    @property
    def none(self):
        return self.answer[1]

    def own(self, name):
        """A column of the last decision, by dose."""
        place = self.policy.columns.index(name) - len(self.policy.columns)
        return self.memory.table["value"][:, place]

    @property
    def permissible(self):
        return self.columns()[0] == 1.0


def random_counts(doses, seed, count, most=15):
    """States that trials come to and others: present dose, units and harms of every dose up to a highest one."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        highest = random.integers(0, doses)
        plays = random.integers(0, most + 1, doses) * (np.arange(doses) <= highest)
        present = int(random.integers(0, highest + 1))
        plays[present] = max(1, plays[present])
        yield present, plays, random.binomial(plays, np.sort(random.random(doses)) * random.random()), random


def chance_below(limit, plays, ones):
    """P(mean < limit) after so many ones, from a flat prior, by SciPy."""
    return special.betainc(1 + ones, 1 + plays - ones, limit)


def is_too_toxic(target, plays, harms):
    return plays >= 3 and 1 - chance_below(target, plays, harms) > 0.95
