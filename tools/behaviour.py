"""Draw how every policy, index, rule and design behaves, one small picture each; about two minutes on two cores.

python tools/behaviour.py            those that are missing, into docs/pictures/behaviour/
python tools/behaviour.py --all      all of them anew
python tools/behaviour.py tsbu boin  those of these names, anew

The pictures are committed: drawing takes minutes, building the site seconds. The same sources give the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from behaviour_texts import (
    DESIGN_TEXTS,
    DRUG_TRIAL,
    HORIZON,
    LINEAR,
    SEED,
    SELECTION,
    SELECTION_OF,
    STOPPING,
    TARGET,
    TRIALS,
    pictured,
    policy_text,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    import safebandit as sb

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "behaviour"


def draw_policy(name: str, kind: str = "policy") -> Figure:
    """Units per arm, and regret and unsafe plays over time, beside tsbu and equal randomisation."""
    import safebandit as sb
    from safebandit.simulation.plots import draw_lines, legend_below, new_figure

    instance = sb.instance_by_name("linear-doses" if kind == "policy" and name in LINEAR else DRUG_TRIAL)
    shown = {name: policy_text(name, kind), "tsbu": "tsbu", "equal": "equal"}
    steps = [*range(25, HORIZON + 1, 25)]
    result = sb.simulate(instance, shown, horizon=HORIZON, trials=TRIALS, seed=SEED, checkpoints=steps)
    figure, axes = new_figure(3)
    units = {each: result.of(each).plays.mean(axis=0) for each in shown}
    unsafe = [bool(risk > instance.alpha) for risk in instance.risk_means[0]]
    _bars(axes[0], units, [f"{k + 1}" for k in range(len(unsafe))], unsafe)
    axes[0].set(xlabel="arm", ylabel=f"mean units of {HORIZON:,}")
    for axis, metric in zip(axes[1:], ("regret", "unsafe_plays"), strict=True):
        draw_lines(axis, {each: _mean_line(result, each, metric) for each in shown})
        axis.set(xlabel="unit", ylabel=metric.replace("_", " "), xlim=(0, HORIZON))
    legend_below(figure, axes[1:])
    return figure


def _mean_line(result: sb.Result, policy: str, metric: str) -> Any:
    from safebandit.simulation.plots import Line

    return Line(result.specification.checkpoints.astype(float), result.mean(policy, metric))


def _bars(axis: Axes, groups: dict[str, Any], names: Sequence[str], hatched: Sequence[bool]) -> None:
    """Bars beside one another for each name, those of unsafe arms hatched and pale."""
    from safebandit.pictures import COLOURS, HATCHES, PAPER

    width = 0.8 / len(groups)
    for i, (label, heights) in enumerate(groups.items()):
        places = np.arange(len(names)) + (i - (len(groups) - 1) / 2) * width
        bars = axis.bar(places, heights, width, color=COLOURS[i], label=label)
        for bar, unsafe in zip(bars, [*hatched, *[False] * (len(names) - len(hatched))], strict=True):
            if unsafe:
                bar.set(hatch=HATCHES[1], facecolor=(COLOURS[i], 0.55), edgecolor=PAPER)
    axis.set_xticks(range(len(names)), names)
    axis.grid(axis="x", visible=False)


def draw_design(name: str) -> Figure:
    """Units per dose, and which one is selected."""
    from safebandit.simulation.plots import legend_below, new_figure

    texts = {name: DESIGN_TEXTS[name], "equal": DESIGN_TEXTS["equal"]}
    found = _doses(texts, rewarded=name in {"equal", "boin12", "rar", "safe", "md-apt", "md-ucbe", "md-sar", "tf-lucb"})
    figure, (left, right) = new_figure(2)
    names, unsafe = [str(k + 1) for k in range(5)], [False, False, True, True, True]
    _bars(left, {each: _shares(found, each, "units", names) for each in texts}, names, unsafe)
    chosen = {
        each: [*_shares(found, each, "selected", names), *_shares(found, each, "none selected", [""])] for each in texts
    }
    _bars(right, chosen, [*names, "none"], unsafe)
    left.set(xlabel="dose", ylabel="mean units")
    right.set(xlabel="dose", ylabel="share of trials that select it", ylim=(0, 1))
    legend_below(figure, [left])
    return figure


def _doses(texts: dict[str, Any], *, rewarded: bool) -> sb.Characteristics:
    import safebandit as sb

    names = [str(k + 1) for k in range(5)]
    mu = [0.2, 0.35, 0.45, 0.5, 0.5] if rewarded else None
    scenario = sb.Scenario("five doses", mu=mu, nu=[0.12, 0.25, 0.42, 0.49, 0.55], arms=names)
    given = {"alpha": TARGET}
    designs = {
        label: sb.design_from_text(text, arms=names, rewarded=rewarded, defaults=given)
        if isinstance(text, str)
        else text
        for label, text in texts.items()
    }
    return sb.operating_characteristics(designs, scenario, trials=1_000, seed=SEED)


def _shares(found: sb.Characteristics, design: str, key: str, arms: Sequence[str]) -> list[float]:
    (scenario,) = found.scenarios
    return [found.estimate(design, scenario, f"{key}: {arm}" if arm else key).value for arm in arms]


def _chosen(found: sb.Characteristics, design: str, arms: Sequence[str]) -> list[float]:
    return [*_shares(found, design, "selected", arms), *_shares(found, design, "none selected", [""])]


def draw_stopping(name: str) -> Figure:
    """How soon trials end, on two truths, and units per arm with the rule and without."""
    import safebandit as sb
    from safebandit.pictures import COLOURS, DASHES
    from safebandit.simulation.plots import legend_below, new_figure
    from safebandit.studies.designs.asking import Key, values

    rule, truths = STOPPING[name]
    arms = ["a", "b", "c"]
    scenarios = [sb.Scenario(label, mu=list(mu), nu=list(nu), arms=arms)
                 for label, (mu, nu) in zip(("should be reached", "should not"), truths, strict=True)]  # fmt: skip
    common: dict[str, Any] = {"select": "none", "looks": 3}
    designs = {
        "with": sb.Design(arms, 0.3, "equal", 90, stop=[rule], **common),
        "without": sb.Design(arms, 0.3, "equal", 90, **common),
    }
    found = sb.operating_characteristics(designs, scenarios, trials=1_000, seed=SEED)
    figure, (left, right) = new_figure(2)
    for i, scenario in enumerate(found.scenarios):
        sizes = values(found.of("with", scenario).cell, Key("size"))
        ended = [float((sizes <= n).mean()) if n < 90 else np.nan for n in range(91)]
        left.step(np.arange(91), ended, where="post", color=COLOURS[i], linestyle=DASHES[i], label=scenario)
    left.set(xlabel="units", ylabel="share of trials that have ended", ylim=(-0.02, 1.02), xlim=(0, 90))
    first = found.scenarios[0]
    units = {label: [found.estimate(label, first, f"units: {arm}").value for arm in arms] for label in designs}
    _bars(right, units, arms, [False] * 3)
    right.set(xlabel="arm", ylabel="mean units")
    right.legend(frameon=False, loc="upper left", ncols=2)
    right.set_ylim(0, 1.25 * max(map(max, units.values())))
    legend_below(figure, [left])
    return figure


def draw_selection(name: str) -> Figure:
    """Which dose is selected at the end."""
    import safebandit as sb
    from safebandit.simulation.plots import legend_below, new_figure

    names = [str(k + 1) for k in range(5)]
    if name in SELECTION_OF:
        texts: dict[str, Any] = {name: DESIGN_TEXTS[SELECTION_OF[name]], "equal": DESIGN_TEXTS["equal"]}
        found = _doses(texts, rewarded=name == "top-feasible")
    else:
        rules = {name: SELECTION[name], "best-safe at 0.5": "best-safe"}
        texts = {label: sb.Design(names, TARGET, "equal", 60, ordered=True, least_reward=0.2, select=rule, looks=60)
                 for label, rule in rules.items()}  # fmt: skip
        found = _doses(texts, rewarded=True)
    figure, (axis,) = new_figure(1)
    chosen = {
        each: [*_shares(found, each, "selected", names), *_shares(found, each, "none selected", [""])] for each in texts
    }
    _bars(axis, chosen, [*names, "none"], [False, False, True, True, True])
    axis.set(xlabel="dose", ylabel="share of trials that select it", ylim=(0, 1))
    legend_below(figure, [axis])
    return figure


DRAWERS: dict[str, Callable[[str], Figure]] = {
    "policy": draw_policy,
    "reward": lambda name: draw_policy(name, "reward"),
    "safety": lambda name: draw_policy(name, "safety"),
    "design": draw_design,
    "stopping": draw_stopping,
    "selection": draw_selection,
}


def wanted() -> Iterator[tuple[str, str, Path]]:
    """Everything that has a picture: its kind, its name, its file."""
    from reference_pages import KINDS, things

    for kind in KINDS:
        for thing in things(kind.key):
            if pictured(kind.key, thing.name):
                yield kind.key, thing.name, FOLDER / f"{kind.key}-{thing.name}.svg"


def save_small(figure: Figure, path: Path) -> None:
    """Write a figure as SVG alone, at two thirds of the size of those in reports."""
    import matplotlib

    from safebandit.pictures import STYLE

    width, height = figure.get_size_inches()
    figure.set_size_inches((0.68 * width, 0.72 * height))
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, format="svg", metadata={"Date": None})


def main() -> None:
    """Draw what is asked for."""
    asked = sys.argv[1:]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for kind, name, path in wanted():
        if "--all" in asked or name in asked or not (asked or path.is_file()):
            save_small(DRAWERS[kind](name), path)
            print(path.name, flush=True)


if __name__ == "__main__":
    main()
