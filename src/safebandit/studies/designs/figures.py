"""Pictures of operating characteristics: selection and allocation, units on unsafe arms, size, a sample of trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from safebandit.pictures import COLOURS, DASHES, GUIDE, HATCHES
from safebandit.simulation.plots import draw_boxes, legend_below, new_figure
from safebandit.studies.designs.asking import Key, estimate, values
from safebandit.trials.histories import Happening, histories
from safebandit.trials.simulated import plan_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from safebandit.studies.designs.results import Characteristics, Played

SAMPLE = 6
# One picture shows so many scenarios, the first ones; the tables have all.
MOST_PANELS = 12
MOST_UNITS_DRAWN = 120


def selection_and_allocation(found: Characteristics, scenario: str) -> Figure:
    """How often each arm is selected, and how many units it gets, under every design, with 95 % intervals."""
    figure, (left, right) = new_figure(2)
    some = [found.of(design, scenario) for design in found.designs]
    for i, each in enumerate(some):
        keys = [Key("selected", arm) for arm in each.design.arms]
        _draw_bars(left, i, len(some), each, [*keys, Key("none selected")])
        _draw_bars(right, i, len(some), each, [Key("units", arm) for arm in each.design.arms])
    names = _marked(some)
    left.set_xticks(range(len(names) + 1), [*names, "none"])
    right.set_xticks(range(len(names)), names)
    left.set(ylabel="share of trials that select the arm", ylim=(0, None))
    right.set(ylabel="mean units on the arm", ylim=(0, None))
    legend_below(figure, [left], most=3)
    figure.suptitle(f"{scenario}, {found.trials:,} trials (bars: 95 % intervals)", fontsize=11)
    return figure


def _draw_bars(axis: Axes, i: int, designs: int, each: Played, keys: list[Key]) -> None:
    width = 0.8 / designs
    shown = [estimate(each.cell, key) for key in keys]
    reach = np.array([[one.value - one.low, one.high - one.value] for one in shown]).T
    axis.bar(
        np.arange(len(keys)) + (i - (designs - 1) / 2) * width, [one.value for one in shown], width, yerr=reach,
        color=COLOURS[i % len(COLOURS)], label=each.label, error_kw={"elinewidth": 1.0},
        hatch=HATCHES[i % len(HATCHES)],
    )  # fmt: skip


def _marked(some: list[Played]) -> list[str]:
    """The arms, with what they are where all designs agree on it."""
    marks, arms = some[0].cell.truth.marks, some[0].design.arms
    if any(each.cell.truth.marks != marks for each in some):
        return list(arms)
    return [f"{name}\n({mark})" if mark else name for name, mark in zip(arms, marks, strict=True)]


def unsafe_units(found: Characteristics) -> Figure:
    """The chance that more than so many units get an unsafe arm, under every design on every scenario."""
    figure, axes = _panels(found)
    for axis, scenario in zip(axes, found.scenarios, strict=False):
        for i, design in enumerate(found.designs):
            counted = values(found.of(design, scenario).cell, Key("unsafe units"))
            most = int(counted.max(initial=0.0))
            above = [float((counted > m).mean()) for m in range(most + 1)]
            axis.step(
                np.arange(most + 1), above, where="post", color=COLOURS[i % len(COLOURS)], label=design,
                linestyle=DASHES[i % len(DASHES)],
            )  # fmt: skip
        axis.set(xlabel="m", ylabel="share of trials with more than m", ylim=(0, 1.02), title=scenario)
        if not any(found.of(design, scenario).cell.truth.unsafe.any() for design in found.designs):
            axis.text(0.5, 0.5, "no arm is unsafe", transform=axis.transAxes, ha="center")
    _finish(figure, axes, f"Units on unsafe arms, {found.trials:,} trials")
    return figure


def sizes(found: Characteristics) -> Figure:
    """How many units the trials have, under every design on every scenario."""
    figure, axes = _panels(found)
    for axis, scenario in zip(axes, found.scenarios, strict=False):
        draw_boxes(axis, {design: values(found.of(design, scenario).cell, Key("size")) for design in found.designs})
        axis.set_xticks(range(1, len(found.designs) + 1), [_short(design) for design in found.designs])
        axis.set(ylabel="units", title=scenario)
    figure.suptitle("Size (box: quartiles; whiskers: 5 % and 95 %; diamond: mean)", fontsize=11)
    return figure


def sample_of_trials(found: Characteristics, design: str, scenario: str) -> Figure:
    """What happened in the first few trials: which arm every unit got, and what became of it."""
    each = found.of(design, scenario)
    told = histories(plan_of(each.design, each.scenario, found.seed), range(min(SAMPLE, found.trials)))
    figure, axes = new_figure(2, rows=(len(told) + 1) // 2)
    figure.set_size_inches(11.2, 2.4 * ((len(told) + 1) // 2) + 0.8)
    for number, (axis, events) in enumerate(zip(axes, told, strict=False)):
        _draw_trial(axis, each, events)
        chosen, cause = int(each.runs.selected[number]), each.design.causes[int(each.runs.cause[number])]
        verdict = each.design.arms[chosen] if chosen >= 0 else "none"
        axis.set_title(f"trial {number}: ends by {cause}, selects {verdict}", fontsize=9)
    _hide_rest(axes, len(told))
    legend_below(figure, axes, most=4)
    figure.suptitle(f"{_short(design)} on {scenario}: the first trials", fontsize=11)
    return figure


def _draw_trial(axis: Axes, each: Played, events: list[Happening]) -> None:
    given = {one.unit: one.arm for one in events if one.kind == "given" and one.unit <= MOST_UNITS_DRAWN}
    harmed = {one.unit for one in events if any(risk for risk in one.outcome[1:])}
    rewarded = {one.unit for one in events if one.outcome[0]}
    kinds: dict[str, tuple[set[int], dict[str, Any]]] = {
        "given": (set(given) - harmed - rewarded, {"marker": "o", "facecolors": "none", "edgecolors": GUIDE}),
        "reward": (rewarded - harmed, {"marker": "o", "color": COLOURS[2]}),
        "harm": (harmed - rewarded, {"marker": "X", "color": COLOURS[1]}),
        "reward and harm": (harmed & rewarded, {"marker": "P", "color": COLOURS[3]}),
    }
    for label, (units, style) in kinds.items():
        drawn = sorted(units & set(given))
        axis.scatter(drawn, [given[unit] for unit in drawn], s=22, label=label, **style)
    axis.set_yticks(range(len(each.design.arms)), each.design.arms)
    axis.set(xlabel="unit", ylim=(-0.5, len(each.design.arms) - 0.5))


def _panels(found: Characteristics) -> tuple[Figure, list[Axes]]:
    count = min(len(found.scenarios), MOST_PANELS)
    figure, axes = new_figure(min(count, 2), rows=(count + 1) // 2)
    _hide_rest(axes, count)
    return figure, axes


def _hide_rest(axes: list[Axes], count: int) -> None:
    for axis in axes[count:]:
        axis.set_visible(False)


def _finish(figure: Figure, axes: list[Axes], title: str) -> None:
    legend_below(figure, axes[:1], most=3)
    figure.suptitle(title, fontsize=11)


def _short(label: str) -> str:
    """A design's label where there is little room: without its parameters."""
    return label if len(label) <= 24 else label.partition(":")[0][:24]
