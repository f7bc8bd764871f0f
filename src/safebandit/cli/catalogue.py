"""`safebandit policies`, `rules` and `instances`: what there is, with formulas and where they come from."""

from __future__ import annotations

import inspect
from typing import Any

from safebandit.cli.output import Json, plain_table, print_plain
from safebandit.problems.limits import show_alpha


def policies(json: Json = False) -> None:
    """List the policies and indices: name, parameters, formula, place in the paper."""
    _show(catalogue(), json, "Any reward index goes with any safety index: kl-upper+bayes-lower:safety.schedule=theory")


def rules(json: Json = False) -> None:
    """List the rules of a design, when it stops and what it selects: name, parameters, formula, source."""
    _show(rule_catalogue(), json, "A design takes any number of stopping rules and one selection rule.")


def _show(document: dict[str, list[dict[str, Any]]], json: bool, note: str) -> None:
    from safebandit.cli.show import console, print_json

    if json:
        print_json([document])
        return
    screen, headings = console(), ("name", "parameters", "formula", "source")
    for title, entries in document.items():
        table = plain_table(*headings, title=title)
        for entry in entries:
            table.add_row(*(entry[heading] for heading in headings))
        screen.print(table)
        screen.print()
    screen.print(note)


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Every policy and index that there is, as the tables and the docs show them."""
    from safebandit.core.policies import POLICIES
    from safebandit.core.policies.texts import reward_indices, safety_indices

    listed = [
        {
            "name": name,
            "parameters": parameters(entry.constructor),
            "formula": entry.formula,
            "source": entry.source,
            "about": inspect.getdoc(entry.constructor),
        }
        for name, entry in POLICIES.items()
    ]
    return {
        "policies": listed,
        "reward indices": _described(reward_indices()),
        "safety indices": _described(safety_indices()),
    }


def rule_catalogue() -> dict[str, list[dict[str, Any]]]:
    """Every stopping and selection rule that there is, as the tables and the docs show them."""
    from safebandit.core.rules import selection_rules, stopping_rules

    kinds = {"stopping rules": stopping_rules(), "selection rules": selection_rules()}
    return {title: _described(dict(sorted(known.items()))) for title, known in kinds.items()}


def _described(kinds: dict[str, type]) -> list[dict[str, Any]]:
    from safebandit.core.indices import DESCRIPTIONS, Description

    return [
        {
            "name": name,
            "parameters": parameters(kind),
            "formula": DESCRIPTIONS.get(kind, Description()).formula,
            "source": DESCRIPTIONS.get(kind, Description()).source,
            "about": (inspect.getdoc(kind) or "").partition("\n")[0],
        }
        for name, kind in kinds.items()
    ]


def parameters(constructor: Any) -> str:
    """The parameters of a constructor with their defaults, as the tables show them."""
    parts = []
    for name, parameter in inspect.signature(constructor).parameters.items():
        default = getattr(parameter.default, "name", parameter.default)
        parts.append(name if default is None or default is parameter.empty else f"{name}={default}")
    return ", ".join(parts)


def instances(json: Json = False) -> None:
    """List the problems that have a name, those of the paper and others: alpha, mean rewards and mean risks."""
    from safebandit.cli.show import print_json
    from safebandit.problems import NAMED

    made = {name: constructor() for name, constructor in NAMED.items()}
    if json:
        print_json([{name: instance.to_dict() for name, instance in made.items()}])
        return
    table = plain_table("name", "alpha", "mu", "nu", "about")
    for name, instance in made.items():
        takes = inspect.signature(NAMED[name]).parameters
        shown = f"{name}:i=1..10" if takes else name
        about = inspect.getdoc(NAMED[name]) or ""
        mu, *nu = (", ".join(f"{value:g}" for value in row) for row in (instance.mu, *instance.risk_means))
        table.add_row(shown, show_alpha(instance.alpha), mu, "\n".join(nu), about)
    print_plain(table)
