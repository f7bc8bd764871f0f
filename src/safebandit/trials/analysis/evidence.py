"""Claims about arms, the evidence for each, and which of them all together stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.e_values import e_bh, log_wealth_above, wealth_larger
from safebandit.core.sequences import betting_wealth, log_mixture
from safebandit.errors import TrialError

# What a number and a JSON document still hold.
MOST_LOG = 690.0


@dataclass(frozen=True)
class Claim:
    """What may be claimed of an arm: that an `endpoint` of it is `above` or below a limit, or another arm's.

    `e` is the e-value against the contrary; `stands` says whether the contrary is refuted among all claims together.
    """

    arm: str
    endpoint: str
    above: bool
    than: str | float
    e: float
    stands: bool = False

    @property
    def side(self) -> str:
        """The side that the claim is about."""
        return "above" if self.above else "below"

    @property
    def what(self) -> str:
        """The claim in words, without a verdict."""
        than = f'that of "{self.than}"' if isinstance(self.than, str) else f"{self.than:g}"
        return f'the {self.endpoint} of "{self.arm}" is {self.side} {than}'


def limit_evidence(values: Numbers, limit: float, kind: str) -> tuple[float, float]:
    """E-values for "the mean is above the limit" and for "it is below": each against the contrary, limit included."""
    plays, total = float(len(values)), float(values.sum())
    if kind == "betting":
        now = np.array([len(values)], np.int64)
        above = betting_wealth(np.ascontiguousarray(values), now, limit)[0]
        below = betting_wealth(np.ascontiguousarray(1.0 - values), now, 1.0 - limit)[0]
    else:
        above = log_wealth_above(total, plays, limit, 1.0, 1.0)
        below = log_wealth_above(plays - total, plays, 1.0 - limit, 1.0, 1.0)
    return _from_log(above), _from_log(below)


def larger_evidence(one: Numbers, other: Numbers) -> float:
    """An e-value for "the mean of one is above that of the other", against the contrary.

    Of bits it is that of `SuperiorityE`. Of other outcomes it has no factor for the order of the means, whose posterior
    chance is that of bits: the product of both flat mixtures at the pair of means of the contrary where it is least.
    """
    n, s, m, r = float(len(one)), float(one.sum()), float(len(other)), float(other.sum())
    if s.is_integer() and r.is_integer():
        return min(wealth_larger(s, n, r, m), math.exp(MOST_LOG))
    p, q = (s / n if n else 0.0), (r / m if m else 0.0)
    if s * m > r * n:
        p = q = (s + r) / (n + m)
    return _from_log(log_mixture(n, s, p, 1.0, 1.0) + log_mixture(m, r, q, 1.0, 1.0))


def _from_log(value: float) -> float:
    return math.exp(min(value, MOST_LOG))


def judged(claims: Sequence[Claim], level: float) -> tuple[Claim, ...]:
    """All claims with the verdict of e-BH: of those that stand, at most a share `level` is false, on average."""
    if not claims:
        return ()
    stand = e_bh(np.array([claim.e for claim in claims]), level)
    return tuple(replace(claim, stands=bool(each)) for claim, each in zip(claims, stand, strict=True))


def combine_claims(trials: Sequence[Sequence[Claim]], *, level: float = 0.05) -> tuple[Claim, ...]:
    """Claims of several trials about the same arms, of other units: their e-values multiply, and are judged anew.

    A trial may have been begun because of what those before it said; all trials that were begun must be there.

    >>> first, second = ([Claim("drug", "risk", True, 0.2, e)] for e in (8.0, 6.0))
    >>> [(claim.e, claim.stands) for claim in combine_claims([first, second])]
    [(48.0, True)]
    """
    if not trials:
        raise TrialError("claims of at least one trial are combined, got none")
    found: dict[tuple[str, str, bool, str | float], Claim] = {}
    for claim in (claim for claims in trials for claim in claims):
        key = (claim.arm, claim.endpoint, claim.above, claim.than)
        before = found.get(key)
        found[key] = claim if before is None else replace(claim, e=min(before.e * claim.e, math.exp(MOST_LOG)))
    return judged(list(found.values()), level)
