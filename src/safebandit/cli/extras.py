"""Commands that need more packages say so in one line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import typer


@contextlib.contextmanager
def live_packages(command: str) -> Iterator[None]:
    """Import inside: a package that is not installed gives one line and exit status 2."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "safebandit":
            raise
        typer.echo(f'safebandit {command} needs more packages: pip install "safebandit[live]"', err=True)
        raise typer.Exit(2) from None
