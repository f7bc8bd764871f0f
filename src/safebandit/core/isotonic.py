"""Isotonic regression: the nearest numbers, by weighted squares, that never fall from one place to the next."""

from __future__ import annotations

import numpy as np

from safebandit.core.arms import Counts, Numbers
from safebandit.core.dispatch import compiled


@compiled
def pool(values: Numbers, weights: Numbers, blocks: Counts) -> int:
    """Pool neighbours that fall, until none do; `values` and `weights` become those of the blocks, whose number is
    returned; `blocks` gets the block of every place.
    """
    last, first = -1, np.empty(len(values), np.int64)
    for i in range(len(values)):
        last += 1
        values[last], weights[last], first[last] = values[i], weights[i], i
        while last > 0 and values[last - 1] > values[last]:
            both = weights[last - 1] + weights[last]
            values[last - 1] = (values[last - 1] * weights[last - 1] + values[last] * weights[last]) / both
            weights[last - 1] = both
            last -= 1
    for block in range(last + 1):
        end = first[block + 1] if block < last else len(values)
        blocks[first[block] : end] = block
    return last + 1


@compiled
def isotonic(values: Numbers, weights: Numbers) -> Numbers:
    """The fit to `values` that never falls and has the least weighted squares; exact, by pooling.

    >>> isotonic(np.array([0.1, 0.4, 0.2]), np.array([1.0, 1.0, 3.0])).round(6).tolist()
    [0.1, 0.25, 0.25]
    """
    pooled, blocks = values.copy(), np.empty(len(values), np.int64)
    pool(pooled, weights.copy(), blocks)
    return pooled[blocks]
