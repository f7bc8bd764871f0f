"""How every picture looks, in reports, on the site and on the page of a trial: colours, dashes, markers, hatches.

No other module names a colour. Nothing is told by colour alone: lines differ in dashes and markers, areas in hatches.
"""

from __future__ import annotations

from typing import Any

# Okabe and Ito's colours, told apart by every kind of colour vision; their yellow, too pale for a line, is left out.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b3294", "#4d4d4d")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (3, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = "osD^vP*X"
HATCHES = ("", "//", "..", "xx")
# What is no series: text and limits, what is only a guide, what is empty.
INK, GUIDE, EMPTY, PAPER = "#000000", "#7f7f7f", "#e8e8e8", "#ffffff"
# Blue for less and red for more.
LESS_AND_MORE = "RdBu_r"

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    "font.size": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": GUIDE,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.25,
    "hatch.linewidth": 0.5,
    "savefig.dpi": 150,
    # Text stays text: searchable, and a tenth of the size.
    "svg.fonttype": "none",
    "svg.hashsalt": "safebandit",
    "text.parse_math": False,
    "xtick.color": GUIDE,
    "xtick.labelcolor": INK,
    "ytick.color": GUIDE,
    "ytick.labelcolor": INK,
}
