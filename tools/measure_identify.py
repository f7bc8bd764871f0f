"""The numbers of docs/explanation/identify.md: what each system of pure exploration shows on its own problem."""

from __future__ import annotations

import sys

import safebandit as sb

# Six arms with two risks each: three are feasible; the fourth and the fifth are nearest to the boundary, from outside.
SAFE_SET = "risk1 + risk2 <= 0.5, reward >= 0.2"
MU = [0.3, 0.5, 0.6, 0.4, 0.7, 0.8]
NU = [[0.05, 0.15, 0.2, 0.1, 0.35, 0.6], [0.05, 0.1, 0.15, 0.5, 0.25, 0.3]]
UNITS, TRIALS = (100, 200, 300, 400, 600), 3_000
GAPS, MOST_UNITS, FEW_TRIALS = (0.4, 0.3, 0.2, 0.15), 12_000, 500


def of_gap(gap: float) -> sb.Instance:
    """Three arms that are all told apart by this much: the best one, one of less reward, and an infeasible one."""
    return sb.Instance.bernoulli([0.5 + gap / 2, 0.5 - gap / 2, 0.9], [0.5 - gap, 0.5 - gap, 0.5 + gap], 0.5)


def say(words: str) -> None:
    """A line, at once."""
    print(words, flush=True)


def main() -> int:
    """Print both tables; a few minutes."""
    for gap in GAPS:
        found = sb.identify(of_gap(gap), systems="tf-lucb", units=MOST_UNITS, trials=FEW_TRIALS, seed=12)
        point, hardness = found.points[0], found.plan.truth.top_hardness or 0.0
        say(
            f"| {gap} | {hardness:.1f} | {point.used.value:,.0f} ± {point.used.error:.0f} | "
            f"{point.used.value / hardness:.1f} | {point.top_error.value:.3f} ± {point.top_error.error:.3f} |"
        )
    found = sb.identify(sb.Instance.bernoulli(MU, NU, 1.0), SAFE_SET, units=UNITS, trials=TRIALS, seed=11)
    say(f"hardness {found.plan.truth.hardness:.0f}; distances {found.plan.truth.distances.round(4).tolist()}")
    for point in found.points:
        wrong = " | ".join(
            f"{100 * each.value:.2f} ± {100 * each.error:.2f}" for each in (point.feasible_error, point.top_error)
        )
        say(f"| {point.system} | {point.units} | {wrong} | {point.infeasible_units.value:.0f} |")
    for system in found.plan.systems:
        for question in ("feasible_error", "top_error"):
            say(f"{system} {question}: {found.decay(system, question)}")
    if len(sys.argv) > 1:
        say(str(found.write(sys.argv[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
