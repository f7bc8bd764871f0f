"""Examples in docstrings as blocks of code: what follows >>> up to an empty line, with what it prints."""

from __future__ import annotations

import re
from typing import Any

import griffe


def fenced(text: str) -> str:
    """A docstring as Markdown."""
    return re.sub(r"^>>> .*(?:\n(?!\n).*)*", lambda found: f"```pycon\n{found[0]}\n```", text, flags=re.MULTILINE)


class FencedExamples(griffe.Extension):
    """Asked of every object that the site's generator reads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change its docstring."""
        if obj.docstring and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
