"""What a trial selects at its end: the arm of the largest mean reward among those more likely safe than not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Counts, Numbers

NONE = -1


def likely_safe(plays: Counts, risk: Numbers, limits: tuple[float, ...]) -> NDArray[np.bool_]:
    """Whether each arm was played and is safe with a chance of at least 1/2: P(risk <= alpha) under a flat prior, of
    several risks the product.

    `plays` has a row of arms per trial, `risk` a layer of such rows per risk: trials x risks x arms.
    """
    from scipy.special import betainc

    given = plays[:, None, :]
    chance = betainc(1.0 + risk, 1.0 + given - risk, np.array(limits)[:, None])
    safe: NDArray[np.bool_] = (plays > 0) & (chance.prod(axis=1) >= 0.5)
    return safe


def selected(plays: Counts, reward: Numbers, risk: Numbers, limits: tuple[float, ...]) -> Counts:
    """The arm that each trial selects, by its number; -1 where none is likely safe. Of equal means, the first.

    >>> plays, reward, risk = np.array([[9, 9, 0]]), np.array([[3.0, 8.0, 0.0]]), np.array([[[1.0, 7.0, 0.0]]])
    >>> selected(plays, reward, risk, (0.3,)).tolist()
    [0]
    """
    safe = likely_safe(plays, risk, limits)
    means = np.where(safe, reward / np.maximum(plays, 1), -1.0)
    chosen: Counts = np.where(safe.any(axis=1), means.argmax(axis=1), NONE)
    return chosen
