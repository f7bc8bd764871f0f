"""The hash of what makes a result: who counts, and who only looks on."""

import re
from pathlib import Path

import safebandit
from safebandit.sources import _ONLOOKERS

PACKAGE = Path(safebandit.__file__).parent
IMPORT = re.compile(r"^ *from safebandit\.(\w+)", re.MULTILINE)


def imported_by(names):
    """The modules and folders that these import, and those that those import."""
    found, new = set(), set(names)
    while new:
        found |= new
        files = [file for name in new for file in [PACKAGE / f"{name}.py", *(PACKAGE / name).rglob("*.py")]]
        new = {name for file in files if file.is_file() for name in IMPORT.findall(file.read_text())} - found
    return found


def test_onlookers_exist_and_no_simulation_imports_them():
    assert all((PACKAGE / name).exists() for name in _ONLOOKERS)
    needed = imported_by(["simulation"])
    assert {"execution", "chunks", "keeping", "kernel", "policies", "bounds", "moments", "tables"} <= needed
    assert not {name.removesuffix(".py") for name in _ONLOOKERS} & needed
