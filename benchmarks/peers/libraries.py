"""The libraries that are compared, the trials that each plays of its policies, and where these differ from ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from peers.problem import BAYES_UCB, BAYES_UCB_FLAT, KL_UCB, THOMPSON, UCB1


class Library(NamedTuple):
    """A library: its player is the module `peers.play_<key>`; `requirements` builds an environment of its own.

    `trials` are those of each of its policies in a turn: as many as a few seconds allow, and as the NumPy script plays
    best at once.
    """

    name: str
    key: str
    trials: Mapping[str, int]
    note: str
    requirements: str | None = None


SAFEBANDIT = Library(
    "safebandit",
    "safebandit",
    {UCB1: 1_000, THOMPSON: 1_000, KL_UCB: 1_000, BAYES_UCB: 300, BAYES_UCB_FLAT: 300},
    "alpha = 1 makes every arm safe; risks are drawn and counted all the same. UCB1 and the flat prior are indices "
    "that the player registers, the others are `tsbu`, `docb` and `BayesUpper`. Ties at random.",
)
NUMPY = Library(
    "NumPy script",
    "numpy",
    {UCB1: 1_000, THOMPSON: 1_000, KL_UCB: 500, BAYES_UCB: 500, BAYES_UCB_FLAT: 500},
    "All trials at once; KL-UCB by 24 halvings, quantiles by `scipy.special.betaincinv`. Ties go to the first arm, in "
    "an order of each trial's own.",
)
SMPYBANDITS = Library(
    "SMPyBandits",
    "smpybandits",
    {UCB1: 10, THOMPSON: 10, KL_UCB: 5, BAYES_UCB_FLAT: 10},
    "Counts the rounds already played: t - 1 where we have t. KL-UCB to within 0.0001, in Python: its compiled "
    "versions need a module that Numba has since removed, or a C file that its package leaves out. It needs a SciPy "
    "that still has `btdtri`: 1.11 here, with NumPy 1.26. Ties at random.",
    "smpybandits.txt",
)
RIVER = Library(
    "river",
    "river",
    {UCB1: 20, THOMPSON: 20, BAYES_UCB_FLAT: 20},
    "`UCB(delta=1)`, `ThompsonSampling(proba.Beta())`, `BayesUCB()`; it has no KL-UCB. Counts the rounds already "
    "played: t - 1 where we have t. Ties at random.",
    "river.txt",
)
MABWISER = Library(
    "MABWiser",
    "mabwiser",
    {UCB1: 5, THOMPSON: 5},
    "`UCB1(alpha=1)`, `ThompsonSampling()`; it has neither KL-UCB nor BayesUCB. It must be fitted before it predicts: "
    "the first five rounds play every arm once, in Thompson sampling too. Counts the rounds already played: t - 1 "
    "where we have t. Ties go to the first arm.",
    "mabwiser.txt",
)
LIBRARIES = {library.key: library for library in (SAFEBANDIT, NUMPY, SMPYBANDITS, RIVER, MABWISER)}
