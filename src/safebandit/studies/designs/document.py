"""What one design comes to on one scenario, as JSON holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from safebandit.studies.designs.asking import SHOWN, Key, estimate
from safebandit.studies.designs.catalogue import CHARACTERISTICS
from safebandit.studies.designs.cells import COUNT, ROOT, Cell

if TYPE_CHECKING:
    from safebandit.studies.designs.results import Played

# By arm, cause or risk; names of JSON are those of the table with underscores.
LISTED = ("selected", "units", "rewards", "harms", "excluded", "dropped")
SHARES = ("best selected", "unsafe selected", "best excluded", "stopped early", "type I error", "power", "ideal design")


def document_of(played: Played, more_than: float) -> dict[str, Any]:
    """Every number of one design on one scenario with its standard error; none is left out because it is 0."""
    cell, runs = played.cell, played.runs
    names = list(played.design.arms)
    truth: dict[str, Any] = {
        "arms": names,
        "best": [name for name, best in zip(names, cell.truth.best, strict=True) if best],
        "unsafe": [name for name, unsafe in zip(names, cell.truth.unsafe, strict=True) if unsafe],
    }
    none = estimate(cell, Key("none selected"))
    found: dict[str, Any] = {"none": none.value, "none_se": none.se, "none_low": none.low, "none_high": none.high}
    for name in LISTED:
        found |= _listed(cell, name)
    for name in SHARES:
        found |= _single(cell, name)
    counts = {_snake(name): _count(cell, name) for name, each in CHARACTERISTICS.items() if each.kind == COUNT}
    chance = estimate(cell, Key("unsafe units", f"more than {more_than:g}"))
    counts["unsafe_units"]["more_than"] = {"units": more_than, "share": chance.value, **_errors(chance)}
    return {
        "design": played.label,
        "scenario": played.scenario.name,
        "trials": len(runs.size),
        **truth,
        **found,
        **{name: count for name, count in counts.items() if count},
        **_by_part(cell, "stopped"),
        **_by_part(cell, "harms by risk"),
        "estimates": _estimates(cell),
        **({} if cell.corrected is None else {"corrected_trials": cell.corrected.trials}),
        "processor_seconds": float(runs.seconds),
    }


def _snake(name: str) -> str:
    return name.replace(" ", "_").replace("I", "1")


def _errors(found: Any) -> dict[str, float]:
    return {"se": found.se, "low": found.low, "high": found.high}


def _listed(cell: Cell, name: str) -> dict[str, Any]:
    found = [estimate(cell, Key(name, of)) for of in CHARACTERISTICS[name].parts(cell)]
    if not found:
        return {}
    return {_snake(name): [each.value for each in found], f"{_snake(name)}_se": [each.se for each in found]}


def _single(cell: Cell, name: str) -> dict[str, Any]:
    if not CHARACTERISTICS[name].parts(cell):
        return {}
    found, key = estimate(cell, Key(name)), _snake(name)
    return {key: found.value, f"{key}_se": found.se, f"{key}_low": found.low, f"{key}_high": found.high}


def _by_part(cell: Cell, name: str) -> dict[str, Any]:
    found = {of: estimate(cell, Key(name, of)) for of in CHARACTERISTICS[name].parts(cell)}
    key = _snake(name)
    return {
        key: {of: each.value for of, each in found.items()},
        f"{key}_se": {of: each.se for of, each in found.items()},
    }


def _count(cell: Cell, name: str) -> dict[str, Any]:
    if not CHARACTERISTICS[name].parts(cell):
        return {}
    found = estimate(cell, Key(name))
    return {"mean": found.value, **_errors(found), **{of: estimate(cell, Key(name, of)).value for of in SHOWN}}


def _estimates(cell: Cell) -> dict[str, Any]:
    """Bias, root mean square error and coverage, by arm and of the selected arm."""
    found: dict[str, Any] = {}
    for name, each in CHARACTERISTICS.items():
        if each.kind == ROOT or name.endswith((" bias", " coverage")):
            for of in each.parts(cell):
                number = estimate(cell, Key(name, of))
                entry = {"value": number.value, "se": number.se}
                if of:
                    found.setdefault(_snake(name), {})[of] = entry
                else:
                    found[_snake(name)] = entry
    return found
