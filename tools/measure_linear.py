"""Measure what docs/explanation/linear.md shows, and write its tables and its picture anew; some minutes on one core.

python tools/measure_linear.py          as the page has it
python tools/measure_linear.py --quick  a tenth of the trials, to see that it runs; nothing is written
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from safebandit import Instance, Result, instance_by_name, simulate
from safebandit.pictures import GUIDE
from safebandit.simulation.plots import Line, draw_lines, new_figure
from safebandit.simulation.summaries import standard_error

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "linear.md"
DOSES, PATIENTS = instance_by_name("linear-doses"), instance_by_name("dose-by-patient")
UNKNOWN = Instance.bernoulli(DOSES.mu, DOSES.nu, DOSES.alpha, arms=DOSES.arms, name="doses without features")
OPTIMISTIC = ["linear", "doss:norm=0.65", "colts:norm=0.65"]
PESSIMISTIC = [
    "safe-lucb:norm=0.65,ridge=20", "safe-lts:norm=0.65,ridge=20", "safe-lts:norm=0.65,ridge=20,inflation=1",
]  # fmt: skip
BLIND = "docb"
EVERY = [*OPTIMISTIC, *PESSIMISTIC, BLIND]
HORIZONS = [1_000, 3_000, 10_000, 30_000, 100_000]
# Over the last tenfold a power of T is read off.
FIRST, LAST = HORIZONS.index(10_000), HORIZONS.index(100_000)
SHOWN = [HORIZONS.index(horizon) for horizon in (1_000, 10_000, 100_000)]
SEED = 1


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as the page has it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def mean_of(values: NDArray[np.float64]) -> str:
    """A mean and its standard error."""
    mean, error = float(np.mean(values)), standard_error(values)
    if mean == 0.0:
        return "0"
    return f"{mean:,.1f} ± {error:.1f}" if mean < 1_000 else f"{mean:,.0f} ± {error:,.0f}"


def power(curves: NDArray[np.float64]) -> str:
    """The power of T by which a mean grew over the last tenfold, with a 95 % interval: trials are in pairs."""
    first, last = curves[:, FIRST], curves[:, LAST]
    if first.mean() == 0.0 or last.mean() == first.mean():
        return "0"
    tenfold = np.log(HORIZONS[LAST] / HORIZONS[FIRST])
    # The linear part of log(last / first), trial by trial.
    reach = 1.96 * standard_error(last / last.mean() - first / first.mean()) / tenfold
    return f"{np.log(last.mean() / first.mean()) / tenfold:.2f} ± {reach:.2f}"


def share_of(hits: NDArray[np.bool_]) -> str:
    """How many of all trials, and the exact 95 % interval of the share."""
    found = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci()
    return f"{int(hits.sum())} of {len(hits)} ({100 * found.low:.1f} to {100 * found.high:.1f} %)"


def run(instance: Instance, policies: Sequence[str], trials: int) -> Result:
    """Trials on one core: others may want the rest."""
    options = {"horizon": HORIZONS[-1], "trials": trials, "seed": SEED, "checkpoints": HORIZONS, "workers": 1}
    return simulate(instance, policies, **options)  # type: ignore[arg-type]


def growth_table(result: Result) -> str:
    """Regret and unsafe plays of every policy, and how they grow."""
    rows = []
    for policy in result.policies:
        regret, unsafe = (result.curve(policy, metric) for metric in ("regret", "unsafe_plays"))
        cells = [mean_of(regret[:, i]) for i in SHOWN] + [power(regret)]
        cells += [mean_of(unsafe[:, i]) for i in SHOWN[1:]] + [power(unsafe)]
        rows.append([f"`{policy}`", *cells])
    grows = "power of T"
    head = [f"regret, T = {HORIZONS[i]:,}" for i in SHOWN] + [grows]
    head += [f"unsafe plays, T = {HORIZONS[i]:,}" for i in SHOWN[1:]] + [grows]
    return table(["policy", *head], rows)


def promise_table(results: dict[str, Result]) -> str:
    """Trials with any unsafe play, of policies that promise none."""
    rows = []
    for policy in PESSIMISTIC:
        cells = [share_of(result.final(policy, "unsafe_plays") > 0) for result in results.values()]
        shares = [mean_of(result.of(policy).plays[:, 0] / HORIZONS[-1] * 100) for result in results.values()]
        rows.append([f"`{policy}`", *(cell for pair in zip(cells, shares, strict=True) for cell in pair)])
    head = [f"{what}, {name}" for name in results for what in ("trials with an unsafe play", "% given the safe arm")]
    return table(["policy", *head], rows)


def features_table(known: Result, unknown: Result) -> str:
    """What features are worth: the same arms with and without them."""
    rows = []
    for name, result, policy in (
        ("features known", known, "linear"),
        ("features not known", unknown, "linear"),
        ("features not known", unknown, BLIND),
    ):
        curves = result.curve(policy)
        rows.append([name, f"`{policy}`", *(mean_of(curves[:, i]) for i in SHOWN)])
    return table(["", "policy", *(f"regret, T = {HORIZONS[i]:,}" for i in SHOWN)], rows)


def picture(results: dict[str, Result]) -> None:
    """Regret against T on both problems."""
    figure, axes = new_figure(2)
    times = np.array(HORIZONS, float)
    for axis, (name, result) in zip(axes, results.items(), strict=True):
        draw_lines(axis, {policy: Line(times, result.mean(policy)) for policy in EVERY})
        axis.plot(times, 3 * np.sqrt(times), color=GUIDE, linewidth=1, linestyle="--", label="3 sqrt(T)")
        axis.set(xscale="log", yscale="log", xlabel="T", ylabel="regret", title=name)
        axis.set_ylim(50, 5e4)
    axes[0].legend(frameon=False, fontsize=7)
    figure.savefig(ROOT / "docs" / "pictures" / "linear.png", dpi=110, metadata={"Software": None})


def main() -> int:
    """Run everything, print the tables, and write them into the page."""
    part = 10 if "--quick" in sys.argv else 1
    results = {instance.name: run(instance, EVERY, 100 // part) for instance in (DOSES, PATIENTS)}
    tables = {
        "doses": growth_table(results[DOSES.name]),
        "patients": growth_table(results[PATIENTS.name]),
        "promises": promise_table(results),
        "features": features_table(results[DOSES.name], run(UNKNOWN, ["linear", BLIND], 100 // part)),
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
