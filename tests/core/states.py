"""Many states of trials at random, for rules: each rule is compiled once, and asked of all of them in one call."""

import numpy as np

from safebandit.core.arms import Sizes, new_memory
from safebandit.core.kernels import kernels_for
from safebandit.core.rules import check_selection, check_stopping, completed
from safebandit.core.selection import NONE_SELECTED
from safebandit.core.stopping import Terms
from safebandit.core.streams import STATE


def prepare_stopping(rule, terms):
    """A stopping rule as a design hands it to compiled code."""
    return completed(check_stopping(rule), terms)


def prepare_selection(rule, terms):
    """A selection rule as a design hands it to compiled code."""
    return completed(check_selection(rule), terms)


class States:
    """So many trials (rows) with known counts of every arm's reward and risks; some arms are dropped."""

    def __init__(self, trials, arms, limits=(0.3,), *, most=20, seed=0, dropped=0.1, upwards=False):
        random = np.random.default_rng(seed)
        self.terms = Terms([f"arm {k}" for k in range(arms)], limits, ("one", "two", "three")[: len(limits)], upwards)
        shape = (trials, arms, 1 + len(limits))
        plays = random.integers(0, most + 1, shape) * (random.random(shape) < 0.9)
        self.memory = new_memory(np.zeros((trials, arms), np.uint64), np.zeros(trials, STATE), limits, Sizes())
        self.set(plays, random.binomial(plays, random.random(shape)))
        self.memory.arms["asked"] = plays.max(axis=2)
        self.memory.arms["dropped"] = random.random((trials, arms)) < dropped
        self.memory.courses["upwards"] = upwards

    def set(self, plays, ones):
        """Set the counts: trials, arms, and reward and risks."""
        seen = self.memory.quantities
        seen["plays"], seen["ones"], seen["total"] = plays, ones, ones
        seen["mean"] = np.where(seen["plays"] > 0, seen["ones"] / np.maximum(seen["plays"], 1), 0.0)
        return self

    @property
    def plays(self):
        return self.memory.quantities["plays"]

    @property
    def ones(self):
        return self.memory.quantities["ones"]

    @property
    def dropped(self):
        return self.memory.arms["dropped"] != 0

    def measured(self, rule):
        """What the rule finds, a row for each trial."""
        rule = prepare_stopping(rule, self.terms)
        found = np.full(self.dropped.shape, 7.0)
        kernels_for(rule).measure(rule, self.memory, np.arange(len(found)), found)
        return found

    def selected(self, rule):
        """The arm that the rule selects in each trial."""
        rule = prepare_selection(rule, self.terms)
        chosen = np.full(len(self.dropped), NONE_SELECTED - 7)
        kernels_for(rule).select(rule, self.memory, np.arange(len(chosen)), chosen)
        return chosen
