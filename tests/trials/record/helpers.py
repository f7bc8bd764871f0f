"""What tests of the record share."""

import random
import re

import pytest
import sqlalchemy as sa

from safebandit.errors import TrialError
from safebandit.trials.record import Settings

ARMS = ["placebo", "low", "high"]
MU = dict(zip(ARMS, (0.3, 0.5, 0.8), strict=True))
NU = dict(zip(ARMS, (0.1, 0.2, 0.6), strict=True))


def settings(policy="tsbu", **others):
    return Settings.read(others.pop("arms", ARMS), others.pop("alpha", 0.3), policy=policy, seed=7, **others)


def refused(text, kind=TrialError):
    """An error of this package whose message is one line that holds `text`."""
    return pytest.raises(kind, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


def run(ledger, name, units, *, start=0, seed=0, tell=1.0):
    """Ask for so many units and tell the outcomes of a share of them, with bits of the arms' means."""
    rng = random.Random(seed)
    with ledger.writing() as writing:
        for i in range(start, start + units):
            given = writing.trial(name).ask(f"unit {i}", actor="desk")
            reward, risk = (float(rng.random() < mean.get(given.arm, 0.5)) for mean in (MU, NU))
            if given.arm is not None and rng.random() < tell:
                writing.trial(name).tell(f"unit {i}", reward=reward, risk=risk, actor="desk")


def let_change(connection):
    """Take away what keeps events from being changed, as someone with full access could."""
    if connection.dialect.name == "sqlite":
        for trigger in ("no_update", "no_delete", "no_replace"):
            connection.execute(sa.text(f"DROP TRIGGER {trigger}"))
    else:
        connection.execute(sa.text("ALTER TABLE events DISABLE TRIGGER ALL"))
