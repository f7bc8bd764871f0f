"""What made a result or a decision: hashes of the sources and versions that have a part in it."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import numba
import numpy as np

# The room of all compiled code, and the rooms that have a part in a simulation, with how arms are told apart.
_FORMULAS = ("core",)
_SIMULATION = ("core", "names", "problems", "simulation")
_DESIGNS = (*_SIMULATION, "trials")


@functools.cache
def formulas_hash() -> str:
    """A hash of the sources of all formulas, and of Numba's version."""
    return _hash_of(_FORMULAS, numba.__version__)


@functools.cache
def sources() -> str:
    """A hash of the sources that have a part in a simulation, and of NumPy's and Numba's versions.

    An edited formula is never served from an old file, nor played by a worker that does not know of the edit.
    """
    return _hash_of(_SIMULATION, f"{np.__version__} {numba.__version__}")


@functools.cache
def design_sources() -> str:
    """A hash of the sources that have a part in simulated trials of a design, and of NumPy's and Numba's versions."""
    return _hash_of(_DESIGNS, f"{np.__version__} {numba.__version__}")


def _hash_of(rooms: tuple[str, ...], versions: str) -> str:
    digest = hashlib.sha256(versions.encode())
    package = Path(__file__).parent
    for room in rooms:
        for source in sorted((package / room).rglob("*.py")) or [package / f"{room}.py"]:
            digest.update(source.relative_to(package).as_posix().encode() + source.read_bytes())
    return digest.hexdigest()[:16]
