"""Everything that the paper's text asserts about its simulations, each with a test that was fixed before looking.

A rule that was changed after looking says so, and how (`changed`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.problems.theory import bounds_of
from safebandit.simulation.results import Result
from safebandit.simulation.summaries import METRICS
from safebandit.studies.paper.evidence import LINEAR_FROM, Part, bootstrap, combined, exact, growth, mean, share
from safebandit.studies.paper.runs import ALPHA_STEPS, GAPS, SLACKS, THEORY, THEORY_RUNS, THREE

Results = Mapping[str, Result]
ANY = math.inf


@dataclass(frozen=True)
class Claim:
    """What the paper says, where, how it is tested, and what else is known of it."""

    name: str
    figures: tuple[str, ...]
    runs: tuple[str, ...]
    place: str
    says: str
    rule: str
    test: Callable[[Results], list[Part]]
    remark: str = ""
    changed: str = ""

    def judge(self, results: Results) -> Judgement:
        """Put the claim to its test."""
        return Judgement(self, self.test(results))


@dataclass(frozen=True)
class Judgement:
    """A claim and what was found."""

    claim: Claim
    parts: list[Part]

    @property
    def verdict(self) -> str:
        """The verdict over all parts."""
        return combined(self.parts)


CLAIMS: list[Claim] = []


def claim(
    name: str, figures: str, runs: str, place: str, says: str, rule: str, remark: str = "", *, changed: str = ""
) -> Callable[[Callable[[Results], list[Part]]], Callable[[Results], list[Part]]]:
    """Enter a test into the list of claims."""

    def enter(test: Callable[[Results], list[Part]]) -> Callable[[Results], list[Part]]:
        CLAIMS.append(
            Claim(name, tuple(figures.split()), tuple(runs.split()), place, says, rule, test, remark, changed)
        )
        return test

    return enter


def _difference(result: Result, first: str, second: str, metric: str) -> Numbers:
    return result.final(first, metric) - result.final(second, metric)


def _order(result: Result, metric: str) -> list[Part]:
    pairs = (("tsbu", "topsi"), ("topsi", "docb"))
    return [
        mean(f"{a} - {b}, {metric.replace('_', ' ')}", _difference(result, a, b, metric), -ANY, 0.0) for a, b in pairs
    ]


@claim(
    "docb-550", "fig1", "case-2", "section 6.1, case 2", "DOCB plays the unsafe arms about 550 times.",
    "The 95 % interval of its mean unsafe plays lies within 550 +- 10 %.",
)  # fmt: skip
def _docb_550(results: Results) -> list[Part]:
    return [mean("unsafe plays of docb", results["case-2"].final("docb", "unsafe_plays"), 495, 605)]


@claim(
    "mixtures-8000", "fig1", "case-2", "section 6.1, case 2",
    "The policy methods play the unsafe arm at least 8,000 times.",
    "The 95 % interval of the mean unsafe plays of each lies above 8,000.",
    "BwCR does. Pess plays the unsafe arm most of the time in about a quarter of the trials, and hardly ever in the "
    "others, so that 100 trials do not settle its mean: 1,000 trials gave 9,825, with a standard error of 539, and a "
    "median of 18.",
)  # fmt: skip
def _mixtures_8000(results: Results) -> list[Part]:
    parts = []
    for policy in ("bwcr", "pess"):
        plays = results["case-2"].final(policy, "unsafe_plays")
        parts.append(mean(f"unsafe plays of {policy}, whose median is {np.median(plays):,.0f}", plays, 8_000, ANY))
    return parts


@claim(
    "case-1-unsafe-linear", "fig1", "case-1", "section 6.1, case 1",
    "Unsafe plays of BwCR and Pess grow linearly in case 1.",
    f"Slope of the second half over that of the first half above {LINEAR_FROM} (1: linear, 0.41: square root).",
)  # fmt: skip
def _case_1_unsafe(results: Results) -> list[Part]:
    return [
        growth(f"{p}, unsafe plays", results["case-1"], p, "unsafe_plays", LINEAR_FROM, ANY) for p in ("bwcr", "pess")
    ]


@claim(
    "case-1-regret-linear", "fig4", "case-1", "appendix F.1", "Regrets of the policy methods grow linearly in case 1.",
    f"Slope of the second half over that of the first half above {LINEAR_FROM}.",
)  # fmt: skip
def _case_1_regret(results: Results) -> list[Part]:
    return [growth(f"{p}, regret", results["case-1"], p, "regret", LINEAR_FROM, ANY) for p in ("bwcr", "pess")]


@claim(
    "case-2-regret-sublinear", "fig4", "case-2", "appendix F.1", "In case 2 their regrets appear sublinear.",
    f"Slope of the second half over that of the first half below {LINEAR_FROM}.",
)  # fmt: skip
def _case_2_regret(results: Results) -> list[Part]:
    return [growth(f"{p}, regret", results["case-2"], p, "regret", -ANY, LINEAR_FROM) for p in ("bwcr", "pess")]


@claim(
    "case-2-larger-scale", "fig4", "case-2", "appendix F.1",
    "In case 2 their regrets are at a much larger scale than DOCB's.",
    "The ratio of mean regrets, to DOCB's, is above 5.",
)  # fmt: skip
def _case_2_scale(results: Results) -> list[Part]:
    result = results["case-2"]
    return [
        bootstrap(f"{p} / docb", [result.final(p), result.final("docb")], lambda a, b: a.mean() / b.mean(), 5.0, ANY)
        for p in ("bwcr", "pess")
    ]


@claim(
    "bwcr-more-unsafe", "fig1", "case-2", "section 6.1, case 2",
    "In case 2 BwCR plays unsafe arms more often than Pess.",
    "The paired difference of unsafe plays is above 0.",
)  # fmt: skip
def _bwcr_more_unsafe(results: Results) -> list[Part]:
    return [mean("bwcr - pess, unsafe plays", _difference(results["case-2"], "bwcr", "pess", "unsafe_plays"), 0.0, ANY)]


@claim(
    "bwcr-less-regret", "fig4", "case-1 case-2", "section 6.1 and appendix F.1",
    "BwCR suffers less regret than Pess, in both cases.", "The paired difference of regrets is below 0 in each case.",
)  # fmt: skip
def _bwcr_less_regret(results: Results) -> list[Part]:
    cases = ("case-1", "case-2")
    return [mean(f"bwcr - pess, {c}", _difference(results[c], "bwcr", "pess", "regret"), -ANY, 0.0) for c in cases]


@claim(
    "constants-21", "fig2", "drug-21", "section 6.2, footnote",
    "At alpha = 0.21 the main terms are 137 log t for regret and 81 log t for unsafe plays, above 750 from 10^4 on.",
    "The sums of Theorem 1 are within 1 of 137 and 81, and above 750 at t = 10^4.",
)  # fmt: skip
def _constants_21(results: Results) -> list[Part]:
    bounds = bounds_of(results["drug-21"].specification.instance)
    return [
        exact("regret slope", bounds.regret_slope, 136, 138),
        exact("unsafe slope", bounds.unsafe_slope, 80, 82),
        exact("regret bound at 10^4", bounds.regret_slope * math.log(1e4), 750, ANY),
        exact("unsafe bound at 10^4", bounds.unsafe_slope * math.log(1e4), 750, ANY),
    ]


@claim(
    "constants-19", "fig6", "drug-19", "appendix F.2",
    "At alpha = 0.19 the main terms are roughly 40 log t for regret and 1,500 log t for unsafe plays.",
    "The sums of Theorem 1 are within 15 % of 40 and 1,500.",
    "Theorem 1 gives 28.2 and 935.6. Theorem 4, whose factor 2/3 weakens the risk's divergence, gives 38.2 and 1,389: "
    "the paper's figures are near those.",
)  # fmt: skip
def _constants_19(results: Results) -> list[Part]:
    bounds = bounds_of(results["drug-19"].specification.instance)
    return [
        exact("regret slope, Theorem 1", bounds.regret_slope, 34, 46),
        exact("unsafe slope, Theorem 1", bounds.unsafe_slope, 1_275, 1_725),
    ]


@claim(
    "within-bounds", "fig2", "drug-21", "section 6.2",
    "Regret and unsafe plays are well within the theoretical bounds.",
    "From t = 1,000 on, at the checkpoint where it comes nearest, the mean is below the main term of Theorem 1.",
    changed="it first compared the mean itself, without its interval.",
)  # fmt: skip
def _within_bounds(results: Results) -> list[Part]:
    result = results["drug-21"]
    bounds = bounds_of(result.specification.instance)
    times = result.specification.checkpoints
    late = times >= 1_000
    parts = []
    for metric, slope in zip(METRICS, (bounds.regret_slope, bounds.unsafe_slope), strict=True):
        for policy in THREE:
            shares = result.curve(policy, metric)[:, late] / (slope * np.log(times[late]))
            worst = shares[:, int(shares.mean(axis=0).argmax())]
            parts.append(mean(f"{policy}, {metric.replace('_', ' ')}, largest share of the bound", worst, 0.0, 1.0))
    return parts


@claim(
    "order-21", "fig2", "drug-21", "section 6.2",
    "Thompson sampling (TOPSI) outperforms confidence bounds (DOCB), and TSBU outperforms both.",
    "Paired differences of regret and of unsafe plays, tsbu - topsi and topsi - docb, are below 0.",
)  # fmt: skip
def _order_21(results: Results) -> list[Part]:
    return [part for metric in METRICS for part in _order(results["drug-21"], metric)]


@claim(
    "order-19", "fig6", "drug-19", "section 6.2",
    "These observations held regardless of the means: here, at alpha = 0.19.",
    "Paired differences of regret and of unsafe plays, tsbu - topsi and topsi - docb, are below 0.",
)  # fmt: skip
def _order_19(results: Results) -> list[Part]:
    return [part for metric in METRICS for part in _order(results["drug-19"], metric)]


@claim(
    "fluctuations-regret", "fig5", "drug-21", "appendix F.2",
    "The regret of the Thompson methods fluctuates somewhat more than DOCB's, with a similar maximum.",
    "The ratio of standard deviations to DOCB's is above 1; the ratio of 99th percentiles lies in [0.75, 1.33].",
    changed="it first took the ratio of the largest of all trials as exact; that is one draw, and varies by seed.",
)  # fmt: skip
def _fluctuations_regret(results: Results) -> list[Part]:
    result = results["drug-21"]
    parts = []
    for policy in ("topsi", "tsbu"):
        pair = [result.final(policy), result.final("docb")]
        parts.append(bootstrap(f"sd of {policy} / docb", pair, lambda a, b: a.std() / b.std(), 1.0, ANY))
        parts.append(bootstrap(f"99th percentile of {policy} / docb", pair, lambda a, b: _q99(a) / _q99(b), 0.75, 1.33))
    return parts


def _q99(values: Numbers) -> float:
    return float(np.quantile(values, 0.99))


@claim(
    "fluctuations-unsafe", "fig5", "drug-21", "appendix F.2",
    "The fluctuations of unsafe plays are similarly sized, and the Bayesian methods retain an advantage.",
    "The ratio of standard deviations to DOCB's lies in [0.67, 1.5]; paired differences to DOCB are below 0.",
)  # fmt: skip
def _fluctuations_unsafe(results: Results) -> list[Part]:
    result = results["drug-21"]
    parts = []
    for policy in ("topsi", "tsbu"):
        pair = [result.final(policy, "unsafe_plays"), result.final("docb", "unsafe_plays")]
        parts.append(bootstrap(f"sd of {policy} / docb", pair, lambda a, b: a.std() / b.std(), 0.67, 1.5))
        parts.append(mean(f"{policy} - docb", pair[0] - pair[1], -ANY, 0.0))
    return parts


@claim(
    "alpha-19-against-21", "fig6", "drug-21 drug-19", "appendix F.2",
    "From alpha = 0.21 to 0.19, unsafe plays increase, and regret increases slightly.",
    "For each policy the ratio of mean unsafe plays is above 1, that of mean regrets in (1, 1.5].",
)  # fmt: skip
def _alpha_19(results: Results) -> list[Part]:
    parts = []
    for metric, most in (("unsafe_plays", ANY), ("regret", 1.5)):
        for policy in THREE:
            pair = [results[run].final(policy, metric) for run in ("drug-19", "drug-21")]
            label = f"{policy}, {metric.replace('_', ' ')}, .19 / .21"
            parts.append(bootstrap(label, pair, lambda a, b: a.mean() / b.mean(), 1.0, most, paired=False))
    return parts


def _medians(results: Results, size: str, policy: str) -> Numbers:
    return np.column_stack([results[f"gaps-{size}-{i}"].final(policy) for i in GAPS])


def _log_slope(sample: Numbers) -> float:
    gaps = np.log([i / 25 for i in GAPS])
    return float(np.polyfit(gaps, np.log(np.median(sample, axis=0)), 1)[0])


_GAP_RUNS = " ".join(f"gaps-{size}-{i}" for size in ("large", "small") for i in GAPS)


@claim(
    "inverse-in-gap", "fig3", _GAP_RUNS, "section 6.2.1", "Regret decays inversely with the larger of the two gaps.",
    "The slope of log median regret on log gap lies in [-1.3, -0.7], for each policy and both kinds of minimum gaps.",
)  # fmt: skip
def _inverse(results: Results) -> list[Part]:
    return [
        bootstrap(f"{policy}, {size} minimum gaps", [_medians(results, size, policy)], _log_slope, -1.3, -0.7)
        for size in ("large", "small")
        for policy in THREE
    ]


@claim(
    "insensitive-to-smaller-gap", "fig3", _GAP_RUNS, "section 6.2.1",
    "Regret is insensitive to the smaller of the two gaps.",
    "The geometric mean over i of median regrets, small over large minimum gaps, lies in [0.75, 1.33] for each policy.",
)  # fmt: skip
def _insensitive(results: Results) -> list[Part]:
    def ratio(small: Numbers, large: Numbers) -> float:
        return float(np.exp(np.mean(np.log(np.median(small, axis=0) / np.median(large, axis=0)))))

    return [
        bootstrap(policy, [_medians(results, size, policy) for size in ("small", "large")], ratio, 0.75, 1.33)
        for policy in THREE
    ]


@claim(
    "schedule-logarithmic", "fig7", "schedules", "appendix F.3",
    "The theoretical schedule displays logarithmic growth.",
    "Slope of the second half over that of the first half below 0.2, for its regret.",
)  # fmt: skip
def _schedule_log(results: Results) -> list[Part]:
    return [growth("regret", results["schedules"], "tsbu:schedule=theory", "regret", -ANY, 0.2)]


@claim(
    "schedule-degradation", "fig7", "schedules", "appendix F.3",
    "The theoretical schedule suffers some degradation, which is limited.",
    "The ratio of median regrets, theory over 1/t, lies in [1, 2] (medians: the 1/t schedule has outliers).",
)  # fmt: skip
def _schedule_worse(results: Results) -> list[Part]:
    result = results["schedules"]
    pair = [result.final("tsbu:schedule=theory"), result.final("tsbu")]
    return [bootstrap("theory / practical", pair, lambda a, b: np.median(a) / np.median(b), 1.0, 2.0)]


@claim(
    "schedule-more-unsafe", "fig7", "schedules", "appendix F.3",
    "The theoretical schedule lets the unsafe arm be played more often.",
    "The paired difference of unsafe plays is above 0.",
)  # fmt: skip
def _schedule_unsafe(results: Results) -> list[Part]:
    difference = _difference(results["schedules"], "tsbu:schedule=theory", "tsbu", "unsafe_plays")
    return [mean("theory - practical", difference, 0.0, ANY)]


@claim(
    "schedule-outliers", "fig8", "schedules", "appendix F.3",
    "The 1/t schedule has rare, massive outliers of regret that the theoretical one has not.",
    "Some trials (over 1 in 10^6) but at most 5 % are above 5 medians under 1/t, at most 1 % under the other schedule.",
    "Where nu* = alpha, a gate of confidence 1/t shuts the best arm out for long with a small chance, so small that "
    "500 trials may see none. Of 4,000 trials 26 were above 5 medians under 1/t, the worst at 78 medians, and 4 under "
    "the theoretical schedule, the worst at 10: fewer and smaller, but not none.",
    changed="it first took the worst trial over the median as exact: it held with seeds 1 and 2, and not with 3 and 4.",
)  # fmt: skip
def _outliers(results: Results) -> list[Part]:
    result = results["schedules"]
    beyond = {policy: result.final(policy) > 5.0 * np.median(result.final(policy)) for policy in result.policies}
    # One trial that is an outlier shows that there are some: the interval then lies above 0.
    return [
        share("share of trials above 5 medians, 1/t", beyond["tsbu"], 1e-6, 0.05),
        share("share of trials above 5 medians, theory", beyond["tsbu:schedule=theory"], 0.0, 0.01),
    ]


@claim(
    "naive-linear", "fig9", "naive-0", "appendix F.4", "Naively sampled risks give linear regret when nu* = alpha.",
    f"Slope of the second half over that of the first half above {LINEAR_FROM}.",
)  # fmt: skip
def _naive_linear(results: Results) -> list[Part]:
    return [growth("alpha - nu* = 0", results["naive-0"], "naive-ts", "regret", LINEAR_FROM, ANY)]


@claim(
    "naive-improves", "fig9", " ".join(f"naive-{i}" for i in ALPHA_STEPS), "appendix F.4",
    "Regret becomes sublinear as alpha - nu* grows, and falls.",
    f"From alpha - nu* = 0.06 on, the slope ratio is below {LINEAR_FROM}; mean regret falls at each shown step.",
    "Regret falls steeply, then levels off: near 0.18 the shrinking safety gap of the third arm raises it again, as "
    "the paper itself says it should.",
)  # fmt: skip
def _naive_improves(results: Results) -> list[Part]:
    parts = [
        growth(f"slope ratio at {i / 50:g}", results[f"naive-{i}"], "naive-ts", "regret", -ANY, LINEAR_FROM)
        for i in (3, 6, 9)
    ]
    for a, b in ((0, 3), (3, 6), (6, 9)):
        pair = [results[f"naive-{i}"].final("naive-ts") for i in (b, a)]
        label = f"regret at {b / 50:g} / {a / 50:g}"
        parts.append(bootstrap(label, pair, lambda x, y: x.mean() / y.mean(), 0.0, 1.0))
    return parts


@claim(
    "naive-inverse-square", "fig10", " ".join(f"naive-{i}" for i in ALPHA_STEPS), "appendix F.4",
    "The mean of 1/sqrt(regret) is nearly linear in alpha - nu* where that is small.",
    "A straight line through i = 0..5 explains at least 90 % of the variance of the six means.",
)  # fmt: skip
def _naive_square(results: Results) -> list[Part]:
    sample = np.column_stack([1 / np.sqrt(results[f"naive-{i}"].final("naive-ts")) for i in range(6)])

    def explained(rows: Numbers) -> float:
        return float(np.corrcoef(np.arange(6), rows.mean(axis=0))[0, 1] ** 2)

    return [bootstrap("share of variance explained", [sample], explained, 0.9, 1.0)]


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
def _slack_linear(results: Results) -> list[Part]:
    return [
        growth(f"C = {c:g}", results["slack"], f"slack-ts:slack={c:g}", "regret", LINEAR_FROM, ANY)
        for c in SLACKS
        if c >= 0.5
    ]


@claim(
    "explicit-bounds", "fig7", " ".join(THEORY_RUNS), "lemmas of appendices B, D",
    "The lemmas bound DOCB's regret, and the unsafe plays of DOCB, TOPSI and TSBU, for every T.",
    "At the levels of the lemmas (level theory, schedule proof) every mean is below its explicit bound at the horizon. "
    "A bound that comes to all that is possible is not judged: it could not fail.",
    changed="it first compared the mean itself, without its interval; then policies at their practical levels, which "
    "the lemmas are not about, and also where a bound is T.",
)  # fmt: skip
def _explicit(results: Results) -> list[Part]:
    return [part for run in THEORY_RUNS for part in _shares_of_bounds(run, results[run])]


def _shares_of_bounds(run: str, result: Result) -> list[Part]:
    """Means as shares of the bounds that are true for every T, where those say something."""
    bound = bounds_of(result.specification.instance).at(result.specification.horizon)
    docb, topsi, tsbu = THEORY
    limits = {
        "explicit_docb_regret": (docb, "regret"),
        "explicit_docb_unsafe_plays": (docb, "unsafe_plays"),
        "explicit_topsi_unsafe_plays": (topsi, "unsafe_plays"),
        "explicit_tsbu_unsafe_plays": (tsbu, "unsafe_plays"),
    }
    return [
        mean(
            f"{run}: {policy}, {metric.replace('_', ' ')}, share of the bound",
            result.final(policy, metric) / getattr(bound, name),
            0,
            1,
        )
        for name, (policy, metric) in limits.items()
        if name not in bound.vacuous
    ]
