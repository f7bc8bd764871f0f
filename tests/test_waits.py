"""First waits are said, once for each thing, and only to who asked to be told."""

import os
import subprocess
import sys

import numba
import pytest

from safebandit.core.dispatch import compiled_here
from safebandit.waits import WAITS


@pytest.fixture
def said():
    lines = []
    WAITS.announce(lines.append)
    yield lines
    WAITS.announce(None)


def fresh(scale):
    """A function that nobody has compiled yet, which calls another."""
    inner = numba.njit(lambda x: x + scale)
    return compiled_here(lambda x: inner(x) * 2.0)


def test_a_wait_is_said_once_for_each_thing_and_nothing_where_nothing_is_compiled(said):
    with WAITS.preparing("docb"):
        function = fresh(1.0)
        assert function(2.0) == 6.0
        fresh(2.0)(2.0)
        function(3.0)
    assert said[:1] == ["compiling docb, once for this version: some seconds"]
    # How long it took is said where it was long.
    assert all(line.startswith("compiled docb in ") for line in said[1:])
    del said[:]
    with WAITS.preparing("tsbu"):
        function(4.0)
    assert said == []


def test_how_long_it_took_is_said_where_it_was_long(said, monkeypatch):
    monkeypatch.setattr("safebandit.waits.NOTICED", 0.0)
    with WAITS.preparing("docb"):
        fresh(3.0)(1.0)
    assert said[1].startswith("compiled docb in ")
    assert said[1].endswith(" s, and kept for the next time")


def test_without_a_listener_all_is_silent():
    WAITS.announce(None)
    with WAITS.preparing("docb"):
        assert fresh(4.0)(1.0) == 10.0


def test_a_command_says_what_it_compiles_on_stderr_and_not_with_json(tmp_path):
    code = "import sys; from safebandit.cli import main; sys.argv[0] = 'safebandit'; main()"
    # A policy that takes next to nothing to compile.
    command = ["simulate", "--instance", "drug-trial", "--policy", "equal", "--horizon", "20", "--trials", "2"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for flags in ([], ["--json"]):
        process = [sys.executable, "-c", code, *command, *flags]
        done = subprocess.run(process, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert ("compiling equal, once for this version: some seconds" in done.stderr) == (not flags)
        assert "compiling" not in done.stdout
        # Each of them compiled this; taken away, it is what the second one has to compile, and all else is there.
        (kept,) = tmp_path.glob("*/**/called._introduce-*.nbi")
        kept.unlink()
