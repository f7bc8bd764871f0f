"""One formula per class: chosen alike in Python and in compiled code, and never an old one from the disk."""

import contextlib
import fcntl
import gc
import inspect
import os
import pickle
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numba
import pytest

import safebandit
from safebandit.core import called, dispatch, rounds
from safebandit.core.indices import BayesLower, BayesUpper, HoeffdingUpper, KLLower, KLUpper, Level, Schedule
from safebandit.core.kernels import kernels_for
from safebandit.core.policies import DoublyOptimistic, PolicyMixture, bwcr, docb, klbayes, pess, policy_from_text
from safebandit.core.streams import mix
from safebandit.errors import PolicyError

PACKAGE = Path(safebandit.__file__).parent

# A compiled function in a module of its own, which calls a formula of another module.
PROBE = """
import sys

from safebandit.core.dispatch import compiled
from safebandit.core.indices.kl import budget


@compiled
def probe(t):
    return budget(0, 0.0, t)


if __name__ != "__main__":
    print(probe(10), sum(probe.stats.cache_hits.values()), "numba.np.linalg" in sys.modules)
"""

SHORT_FORMULA = """
from types import SimpleNamespace
from typing import NamedTuple

from safebandit.core.dispatch import generic
from safebandit.core.indices import HoeffdingUpper, upper


class Circle(NamedTuple):
    radius: float


@generic
def area(shape: object, scale: float) -> float:
    raise NotImplementedError


@area.register(Circle)
def circle_area(shape):
    return 3.0 * shape.radius**2


print(area(Circle(3.0), 2.0), upper(HoeffdingUpper(), SimpleNamespace(plays=0), 10, None))
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


# --- values ---


class Rectangle(NamedTuple):
    side: float


class SquareToo(Square):
    """A class that is derived from one with a formula."""


@area.register(Rectangle)
def rectangle_area(shape):
    return shape.side


VALUES = [
    KLUpper(), KLUpper(Level.theory), KLLower(), HoeffdingUpper(), BayesUpper(), BayesUpper(Schedule.proof),
    BayesLower(), Square(0), Rectangle(0), SquareToo(0), docb(), klbayes(), docb(when_none="hold"), docb(Level.theory),
    bwcr(), pess(), DoublyOptimistic(KLUpper(), BayesLower(), None, False), PolicyMixture(KLUpper(), KLLower(), 0),
]  # fmt: skip


def test_values_of_two_classes_differ_though_their_numbers_are_equal():
    assert KLUpper() != BayesUpper()
    assert Square(1.0) != Rectangle(1.0)
    assert DoublyOptimistic(KLUpper(), KLLower()) != DoublyOptimistic(HoeffdingUpper(), KLLower())
    for i, one in enumerate(VALUES):
        for j, other in enumerate(VALUES):
            assert (one == other) is (i == j), (one, other)
            assert (one != other) is (i != j)
    assert len(set(VALUES)) == len(VALUES)
    # A class that has no formula is a plain tuple.
    assert Cube(1.0) == (1.0,)
    assert KLUpper() != (Level.practical,)


def test_equal_values_of_one_class_are_equal_and_hash_alike():
    again = [type(value)(*value) for value in VALUES]
    assert again == VALUES
    assert [hash(value) for value in again] == [hash(value) for value in VALUES]
    assert pickle.loads(pickle.dumps(VALUES[:7])) == VALUES[:7]
    # A member of an enumeration is the number that stands for it in compiled code.
    assert KLUpper(1) == KLUpper(Level.theory)
    assert policy_from_text("docb:level=theory") == docb(Level.theory)


# --- the cache, and the door to the compiler ---


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
    """The value that the probe prints, how often the disk served it, and what Python had to say.

    What Numba can compile is learnt, and SciPy loaded for it, where something is compiled and nowhere else.
    """
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-W", "always", "-c", "import safebandit.probe"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    value, hits, ready_to_compile = done.stdout.split()
    assert ready_to_compile == str(hits == "0")
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
    edited = formulas.read_text().replace("    return (1.0 + tail) * log_t\n", "    return 2.0 * log_t\n")
    assert edited != formulas.read_text()
    formulas.write_text(edited)
    assert run_probe(copied, cache)[:2] == (pytest.approx(4.605170186), 0)


def test_two_processes_that_compile_at_once_both_succeed_and_one_waits(copied, tmp_path):
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(run_probe, [copied] * 2, [tmp_path / "cache"] * 2))
    # Whoever comes second finds the code ready; a third process, too, so that the cache is whole.
    assert [value for value, _, _ in both] == [pytest.approx(2.302585093)] * 2
    assert sorted(hits for _, hits, _ in both) == [0, 1]
    assert run_probe(copied, tmp_path / "cache")[:2] == (pytest.approx(2.302585093), 1)


class EnteredError(Exception):
    """Somebody came to the door."""


class Guard:
    """A door that nobody gets through."""

    def entered(self, what):
        raise EnteredError


def double(x):
    return 2 * x


STEPS = [step for kernels in (kernels_for(KLUpper()), kernels_for(Square(1.0))) for step in kernels]


POLICIES = [called._ON_DISK, called._IN_THIS_PROCESS, rounds._ON_DISK, rounds._IN_THIS_PROCESS, rounds.play_trials]


@pytest.mark.parametrize(
    "function",
    [*STEPS, *POLICIES, dispatch.compiled(double), dispatch.compiled_here(double), dispatch.shared(double)._part, mix],
)
def test_nothing_is_compiled_but_behind_the_door(monkeypatch, function):
    monkeypatch.setattr(dispatch, "DOOR", Guard())
    # As when it is called with types that it has not been compiled for, from Python or from compiled code.
    with pytest.raises(EnteredError):
        function.compile((numba.complex64,) * len(inspect.signature(function.py_func).parameters))
    with pytest.raises(EnteredError):
        function(*[1j] * len(inspect.signature(function.py_func).parameters))


def test_what_has_no_entry_for_python_is_kept_under_a_name_of_its_own(monkeypatch, tmp_path):
    # Found there from Python, it would be called where nothing is.
    monkeypatch.setattr(dispatch, "cache_folder", lambda: tmp_path)
    shared = dispatch.shared(double)
    twice = dispatch.compiled_here(lambda x: shared(shared(x)))
    assert twice(2) == 8
    kept = {path.name for path in tmp_path.rglob("*.nbi")}
    assert len(kept) == 1
    assert dispatch.compiled(double)(2) == shared(2) == 4
    assert len({path.name for path in tmp_path.rglob("*.nbi")} - kept) == 1


def test_the_collector_rests_behind_the_door_and_goes_on_whatever_happens():
    assert gc.isenabled()
    with contextlib.suppress(EnteredError), dispatch.DOOR.entered("one function"):
        with dispatch.DOOR.entered("what it calls"):
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise EnteredError
    assert gc.isenabled()


def locks(folder):
    """Which locks in a folder are held, by file name."""
    held = set()
    for path in folder.glob("*.lock"):
        with path.open("a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.add(path.name)
    return held


def test_the_door_is_locked_for_others_who_want_the_same_and_may_be_entered_again(monkeypatch, tmp_path):
    # A folder of its own: other processes may be compiling meanwhile.
    monkeypatch.setattr(dispatch, "cache_folder", lambda: tmp_path)
    with dispatch.DOOR.entered("one function"):
        first = locks(tmp_path)
        with dispatch.DOOR.entered("what it calls"):
            assert len(first) == 1
            assert len(locks(tmp_path)) == 2
            # Another thread waits, whatever it wants.
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(dispatch.DOOR._inside.acquire, blocking=False).result() is False
    assert locks(tmp_path) == set()


def test_the_cache_of_a_function_is_written_by_one_at_a_time(monkeypatch, tmp_path):
    entered = []

    class Watched(dispatch._Door):
        def entered(self, what):
            entered.append(what)
            return super().entered(what)

    def triple(x):
        return 3 * x

    # A folder in which nothing is found.
    monkeypatch.setattr(dispatch, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(dispatch, "DOOR", Watched())
    assert dispatch.compiled(triple)(2) == 6
    name = f"{triple.__module__}.{triple.__qualname__}"
    assert entered == [f"{name} for (int64,)", f"the cache of {name}"]


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
