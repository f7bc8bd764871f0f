"""The report: what the designs do, for a board to read and a reviewer to check; a page that loads nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safebandit.simulation.plots import save
from safebandit.studies.designs import figures
from safebandit.studies.designs.asking import Key, estimate
from safebandit.studies.designs.catalogue import CHARACTERISTICS
from safebandit.studies.designs.cells import SHARE
from safebandit.studies.designs.estimation_table import estimation_of
from safebandit.studies.designs.results import MAIN
from safebandit.studies.report import write_page
from safebandit.trials.design_words import describe

if TYPE_CHECKING:
    from safebandit.studies.designs.estimates import Estimate
    from safebandit.studies.designs.results import Characteristics, Played

# The page shows pictures of so many scenarios, the first ones; its tables have all.
MOST_PICTURES = 12


def write_report(found: Characteristics, folder: Path, *, question: str = "", seconds: float = 0.0) -> Path:
    """Draw the pictures and write report.html."""
    pictures = _draw(found, folder / "figures")
    return write_page(
        folder / "report.html", "designs.html", seed=found.seed, seconds=seconds, found=found, question=question,
        by_scenario=[_scenario(found, name) for name in found.scenarios],
        designs=[(name, found.of(name, found.scenarios[0]).design) for name in found.designs],
        pairs=_pairs(found), pictures=pictures, main=MAIN, kinds={name: CHARACTERISTICS[name].kind for name in MAIN},
        corrected=0 if (first := found.played[0].corrected) is None else first.trials,
        terms=[CHARACTERISTICS[name] for name in MAIN], words=describe, delay=_delay,
        shares=[name for name in MAIN if CHARACTERISTICS[name].kind == SHARE],
        counts=[name for name in MAIN if CHARACTERISTICS[name].kind != SHARE],
    )  # fmt: skip


def _delay(delay: Any) -> str:
    written = delay.written()
    return f"{written:g}" if isinstance(written, float) else str(written)


def _draw(found: Characteristics, folder: Path) -> list[tuple[str, Path]]:
    drawn = []
    for number, scenario in enumerate(found.scenarios[:MOST_PICTURES], start=1):
        figure = figures.selection_and_allocation(found, scenario)
        about = f"Selection and allocation by arm on {scenario}"
        drawn.append((about, save(figure, folder / f"selection-{number}-{_file_name(scenario)}")))
    drawn.append(("Units on unsafe arms", save(figures.unsafe_units(found), folder / "unsafe-units")))
    drawn.append(("Size of the trials", save(figures.sizes(found), folder / "size")))
    for design in found.designs[:1]:
        figure = figures.sample_of_trials(found, design, found.scenarios[0])
        about = f"The first trials of {design} on {found.scenarios[0]}"
        drawn.append((about, save(figure, folder / "trials")))
    return drawn


def _file_name(text: str) -> str:
    """A name that is one on any system: what users write is no path."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:40] or "unnamed"


def _scenario(found: Characteristics, name: str) -> dict[str, Any]:
    """All that the page shows of one scenario."""
    some = [found.of(design, name) for design in found.designs]
    truth = some[0].cell.truth
    return {
        "name": name,
        "scenario": some[0].scenario,
        "truth": truth,
        "arms": list(some[0].design.arms),
        "rows": [_row(found, each) for each in some],
    }


def _row(found: Characteristics, each: Played) -> dict[str, Any]:
    cell, arms = each.cell, each.design.arms
    bar = found.more_than(each)
    return {
        "label": each.label,
        "units": each.design.units,
        "bar": bar,
        "main": {name: estimate(cell, Key(name)) for name in MAIN},
        "more_than": estimate(cell, Key("unsafe units", f"more than {bar}")),
        "selected": [estimate(cell, Key("selected", arm)) for arm in arms],
        "given": [estimate(cell, Key("units", arm)) for arm in arms],
        "harms": [estimate(cell, Key("harms", arm)) for arm in arms],
        "stopped": {cause: estimate(cell, Key("stopped", cause)) for cause in each.design.causes},
        "other": {name: _single(each, name) for name in ("type I error", "power", "ideal design", "best excluded")},
        "unsafe": bool(cell.truth.unsafe.any()),
        "estimation": list(estimation_of(cell)),
    }


def _single(each: Played, name: str) -> Estimate | None:
    return estimate(each.cell, Key(name)) if CHARACTERISTICS[name].parts(each.cell) else None


def _pairs(found: Characteristics) -> list[dict[str, Any]]:
    first, *others = found.designs
    return [
        {
            "scenario": scenario, "design": other, "minus": first,
            "differences": {name: found.compare(other, first, scenario, name) for name in MAIN},
        }
        for scenario in found.scenarios
        for other in others
    ]  # fmt: skip
