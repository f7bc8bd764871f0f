"""safebandit at alpha = 1, where every arm is safe and the problem becomes the standard one; risks are still drawn."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import safebandit as sb
from peers.problem import BAYES_UCB, BAYES_UCB_FLAT, KL_UCB, THOMPSON, UCB1
from peers.runner import Played, answer
from safebandit.core.arms import Seen
from safebandit.core.bernoulli import beta_quantile, binomial_tail
from safebandit.core.searches.bounds import exceeds


class PlainUCB1(NamedTuple):
    """UCB1 as published; `HoeffdingUpper` has a quarter of its budget and stays below 1."""

    @property
    def steady(self) -> bool:
        return True


class FlatBayesUpper(NamedTuple):
    """BayesUCB from a uniform prior, as other libraries have it."""

    @property
    def steady(self) -> bool:
        return True


@sb.upper.register(PlainUCB1)
def plain_ucb1(index: PlainUCB1, seen: Seen, t: int) -> float:
    return seen.mean + math.sqrt(2.0 * math.log(t) / seen.plays) if seen.plays else math.inf


@sb.upper.register(FlatBayesUpper)
def flat_bayes_upper(index: FlatBayesUpper, seen: Seen, t: int) -> float:
    return 1.0 - beta_quantile(seen.plays - seen.ones + 1.0, seen.ones + 1.0, 1.0 / (t + 1.0))


@exceeds.register(FlatBayesUpper)
def flat_bayes_exceeds(index: FlatBayesUpper, seen: Seen, t: int, bar: float) -> bool:
    return binomial_tail(seen.plays - seen.ones + 1.0, seen.plays + 1.0, 1.0 - bar) > 1.0 / (t + 1.0)


POLICIES = {
    UCB1: sb.DoublyOptimistic(PlainUCB1(), sb.KLLower()),
    THOMPSON: "tsbu",
    KL_UCB: "docb",
    BAYES_UCB: sb.DoublyOptimistic(sb.BayesUpper(), sb.BayesLower()),
    BAYES_UCB_FLAT: sb.DoublyOptimistic(FlatBayesUpper(), sb.BayesLower(), each_first=False),
}


def play(policy: str, horizon: int, trials: range) -> Played:
    """All trials in one call, on one core."""
    instance = sb.instance_by_name("drug-trial", 1.0)
    began = time.process_time()
    result = sb.simulate(
        instance,
        {policy: POLICIES[policy]},
        horizon=horizon,
        trials=len(trials),
        seed=trials.start,
        workers=1,
        checkpoints=[],
    )
    return Played(time.process_time() - began, result.final(policy).tolist())


if __name__ == "__main__":
    answer(sb.__version__, play)
