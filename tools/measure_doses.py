"""Measure what docs/explanation/doses-within-arms.md shows, and write it anew; some minutes on one core.

python tools/measure_doses.py          as the page has it
python tools/measure_doses.py --quick  a tenth of the trials, to see that it runs; nothing is written
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

import safebandit as sb

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "explanation" / "doses-within-arms.md"
SEED, TRIALS = 1, 2_000
# Arm 0 has the steepest reward and the steepest risk; arm 1 is best at a safe dose.
LINES = sb.DosedInstance.linear([0.8, 0.6, 0.3], [0.9, 0.4, 0.5], alpha=0.3)
# The best arm is the last, because the first is answered before anything is known.
CURVES = sb.DosedInstance(
    ("linear:low=0,high=0.5", "logistic:low=0.02,high=0.6", "emax:bottom=0,top=0.9,half=0.3"),
    ("linear:low=0,high=0.4", "logistic:low=0.01,high=0.35", "logistic:low=0.02,high=0.9"),
    alpha=0.3,
)
UNITS = (1_000, 10_000, 100_000, 1_000_000)
SYSTEMS = ("safe-linear", "safe-linear:parts=1", "safe-monotonic", "safe-monotonic:tolerance=0.05", "uniform")
GAPS = (0.4, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.00625)
HEAD = (
    "system", "units", "wrong arm, %", "unsafe answer, %", "any unsafe dose, %", "promise broken, %", "units used",
    "on unsafe doses, %", "regret per unit", "ended, %",
)  # fmt: skip


def table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    """A table as the page has it."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def told(found: sb.DoseStudy) -> str:
    """Every system after each number of units."""
    rows = []
    for each in found.points:
        shares = [
            f"{100 * part.value:.1f} ± {100 * part.error:.1f}"
            for part in (each.wrong, each.unsafe_answer, each.unsafe, each.broken)
        ]
        used = f"{each.used.value:,.0f} ± {each.used.error:,.0f}"
        unsafe = f"{100 * each.unsafe_units.value / each.used.value:.1f}"
        regret = f"{each.regret.value:.3f}"
        rows.append([each.system, f"{each.units:,}", *shares, used, unsafe, regret, f"{100 * each.ended.value:.1f}"])
    return table(HEAD, rows)


def by_gap(trials: int) -> str:
    """How many units Safe-Linear uses where the second best arm falls short by a gap."""
    rows = []
    for gap in GAPS:
        instance = sb.DosedInstance.linear([0.6 - gap, 0.6], [0.3, 0.3], alpha=0.3)
        point = sb.identify_doses(
            instance, systems="safe-linear", units=10**9, trials=trials, seed=SEED
        ).points[0]  # fmt: skip
        used = point.used
        rows.append(
            [f"{gap:g}", f"{used.value:,.0f} ± {used.error:,.0f}", f"{used.value * gap**2:,.0f}",
             f"{100 * point.wrong.value:.1f}", f"{100 * point.unsafe.value:.1f}"]
        )  # fmt: skip
    return table(("gap", "units used", "units x gap^2", "wrong arm, %", "any unsafe dose, %"), rows)


def main() -> None:
    """Measure, and write the page."""
    quick = "--quick" in sys.argv[1:]
    trials = TRIALS // 10 if quick else TRIALS
    lines = sb.identify_doses(LINES, systems=SYSTEMS, units=UNITS, trials=trials, seed=SEED)
    curves = sb.identify_doses(CURVES, units=(*UNITS, 10_000_000), trials=trials // 4, seed=SEED)
    written = {"lines": told(lines), "curves": told(curves), "gaps": by_gap(trials // 4)}
    if quick:
        print("\n\n".join(written.values()))
        return
    page = PAGE.read_text(encoding="utf-8")
    for name, text in written.items():
        marked = re.compile(rf"(?<=<!-- {name} -->\n).*(?=<!-- /{name} -->)", flags=re.DOTALL)
        page = marked.sub(lambda _, text=text: f"\n{text}\n\n", page)  # type: ignore[misc]
    PAGE.write_text(page, encoding="utf-8")
    shown = sb.identify_doses(
        LINES, systems=("safe-linear", "safe-monotonic", "uniform"), units=UNITS, trials=trials // 4, seed=SEED
    )
    with tempfile.TemporaryDirectory() as folder:
        for picture in shown.write(folder):
            shutil.copy(picture, DOCS / "pictures" / f"doses-{picture.name}")


if __name__ == "__main__":
    main()
