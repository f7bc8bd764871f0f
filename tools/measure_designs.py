"""Measure what docs/reference-designs.md shows, and write its tables anew; some minutes on one core.

python tools/measure_designs.py          as the page has it
python tools/measure_designs.py --quick  a tenth of the trials, to see that it runs; nothing is written
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from safebandit.problems.scenario import Scenario
from safebandit.studies.designs.asking import Key, estimate
from safebandit.studies.designs.published import compare
from safebandit.studies.designs.results import Characteristics
from safebandit.studies.designs.run import operating_characteristics

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference-designs.md"
SEED = 1
TRIALS = 10_000
OURS = "safe:policy=safe-ids,alpha=.35,units=36,cohort=3,steps=1,harm=.95,futility=.95,least_reward=.25"
DESIGNS = {
    "safe-ids, one step at a time": OURS,
    "BOIN12": "boin12:tolerated=.35,wanted=.25,cohort=3,units=36,enough=12",
    "BOIN12, all units": "boin12:tolerated=.35,wanted=.25,cohort=3,units=36,enough=36",
    "equal": "equal:units=36,alpha=.35,least_reward=.25",
}
SCENARIOS = {
    "third dose best": ((0.12, 0.39, 0.43, 0.55, 0.65), (0.03, 0.17, 0.35, 0.5, 0.65)),
    "third dose best, wide margin": ((0.1, 0.3, 0.6, 0.65, 0.7), (0.03, 0.1, 0.2, 0.5, 0.65)),
    "plateau from the second": ((0.2, 0.5, 0.5, 0.5, 0.5), (0.05, 0.1, 0.2, 0.45, 0.6)),
    "highest best, all safe": ((0.1, 0.2, 0.3, 0.45, 0.6), (0.03, 0.06, 0.1, 0.15, 0.2)),
    "none is safe": ((0.2, 0.3, 0.4, 0.5, 0.6), (0.5, 0.6, 0.7, 0.75, 0.8)),
    "none has a benefit": ((0.05, 0.05, 0.05, 0.05, 0.05), (0.05, 0.1, 0.15, 0.2, 0.25)),
}
SHOWN = {"best selected": "best selected, %", "unsafe selected": "unsafe selected, %", "none selected": "none, %"}
MEANS = {"unsafe units": "unsafe units", "all harms": "harms", "size": "units"}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as the page has it."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def published(trials: int) -> str:
    """What others printed, and what comes out here."""
    rows = []
    for verdict in compare(trials=trials, seed=SEED, workers=1):
        case, digits = verdict.case, 1 if verdict.what == "size" else 3
        difference = (verdict.ours - verdict.printed) / verdict.error if verdict.error > 0 else 0.0
        numbers = [f"{value:.{digits}f}" for value in (verdict.printed, verdict.ours)]
        agrees = "yes" if verdict.agrees else "**no**"
        rows.append([case.name, case.source, verdict.what, *numbers, f"{difference:+.1f}", agrees])
    return table(["design", "printed by", "what", "printed", "here", "standard errors", "agrees"], rows)


def compared(found: Characteristics) -> str:
    """Every design on every scenario, in the numbers that matter to people."""
    parts = []
    for name in found.scenarios:
        mu, nu = SCENARIOS[name]
        rows = []
        for design in found.designs:
            cell = found.of(design, name).cell
            shares = [estimate(cell, Key(key)) for key in SHOWN]
            means = [estimate(cell, Key(key)) for key in MEANS]
            texts = [f"{100 * each.value:.1f} ± {100 * each.se:.1f}" for each in shares]
            rows.append([design, *texts, *(f"{each.value:.2f} ± {each.se:.2f}" for each in means)])
        truth = f"benefit {', '.join(f'{each:g}' for each in mu)}; toxicity {', '.join(f'{each:g}' for each in nu)}"
        parts.append(f"**{name}** ({truth})\n\n" + table(["design", *SHOWN.values(), *MEANS.values()], rows))
    return "\n\n".join(parts)


def main() -> None:
    """Measure, and write the page."""
    quick = "--quick" in sys.argv[1:]
    trials = TRIALS // 10 if quick else TRIALS
    scenarios = [Scenario(name, mu=mu, nu=nu) for name, (mu, nu) in SCENARIOS.items()]
    found = operating_characteristics(DESIGNS, scenarios, trials=trials, seed=SEED, workers=1)
    written = {"compared": compared(found), "published": published(trials)}
    if quick:
        print("\n\n".join(written.values()))
        return
    page = PAGE.read_text(encoding="utf-8")
    for name, text in written.items():
        marked = re.compile(rf"(?<=<!-- {name} -->\n).*(?=<!-- /{name} -->)", flags=re.DOTALL)
        page = marked.sub(lambda _, text=text: f"\n{text}\n\n", page)  # type: ignore[misc]
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
