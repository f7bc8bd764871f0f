"""Files written whole: what is there under its name is complete, whenever the writing stopped."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to; what was written there gets its name at the end, and is removed after an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> Path:
    """Write a text file, all of it or nothing."""
    with written_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path
