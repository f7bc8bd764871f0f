"""Claims about naively sampled risks, and those with slack (appendix F.4)."""

from __future__ import annotations

import numpy as np

from safebandit.studies.paper.claims.claim import Claim, Results, claim
from safebandit.studies.paper.evidence import ANY, LINEAR_FROM, Evidence, Part
from safebandit.studies.paper.runs import SLACKS


@claim(
    "naive-linear", "fig9", "naive-0", "appendix F.4", "Naively sampled risks give linear regret when nu* = alpha.",
    f"Slope of the second half over that of the first half above {LINEAR_FROM}.",
)  # fmt: skip
def naive_linear(results: Results, evidence: Evidence) -> list[Part]:
    return [evidence.growth("alpha - nu* = 0", results["naive-0"], "naive-ts", "regret", LINEAR_FROM, ANY)]


@claim(
    "naive-improves", "fig9", "naive-0 naive-3 naive-6 naive-9", "appendix F.4",
    "Regret becomes sublinear as alpha - nu* grows, and falls.",
    f"From alpha - nu* = 0.06 on, the slope ratio is below {LINEAR_FROM}; mean regret falls at each shown step.",
    "It becomes sublinear, and falls steeply; then it levels off, and near 0.18 the shrinking safety gap of the third "
    "arm raises it again, as the paper itself says it should: 6,400 trials gave 1.047 times the regret at 0.12 "
    "(99.88 % interval 1.003 to 1.096, of means that a few trials carry).",
)  # fmt: skip
def naive_improves(results: Results, evidence: Evidence) -> list[Part]:
    parts = [
        evidence.growth(f"slope ratio at {i / 50:g}", results[f"naive-{i}"], "naive-ts", "regret", -ANY, LINEAR_FROM)
        for i in (3, 6, 9)
    ]
    for a, b in ((0, 3), (3, 6), (6, 9)):
        later, before = (results[f"naive-{i}"].final("naive-ts") for i in (b, a))
        label = f"regret at {b / 50:g} / {a / 50:g}"
        parts.append(evidence.ratio(label, later, before, 0.0, 1.0))
    return parts


@claim(
    "naive-inverse-square", "fig10", " ".join(f"naive-{i}" for i in range(6)), "appendix F.4",
    "The mean of 1/sqrt(regret) is nearly linear in alpha - nu* where that is small.",
    "A straight line through i = 0..5 explains at least 90 % of the variance of the six means.",
    "It is at the very end of the range: 6,400 trials gave 89.9 % (99.88 % interval 89.3 to 90.6 %).",
)  # fmt: skip
def naive_inverse_square(results: Results, evidence: Evidence) -> list[Part]:
    sample = np.column_stack([1 / np.sqrt(results[f"naive-{i}"].final("naive-ts")) for i in range(6)])
    return [evidence.straightness("share of variance explained", sample, 0.9, 1.0)]


@claim(
    "slack-large-linear", "fig11", "slack", "appendix F.4",
    "Slack factors C >= 1/2 give large, linear regret.",
    f"For each C >= 1/2, the slope of the second half over that of the first half is above {LINEAR_FROM}.",
    "The order is the other way round. With nu* = alpha a drawn risk errs by the posterior's deviation and by that of "
    "the mean under it, together twice the variance: the best arm is shut out in round t with a chance of about "
    "t^(-C^2/4), and regret grows like T^(1 - C^2/4). Measured exponents are 0.93 at C = 1/2 and 0.69 at C = 1, where "
    "that is 0.94 and 0.75: nearly linear for small C, no longer for C near 2. A large C costs by letting the unsafe "
    "arm be played for longer, about C^2 log T times, which is large but not linear. Of fourteen ways to read the "
    "slack one gives what the paper says: Dev as the deviation of a single outcome, without the logarithm, a slack of "
    "about C/2 that never shrinks. Regret is then 55 to 63 for C <= 1/4, and linear for C >= 1/2, where the slack is "
    "above the unsafe arm's gap of 0.2: this could be what was simulated.",
)  # fmt: skip
def slack_large_linear(results: Results, evidence: Evidence) -> list[Part]:
    return [
        evidence.growth(f"C = {c:g}", results["slack"], f"slack-ts:slack={c:g}", "regret", LINEAR_FROM, ANY)
        for c in SLACKS
        if c >= 0.5
    ]


CLAIMS: tuple[Claim, ...] = (naive_linear, naive_improves, naive_inverse_square, slack_large_linear)
