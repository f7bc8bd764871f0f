"""The pages of every policy, index, rule and design: formula, picture, promise, parameters, source, and when to use it.

What the sources say of themselves (docstrings, formulas in words, parameters) comes from them; the rest from
docs/reference/catalogue.toml.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Written by `make docs`; edit the sources and docs/reference/catalogue.toml, not this page. -->"


class Kind(NamedTuple):
    """One kind of things that have a page each: where its pages lie, and what the list of them is called."""

    key: str
    folder: str
    title: str


class Thing(NamedTuple):
    """What the sources say of one of them."""

    name: str
    about: str
    formula: str
    source: str
    constructor: Callable[..., Any]


KINDS = (
    Kind("policy", "policies", "Policies"),
    Kind("reward", "policies/reward-indices", "Reward indices"),
    Kind("safety", "policies/safety-indices", "Safety indices"),
    Kind("stopping", "rules/stopping", "Stopping rules"),
    Kind("selection", "rules/selection", "Selection rules"),
    Kind("design", "designs", "Designs"),
)


def read_catalogue() -> dict[str, dict[str, Any]]:
    """What the pages say beyond the sources."""
    return tomllib.loads((ROOT / "docs/reference/catalogue.toml").read_text(encoding="utf-8"))


def things(kind: str) -> list[Thing]:
    """Everything of a kind, as the package itself knows it; indices and rules by name."""
    from safebandit.core.indices import DESCRIPTIONS, Description
    from safebandit.core.policies import POLICIES
    from safebandit.core.policies.texts import reward_indices, safety_indices
    from safebandit.core.rules import selection_rules, stopping_rules
    from safebandit.trials.designs import DESIGNS

    if kind == "policy":
        entries = POLICIES.items()
        return [Thing(name, _doc(it.constructor), it.formula, it.source, it.constructor) for name, it in entries]
    if kind == "design":
        return [Thing(name, _doc(constructor), "", "", constructor) for name, constructor in DESIGNS.items()]
    listed = {
        "reward": reward_indices,
        "safety": safety_indices,
        "stopping": stopping_rules,
        "selection": selection_rules,
    }
    found = []
    # Rules are known in the order in which they were imported.
    for name, each in sorted(listed[kind]().items()):
        if not each.__module__.startswith("safebandit."):
            continue  # a user's own
        said = DESCRIPTIONS.get(each, Description())
        found.append(Thing(name, _doc(each).partition("\n")[0], said.formula, said.source, each))
    return found


def _doc(constructor: Callable[..., Any]) -> str:
    return inspect.getdoc(constructor) or ""


def reference_pages() -> dict[str, str]:
    """Every page by its path: one for each thing."""
    catalogue = read_catalogue()
    pages = {}
    for kind in KINDS:
        for thing in things(kind.key):
            path = f"docs/reference/{kind.folder}/{thing.name}.md"
            pages[path] = _page(kind, thing, catalogue[kind.key][thing.name], catalogue["parameter"])
    return pages


def list_of(kind: str, way: str | None = None) -> str:
    """A list of all of a kind, linked to their pages: from the page of their folder, or by another way."""
    (found,) = (each for each in KINDS if each.key == kind)
    inner = found.folder.partition("/")[2]
    way = (f"{inner}/" if inner else "") if way is None else way
    return "\n".join(f"- [`{it.name}`]({way}{it.name}.md): {_sentence(it.about)}" for it in things(kind))


def _sentence(about: str) -> str:
    """The first sentence, on one line."""
    return re.split(r"(?<=(?<! al)\.) ", " ".join(about.split()), maxsplit=1)[0]


def _page(kind: Kind, thing: Thing, said: dict[str, str], meanings: dict[str, str]) -> str:
    """One page, as Markdown with the formula between $$."""
    up = "../" * (1 + kind.folder.count("/") + 1)
    lines = [f"# {thing.name}", "", NOTE, "", " ".join(thing.about.split()), "", "$$", said["tex"], "$$", ""]
    if thing.formula:
        lines += [f"In words: {thing.formula}.", ""]
    lines += _picture(kind, thing, up)
    lines += [f"**What is promised.** {said['guarantee']}", "", f"**When to use it.** {said['when']}", ""]
    if thing.source:
        lines += [f"**Source.** {thing.source[0].upper()}{thing.source[1:]}.", ""]
    lines += [*_parameters(thing, meanings), *_use(kind, thing), ""]
    return "\n".join(lines)


def _picture(kind: Kind, thing: Thing, up: str) -> list[str]:
    """The picture of how it behaves, where there is one, and what it shows."""
    from behaviour_texts import CAPTIONS, pictured

    if not pictured(kind.key, thing.name):
        return []
    path = f"{up}pictures/behaviour/{kind.key}-{thing.name}.svg"
    return [f"![How {thing.name} behaves]({path})", "", f"*{CAPTIONS[kind.key]}*", ""]


def _parameters(thing: Thing, meanings: dict[str, str]) -> list[str]:
    rows = [f"| `{name}` | {default} | {meanings[name]} |" for name, default in parameters(thing.constructor)]
    if not rows:
        return ["It has no parameters.", ""]
    return ["| parameter | default | what it is |", "|---|---|---|", *rows, ""]


def parameters(constructor: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """The parameters of a constructor with their defaults, the arms of a design left out."""
    for name, parameter in inspect.signature(constructor).parameters.items():
        if name == "arms" and parameter.kind is not parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
            continue
        default = getattr(parameter.default, "name", parameter.default)
        yield name, "" if default is None or default is parameter.empty or default == "" else f"`{default}`"


def _use(kind: Kind, thing: Thing) -> list[str]:
    """A line that uses it."""
    from behaviour_texts import DESIGN_TEXTS, HORIZON, LINEAR, policy_text

    if kind.key == "design":
        supposed = "--alpha .25 --mu .2,.35,.45,.5,.5 --nu .12,.25,.42,.49,.55"
        return [f"    safebandit design run --design {DESIGN_TEXTS[thing.name]} {supposed}"]
    if kind.key in {"policy", "reward", "safety"}:
        instance = "linear-doses" if kind.key == "policy" and thing.name in LINEAR else "drug-trial"
        policy = policy_text(thing.name, kind.key)
        return [f"    safebandit simulate --instance {instance} --policy {policy} --horizon {HORIZON} --trials 100"]
    where = f"[stop.{thing.name}]" if kind.key == "stopping" else f'[select]\n    rule = "{thing.name}"'
    return ["In a design file:", "", f"    {where}"]
