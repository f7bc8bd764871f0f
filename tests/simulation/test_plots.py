"""Pictures: what is drawn is what was measured, and the same result gives the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection

import safebandit as sb
from safebandit.pictures import INK
from safebandit.simulation import plots


@pytest.fixture(scope="module")
def result():
    return sb.simulate(sb.instance_by_name("drug-trial"), ["docb", "tsbu"], horizon=400, trials=12, seed=5)


def test_curves_show_means_over_time(result):
    figure = plots.curves(result)
    for axis, metric in zip(figure.axes, ("regret", "unsafe_plays"), strict=True):
        assert axis.get_xlabel() == "round"
        assert axis.get_ylabel() == metric.replace("_", " ")
        for line, policy in zip(axis.get_lines(), result.policies, strict=True):
            assert line.get_label() == policy
            assert np.array_equal(line.get_xdata(), result.specification.checkpoints)
            assert np.allclose(line.get_ydata(), result.curve(policy, metric).mean(axis=0), rtol=1e-12, atol=0)
    plt.close(figure)


def test_policies_differ_without_colour(result):
    figure = plots.curves(result)
    lines = figure.axes[0].get_lines()
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == len(lines)
    plt.close(figure)


def test_bands_do_not_merge_and_the_legend_hides_nothing(result):
    figure = plots.curves(result)
    for axis in figure.axes:
        assert axis.get_legend() is None
        # No area is filled where there are several: their edges alone are drawn, each in its line's colour.
        edges = axis.collections
        assert all(isinstance(edge, LineCollection) for edge in edges)
        assert len({tuple(edge.get_edgecolor()[0]) for edge in edges}) == len(edges) == 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == result.policies
    plt.close(figure)


def test_boxes_show_medians_at_the_horizon(result):
    figure = plots.boxes(result)
    lines = [line for line in figure.axes[0].get_lines() if len(line.get_ydata()) == 2]
    shown = {float(line.get_ydata()[0]) for line in lines if line.get_color() == INK}
    for policy in result.policies:
        assert float(np.median(result.final(policy))) in shown
    plt.close(figure)


def test_the_same_result_gives_the_same_bytes(result, tmp_path):
    for name in ("first", "second"):
        plots.save(plots.curves(result), tmp_path / name)
    for ending in (".png", ".svg"):
        first, second = (tmp_path / f"{name}{ending}" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
        assert first.stat().st_size > 5_000


def test_boxes_have_a_panel_for_every_risk():
    result = sb.simulate(sb.instance_by_name("dose-two-risks"), ["docb", "tsbu"], horizon=200, trials=9, seed=5)
    figure = plots.boxes(result)
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "regret at round 200", "unsafe plays at round 200",
        "unsafe plays, toxicity, at round 200", "unsafe plays, nausea, at round 200",
    ]  # fmt: skip
    assert "alpha = 0.3, 0.2," in figure.get_suptitle()
    for j, axis in enumerate(figure.axes[2:]):
        black = [line for line in axis.get_lines() if len(line.get_ydata()) == 2 and line.get_color() == INK]
        shown = {float(line.get_ydata()[0]) for line in black}
        for policy in result.policies:
            assert float(np.median(result.unsafe_by_risk(policy)[:, j])) in shown
    plt.close(figure)


def test_more_lines_than_colours_can_still_be_told_apart():
    figure, (axis,) = plots.new_figure(1)
    plots.draw_lines(axis, {str(i): plots.Line(np.arange(2.0), np.arange(2.0)) for i in range(16)})
    looks = {
        (line.get_color(), line.get_linestyle(), line.get_marker(), line.get_markerfacecolor()) for line in axis.lines
    }
    plt.close(figure)
    assert len(looks) == 16


def test_a_notebook_shows_a_figure_and_keeps_its_own_backend(result):
    before, kept = plt.get_backend(), plt.get_fignums()
    # Another one than whatever our own code might ask for.
    plt.switch_backend("svg")
    try:
        picture = result.plot()
        assert picture._repr_png_().startswith(b"\x89PNG")
        assert (plt.get_backend(), plt.get_fignums()) == ("svg", kept)
    finally:
        plt.switch_backend(before)
