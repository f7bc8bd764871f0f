"""Checks of bits: a fixed simulation, a fixed design and a fixed live trial give the very bits that are kept here.

The same sources give the same bits again and again on one machine, on any number of threads: that must always hold.
Another processor, C library, NumPy or Numba may round an exponential or a logarithm otherwise in its last digit, and a
decision may then fall otherwise: where the bits are others and the platform is another, that is noted, not held
against it. On the platform that made the kept hashes it fails.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

import numba
import numpy as np

from safebandit.problems import instance_by_name
from safebandit.problems.scenario import Scenario
from safebandit.simulation.simulate import simulate
from safebandit.studies.validation.check import SAME, Check, Extent, Obtained
from safebandit.trials.designs import design_from_text
from safebandit.trials.simulated import simulate_design
from safebandit.trials.trial import Trial

GROUP = "bits"
FILE = "bits.json"
_HOW = "bit for bit"
# Of an event of the log, of simulated trials, and of an arm in a decision.
_KEPT = ("unit", "arm", "round", "stream", "outcome", "none_permissible")
_PLAYED = ("plays", "rewards", "harms", "selected", "cause", "size", "duration", "excluded", "dropped", "looks")
_SEEN = ("permissible", "propensity", "reward_index", "risk_index")


def _hash(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:32]


@functools.cache
def simulation_bits(workers: int) -> str:
    """The drug trial, two of the paper's policies, forty trials of 2,000 rounds."""
    policies = ["docb", "tsbu"]
    result = simulate(
        instance_by_name("drug-trial", 0.21), policies, horizon=2_000, trials=40, seed=20, workers=workers
    )
    metrics = ("regret", "unsafe_plays")
    curves = [result.curve(policy, metric) for policy in policies for metric in metrics]
    plays = [result.of(policy).plays for policy in policies]
    return _hash(np.ascontiguousarray(part).tobytes() for part in (*curves, *plays))


@functools.cache
def design_bits(workers: int) -> str:
    """BOIN12 on five doses, five hundred trials."""
    design = design_from_text("boin12:tolerated=.35,wanted=.25,cohort=3,units=36,enough=12", arms=5)
    scenario = Scenario("bits", nu=(0.03, 0.17, 0.35, 0.5, 0.65), mu=(0.12, 0.39, 0.43, 0.55, 0.65))
    runs = simulate_design(design, scenario, trials=500, seed=20, workers=workers)
    return _hash(np.ascontiguousarray(getattr(runs, name)).tobytes() for name in _PLAYED)


@functools.cache
def decision_bits(turn: int) -> str:
    """A live trial of TSBU, sixty units: every decision with all that it saw, and every outcome, as the log has it."""
    trial = Trial(["low", "mid", "high"], alpha=0.3, policy="tsbu", seed=20)
    for n in range(60):
        unit = trial.ask()
        if unit.arm is not None:
            k = trial.arms.index(unit.arm)
            trial.tell(unit.id, reward=int((7 * n + k) % 5 < 2 + k), risk=int((3 * n + 2 * k) % 10 < 1 + 2 * k))
    return _hash(json.dumps(_decided(event.content), sort_keys=True).encode() for event in trial.log)


def _decided(content: Mapping[str, Any]) -> dict[str, Any]:
    """What belongs to a decision or an outcome; times, names, words and versions belong to the day."""
    arms = content.get("arms")
    seen = {arm: {name: table[name] for name in _SEEN} for arm, table in arms.items()} if isinstance(arms, dict) else {}
    return {"arms": seen, **{name: content[name] for name in _KEPT if name in content}}


FIXED: dict[str, tuple[str, Callable[[int], str]]] = {
    "simulation": ("a fixed simulation", simulation_bits),
    "design": ("a fixed design", design_bits),
    "decisions": ("a fixed live trial", decision_bits),
}


def this_platform() -> dict[str, str]:
    """All that may give other bits, by name."""
    import llvmlite
    import scipy

    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "C library": " ".join(platform.libc_ver()).strip() or "unknown",
        "processor's instructions": instructions(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "scipy": scipy.__version__,
    }


def instructions() -> str:
    """The processor as the compiler sees it, by name and a hash of what it can do."""
    from llvmlite import binding

    features = ",".join(sorted(name for name, able in binding.get_host_cpu_features().items() if able))
    return f"{binding.get_host_cpu_name()}, {hashlib.sha256(features.encode()).hexdigest()[:8]}"


@functools.cache
def kept() -> dict[str, Any]:
    """The hashes that belong to this version, and the platform that made them."""
    return dict(json.loads(files("safebandit.studies.validation").joinpath(FILE).read_text(encoding="utf-8")))


def excuse() -> str:
    """Why other bits would be no fault; empty where the platform is the one that made the kept ones."""
    here, there = this_platform(), kept()["platform"]
    others = [f"{name} is {here.get(name)}, not {value}" for name, value in there.items() if here.get(name) != value]
    return "another platform may give other bits: " + "; ".join(others) if others else ""


def _against_kept(name: str) -> Callable[[Extent], Obtained]:
    return lambda _: Obtained(FIXED[name][1](1), excuse=excuse())


def _again(name: str) -> Callable[[Extent], Obtained]:
    """A second time, on two threads."""
    return lambda _: Obtained("the same bits" if FIXED[name][1](1) == FIXED[name][1](2) else "other bits")


def _checks() -> Iterator[Check]:
    for name, (words, compute) in FIXED.items():
        about = (compute.__doc__ or "").rstrip(".")
        yield Check(
            f"{words}: {about}",
            GROUP,
            "the hash that this version keeps",
            kept()["hashes"][name],
            _against_kept(name),
            _HOW,
            sense=SAME,
        )
        yield Check(
            f"{words}: again, on two threads",
            GROUP,
            "itself, on one",
            "the same bits",
            _again(name),
            _HOW,
            sense=SAME,
        )


CHECKS = tuple(_checks())
