"""Claims about policies over mixtures of arms, BwCR and Pess (section 6.1, appendix F.1)."""

from __future__ import annotations

import numpy as np

from safebandit.studies.paper.claims.claim import Claim, Results, claim, difference
from safebandit.studies.paper.evidence import ANY, LINEAR_FROM, Evidence, Part


@claim(
    "docb-550", "fig1", "case-2", "section 6.1, case 2", "DOCB plays the unsafe arms about 550 times.",
    "Its mean unsafe plays lie within 550 +- 10 %.",
    "It takes some thousand trials to tell: 3,200 gave 516 (99.88 % interval 503 to 528).",
)  # fmt: skip
def docb_550(results: Results, evidence: Evidence) -> list[Part]:
    return [evidence.mean("unsafe plays of docb", results["case-2"].final("docb", "unsafe_plays"), 495, 605)]


@claim(
    "mixtures-8000", "fig1", "case-2", "section 6.1, case 2",
    "The policy methods play the unsafe arm at least 8,000 times.",
    "The mean unsafe plays of each lie above 8,000.",
    "Pess plays the unsafe arm most of the time in about a quarter of the trials, and hardly ever in the others, so "
    "that 100 trials do not settle its mean: 3,200 gave 9,988 (99.88 % interval 9,004 to 10,972), and a median of 19.",
)  # fmt: skip
def mixtures_8000(results: Results, evidence: Evidence) -> list[Part]:
    parts = []
    for policy in ("bwcr", "pess"):
        plays = results["case-2"].final(policy, "unsafe_plays")
        parts.append(
            evidence.mean(f"unsafe plays of {policy}, whose median is {np.median(plays):,.0f}", plays, 8_000, ANY)
        )
    return parts


@claim(
    "case-1-unsafe-linear", "fig1", "case-1", "section 6.1, case 1",
    "Unsafe plays of BwCR and Pess grow linearly in case 1.",
    f"Slope of the second half over that of the first half above {LINEAR_FROM} (1: linear, 0.41: square root).",
)  # fmt: skip
def case_1_unsafe_linear(results: Results, evidence: Evidence) -> list[Part]:
    return [
        evidence.growth(f"{p}, unsafe plays", results["case-1"], p, "unsafe_plays", LINEAR_FROM, ANY)
        for p in ("bwcr", "pess")
    ]


@claim(
    "case-1-regret-linear", "fig4", "case-1", "appendix F.1", "Regrets of the policy methods grow linearly in case 1.",
    f"Slope of the second half over that of the first half above {LINEAR_FROM}.",
)  # fmt: skip
def case_1_regret_linear(results: Results, evidence: Evidence) -> list[Part]:
    return [evidence.growth(f"{p}, regret", results["case-1"], p, "regret", LINEAR_FROM, ANY) for p in ("bwcr", "pess")]


@claim(
    "case-2-regret-sublinear", "fig4", "case-2", "appendix F.1", "In case 2 their regrets appear sublinear.",
    f"Slope of the second half over that of the first half below {LINEAR_FROM}.",
    "BwCR's is. That of Pess is not, though 100 trials cannot tell: 3,200 gave 0.79 (99.88 % interval 0.78 to 0.81).",
)  # fmt: skip
def case_2_regret_sublinear(results: Results, evidence: Evidence) -> list[Part]:
    return [
        evidence.growth(f"{p}, regret", results["case-2"], p, "regret", -ANY, LINEAR_FROM) for p in ("bwcr", "pess")
    ]


@claim(
    "case-2-larger-scale", "fig4", "case-2", "appendix F.1",
    "In case 2 their regrets are at a much larger scale than DOCB's.",
    "The ratio of mean regrets, to DOCB's, is above 5.",
)  # fmt: skip
def case_2_larger_scale(results: Results, evidence: Evidence) -> list[Part]:
    result = results["case-2"]
    return [evidence.ratio(f"{p} / docb", result.final(p), result.final("docb"), 5.0, ANY) for p in ("bwcr", "pess")]


@claim(
    "bwcr-more-unsafe", "fig1", "case-2", "section 6.1, case 2",
    "In case 2 BwCR plays unsafe arms more often than Pess.",
    "The paired difference of unsafe plays is above 0.",
    "With seed 1 the first 100 trials show more than there is: they gave 3,336, and 3,200 gave 616 (99.88 % interval "
    "-368 to 1,600).",
)  # fmt: skip
def bwcr_more_unsafe(results: Results, evidence: Evidence) -> list[Part]:
    return [
        evidence.mean(
            "bwcr - pess, unsafe plays", difference(results["case-2"], "bwcr", "pess", "unsafe_plays"), 0.0, ANY
        )
    ]


@claim(
    "bwcr-less-regret", "fig4", "case-1 case-2", "section 6.1 and appendix F.1",
    "BwCR suffers less regret than Pess, in both cases.", "The paired difference of regrets is below 0 in each case.",
)  # fmt: skip
def bwcr_less_regret(results: Results, evidence: Evidence) -> list[Part]:
    cases = ("case-1", "case-2")
    return [
        evidence.mean(f"bwcr - pess, {c}", difference(results[c], "bwcr", "pess", "regret"), -ANY, 0.0) for c in cases
    ]


CLAIMS: tuple[Claim, ...] = (
    docb_550,
    mixtures_8000,
    case_1_unsafe_linear,
    case_1_regret_linear,
    case_2_regret_sublinear,
    case_2_larger_scale,
    bwcr_more_unsafe,
    bwcr_less_regret,
)
