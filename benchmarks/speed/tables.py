"""Tables, as text for a terminal and as Markdown for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Table(NamedTuple):
    """A title, the names of the columns, and rows of texts; the first column names the row."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def text(self) -> str:
        """Columns of the width that they need."""
        lines = [self.header, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        shown = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
        ]
        return "\n".join([self.title, "", *shown, *([self.note] if self.note else [])])

    def markdown(self) -> str:
        """A table of a Markdown page."""
        ruler = ["---", *("---:" for _ in self.header[1:])]
        lines = [f"| {' | '.join(line)} |" for line in (self.header, ruler, *self.rows)]
        return "\n".join([f"**{self.title}**", "", *lines, *(["", self.note] if self.note else [])])
