"""Measure what docs/explanation/coverage.md shows, and write its tables anew; half an hour on one core.

python tools/measure_coverage.py          as the page has it
python tools/measure_coverage.py corrected  one of its two parts, coverage or corrected
python tools/measure_coverage.py --quick  few trials, to see that it runs; nothing is written
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import safebandit as sb
from safebandit.studies.designs.estimates import Estimate
from safebandit.studies.designs.estimation_table import estimation_of
from safebandit.studies.designs.results import Characteristics

PAGE = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "coverage.md"
SEED = 1
TRIALS = 10_000
CORRECTED = 400
EQUAL, RAR = "equal:units=90,alpha=.3", "rar:units=90,looks=15,alpha=.3"
IDS = "safe:policy=safe-ids,alpha=.3,units=90,harm=.95,looks=15"
BOIN = "boin:target=.3,cohort=3,units=30,enough=9"
DESIGNS = {"equal": EQUAL, "rar": RAR, "safe-ids": IDS}
SCENARIOS: dict[str, dict[str, Any]] = {
    "null": {"mu": (0.3, 0.3, 0.3), "nu": (0.1, 0.1, 0.1)},
    "one better arm": {"mu": (0.3, 0.5, 0.3), "nu": (0.1, 0.1, 0.1)},
    "nu* = alpha": {"mu": (0.3, 0.5, 0.4), "nu": (0.1, 0.3, 0.5)},
    "delays": {"mu": (0.3, 0.5, 0.3), "nu": (0.1, 0.1, 0.1), "reward_delay": 15, "risk_delay": 15},
    "early stopping": {"mu": (0.2, 0.7, 0.2), "nu": (0.1, 0.1, 0.1)},
}
DOSES: dict[str, dict[str, Any]] = {
    "third dose at the target": {"nu": (0.05, 0.15, 0.3, 0.45, 0.6)},
    "lowest dose too toxic": {"nu": (0.5, 0.55, 0.6, 0.65, 0.7)},
}
PLAIN = ("bias", "rmse", "posterior coverage", "exact coverage", "sequence coverage")
BESIDE = ("bias", "corrected bias", "rmse", "corrected rmse", "posterior coverage", "corrected coverage")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as the page has it."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def shown(name: str, found: Estimate) -> str:
    """A number with its Monte-Carlo error; shares in %."""
    if found.se != found.se:
        return "-"
    if "coverage" in name:
        return f"{100 * found.value:.1f} ± {100 * found.se:.1f}"
    return f"{found.value:.3f} ± {found.se:.3f}"


def heads(names: Sequence[str]) -> list[str]:
    """The heads of these columns."""
    return [f"{name}, %" if "coverage" in name else name for name in names]


def rows_of(found: Characteristics, scenario: str, names: Sequence[str]) -> Iterator[list[str]]:
    """A row for every design, quantity and arm."""
    for design in found.designs:
        played = found.of(design, scenario)
        for row in estimation_of(played.cell):
            if row.numbers["bias"].value == row.numbers["bias"].value:
                numbers = (shown(name, row.numbers[name]) for name in names)
                yield [design, row.quantity, row.arm, *numbers]


def truth(said: Mapping[str, Any]) -> str:
    """The means of a scenario in words."""
    words = {"mu": "reward", "nu": "risk"}
    means = [f"{words[key]} {', '.join(f'{each:g}' for each in said[key])}" for key in ("mu", "nu") if key in said]
    return "; ".join([*means, *(["outcomes 15 units later"] if "risk_delay" in said else [])])


def sections(found: Characteristics, said: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    """A table for every scenario."""
    for scenario in found.scenarios:
        size = "; ".join(
            f"{design} {found.estimate(design, scenario, 'size').value:.1f} units, "
            f"{100 * found.estimate(design, scenario, 'stopped early').value:.0f} % stopped early"
            for design in found.designs
        )
        yield f"**{scenario}** ({truth(said[scenario])}; {size})\n\n" + table(
            ["design", "mean", "of arm", *heads(names)], list(rows_of(found, scenario, names))
        )


def play(designs: Mapping[str, str], said: Mapping[str, Any], trials: int, corrected: int = 0) -> Characteristics:
    """These designs on these scenarios."""
    scenarios = [sb.Scenario(name, **means) for name, means in said.items()]
    return sb.operating_characteristics(
        dict(designs), scenarios, trials=trials, seed=SEED, workers=1, corrected=corrected
    )


def coverage(trials: int) -> str:
    """Every interval in designs of every kind."""
    found = play(DESIGNS, SCENARIOS, trials), play({"boin": BOIN}, DOSES, trials)
    parts = (*sections(found[0], SCENARIOS, PLAIN), *sections(found[1], DOSES, PLAIN))
    return "\n\n".join(parts)


def corrected(trials: int) -> str:
    """Plain means beside corrected ones."""
    some = {name: SCENARIOS[name] for name in ("null", "one better arm", "early stopping")}
    found = play({"equal": EQUAL, "rar": RAR}, some, trials, trials), play({"boin": BOIN}, DOSES, trials, trials)
    return "\n\n".join((*sections(found[0], some, BESIDE), *sections(found[1], DOSES, BESIDE)))


def main() -> None:
    """Measure, and write the page."""
    quick = "--quick" in sys.argv[1:]
    measured = {"coverage": (coverage, 200 if quick else TRIALS), "corrected": (corrected, 20 if quick else CORRECTED)}
    wanted = [name for name in measured if name in sys.argv[1:]] or list(measured)
    for name in wanted:
        measure, trials = measured[name]
        text = measure(trials)
        if quick:
            print(text)
            continue
        page = PAGE.read_text(encoding="utf-8")
        marked = re.compile(rf"(?<=<!-- {name} -->\n).*(?=<!-- /{name} -->)", flags=re.DOTALL)
        PAGE.write_text(marked.sub(lambda _, text=text: f"\n{text}\n\n", page), encoding="utf-8")  # type: ignore[misc]


if __name__ == "__main__":
    main()
