"""What made a result or a decision: hashes of the sources and versions that have a part in it."""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path

import numba
import numpy as np

# Who shows results or runs others, and has no part in making them.
_ONLOOKERS = {
    "arena", "cli", "paper", "record", "service",
    "allocator.py", "client.py", "cluster.py", "explanation.py", "outcomes.py", "plots.py", "report.py", "study.py",
    "theory.py", "trial.py",
}  # fmt: skip


# A file with compiled code does one of these: it decorates a function, or registers a formula.
_SOURCE_OF_FORMULAS = re.compile(rb"^(from safebandit\.dispatch import|\s*@[\w.]+\.register\()", re.MULTILINE)


@functools.cache
def formulas_hash() -> str:
    """A hash of all sources of formulas, and of Numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    package = Path(__file__).parent
    for source in sorted(package.rglob("*.py")):
        text = source.read_bytes()
        if source.name == "dispatch.py" or _SOURCE_OF_FORMULAS.search(text):
            digest.update(source.relative_to(package).as_posix().encode() + text)
    return digest.hexdigest()[:16]


@functools.cache
def sources() -> str:
    """A hash of all sources that have a part in a simulation, and of NumPy's and Numba's versions.

    An edited formula is never served from an old file, nor played by a worker that does not know of the edit.
    """
    package = Path(__file__).parent
    digest = hashlib.sha256(f"{np.__version__} {numba.__version__}".encode())
    for source in sorted(package.rglob("*.py")):
        inside = source.relative_to(package)
        if inside.parts[0] not in _ONLOOKERS:
            digest.update(inside.as_posix().encode() + source.read_bytes())
    return digest.hexdigest()[:16]
