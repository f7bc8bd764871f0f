"""The house as a picture: rooms above one another, each importing only those below it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from xml.sax.saxutils import escape

from safebandit.pictures import COLOURS, EMPTY, GUIDE, PAPER

WIDTH, ROOM, ROOF = 720, 62, 46
STROKE = f'stroke="{COLOURS[0]}" stroke-width="1.5"'
MIDDLE = f'x="{WIDTH // 2}" text-anchor="middle"'


def house(large: Sequence[tuple[str, str]], small: Sequence[str]) -> str:
    """An SVG of the rooms, from the roof down, with the ground that all of them stand on."""
    height = ROOF + ROOM * len(large) + 62
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
        f'<path d="M20 {ROOF}L{WIDTH / 2:g} 8L{WIDTH - 20} {ROOF}Z" fill="{EMPTY}" {STROKE}/>',
        f'<text {MIDDLE} y="{ROOF - 10}" font-weight="bold">import safebandit as sb</text>',
    ]
    for i, (name, about) in enumerate(large):
        parts += _room(ROOF + i * ROOM, name, about)
    ground = ROOF + ROOM * len(large)
    parts += [
        f'<rect x="20" y="{ground}" width="{WIDTH - 40}" height="46" fill="{EMPTY}" stroke="{GUIDE}"/>',
        f'<text {MIDDLE} y="{ground + 28}">{escape(",  ".join(small))}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _room(top: int, name: str, about: str) -> list[str]:
    lines = textwrap.wrap(about, 74)[:3]
    first = top + ROOM / 2 + 5 - 8 * (len(lines) - 1)
    return [
        f'<rect x="40" y="{top}" width="{WIDTH - 80}" height="{ROOM}" fill="{PAPER}" {STROKE}/>',
        f'<text x="56" y="{top + ROOM / 2 + 5:g}" font-weight="bold" font-size="15">{escape(name)}</text>',
        *(f'<text x="176" y="{first + 17 * i:g}">{escape(line)}</text>' for i, line in enumerate(lines)),
    ]
