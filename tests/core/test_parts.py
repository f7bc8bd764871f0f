"""Shared functions: their callers call them, in this process and where both are kept; others get them whole."""

import os
import shutil
import subprocess
import sys

import pytest
from scipy import stats

from safebandit.core import dispatch

# A caller of ours that is kept: its own part, and two shared functions of which one calls others.
OURS = """
from safebandit.core.bernoulli import beta_quantile, binomial_tail
from safebandit.core.dispatch import compiled

@compiled
def asked(x, a, b):
    return beta_quantile(a, b, x) + binomial_tail(3.0, 10.0, x)
"""
# What a user compiles and keeps by Numba alone.
THEIRS = """
import numba
from safebandit.core.bernoulli import beta_quantile, binomial_tail

@numba.njit(cache=True)
def asked(x, a, b):
    return beta_quantile(a, b, x) + binomial_tail(3.0, 10.0, x)
"""
COUNTED = """
from numba.core import event
with event.install_recorder("numba:compile") as found:
    from probe import asked
    print(asked(0.3, 4.0, 2.0), *{each.data["dispatcher"].py_func.__name__ for _, each in found.buffer})
"""
TRUTH = stats.beta.ppf(0.3, 4, 2) + stats.binom.sf(2, 10, 0.3)


def asked(folder):
    """What a new process is answered, and what it compiles for it."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run([sys.executable, "-c", COUNTED], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer, *compiled = done.stdout.split()
    return float(answer), set(compiled)


def test_a_caller_has_no_copy_of_a_shared_function():
    def twice(x):
        return 2 * x

    shared = dispatch.shared(twice)
    caller = dispatch.compiled_here(lambda x: shared(x) + shared(x + 1))
    assert caller(3) == 14
    (symbol,) = (found.fndesc.mangled_name for found in shared._part.overloads.values())
    (library,) = (found.library for found in caller.overloads.values())
    lines = [line for line in library.get_llvm_str().splitlines() if symbol in line]
    assert [line for line in lines if line.startswith("declare")]
    assert not [line for line in lines if line.startswith("define")]


def test_what_is_kept_finds_its_shared_functions(tmp_path):
    (tmp_path / "probe.py").write_text(OURS)
    answer, compiled = asked(tmp_path)
    assert answer == pytest.approx(TRUTH, rel=1e-12)
    assert {"asked", "beta_quantile", "binomial_tail"} <= compiled
    assert asked(tmp_path) == (answer, set())


def test_a_caller_whose_shared_function_was_compiled_by_another_is_compiled_anew(tmp_path):
    (tmp_path / "probe.py").write_text(OURS)
    answer, _ = asked(tmp_path)
    lost = [path for path in (tmp_path / "cache").rglob("*.nb?") if "beta_quantile.shared" in path.name]
    assert lost
    for path in lost:
        path.unlink()
    # It is compiled as the caller is about to be loaded, and has another name; what it calls itself is kept.
    again, compiled = asked(tmp_path)
    assert again == answer
    assert {"asked", "beta_quantile"} <= compiled
    assert "binomial_tail" not in compiled
    assert asked(tmp_path) == (answer, set())


def test_what_others_keep_needs_nothing_of_ours(tmp_path):
    (tmp_path / "probe.py").write_text(THEIRS)
    answer, compiled = asked(tmp_path)
    assert answer == pytest.approx(TRUTH, rel=1e-12)
    assert "asked" in compiled
    for folder in (tmp_path / "cache").glob("compiled-*"):
        shutil.rmtree(folder)
    assert asked(tmp_path) == (answer, set())
