"""One formula per class: chosen alike in Python and in compiled code, and never an old one from the disk."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numba
import pytest

import safebandit
from safebandit.core import dispatch
from safebandit.errors import PolicyError

PACKAGE = Path(safebandit.__file__).parent

# A compiled function in a module of its own, which calls a formula of another module.
PROBE = """
from safebandit.core.dispatch import compiled
from safebandit.core.indices.kl import budget


@compiled
def probe(t):
    return budget(0, t)


if __name__ != "__main__":
    print(probe(10), sum(probe.stats.cache_hits.values()))
"""

SHORT_FORMULA = """
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import new_arms
from safebandit.core.dispatch import generic
from safebandit.core.indices import KLUpper, upper
from safebandit.core.streams import trial_streams


class Circle(NamedTuple):
    radius: float


@generic
def area(shape: object, scale: float) -> float:
    raise NotImplementedError


@area.register(Circle)
def circle_area(shape):
    return 3.0 * shape.radius**2


streams = trial_streams(0, 0, 1)
seen = new_arms(streams.keys, (0, 0)).view(np.recarray)[0].reward
print(area(Circle(3.0), 2.0), upper(KLUpper(), seen, 10, streams.policy[0]))
"""


class Square(NamedTuple):
    side: float


class Circle(NamedTuple):
    radius: float


class Cube(NamedTuple):
    side: float


@dispatch.generic
def area(shape: object, scale: float, times: int) -> float:
    """The area of a shape, drawn at a scale, so many times."""
    raise NotImplementedError


@area.register(Square)
def square_area(shape, scale, times):
    return times * (shape.side * scale) ** 2


@area.register(Circle)
def circle_area(shape, scale):
    # Trailing arguments may be left out.
    return 3.0 * (shape.radius * scale) ** 2


@numba.njit
def compiled_area(shape, scale, times):
    return area(shape, scale, times)


def test_python_and_compiled_code_choose_the_same_formula():
    assert area(Square(3.0), 2.0, 2) == 72.0
    assert compiled_area(Square(3.0), 2.0, 2) == 72.0
    assert compiled_area(Circle(3.0), 2.0, 2) == 108.0


def test_a_formula_that_leaves_out_arguments_is_called_from_python_too():
    # In a process of its own: compiled code without a way in from Python ends the process, not the test.
    done = subprocess.run([sys.executable, "-c", SHORT_FORMULA], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "27.0 1.0")


def test_a_default_serves_classes_without_a_formula():
    @dispatch.generic
    def sides(shape: object) -> int:
        raise NotImplementedError

    @sides.register(object)
    def some(shape):
        return 0

    @sides.register(Square)
    def four(shape):
        return 4

    @numba.njit
    def ask(shape):
        return sides(shape)

    assert [sides(Square(1.0)), sides(Circle(1.0)), sides(1.5)] == [4, 0, 0]
    assert [ask(Square(1.0)), ask(Circle(1.0)), ask(1.5)] == [4, 0, 0]
    assert sides.knows(Square)
    assert not sides.knows(Circle)


def test_a_second_formula_is_refused():
    with pytest.raises(PolicyError) as problem:
        area.register(Square)(lambda shape, scale, times: 0.0)
    assert str(problem.value) == (
        "Square already has a formula for area; define the class again, in the same cell, "
        "so that no compiled code still holds the old one"
    )
    assert area(Square(1.0), 1.0, 1) == 1.0


def test_a_missing_formula_says_what_to_add():
    message = r"^Cube has no formula for area; add @area\.register\(Cube\)$"
    with pytest.raises(PolicyError, match=message):
        area(Cube(1.0), 1.0, 1)
    with pytest.raises(Exception, match="Cube has no formula for area"):
        compiled_area(Cube(1.0), 1.0, 1)


@pytest.mark.parametrize("formula", [lambda: 0.0, lambda a, b, c, d: 0.0])
def test_a_formula_with_too_few_or_too_many_arguments_is_refused(formula):
    with pytest.raises(PolicyError, match=r"^a formula for area takes 1 to 3 arguments, got [04]$"):
        area.register(Cube)(formula)
    assert not area.knows(Cube)


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def copied(tmp_path):
    """A copy of the package with a probe in it."""
    package = tmp_path / "place" / "safebandit"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "probe.py").write_text(PROBE)
    return package


def run_probe(package, cache):
    """The value that the probe prints, how often the disk served it, and what Python had to say."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-W", "always", "-c", "import safebandit.probe"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    value, hits = done.stdout.split()
    return float(value), int(hits), done.stderr


def test_an_edited_formula_is_never_served_from_the_disk(copied, tmp_path):
    cache = tmp_path / "cache"
    before = files_of(copied)
    assert run_probe(copied, cache)[:2] == (pytest.approx(2.302585093), 0)
    assert run_probe(copied, cache)[:2] == (pytest.approx(2.302585093), 1)
    # Compiled code is kept in the cache, and the package itself may be read-only.
    assert files_of(copied) == before
    assert any(name.endswith(".nbi") for name in files_of(cache))

    formulas = copied / "core" / "indices" / "kl.py"
    edited = formulas.read_text().replace("    return log_t\n", "    return 2.0 * log_t\n")
    assert edited != formulas.read_text()
    formulas.write_text(edited)
    assert run_probe(copied, cache)[:2] == (pytest.approx(4.605170186), 0)


def test_a_cache_that_cannot_be_written_is_a_warning(copied, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    before = files_of(copied)
    value, _, said = run_probe(copied, blocked / "below")
    assert value == pytest.approx(2.302585093)
    assert "compiled code is not kept between runs" in said
    assert "set NUMBA_CACHE_DIR to a folder that can" in said
    assert files_of(copied) == before


def test_numba_keeps_its_own_cache_folder_for_others():
    before = numba.config.CACHE_DIR
    seen = []

    def function(x):
        return x

    with dispatch._numba_cache():
        seen.append(numba.config.CACHE_DIR)
    dispatch.compiled(function)
    assert seen == [str(dispatch.cache_folder())]
    assert before == numba.config.CACHE_DIR


def test_code_unused_for_a_month_is_removed(tmp_path):
    now = time.time()
    ages = {"compiled-now": 0, "compiled-last-week": 7, "compiled-old": 40, "compiled-kept": 400, "other-old": 400}
    for name, days in ages.items():
        folder = tmp_path / name
        folder.mkdir()
        os.utime(folder, (now - days * 86_400,) * 2)
    dispatch._remove_unused(tmp_path, keep=tmp_path / "compiled-kept")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"compiled-now", "compiled-last-week", "compiled-kept", "other-old"}
