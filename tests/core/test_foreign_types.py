"""A user's own index, in processes that come and go: never kept on disk, never in the way of others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from safebandit.core.dispatch import cache_folder

ASK = """
import safebandit as sb

def most_plays(policy):
    trial, arms = sb.Trial(3, 0.9, policy, seed=1), []
    for _ in range(60):
        unit = trial.ask()
        arms.append(unit.arm)
        trial.tell(unit.id, reward=1, risk=0)
    return max(map(arms.count, arms))

"""
SCRIPT = """
from typing import NamedTuple

class Mine(NamedTuple):
    sign: float = 1.0

@sb.upper.register(Mine)
def mine(index, seen):
    return {formula}

print(most_plays(sb.DoublyOptimistic(Mine(), sb.KLLower())))
"""


def printed(code: str, folder: str) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.strip()


def test_a_formula_edited_between_two_processes_is_the_one_that_runs(tmp_path):
    # A copy of what others have compiled: only what is new here has to be compiled, and nothing here is in their way.
    kept = cache_folder()
    shutil.copytree(kept, tmp_path / kept.name, ignore=shutil.ignore_patterns("*.tmp.*"))
    # The arm of the largest total is played again and again; the arm of the smallest total, all in turn.
    assert int(printed(ASK + SCRIPT.format(formula="seen.total + 1.0"), str(tmp_path))) == 58
    assert int(printed(ASK + SCRIPT.format(formula="-seen.total"), str(tmp_path))) == 20
    # A process that does not know the class still reads the same folder of compiled code.
    assert printed(ASK + 'print(most_plays("docb"))', str(tmp_path)).isdigit()
