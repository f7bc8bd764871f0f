"""Design files to start from: commented TOML, one file for each kind."""

from __future__ import annotations

from pathlib import Path

from safebandit.errors import DesignError, suggest

_FOLDER = Path(__file__).parent
KINDS = ("phase-1-2", "dose-finding", "adaptive", "screening")


def template(kind: str) -> str:
    """The text of a design file of this kind."""
    if kind not in KINDS:
        raise DesignError(f'unknown kind of design "{kind}"; {suggest(kind, KINDS)}')
    return (_FOLDER / f"{kind}.toml").read_text(encoding="utf-8")
