"""Measure what docs/how-to/analysis.md shows, and write its tables anew; some minutes on one core.

python tools/measure_analysis.py          as the page has it
python tools/measure_analysis.py --quick  a tenth of the trials, to see that it runs; nothing is written
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from safebandit.core.e_values import e_bh, log_wealth_above, wealth_larger
from safebandit.core.sequences import (
    betting_bounds,
    difference_bounds,
    mixture_bounds,
    mixture_lower,
    mixture_upper,
    planned_bounds,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "analysis.md"
TRIALS, UNITS, PLANNED, CONFIDENCE, SEED = 10_000, 200, 100, 0.95, 1
EVERY = 4
Bounds = Callable[[float, float], tuple[float, float]]
Array = NDArray[np.float64]
TRUTHS = {"both 0.3": (0.3, 0.3), "0.3 and 0.5": (0.3, 0.5), "both 0.05": (0.05, 0.05)}
SHORT = "a law on [0, 1]"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as the page has it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


class Played:
    """Trials of two arms by a greedy rule, which abandons the arm that looks worse: nine units in ten get the other.

    `arm` and `value` have a row for each trial. Of bits a mean's outcomes are bits; else a Beta law of that mean.
    """

    def __init__(self, means: tuple[float, float], trials: int, *, bits: bool = True) -> None:
        rng = np.random.default_rng(SEED)
        self.means, rows = means, np.arange(trials)
        outcomes = np.stack([_outcomes(rng, mean, (trials, UNITS), bits) for mean in means], axis=1)
        self.arm, self.value = np.zeros((trials, UNITS), int), np.zeros((trials, UNITS))
        counts, sums = np.zeros((trials, 2), int), np.zeros((trials, 2))
        for t in range(UNITS):
            better = np.argmax(sums / np.maximum(counts, 1) + 1e-9 * rng.random((trials, 2)), axis=1)
            arm = np.where(counts.min(axis=1) < 2, t % 2, np.where(rng.random(trials) < 0.1, 1 - better, better))
            self.arm[:, t], self.value[:, t] = arm, outcomes[rows, arm, counts[rows, arm]]
            sums[rows, arm] += self.value[:, t]
            counts[rows, arm] += 1
        self.plays = np.stack([(self.arm == k).cumsum(axis=1) for k in (0, 1)])
        self.sums = np.stack([np.where(self.arm == k, self.value, 0.0).cumsum(axis=1) for k in (0, 1)])


def _outcomes(rng: np.random.Generator, mean: float, shape: tuple[int, int], bits: bool) -> Array:
    if bits:
        return (rng.random(shape) < mean).astype(float)
    return rng.beta(4.0 * mean, 4.0 * (1.0 - mean), shape)


def tabulated(bounds: Bounds, units: int = UNITS) -> Array:
    """The ends for every count of bits: low and high, by plays and by ones."""
    found = np.zeros((2, units + 1, units + 1))
    for n in range(units + 1):
        for s in range(n + 1):
            found[:, n, s] = bounds(float(n), float(s))
    return found


def exact(n: float, s: float) -> tuple[float, float]:
    """Clopper and Pearson's interval, for one look at a number of outcomes that was fixed before."""
    outside = 0.5 * (1.0 - CONFIDENCE)
    low = stats.beta.ppf(outside, s, n - s + 1) if s > 0 else 0.0
    high = stats.beta.ppf(1.0 - outside, s + 1, n - s) if s < n else 1.0
    return float(low), float(high)


SEQUENCES: Mapping[str, Bounds] = {
    "mixture": lambda n, s: mixture_bounds(n, s, CONFIDENCE),
    f"mixture, planned for {PLANNED}": lambda n, s: planned_bounds(n, s, CONFIDENCE, float(PLANNED)),
    "mixture, lower alone": lambda n, s: (mixture_lower(n, s, CONFIDENCE) if n else 0.0, 1.0),
    "mixture, upper alone": lambda n, s: (0.0, mixture_upper(n, s, CONFIDENCE) if n else 1.0),
    "exact interval (for one look)": exact,
}


def shares(missed: NDArray[np.bool_]) -> list[str]:
    """How often the truth was inside: at the end, at a random look, at the worst look; a row per trial."""
    rng = np.random.default_rng(SEED + 1)
    at = rng.integers(0, missed.shape[1], len(missed))
    found = np.stack([missed[:, -1], missed[np.arange(len(missed)), at], missed.any(axis=1)])
    return [_share(~each) for each in found]


def _share(inside: NDArray[np.bool_]) -> str:
    share = float(inside.mean())
    return f"{100 * share:.2f} ± {100 * math.sqrt(share * (1.0 - share) / len(inside)):.2f}"


def coverage(trials: int) -> str:
    """Coverage of every sequence, on the worse of both arms, under the greedy rule."""
    ends = {name: tabulated(bounds) for name, bounds in SEQUENCES.items()}
    rows = []
    for truth, means in TRUTHS.items():
        played = Played(means, trials)
        n, s = played.plays, played.sums.astype(int)
        for name, (low, high) in ends.items():
            missed = [(low[n[k], s[k]] > means[k]) | (high[n[k], s[k]] < means[k]) for k in (0, 1)]
            rows.append([truth, name, *shares(max(missed, key=lambda each: each.any(axis=1).mean()))])
        rows.append([truth, "betting", *shares(betting_misses(played))])
        rows.append([truth, "difference of mixtures", *shares(difference_misses(played))])
    fractional = Played((0.3, 0.3), trials, bits=False)
    rows.append([SHORT, "betting", *shares(betting_misses(fractional))])
    rows.append([SHORT, "mixture", *shares(mixture_misses(fractional))])
    return table(["truth", "sequence", "at the end", "at a random look", "at the worst look"], rows)


def mixture_misses(played: Played) -> NDArray[np.bool_]:
    """Whether the mixture's sequence of the first arm missed its mean, every few units."""
    missed = np.zeros((len(played.arm), UNITS // EVERY), bool)
    for i in range(len(missed)):
        for j, t in enumerate(range(EVERY - 1, UNITS, EVERY)):
            low, high = mixture_bounds(float(played.plays[0, i, t]), float(played.sums[0, i, t]), CONFIDENCE)
            missed[i, j] = low > played.means[0] or high < played.means[0]
    return missed


def betting_misses(played: Played) -> NDArray[np.bool_]:
    """Whether the sequence by bets of the first arm missed its mean, unit by unit."""
    missed = np.zeros(played.arm.shape, bool)
    for i in range(len(missed)):
        values = played.value[i][played.arm[i] == 0]
        low, high = betting_bounds(values, np.arange(1, len(values) + 1), CONFIDENCE)
        outside = np.append(False, (low > played.means[0]) | (high < played.means[0]))
        missed[i] = outside[played.plays[0, i]]
    return missed


def difference_misses(played: Played) -> NDArray[np.bool_]:
    """Whether the sequence of the difference missed it, every few units."""
    missed, truth = np.zeros((len(played.arm), UNITS // EVERY), bool), played.means[1] - played.means[0]
    for i in range(len(missed)):
        for j, t in enumerate(range(EVERY - 1, UNITS, EVERY)):
            (n, m), (s, r) = played.plays[:, i, t].astype(float), played.sums[:, i, t]
            low, high = difference_bounds(m, r, n, s, CONFIDENCE)
            missed[i, j] = low > truth or high < truth
    return missed


def discoveries(trials: int) -> str:
    """False discoveries of e-BH where a trial stops at the first one, and e-values of two arms of equal means."""
    rng, arms, limit, level, rows = np.random.default_rng(SEED), 10, 0.3, 0.05, []
    wealth = np.zeros((101, 101))
    for n in range(101):
        for s in range(n + 1):
            wealth[n, s] = math.exp(log_wealth_above(float(s), float(n), limit, 1.0, 1.0))
    for bad in (0, 5):
        means = np.where(np.arange(arms) < arms - bad, limit, 0.6)
        ones = (rng.random((trials, arms, 100)) < means[:, None]).cumsum(axis=2)
        false = np.zeros(trials)
        for i in range(trials):
            for n in range(5, 101):
                stand = e_bh(wealth[n, ones[i, :, n - 1]], level)
                if stand.any():
                    false[i] = stand[: arms - bad].sum() / stand.sum()
                    break
        error = false.std() / math.sqrt(trials)
        what = f"{arms} arms, {arms - bad} of them at the limit, stopped at the first claim: false among those claimed"
        rows.append([what, f"{100 * false.mean():.2f} ± {100 * error:.2f}", f"{100 * level:g}"])
    played = Played((0.3, 0.3), trials)
    ever = np.zeros(trials, bool)
    for i in range(trials):
        for t in range(UNITS):
            (n, m), (s, r) = played.plays[:, i, t].astype(float), played.sums[:, i, t]
            if max(wealth_larger(r, m, s, n), wealth_larger(s, n, r, m)) >= 2.0 / level:
                ever[i] = True
                break
    what = "two equal arms by the greedy rule: one is ever called better, either way, at the worst look"
    rows.append([what, _share(ever), f"{100 * level:g}"])
    return table(["what", "measured, %", "at most, %"], rows)


def widths() -> str:
    """How wide sequences are beside the exact interval of one look; of bets the mean over 200 orders."""
    rng, rows = np.random.default_rng(SEED), []
    for n in (20, 50, 100, 200, 1000):
        for share in (0.05, 0.2, 0.5):
            s = round(n * share)
            low, high = exact(n, s)
            bits = np.repeat([1.0, 0.0], [s, n - s])
            orders = [betting_bounds(rng.permutation(bits), np.array([n]), CONFIDENCE) for _ in range(200)]
            found = [
                SEQUENCES["mixture"](n, s),
                SEQUENCES[f"mixture, planned for {PLANNED}"](n, s),
                planned_bounds(float(n), float(s), CONFIDENCE, float(n)),
                (0.0, float(np.mean([above[0] - below[0] for below, above in orders]))),
            ]
            ratios = [f"{(above - below) / (high - low):.2f}" for below, above in found]
            rows.append([f"{n:,}", f"{share:g}", f"{high - low:.3f}", *ratios])
    head = ["N", "share", "exact interval's width", "mixture", f"planned for {PLANNED}", "planned for N", "betting"]
    return table(head, rows)


def main() -> None:
    """Measure all, and put it between the page's marks."""
    quick = "--quick" in sys.argv[1:]
    trials = TRIALS // 10 if quick else TRIALS
    found = {"widths": widths(), "coverage": coverage(trials), "discoveries": discoveries(trials)}
    if quick:
        print("\n\n".join(found.values()))
        return
    page = PAGE.read_text(encoding="utf-8")
    for name, text in found.items():
        marked = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", flags=re.DOTALL)
        # The tables hold no backslash.
        page = marked.sub(f"\n{text}\n\n", page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
