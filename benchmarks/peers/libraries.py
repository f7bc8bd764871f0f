"""The libraries that are compared, how many trials each plays, and where its policies differ from ours."""

from __future__ import annotations

from typing import NamedTuple

from peers.problem import BAYES_UCB_FLAT, KL_UCB, POLICIES, THOMPSON, UCB1


class Library(NamedTuple):
    """A library: its player is the module `peers.play_<key>`; `requirements` builds an environment of its own."""

    name: str
    key: str
    policies: tuple[str, ...]
    trials: int
    note: str
    requirements: str | None = None


SAFEBANDIT = Library(
    "safebandit",
    "safebandit",
    tuple(POLICIES),
    1_000,
    "alpha = 1 makes every arm safe; risks are drawn and counted all the same. UCB1 and the flat prior are indices "
    "that the player registers, the others are `tsbu`, `docb` and `BayesUpper`. Ties at random.",
)
NUMPY = Library(
    "NumPy script",
    "numpy",
    tuple(POLICIES),
    200,
    "All trials at once; KL-UCB by 24 halvings, quantiles by `scipy.special.betaincinv`. Ties go to the first arm, in "
    "an order of each trial's own.",
)
SMPYBANDITS = Library(
    "SMPyBandits",
    "smpybandits",
    (UCB1, THOMPSON, KL_UCB, BAYES_UCB_FLAT),
    5,
    "Counts the rounds already played: t - 1 where we have t. KL-UCB to within 0.0001, in Python: its compiled "
    "versions need a module that Numba has since removed, or a C file that its package leaves out. It needs a SciPy "
    "that still has `btdtri`: 1.11 here, with NumPy 1.26. Ties at random.",
    "smpybandits.txt",
)
RIVER = Library(
    "river",
    "river",
    (UCB1, THOMPSON, BAYES_UCB_FLAT),
    10,
    "`UCB(delta=1)`, `ThompsonSampling(proba.Beta())`, `BayesUCB()`; it has no KL-UCB. Counts the rounds already "
    "played: t - 1 where we have t. Ties at random.",
    "river.txt",
)
MABWISER = Library(
    "MABWiser",
    "mabwiser",
    (UCB1, THOMPSON),
    5,
    "`UCB1(alpha=1)`, `ThompsonSampling()`; it has neither KL-UCB nor BayesUCB. It must be fitted before it predicts: "
    "the first five rounds play every arm once, in Thompson sampling too. Counts the rounds already played: t - 1 "
    "where we have t. Ties go to the first arm.",
    "mabwiser.txt",
)
LIBRARIES = {library.key: library for library in (SAFEBANDIT, NUMPY, SMPYBANDITS, RIVER, MABWISER)}
