"""How commands answer: one JSON document, or lines and plain tables; rich is imported when it is first needed."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]


def plain_table(*headings: str, right: Collection[str] = (), title: str | None = None) -> Table:
    """A table without lines, with these headings; the columns of numbers are to the `right`."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    return table


def print_plain(what: Any, *, style: str | None = None) -> None:
    """A line or a table on stdout."""
    from safebandit.cli.show import console

    console().print(what, style=style, soft_wrap=isinstance(what, str))


def print_document(document: dict[str, Any]) -> None:
    """One JSON document on stdout."""
    from safebandit.cli.show import print_json

    print_json([document])


def figure(value: Any) -> str:
    """A number as people read it; a dash for what does not exist."""
    if value is None or isinstance(value, str):
        return value or "-"
    return "-" if math.isnan(value) else f"{value:.4g}"


@contextlib.contextmanager
def counting_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr where it is a terminal, else nothing."""
    from rich.progress import Progress

    from safebandit.cli.show import console

    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda *_: None
        return
    with Progress(console=screen, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def tell(done: int, total: int) -> None:
            # The bar costs more than an event; a hundred steps are enough for the eye.
            if done == total or done % max(1, total // 100) == 0:
                bar.update(task, completed=done, total=total)

        yield tell
