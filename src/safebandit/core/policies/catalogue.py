"""Policies by name: each is one expression, made of indices. Systems of others, to compare with, are in `rivals`."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

from safebandit.core.indices import (
    IMED,
    BayesLower,
    EmpiricalLower,
    EmpiricalUpper,
    JointDirichlet,
    JointThompson,
    JointUpper,
    KLLower,
    KLUpper,
    Level,
    PointMassRisk,
    SampledRisk,
    Schedule,
    Thompson,
)
from safebandit.core.naming import kebab
from safebandit.core.policies.doubly_optimistic import DoublyOptimistic
from safebandit.core.policies.equal import EqualRandomisation
from safebandit.core.policies.information import InformationDirected

C = TypeVar("C", bound=Callable[..., Any])


class Entry(NamedTuple):
    """A policy of the catalogue: its constructor, and where it comes from."""

    constructor: Callable[..., Any]
    formula: str
    source: str


POLICIES: dict[str, Entry] = {}


def named_policy(formula: str, source: str) -> Callable[[C], C]:
    """Enter a constructor into the catalogue under its own name."""

    def enter(constructor: C) -> C:
        POLICIES[kebab(constructor.__name__)] = Entry(constructor, formula, source)
        return constructor

    return enter


@named_policy("play argmax U among arms with L <= alpha; U, L by KL-UCB", "Algorithm 1 with KL-UCB")
def docb(
    level: Level = Level.practical,
    when_none: Any = None,
    each_first: bool = True,
    head_start: int = 0,
    lasting: bool = False,
    tail: float = 0.0,
) -> DoublyOptimistic:
    """Doubly optimistic confidence bounds."""
    return DoublyOptimistic(KLUpper(level, tail), KLLower(level, tail), when_none, each_first, head_start, lasting)


@named_policy("play argmax of draws from Beta(R+1, N-R+1) among arms with L <= alpha; L by KL-UCB", "Algorithm 2")
def topsi(
    level: Level = Level.practical,
    when_none: Any = None,
    each_first: bool = True,
    head_start: int = 0,
    lasting: bool = False,
    tail: float = 0.0,
) -> DoublyOptimistic:
    """Thompson sampling with optimistic safety indices."""
    return DoublyOptimistic(Thompson(), KLLower(level, tail), when_none, each_first, head_start, lasting)


@named_policy(
    "play argmax of draws from Beta(R+1, N-R+1) among arms with Q(Beta(S, N-S+1), delta_t) <= alpha", "Algorithm 3"
)
def tsbu(
    schedule: Schedule = Schedule.practical,
    when_none: Any = None,
    each_first: bool = False,
    head_start: int = 0,
    lasting: bool = False,
    tail: float = 0.0,
) -> DoublyOptimistic:
    """Thompson sampling with BayesUCB."""
    return DoublyOptimistic(Thompson(), BayesLower(schedule, tail), when_none, each_first, head_start, lasting)


@named_policy(
    "play argmax U among arms with Q(Beta(S, N-S+1), delta_t) <= alpha; U by KL-UCB",
    "introduction: the fourth combination, left unstudied",
)
def klbayes(
    level: Level = Level.practical,
    schedule: Schedule = Schedule.practical,
    when_none: Any = None,
    each_first: bool = True,
    head_start: int = 0,
    lasting: bool = False,
    tail: float = 0.0,
) -> DoublyOptimistic:
    """KL-UCB on rewards with BayesUCB on risks."""
    return DoublyOptimistic(
        KLUpper(level, tail), BayesLower(schedule, tail), when_none, each_first, head_start, lasting
    )


@named_policy(
    "play argmax of draws from Beta(R+1, N-R+1) among arms whose draw from Beta(S+1, N-S+1) is <= alpha",
    "appendix on a naive Thompson sampling based safety index",
)
def naive_ts(when_none: Any = None, each_first: bool = False, head_start: int = 0) -> DoublyOptimistic:
    """Thompson sampling for rewards and risks alike; linear regret when the best arm's risk is near alpha."""
    return DoublyOptimistic(Thompson(), SampledRisk(0.0), when_none, each_first, head_start)


@named_policy(
    "as naive-ts, with draws <= alpha + slack * deviation * sqrt(log t), the deviation of Beta(S+1, N-S+1)",
    "appendix on a naive Thompson sampling based safety index",
)
def slack_ts(
    slack: float = 0.25, when_none: Any = None, each_first: bool = False, head_start: int = 0
) -> DoublyOptimistic:
    """Naive sampling, with a slack in proportion to the risk posterior's standard deviation."""
    return DoublyOptimistic(Thompson(), SampledRisk(slack), when_none, each_first, head_start)


@named_policy(
    "as naive-ts, with draws from a posterior whose prior gives a risk of exactly alpha the odds `mass`",
    "ours: the paper leaves a sampled safety index open",
)
def point_ts(mass: float = 1.0, when_none: Any = None, each_first: bool = False) -> DoublyOptimistic:
    """Thompson sampling for rewards and risks, with a point mass at alpha in the prior of a risk."""
    return DoublyOptimistic(Thompson(), PointMassRisk(mass), when_none, each_first)


@named_policy(
    "play argmax U among arms with L <= alpha; U, L by K_inf of the outcomes' histogram",
    "ours with empirical KL-UCB (Cappe et al. 2013): for outcomes that vary less than bits",
)
def empirical_kl(
    level: Level = Level.practical,
    bins: int = 32,
    when_none: Any = None,
    each_first: bool = True,
    head_start: int = 0,
    lasting: bool = False,
    tail: float = 0.0,
) -> DoublyOptimistic:
    """Doubly optimistic confidence bounds from the whole law of the outcomes, not from their means alone."""
    reward, safety = EmpiricalUpper(level, bins, tail), EmpiricalLower(level, bins, tail)
    return DoublyOptimistic(reward, safety, when_none, each_first, head_start, lasting)


class Evidence(IntEnum):
    """How evidence against an arm's safety is measured: N d_>(mean||alpha), or -log P(Bin(N, alpha) >= S)."""

    kl = 0
    tail = 1


@named_policy(
    "play argmax max{ q >= mean : N [d(mean||q) + d_>(risk||alpha)] <= gamma_t } among arms with L <= alpha, "
    "the mean where there is no such q; L by KL-UCB",
    "ours: one budget for both kinds of evidence, as in the lower bound",
)
def joint_kl(
    level: Level = Level.practical,
    when_none: Any = None,
    each_first: bool = True,
    head_start: int = 0,
    lasting: bool = False,
    tail: float = 0.0,
) -> DoublyOptimistic:
    """Doubly optimistic confidence bounds that share one budget; never looser than docb."""
    return DoublyOptimistic(JointUpper(level, tail), KLLower(level, tail), when_none, each_first, head_start, lasting)


@named_policy(
    "play argmin N d_<(mean||m) + max(0, E - discount log(1 + log t)) + log N among arms that tsbu permits, m the "
    "largest mean of those; E = -log P(Bin(N, alpha) >= S) where S > alpha N, else 0. With evidence=kl: among arms "
    "that docb permits, and E = N d_>(risk||alpha)",
    "ours: indexed minimum empirical divergence with risk",
)
def safe_imed(
    evidence: Evidence = Evidence.tail,
    discount: float = 0.0,
    when_none: Any = None,
    each_first: bool = True,
    head_start: int = 0,
    lasting: bool = False,
    tail: float = 0.0,
) -> DoublyOptimistic:
    """The arm against which the least evidence speaks, of reward and risk together."""
    safety = BayesLower(tail=tail) if evidence == Evidence.tail else KLLower(tail=tail)
    return DoublyOptimistic(IMED(discount), safety, when_none, each_first, head_start, lasting)


@named_policy(
    "as tsbu; where S > alpha N, a draw loses its optimism, min(draw, mean), unless a test is passed, with chance "
    "P(Bin(N, alpha) >= S) (1 + soft log t): at soft=0 that of a draw from Beta(S, N-S+1) of at most alpha",
    "ours: Thompson sampling of both outcomes",
)
def joint_ts(
    soft: float = 0.0,
    when_none: Any = None,
    each_first: bool = False,
    head_start: int = 0,
    lasting: bool = False,
    tail: float = 0.0,
) -> DoublyOptimistic:
    """Thompson sampling in which reward and risk must both look good; `soft` tests log t times as leniently."""
    return DoublyOptimistic(JointThompson(soft), BayesLower(tail=tail), when_none, each_first, head_start, lasting)


@named_policy(
    "as tsbu; where S > alpha N, a draw loses its optimism, min(draw, mean), unless one of 1 + floor(soft log t) draws "
    "of (p00, p01, p10, p11) from Dirichlet(1/2 + counts of (reward, risk)), given p10 + p11 >= draw, has "
    "p01 + p11 <= alpha",
    "ours: for outcomes that depend on each other",
)
def joint_dirichlet(
    soft: float = 0.7,
    when_none: Any = None,
    each_first: bool = False,
    head_start: int = 1_000,
    lasting: bool = False,
    tail: float = 0.0,
) -> DoublyOptimistic:
    """Thompson sampling that learns how reward and risk depend on each other; one risk."""
    return DoublyOptimistic(JointDirichlet(soft), BayesLower(tail=tail), when_none, each_first, head_start, lasting)


@named_policy(
    "play from the mixture of two arms of least (expected cost)^2 / (what it teaches of the best safe arm), among arms "
    "with P(risk > alpha) <= confidence; Beta posteriors, and a point at alpha of prior odds `odds`; before any data "
    "an arm is as likely safe as not",
    "ours, after information-directed sampling (Russo and Van Roy 2014): for trials of up to some thousand units",
)
def safe_ids(
    odds: float | None = None, confidence: float | None = None, units: int | None = None, when_none: Any = None
) -> InformationDirected:
    """Information-directed sampling on the paper's cost; `odds` and `confidence` follow from the planned `units`."""
    return InformationDirected(odds, confidence, units, when_none)


@named_policy(
    "play every arm once in each block of as many units as there are arms, in random order",
    "equal randomisation in permuted blocks: what is usual in trials, to compare with",
)
def equal() -> EqualRandomisation:
    """Every arm as often as any other, whatever is seen; no arm is ever excluded."""
    return EqualRandomisation()


# Longer trials are played by policies whose cost grows as the logarithm of their length.
MOST_UNITS = 5_000


def recommended(units: int | None = None, risks: int = 1) -> str:
    """The policy to use where nothing speaks for another, by how many units are planned and by the arena's evidence.

    >>> recommended(units=400), recommended(units=50_000), recommended(units=50_000, risks=2)
    ('safe-ids', 'joint-dirichlet', 'tsbu')
    """
    if units is None or units <= MOST_UNITS:
        return "safe-ids"
    return "joint-dirichlet" if risks == 1 else "tsbu"
