"""Measure what docs/explanation/reference-designs.md shows, and write its tables anew; some minutes on one core.

python tools/measure_designs.py          as the page has it
python tools/measure_designs.py --quick  a tenth of the trials, to see that it runs; nothing is written
python tools/measure_designs.py doses    one of the tables alone: compared, doses or published
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

PAGE = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "reference-designs.md"
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
# Dose finding: six doses of which one has a risk near the target of .3, or none.
FINDING = {
    "dose-ts, logistic": "dose-ts:target=.3,units=36",
    "dose-ts, independent": "dose-ts:target=.3,units=36,model=independent",
    "dose-ts, logistic, any dose": "dose-ts:target=.3,units=36,cutoff=1,skips=true",
    "dose-ts, independent, any dose": "dose-ts:target=.3,units=36,model=independent,cutoff=1,skips=true",
    "CRM": "crm:target=.3,cohort=3,units=36",
    "BOIN": "boin:target=.3,cohort=3,units=36",
    "mTPI": "mtpi:target=.3,cohort=3,units=36",
}
RISKS = {
    "fourth dose on target": (0.05, 0.12, 0.2, 0.3, 0.45, 0.6),
    "second dose on target": (0.12, 0.3, 0.44, 0.55, 0.65, 0.75),
    "highest dose on target": (0.01, 0.03, 0.06, 0.12, 0.2, 0.3),
    "none is safe": (0.5, 0.58, 0.66, 0.74, 0.8, 0.85),
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


def found_doses(trials: int) -> str:
    """Every dose-finding design on every scenario: what it selects, and what that costs."""
    scenarios = [Scenario(name, nu=nu) for name, nu in RISKS.items()]
    found = operating_characteristics(FINDING, scenarios, trials=trials, seed=SEED, workers=1)
    parts = []
    for name, nu in RISKS.items():
        rows = []
        for design in FINDING:
            cell = found.of(design, name).cell
            keys = [*(Key("selected", str(k)) for k in range(len(nu))), Key("none selected")]
            shares = [f"{100 * estimate(cell, key).value:.1f}" for key in keys]
            means = [estimate(cell, Key(key)) for key in MEANS]
            rows.append([design, *shares, *(f"{each.value:.2f} ± {each.se:.2f}" for each in means)])
        doses = [f"{risk:g}" for risk in nu]
        parts.append(
            f"**{name}** (selected, % of trials, by risk)\n\n"
            + table(["design", *doses, "none", *MEANS.values()], rows)
        )
    return "\n\n".join(parts)


def compared_scenarios(trials: int) -> str:
    """Ours beside designs with two outcomes."""
    scenarios = [Scenario(name, mu=mu, nu=nu) for name, (mu, nu) in SCENARIOS.items()]
    return compared(operating_characteristics(DESIGNS, scenarios, trials=trials, seed=SEED, workers=1))


TABLES = {"compared": compared_scenarios, "doses": found_doses, "published": published}


def main() -> None:
    """Measure, and write the page."""
    quick = "--quick" in sys.argv[1:]
    trials = TRIALS // 10 if quick else TRIALS
    asked = [each for each in sys.argv[1:] if each in TABLES] or [*TABLES]
    written = {name: TABLES[name](trials) for name in asked}
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
