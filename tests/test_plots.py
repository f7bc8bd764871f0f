"""Pictures: what is drawn is what was measured, and the same result gives the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt

import safebandit as sb
from safebandit import plots


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


def test_boxes_show_medians_at_the_horizon(result):
    figure = plots.boxes(result)
    lines = [line for line in figure.axes[0].get_lines() if len(line.get_ydata()) == 2]
    shown = {float(line.get_ydata()[0]) for line in lines if line.get_color() == "black"}
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
