"""Isotonic regression: the nearest numbers, by weighted squares, that never fall from one place to the next."""

from __future__ import annotations

import numpy as np

from safebandit.core.arms import Counts, Numbers
from safebandit.core.dispatch import shared


@shared
def pool(sums: Numbers, weights: Numbers, blocks: Counts) -> int:
    """Pool neighbours whose mean, sum / weight, falls, until none does; the number of blocks that are left.

    `sums` and `weights` become those of the blocks, in their order, and `blocks` the block of every place. Equal means
    are not pooled; they are told exactly where sums and weights are whole numbers.
    """
    last, first = -1, np.empty(len(sums), np.int64)
    for i in range(len(sums)):
        last += 1
        sums[last], weights[last], first[last] = sums[i], weights[i], i
        while last > 0 and sums[last - 1] * weights[last] > sums[last] * weights[last - 1]:
            sums[last - 1] += sums[last]
            weights[last - 1] += weights[last]
            last -= 1
    for block in range(last + 1):
        end = first[block + 1] if block < last else len(sums)
        blocks[first[block] : end] = block
    return last + 1


@shared
def isotonic(values: Numbers, weights: Numbers) -> Numbers:
    """The fit to `values` that never falls and has the least weighted squares; exact, by pooling.

    >>> isotonic(np.array([0.1, 0.4, 0.2]), np.array([1.0, 1.0, 3.0])).round(6).tolist()
    [0.1, 0.25, 0.25]
    """
    sums, totals, blocks = values * weights, weights.copy(), np.empty(len(values), np.int64)
    pool(sums, totals, blocks)
    return sums[blocks] / totals[blocks]
