"""How much is measured: the whole, what a minute allows, or so little that it only shows that it runs."""

from __future__ import annotations

from typing import NamedTuple

from safebandit.core.policies import policy_from_text
from safebandit.core.policies.catalogue import POLICIES

# What is recommended for trials of up to some thousand units.
FEWER = "safe-ids"
# For long simulations and many arms; what a unit of `safe-ids` costs is a figure of its own, and so is what a round of
# those costs that go by features.
LONG = tuple(name for name in POLICIES if name != FEWER and not getattr(policy_from_text(name), "by_features", False))
# Of a core: with two workers, the database's server and the desks have the rest of two cores, and more than they need.
SHARE = 0.25


class Setting(NamedTuple):
    """A service that is driven: its database, how many workers serve it, how many units a request is about, in how many
    trials, and to which share of a core each worker is held, if to any.
    """

    database: str
    workers: int
    batch: int
    trials: int
    share: float | None = None


SERVICES = (
    Setting("SQLite", 1, 1, 1), Setting("SQLite", 1, 100, 1), Setting("PostgreSQL", 1, 1, 4),
    Setting("PostgreSQL", 2, 1, 4), Setting("PostgreSQL", 1, 1, 4, SHARE), Setting("PostgreSQL", 2, 1, 4, SHARE),
)  # fmt: skip


class Size(NamedTuple):
    """What a run plays and how long it takes for it.

    A measurement plays `rounds`, or `bare_rounds` of the bare loop; a trial that would take more than `longest` seconds
    is cut short; a cell is repeated for `patience` seconds. The study is the one whose memory is measured, and `first`
    the policy of the first round that is waited for.
    """

    name: str
    policies: tuple[str, ...]
    arms: tuple[int, ...]
    arms_horizon: int
    horizons: tuple[int, ...]
    repeats: int
    rounds: int
    bare_rounds: int
    longest: float
    patience: float
    study_trials: int
    asks: int
    workers_trials: int
    services: tuple[Setting, ...]
    service_pairs: int
    long_trial: int
    design_trials: int
    first: str = "docb"


FULL = Size(
    "full", LONG, (2, 5, 10, 20, 100, 1_000, 10_000), 100_000, (10_000, 50_000, 100_000, 1_000_000),
    repeats=5, rounds=2_000_000, bare_rounds=5_000_000,
    longest=15.0, patience=5.0, study_trials=500, asks=5_000, workers_trials=100,
    services=SERVICES, service_pairs=10_000, long_trial=100_000, design_trials=10_000,
)  # fmt: skip
QUICK = Size(
    "quick", LONG, (10, 100, 1_000), 100_000, (50_000,),
    repeats=3, rounds=500_000, bare_rounds=2_000_000,
    longest=0.8, patience=0.5, study_trials=50, asks=2_000, workers_trials=20,
    services=SERVICES, service_pairs=2_000, long_trial=10_000, design_trials=2_000,
)  # fmt: skip
TINY = Size(
    "tiny", ("docb", "tsbu", "bwcr"), (2, 10), 200, (100, 500),
    repeats=1, rounds=1_000, bare_rounds=1_000,
    longest=0.01, patience=0.01, study_trials=2, asks=50, workers_trials=2,
    services=(Setting("SQLite", 1, 2, 1), Setting("PostgreSQL", 1, 1, 2)),
    service_pairs=64, long_trial=300, design_trials=4,
    # It takes least to compile.
    first="equal",
)  # fmt: skip
