"""Instructions per round: a figure without noise, for small gains that no clock shows on a shared machine.

    python benchmarks/instructions.py docb tsbu     # the drug trial, T = 50,000; all policies if none is named

Valgrind's callgrind counts the instructions of two processes that play few and more trials of the same seed; their
difference is what the added rounds cost. The code is the one that the machine itself would run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from safebandit.core.policies.catalogue import POLICIES
from safebandit.simulation.simulate import simulate
from speed.limit import BareLoop
from speed.problems import SEED, drug_trial
from speed.sweeps import BARE

HORIZON = 50_000
# Words of processors that valgrind does not know.
UNKNOWN_TO_VALGRIND = ("avx512", "avx10", "amx")


def instructions_per_round(names: Sequence[str], *, trials: int = 4) -> dict[str, float]:
    """Instructions per round of policies, or of the bare loop; the first time also compiles them."""
    inside = [sys.executable, __file__, "--inside", "--trials", str(trials), *names]
    environment = {**os.environ, **_processor(), "PYTHONHASHSEED": "0"}
    # Compiles at full speed what is then found on disk; under valgrind that would take minutes.
    subprocess.run(inside, check=True, capture_output=True, env=environment)
    with tempfile.TemporaryDirectory() as folder:
        count = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/%p.out", f"--log-file={folder}/%p.log",
        ]  # fmt: skip
        run = subprocess.run([*count, *inside], check=True, capture_output=True, text=True, env=environment)
        costs = {}
        for line in run.stdout.splitlines():
            name, few, more = line.rsplit(maxsplit=2)
            counts = [collected(Path(folder) / f"{process}.log") for process in (few, more)]
            costs[name] = (counts[1] - counts[0]) / (trials * HORIZON)
    return costs


def _processor() -> dict[str, str]:
    """The processor as Numba is told it: valgrind shows programs a lesser one, for which nothing is kept."""
    from llvmlite import binding

    parts = binding.get_host_cpu_features().flatten().split(",")
    known = [f"-{part[1:]}" if part[1:].startswith(UNKNOWN_TO_VALGRIND) else part for part in parts]
    return {"NUMBA_CPU_NAME": binding.get_host_cpu_name(), "NUMBA_CPU_FEATURES": ",".join(known)}


def collected(log: Path) -> int:
    """The instructions that callgrind says a process took."""
    return int(re.findall(r"Collected : (\d+)", log.read_text(encoding="utf-8"))[-1])


def _play(name: str, bare: BareLoop, trials: int) -> None:
    if name == BARE:
        bare.play(trials=trials)
    else:
        simulate(drug_trial(), name, horizon=HORIZON, trials=trials, seed=SEED, workers=1, checkpoints=[])


def _count_inside(names: Sequence[str], trials: int) -> None:
    """Play every policy in two processes, few and more trials, and print their ids."""
    bare = BareLoop(drug_trial(), horizon=HORIZON)
    for name in names:
        simulate(drug_trial(), "docb" if name == BARE else name, horizon=100, trials=1, workers=1)
        children = []
        for played in (1, 1 + trials):
            child = os.fork()
            if child == 0:
                _play(name, bare, played)
                os._exit(0)
            os.waitpid(child, 0)
            children.append(child)
        print(name, *children, flush=True)


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", default=[BARE, *POLICIES], help="policies, or 'bare loop'")
    parser.add_argument("--trials", type=int, default=4, help="trials of 50,000 rounds that are counted")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        _count_inside(options.policies, options.trials)
        return
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed; install it with the system's packages")
    for name, cost in instructions_per_round(options.policies, trials=options.trials).items():
        print(f"{name:16}{cost:12,.1f} instructions per round")


if __name__ == "__main__":
    main()
