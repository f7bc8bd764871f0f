"""One style for every picture: no module has colours of its own, and nothing is told by colour alone."""

from __future__ import annotations

import re
from pathlib import Path

from safebandit.pictures import COLOURS, DASHES, MARKERS

ROOT = Path(__file__).resolve().parent.parent
STYLE = ROOT / "src/safebandit/pictures.py"
# The style sheet of a protocol, which has no picture.
SHEETS = {ROOT / "src/safebandit/trials/protocol.py"}
NAMED = re.compile(
    r"""["']\#[0-9a-fA-F]{3,8}["']  # in hexadecimal
    | (?:colou?r|cmap)s?\s*[=:]\s*["'](?!none["'])[\w.\#]+["']  # where a colour is asked for
    | ["'](?:black|white|gr[ae]y|red|blue|green)["']  # by name""",
    re.VERBOSE,
)


def coloured(text: str) -> list[str]:
    return NAMED.findall(text)


def test_no_module_but_one_names_a_colour():
    for text in ('color="0.6"', "facecolor='#7f7f7f'", '"edgecolors": "grey"', 'cmap="viridis"'):
        assert coloured(text), text
    assert coloured(STYLE.read_text(encoding="utf-8"))
    sources = {path for folder in ("src", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")}
    drawing = {
        path for path in sources if re.search(r"matplotlib|simulation\.plots|<svg", path.read_text(encoding="utf-8"))
    }
    assert len(drawing) > 10
    for path in sorted(drawing - {STYLE} - SHEETS):
        assert coloured(path.read_text(encoding="utf-8")) == [], path


def test_the_page_of_a_trial_draws_with_the_same_colours():
    sheet = (ROOT / "src/safebandit/service/page/static/page.css").read_text(encoding="utf-8")
    drawn = re.findall(r"--drawn(?:-refused)?: (#\w+)", sheet)
    # Both by day and by night.
    assert len(drawn) == 4
    assert set(drawn) <= set(COLOURS)
    for shape in (".bars", ".interval", ".mean"):
        rules = re.findall(rf"^(?:\.refused )?{re.escape(shape)} {{.*}}$", sheet, flags=re.MULTILINE)
        assert len(rules) == 2
        assert all("var(--drawn" in rule for rule in rules)


def test_lines_differ_without_colour():
    assert len(COLOURS) == len(set(COLOURS)) == len(MARKERS) == len({str(dash) for dash in DASHES})


def seen_by(colour: str, kind: str) -> tuple[float, float, float]:
    """A colour as people without red or green cones see it (Vienot, Brettel and Mollon 1999), in linear light."""
    red, green, blue = ((int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5))
    mixed = {"without red cones": (0.11238, 0.88762), "without green cones": (0.29275, 0.70725)}[kind]
    shared = mixed[0] * red + mixed[1] * green
    rest = {"without red cones": 0.00401, "without green cones": -0.02234}[kind]
    return shared, shared, rest * (red - green) + blue


def test_the_first_colours_are_told_apart_by_every_kind_of_colour_vision():
    for kind in ("without red cones", "without green cones"):
        seen = [seen_by(colour, kind) for colour in COLOURS[:6]]
        nearest = min(
            sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5
            for i, first in enumerate(seen)
            for second in seen[i + 1 :]
        )
        assert nearest > 0.1, kind
    # A pair that is not: red and green of the same lightness.
    red, green = (seen_by(colour, "without green cones") for colour in ("#d62728", "#6b7a1e"))
    assert sum((a - b) ** 2 for a, b in zip(red, green, strict=True)) ** 0.5 < 0.1
