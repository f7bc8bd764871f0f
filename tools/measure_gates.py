"""Measure what docs/explanation/gates.md shows, and write its tables and its picture anew; some minutes on one core.

python tools/measure_gates.py          as the page has it
python tools/measure_gates.py --quick  a tenth of the trials, to see that it runs; nothing is written
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from safebandit import Instance, Result, instance_by_name, simulate
from safebandit.pictures import GUIDE
from safebandit.simulation.plots import Line, draw_lines, new_figure
from safebandit.simulation.summaries import standard_error
from tail_index import LEAST, tail_index

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "gates.md"
AT_THE_LIMIT = Instance.bernoulli([0.4, 0.5, 0.6], [0.4, 0.5, 0.6], 0.5)
SAMPLED = ["tsbu", "point-ts", "slack-ts", "naive-ts"]
GATES = [
    "tsbu",
    "tsbu:lasting=true",
    *(f"thompson+{name}-gate" for name in ("posterior", "mixture", "betting")),
    "point-ts",
]
TAILS = {"0": "tsbu", "0.25": "tsbu:tail=0.25", "0.5": "tsbu:tail=0.5"}
SEED = 1
# From here on the survival curve is fitted.
ABOVE = 200.0


def run(instance: Instance, policies: Sequence[str], horizon: int, trials: int, checkpoints: Sequence[int]) -> Result:
    """Trials on one core: others may want the rest."""
    return simulate(instance, policies, horizon=horizon, trials=trials, seed=SEED, checkpoints=checkpoints, workers=1)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as the page has it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def mean_of(values: NDArray[np.float64]) -> str:
    """A mean and its standard error."""
    return f"{np.mean(values):.1f} ± {standard_error(values):.1f}"


def sampled_table(result: Result) -> str:
    """Regret where the best arm's risk is alpha, at some horizons."""
    times = result.specification.checkpoints.tolist()
    shown = [200, 2_000, 20_000]
    rows = []
    for policy in result.policies:
        curve = result.curve(policy)
        plays = np.mean(result.final(policy, "unsafe_plays"))
        rows.append([f"`{policy}`", *(mean_of(curve[:, times.index(t)]) for t in shown), f"{plays:,.0f}"])
    return table(["policy", *(f"regret at T = {t:,}" for t in shown), "unsafe plays at 20,000"], rows)


def gates_table(one: Result, other: Result) -> str:
    """Regret and unsafe plays at the size of a trial."""
    rows = []
    for policy in one.policies:
        cells = []
        for result in (one, other):
            plays = result.final(policy, "unsafe_plays")
            cells += [mean_of(result.final(policy)), mean_of(plays), f"{np.quantile(plays, 0.95):.0f}"]
        rows.append([f"`{policy}`", *cells])
    head = ["regret", "unsafe plays", "95 % of trials at most"]
    return table(["policy", *head, *(f"at the limit: {name}" for name in head)], rows)


def tails_table(result: Result, longer: Result) -> str:
    """Mean against tail, and the tail index at the longer horizon."""
    rows = []
    for b, policy in TAILS.items():
        regret, plays = result.final(policy), np.mean(result.final(policy, "unsafe_plays"))
        far = longer.final(policy)
        slope = "too few above"
        if (far > ABOVE).sum() >= LEAST:
            found = tail_index(far, ABOVE)
            slope = f"{found.slope:.2f} ({found.low:.2f} to {found.high:.2f})"
        cells = [f"{np.quantile(regret, level):,.0f}" for level in (0.5, 0.99, 0.999)]
        rows.append(
            [b, mean_of(regret), *cells, f"{(regret > 1_600).sum()}", f"{plays:.0f}", f"{(far > ABOVE).sum()}", slope]
        )
    head = [
        "b",
        "mean",
        "median",
        "99 %",
        "99.9 %",
        "above 1,600",
        "unsafe plays",
        f"T = 10^5: above {ABOVE:.0f}",
        "index",
    ]
    return table(head, rows)


def picture(sampled: Result, longer: Result) -> None:
    """Regret against T, and survival curves."""
    figure, (left, right) = new_figure(2)
    times = sampled.specification.checkpoints.astype(float)
    lines = {}
    for policy in sampled.policies:
        curve = sampled.curve(policy)
        mean, reach = curve.mean(axis=0), 1.96 * curve.std(axis=0) / np.sqrt(len(curve))
        lines[policy] = Line(times, mean, mean - reach, mean + reach)
    draw_lines(left, lines)
    left.set(xscale="log", yscale="log", xlabel="T", ylabel="mean regret", title="nu* = alpha, 95 % interval")
    left.set_ylim(bottom=5)
    left.legend(frameon=False)
    shares = {}
    for b, policy in TAILS.items():
        regret = np.sort(longer.final(policy))
        shares[f"b = {b}"] = Line(regret, 1.0 - (np.arange(len(regret)) + 0.5) / len(regret))
    draw_lines(right, shares)
    x = np.geomspace(ABOVE, 1e4, 50)
    right.plot(x, 0.013 * (x / ABOVE) ** -1.0, color=GUIDE, linewidth=1, label="slope -1")
    right.set(
        xscale="log", yscale="log", xlim=(30, 1.2e4), xlabel="x", ylabel="P(regret > x)", title="tsbu, T = 100,000"
    )
    right.set_ylim(1e-4, 1.2)
    right.legend(frameon=False)
    figure.savefig(ROOT / "docs" / "pictures" / "gates.png", dpi=110, metadata={"Software": None})


def main() -> int:
    """Run everything, print the tables, and write them into the page."""
    part = 10 if "--quick" in sys.argv else 1
    times = [20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000]
    sampled = run(AT_THE_LIMIT, SAMPLED, 20_000, 400 // part, times)
    small = [run(each, GATES, 400, 2_000 // part, [400]) for each in (instance_by_name("drug-trial"), AT_THE_LIMIT)]
    tails = run(AT_THE_LIMIT, list(TAILS.values()), 20_000, 10_000 // part, [20_000])
    longer = run(AT_THE_LIMIT, list(TAILS.values()), 100_000, 6_000 // part, [100_000])
    tables = {"sampled": sampled_table(sampled), "gates": gates_table(*small), "tails": tails_table(tails, longer)}
    for text in tables.values():
        print(text, end="\n\n")
    if part == 1:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in tables.items():
            before, rest = page.split(f"<!-- {name} -->\n")
            _, after = rest.split(f"<!-- /{name} -->")
            page = f"{before}<!-- {name} -->\n{text}\n<!-- /{name} -->{after}"
        PAGE.write_text(page, encoding="utf-8")
        picture(sampled, longer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
