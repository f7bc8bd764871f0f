"""Measure what docs/explanation/rivals.md shows, and write its tables and its picture anew; some minutes on one core.

python tools/measure_rivals.py          as the page has it
python tools/measure_rivals.py --quick  a tenth of the trials, to see that it runs; nothing is written
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from safebandit import Instance, Result, instance_by_name, says_feasible, simulate, violations
from safebandit.pictures import GUIDE
from safebandit.simulation.plots import Line, draw_lines, new_figure
from safebandit.simulation.summaries import standard_error

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "rivals.md"
EXAMPLE = instance_by_name("two-arm-example")
# What the best mixture of the example's arms earns in a round: half a round of each.
BEST_MIXTURE = 0.75
AGGREGATE = ["bwk", "bwcr", "bwcr:bounds=published", "pess", "pess:bounds=published"]
PER_ROUND = ["con-lcb", "docb", "tsbu"]
HORIZONS = [1_000, 3_000, 10_000, 30_000, 100_000]
SHOWN = [1_000, 10_000, 100_000]
# Before it, some bounds are still wider than all that can be.
LAST_TENFOLD = [10_000, 100_000]
# Four arms beside a baseline that is neither best nor worst, without risk: conservative bandits' own problem.
REWARDS = Instance.bernoulli(mu=[0.5, 0.6, 0.4, 0.4, 0.4], nu=[0, 0, 0, 0, 0], alpha=1)
ROUNDS = 5_000
GAPS = Instance.bernoulli(mu=[0.3, 0.5, 0.6, 0.8], nu=[0.1, 0.1, 0.3, 0.7], alpha=0.5)
INFEASIBLE = Instance.bernoulli(mu=[0.3, 0.5, 0.6], nu=[0.3, 0.4, 0.7], alpha=0.2, allow_infeasible=True)
SEED = 1


class Growth(NamedTuple):
    """The exponent with which a mean grows from the first horizon to the last, and its 95 % interval."""

    exponent: float
    reach: float

    def __str__(self) -> str:
        return f"{self.exponent:.2f} ± {self.reach:.2f}"


def run(instance: Instance, policies: Sequence[str], horizon: int, trials: int, **options: object) -> Result:
    """Trials on one core: others may want the rest. Horizons have outcomes of their own."""
    options = {"checkpoints": [horizon], **options}
    return simulate(instance, policies, horizon=horizon, trials=trials, seed=SEED + horizon, workers=1, **options)  # type: ignore[arg-type]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as the page has it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def mean_of(values: NDArray[np.float64]) -> str:
    """A mean and its standard error."""
    mean, error = float(np.mean(values)), standard_error(values)
    return f"{mean:,.1f} ± {error:.1f}" if mean < 1_000 else f"{mean:,.0f} ± {error:,.0f}"


def growth(values: Sequence[NDArray[np.float64]], horizons: Sequence[int]) -> Growth:
    """From the means at the first and at the last horizon, by their standard errors."""
    first, last = values[0], values[-1]
    decades = np.log(horizons[-1] / horizons[0])
    error = np.hypot(standard_error(first) / np.mean(first), standard_error(last) / np.mean(last)) / decades
    return Growth(float(np.log(np.mean(last) / np.mean(first)) / decades), float(1.96 * error))


def share_of(hits: NDArray[np.bool_]) -> str:
    """How many of all trials, and the exact 95 % interval of the share."""
    found = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci()
    return f"{int(hits.sum())} of {len(hits)} ({100 * found.low:.1f} to {100 * found.high:.1f} %)"


def shortfall(result: Result, policy: str, horizon: int) -> NDArray[np.float64]:
    """How much less was earned, in mean rewards, than by the best mixture of the example's arms."""
    return BEST_MIXTURE * horizon - result.of(policy).plays @ EXAMPLE.mu


def spent(result: Result, policy: str) -> NDArray[np.float64]:
    """The total risk of every trial."""
    return np.asarray(result.of(policy).risk.reshape(result.trials, -1).sum(axis=1))


def example_table(results: dict[int, Result]) -> str:
    """Unsafe plays on the paper's example."""
    rows = []
    for policy in [*AGGREGATE, *PER_ROUND]:
        plays = [results[horizon].final(policy, "unsafe_plays") for horizon in HORIZONS]
        cells = [mean_of(plays[HORIZONS.index(horizon)]) for horizon in SHOWN]
        last = results[HORIZONS[-1]]
        rows.append([f"`{policy}`", *cells, str(growth(plays, HORIZONS)), mean_of(last.final(policy))])
    head = ["policy", *(f"T = {horizon:,}" for horizon in SHOWN), "grows as T to the power", "regret at 100,000"]
    return table(head, rows)


def excess(result: Result, policy: str, horizon: int) -> NDArray[np.float64]:
    """How much more harm there was than alpha T."""
    return spent(result, policy) - EXAMPLE.alpha * horizon


def clear_growth(values: Sequence[NDArray[np.float64]]) -> str:
    """How a mean grows over the last tenfold, where it is clearly above 0."""
    last = [values[HORIZONS.index(horizon)] for horizon in LAST_TENFOLD]
    clear = all(np.mean(one) > 3 * standard_error(one) for one in last)
    return str(growth(last, LAST_TENFOLD)) if clear else ""


def aggregate_table(results: dict[int, Result]) -> str:
    """What systems with a constraint in aggregate promise, on the same example."""
    rows = []
    for policy in AGGREGATE:
        short = [shortfall(results[horizon], policy, horizon) for horizon in HORIZONS]
        over = [excess(results[horizon], policy, horizon) for horizon in HORIZONS]
        cells = [mean_of(short[-1]), clear_growth(short), mean_of(over[-1]), clear_growth(over), share_of(over[-1] > 0)]
        rows.append([f"`{policy}`", *cells])
    grows = "grows as T to the power"
    head = ["policy", "short of the best mixture", grows, "harms above alpha T", grows, "trials above alpha T"]
    return table(head, rows)


def conservative_table(trials: int) -> str:
    """Rounds in which the promise was broken, beside regret."""
    policies = [f"conservative:loss={loss}" for loss in (0.05, 0.1, 0.2)] + ["docb", "tsbu"]
    result = run(REWARDS, policies, ROUNDS, trials, checkpoints=range(1, ROUNDS + 1))
    rows = []
    for policy in policies:
        loss = float(policy.partition("loss=")[2] or 0.1)
        broken = violations(result, policy, loss=loss).astype(float)
        rows.append([f"`{policy}`", f"{loss:g}", share_of(broken > 0), mean_of(broken), mean_of(result.final(policy))])
    return table(["policy", "loss allowed", "trials with a violated round", "rounds violated", "regret"], rows)


def con_lcb_tables(trials: int) -> tuple[str, str]:
    """Plays of every arm against what the paper allows, and flags."""
    horizons = [1_000, 10_000, 100_000]
    results = {horizon: run(GAPS, ["con-lcb", "docb"], horizon, trials) for horizon in horizons}
    rows = []
    for arm, gap in enumerate([0.3, 0.1, 0.0, 0.2]):
        if gap > 0:
            for policy in ("con-lcb", "docb"):
                cells = [mean_of(results[horizon].of(policy).plays[:, arm].astype(float)) for horizon in horizons]
                bound = f"{1 + 2 * np.log(2 * horizons[-1] ** 2) / gap**2:,.0f}" if policy == "con-lcb" else ""
                rows.append([f"{arm + 1}, gap {gap:g}", f"`{policy}`", *cells, bound])
    plays = table(["arm", "policy", *(f"T = {horizon:,}" for horizon in horizons), "allowed at 100,000"], rows)
    rows = []
    for name, instance, right in (("feasible", GAPS, True), ("infeasible", INFEASIBLE, False)):
        cells = []
        for horizon in (100, 1_000, 10_000):
            flags = says_feasible(run(instance, ["con-lcb"], horizon, trials), "con-lcb")
            cells.append(share_of(flags == right))
        rows.append([name, *cells])
    return plays, table(["instance", *(f"flag right, T = {horizon:,}" for horizon in (100, 1_000, 10_000))], rows)


def ours_table(trials: int) -> str:
    """Every system on the paper's own problem."""
    policies = [*AGGREGATE, "conservative", *PER_ROUND]
    rows = []
    results = [run(instance_by_name("drug-trial"), policies, horizon, trials) for horizon in (1_000, 50_000)]
    for policy in policies:
        cells = [mean_of(result.final(policy, metric)) for result in results for metric in ("regret", "unsafe_plays")]
        rows.append([f"`{policy}`", *cells, f"{np.mean(results[-1].of(policy).held):,.0f}"])
    head = [f"{what}, T = {horizon:,}" for horizon in (1_000, 50_000) for what in ("regret", "unsafe plays")]
    return table(["policy", *head, "units without an arm at 50,000"], rows)


def picture(results: dict[int, Result]) -> None:
    """Unsafe plays against T, and what is short of the best mixture."""
    figure, (left, right) = new_figure(2)
    times = np.array(HORIZONS, float)
    lines, short = {}, {}
    for policy in [*AGGREGATE, *PER_ROUND]:
        plays = np.array([np.mean(results[horizon].final(policy, "unsafe_plays")) for horizon in HORIZONS])
        lines[policy] = Line(times, plays)
    for policy in ("bwk", "pess:bounds=published"):
        short[f"{policy}: reward short of the best mixture"] = Line(
            times, np.array([np.mean(shortfall(results[horizon], policy, horizon)) for horizon in HORIZONS])
        )
    name = "bwcr:bounds=published"
    over = np.array([np.mean(excess(results[horizon], name, horizon)) for horizon in HORIZONS])
    short[f"{name}: harms above alpha T"] = Line(times, over)
    draw_lines(left, lines)
    left.plot(times, EXAMPLE.alpha * times, color=GUIDE, linewidth=1, linestyle="--", label="alpha T")
    left.set(xscale="log", yscale="log", xlabel="T", ylabel="unsafe plays", title="(1/2, 0), (1, 1), alpha 1/2")
    left.set_ylim(5, 2e5)
    left.legend(frameon=False, fontsize=7)
    draw_lines(right, short)
    right.plot(times, np.sqrt(times), color=GUIDE, linewidth=1, linestyle="--", label="sqrt(T)")
    right.set(xscale="log", yscale="log", xlabel="T", ylabel="mean", title="on their own terms")
    right.set_ylim(20, 2e4)
    right.legend(frameon=False, fontsize=7)
    figure.savefig(ROOT / "docs" / "pictures" / "rivals.png", dpi=110, metadata={"Software": None})


def main() -> int:
    """Run everything, print the tables, and write them into the page."""
    part = 10 if "--quick" in sys.argv else 1
    results = {horizon: run(EXAMPLE, [*AGGREGATE, *PER_ROUND], horizon, 200 // part) for horizon in HORIZONS}
    plays, flags = con_lcb_tables(400 // part)
    tables = {
        "example": example_table(results),
        "aggregate": aggregate_table(results),
        "conservative": conservative_table(400 // part),
        "con-lcb": plays,
        "flags": flags,
        "ours": ours_table(200 // part),
    }
    for text in tables.values():
        print(text, end="\n\n")
    if part == 1:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in tables.items():
            before, rest = page.split(f"<!-- {name} -->\n")
            _, after = rest.split(f"<!-- /{name} -->")
            page = f"{before}<!-- {name} -->\n{text}\n<!-- /{name} -->{after}"
        PAGE.write_text(page, encoding="utf-8")
        picture(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
