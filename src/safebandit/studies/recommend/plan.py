"""Which candidates play which truths, how long and how often, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from safebandit.core.policies import Setup, policy_from_text, policy_to_text, prepare
from safebandit.errors import PolicyError, SimulationError
from safebandit.simulation.simulate import Policies, at_least, name_policies
from safebandit.studies.recommend.truths import Drawn, Given

# Equal randomisation is what others are held against.
REFERENCE = "equal"
CANDIDATES = (
    "safe-ids", "safe-ids:odds=0", "safe-ids:odds=0.5", "thompson+posterior-gate", "tsbu", "topsi", "docb",
    "safe-imed", "joint-ts", "joint-dirichlet", "naive-ts", REFERENCE,
)  # fmt: skip
UNITS, TRIALS = 400, 2_000
# Where nobody says how many unsafe plays are too many: a tenth of the units.
SHARE = 10


@dataclass(frozen=True)
class Plan:
    """What is played: candidates by label, as compiled code takes them and as texts; and why others cannot."""

    truths: Drawn | Given
    units: int
    trials: int
    seed: int
    more_than: int
    candidates: Mapping[str, Any]
    texts: Mapping[str, str]
    cannot: Mapping[str, str]


def make_plan(
    truths: Drawn | Given, policies: Policies | None, *, units: int, trials: int, seed: int, more_than: int | None
) -> Plan:
    """A plan whose numbers and names are all in order; a mistake in one is an error here."""
    units = at_least("units", units, 1, "units of a trial")
    trials = at_least("trials", trials, 2, "trials of every candidate, to compare in pairs")
    seed = at_least("seed", seed, 0, "a whole number that fixes all random numbers")
    bar = units // SHARE if more_than is None else at_least("more_than", more_than, 0, "unsafe plays")
    if bar >= units:
        raise SimulationError(f"more_than must be below the units ({units}), got {bar}: no trial has more unsafe plays")
    # Nobody tells a candidate the truth, not even the risk of one arm.
    setup = Setup(truths.arms, truths.limits, "least_risky", None, units)
    if policies is None:
        ready, cannot = _usual(setup)
        texts = {label: label for label in ready}
    else:
        chosen = name_policies(policies)
        values = {k: policy_from_text(one) if isinstance(one, str) else one for k, one in chosen.items()}
        ready, cannot = {label: prepare(policy, setup) for label, policy in values.items()}, {}
        texts = {k: one if isinstance(one, str) else policy_to_text(one) for k, one in chosen.items()}
    return Plan(truths, units, trials, seed, bar, ready, texts, cannot)


def _usual(setup: Setup) -> tuple[dict[str, Any], dict[str, str]]:
    """The usual candidates, each once: at some sizes safe-ids has by itself what another one is given."""
    ready: dict[str, Any] = {}
    cannot: dict[str, str] = {}
    for label in CANDIDATES:
        try:
            policy = prepare(policy_from_text(label), setup)
        except PolicyError as reason:
            cannot[label] = str(reason)
            continue
        if policy not in ready.values():
            ready[label] = policy
    return ready, cannot
