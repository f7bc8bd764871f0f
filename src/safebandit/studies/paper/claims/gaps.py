"""Claims about how regret depends on the gaps (section 6.2.1)."""

from __future__ import annotations

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.studies.paper.claims.claim import Claim, Results, claim
from safebandit.studies.paper.evidence import Evidence, Part
from safebandit.studies.paper.runs import GAPS, THREE

_GAP_RUNS = " ".join(f"gaps-{size}-{i}" for size in ("large", "small") for i in GAPS)


def _regrets(results: Results, size: str, policy: str) -> list[Numbers]:
    return [results[f"gaps-{size}-{i}"].final(policy) for i in GAPS]


def _slope_weights() -> list[float]:
    """A least-squares slope on log gap is a weighted sum, with these weights."""
    logs = np.log([i / 25 for i in GAPS])
    centred = logs - logs.mean()
    return (centred / (centred @ centred)).tolist()


@claim(
    "inverse-in-gap", "fig3", _GAP_RUNS, "section 6.2.1", "Regret decays inversely with the larger of the two gaps.",
    "The slope of log median regret on log gap lies in [-1.3, -0.7], for each policy and both kinds of minimum gaps.",
)  # fmt: skip
def inverse_in_gap(results: Results, evidence: Evidence) -> list[Part]:
    return [
        evidence.log_quantiles(
            f"{policy}, {size} minimum gaps", _regrets(results, size, policy), _slope_weights(), -1.3, -0.7
        )
        for size in ("large", "small")
        for policy in THREE
    ]


@claim(
    "insensitive-to-smaller-gap", "fig3", _GAP_RUNS, "section 6.2.1",
    "Regret is insensitive to the smaller of the two gaps.",
    "The geometric mean over i of median regrets, small over large minimum gaps, lies in [0.75, 1.33] for each policy.",
)  # fmt: skip
def insensitive_to_smaller_gap(results: Results, evidence: Evidence) -> list[Part]:
    return [
        evidence.quantiles(
            policy, _regrets(results, "small", policy), _regrets(results, "large", policy), 0.75, 1.33, level=0.5
        )
        for policy in THREE
    ]


CLAIMS: tuple[Claim, ...] = (inverse_in_gap, insensitive_to_smaller_gap)
