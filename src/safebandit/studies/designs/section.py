"""Operating characteristics of one design as a section of its protocol, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from safebandit.studies.designs.asking import Key, estimate
from safebandit.studies.designs.results import Characteristics, Played
from safebandit.trials.protocol import plain


def characteristics_section(found: Characteristics) -> str:
    """What the design does on every scenario, each number with its Monte-Carlo error."""
    tables = [_scenario(each) for each in found.played]
    head = f"## Operating characteristics\n\n{found.trials:,} simulated trials on every scenario, seed {found.seed}."
    tail = "±: standard error. An arm is unsafe where a mean risk is above what is tolerated."
    return "\n\n".join([head, *tables, tail])


def _scenario(played: Played) -> str:
    cell = played.cell
    instance = cell.truth.instance
    risks = played.design.risks
    head = ["", *map(plain, played.design.arms), "none"]
    rows = [["mean reward", *(f"{mean:.3g}" for mean in instance.mu), ""]] if played.design.rewarded else []
    rows += [
        [f"mean {plain(risk)}", *(f"{mean:.3g}" for mean in means), ""]
        for risk, means in zip(risks, instance.risk_means, strict=True)
    ]
    rows.append(["", *(mark or "" for mark in cell.truth.marks), ""])
    none = estimate(cell, Key("none selected"))
    rows.append(["selected, %", *(_share(played, arm) for arm in played.design.arms), _percent(none.value, none.se)])
    rows.append(["units", *(_mean(played, Key("units", arm)) for arm in played.design.arms), ""])
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    title = f"**Scenario {plain(played.scenario.name)}**"
    return "\n".join([title, "", *lines, "", "; ".join(_main(played)) + "."])


def _main(played: Played) -> Iterator[str]:
    yield f"units {_mean(played, Key('size'))}"
    yield f"units on unsafe arms {_mean(played, Key('unsafe units'))}"
    yield f"harms {_mean(played, Key('all harms'))}"
    early = estimate(played.cell, Key("stopped early"))
    yield f"stopped early {_percent(early.value, early.se)} %"
    yield f"days until its end {_mean(played, Key('duration'))}"


def _share(played: Played, arm: str) -> str:
    found = estimate(played.cell, Key("selected", arm))
    return _percent(found.value, found.se)


def _percent(value: float, error: float) -> str:
    return f"{100 * value:.1f} ± {100 * error:.1f}"


def _mean(played: Played, key: Key) -> str:
    found = estimate(played.cell, key)
    return f"{found.value:.2f} ± {found.se:.2f}"
