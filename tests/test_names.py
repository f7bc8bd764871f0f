"""The names of `import safebandit as sb`: one list, read by mypy and by the package, and every name leads somewhere."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import safebandit as sb
from safebandit import errors

PACKAGE = Path(sb.__file__).parent
# `make check` has mypy look up every line of it.
LISTED = [
    (node.module, name.name)
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for name in node.names
]


@pytest.mark.parametrize(("home", "name"), LISTED)
def test_every_name_is_that_of_its_home(home, name):
    assert getattr(sb, name) is getattr(sys.modules[f"safebandit.{home}"], name)


def test_the_list_is_complete():
    names = {name for _, name in LISTED}
    assert names == set(sb.__all__) == set(dir(sb))
    assert {name for name in vars(errors) if name.endswith("Error")} <= names
    assert {"Level", "Schedule", "bounds_of", "learn", "rehearse", "start", "width"} <= names
    assert (PACKAGE / "py.typed").is_file()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="simulat"):
        sb.simulat


def test_the_names_are_imported_when_they_are_used():
    code = "import sys, safebandit as sb; sb.Client; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
