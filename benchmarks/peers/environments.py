"""A virtual environment for each library, kept in .venv-peers/ and built again when its requirements change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from peers.libraries import Library

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ENVIRONMENTS = ROOT / ".venv-peers"


class CannotRunError(RuntimeError):
    """A library that cannot be installed or played here; the message is the reason, in one line."""


def python_for(library: Library) -> Path:
    """The interpreter that has the library; the one that runs this has safebandit, NumPy and SciPy."""
    if library.requirements is None:
        return Path(sys.executable)
    folder = ENVIRONMENTS / library.key
    python = folder / "bin" / "python"
    wanted = HERE / "requirements" / library.requirements
    installed = folder / "installed.txt"
    if not installed.is_file() or installed.read_bytes() != wanted.read_bytes():
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(wanted))
        installed.write_bytes(wanted.read_bytes())
    return python


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotRunError(f"cannot be installed: {last_line(done.stderr or done.stdout)}")


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
