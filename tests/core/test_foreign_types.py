"""A user's own index, in processes that come and go: never kept on disk, never in the way of others."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
from typing import NamedTuple
import safebandit as sb

class Mine(NamedTuple):
    sign: float = 1.0

@sb.upper.register(Mine)
def mine(index, seen):
    return {formula}

policy = sb.DoublyOptimistic(Mine(), sb.KLLower())
result = sb.simulate(sb.instance_by_name("drug-trial"), {{"mine": policy}}, horizon=300, trials=2, seed=1)
print(result.of("mine").plays.max())
"""
OTHER = """
import safebandit as sb
print(sb.simulate(sb.instance_by_name("drug-trial"), "docb", horizon=50, trials=1).of("docb").plays.sum())
"""


def printed(code: str, folder: str) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.strip()


def test_a_formula_edited_between_two_processes_is_the_one_that_runs(tmp_path):
    # The arm of the largest total is played again and again; the arm of the smallest total, all in turn.
    greedy = printed(SCRIPT.format(formula="seen.total + 1.0"), str(tmp_path))
    assert int(greedy) > 250
    even = printed(SCRIPT.format(formula="-seen.total"), str(tmp_path))
    assert int(even) < 150
    # A process that does not know the class still reads the same folder of compiled code.
    assert printed(OTHER, str(tmp_path)) == "50"
