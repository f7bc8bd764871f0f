"""The right answers on an instance, and how hard they are to find."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Counts, Numbers
from safebandit.core.safe_set_texts import read_safe_set, with_numbers
from safebandit.core.safe_sets import SafeSet, box
from safebandit.errors import InstanceError
from safebandit.problems import Instance

# Means that are no further from the boundary are on it, as far as anyone can tell.
ON_BOUNDARY = 1e-9


class Truth(NamedTuple):
    """An instance with a safe set: how far each arm's means lie inside (below 0: outside), and which arms are right.

    `best` are the feasible arms of the largest mean reward; none where no arm is feasible.
    """

    instance: Instance
    text: str
    safe_set: SafeSet
    distances: Numbers

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Whether each arm's means lie in the safe set."""
        return self.distances > 0

    @property
    def best(self) -> Counts:
        """The right answers to the question which feasible arm is best."""
        worth = np.where(self.feasible, self.instance.mu, -1.0)
        return np.flatnonzero(self.feasible & (worth == worth.max())).astype(np.int64)

    @property
    def hardness(self) -> float:
        """H of the question which arms are feasible: the sum of the inverse squares of their distances."""
        return float((self.distances**-2.0).sum())

    @property
    def top_hardness(self) -> float | None:
        """H of the question which feasible arm is best; None where several are, or none is.

        Another arm is ruled out by what it falls short in reward or, if it is infeasible, by its distance where that is
        more; the best one must be told from all of those, and be inside.
        """
        if len(self.best) != 1:
            return None
        best = int(self.best[0])
        gaps = np.maximum(0.0, self.instance.mu[best] - self.instance.mu)
        gaps = np.where(self.feasible, gaps, np.maximum(gaps, -self.distances))
        others = np.arange(len(gaps)) != best
        gaps[best] = min([self.distances[best], *gaps[others]])
        return float((gaps**-2.0).sum())


def truth_of(instance: Instance, safe_set: str | None) -> Truth:
    """The right answers for a safe set: that which is given, else the instance's, else every risk at most its alpha."""
    risks = len(instance.limits)
    text = with_numbers(safe_set, instance.risks) if safe_set is not None else instance.safe_set
    made = read_safe_set(text, risks) if text or safe_set is not None else box(instance.limits)
    points = np.column_stack([instance.mu, instance.risk_means.T])
    distances = np.array([made.distance(point) for point in points])
    nearest = int(np.argmin(np.abs(distances)))
    if abs(distances[nearest]) <= ON_BOUNDARY:
        raise InstanceError(
            f'the means of arm "{instance.arms[nearest]}" lie on the boundary of the safe set, and no number of units '
            "tells whether it is feasible; move the safe set or alpha a little"
        )
    return Truth(instance, text, made, distances)
