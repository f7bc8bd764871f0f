"""The hash of what makes a result: every room that has a part in a simulation, and no other."""

import re
from pathlib import Path

import safebandit
from safebandit import sources

PACKAGE = Path(safebandit.__file__).parent
IMPORT = re.compile(r"^ *from safebandit\.(\w+)", re.MULTILINE)
# Without a part in any number.
GROUND = {"errors", "files", "pictures", "sources", "version", "waits"}


def imported_by(room):
    """The rooms that the files of a room import, itself included."""
    files = list((PACKAGE / room).rglob("*.py")) or [PACKAGE / f"{room}.py"]
    return {name for file in files for name in IMPORT.findall(file.read_text())}


def test_what_a_simulation_imports_is_hashed():
    needed = set().union(*(imported_by(room) for room in sources._SIMULATION))
    assert needed - GROUND == set(sources._SIMULATION)


def test_formulas_import_no_other_room():
    assert imported_by("core") - GROUND == set(sources._FORMULAS)
