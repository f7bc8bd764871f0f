"""The problem that every library plays: five Bernoulli arms, without risks."""

from __future__ import annotations

from collections.abc import Sequence

MU = (0.360, 0.340, 0.469, 0.465, 0.537)
ARMS = range(len(MU))
HORIZON = 10_000

UCB1 = "UCB1"
THOMPSON = "Thompson"
KL_UCB = "KL-UCB"
BAYES_UCB = "BayesUCB"
BAYES_UCB_FLAT = "BayesUCB flat"
POLICIES = {
    UCB1: "mean + sqrt(2 log t / N)",
    THOMPSON: "a draw from Beta(R+1, N-R+1)",
    KL_UCB: "max{ q : N d(mean||q) <= log t }",
    BAYES_UCB: "Q(Beta(R+1, N-R), 1 - 1/(t+1)), the mirror image of the paper's safety index",
    BAYES_UCB_FLAT: "Q(Beta(R+1, N-R+1), 1 - 1/(t+1)), from a uniform prior",
}


def regret(plays: Sequence[int]) -> float:
    """What the plays of a trial cost in mean reward, against playing the best arm throughout."""
    return sum((max(MU) - mean) * count for mean, count in zip(MU, plays, strict=True))
