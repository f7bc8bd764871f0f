"""Several processes that write to one trial: each takes over what another one wrote, and goes on as one alone would."""

import random

import pytest

from safebandit.trials.design import Design
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.verification import verify

ARMS = ["placebo", "low", "high"]
NEWS = {"reason": "so decided", "actor": "Ada"}


def strata(policy):
    return Settings.read(ARMS, 0.3, policy=policy, seed=3, pending_cap=9, strata={"site": ["a", "b"]})


def dropping():
    """Arms are dropped on the way."""
    rules = ["behind:confidence=0.7"]
    return Settings.by_design(Design(ARMS, 0.3, "tsbu", 60, stop=rules, pending_cap=9), seed=3)


def by_context():
    return Settings.read(ARMS, 0.3, policy="linear", seed=3, pending_cap=9, context=["age"])


def step(ledger, i, rng):
    """What the i-th request is does not depend on who makes it."""
    kept = ledger.state("t").settings
    more = {"stratum": {"site": "ab"[i % 2]}} if kept.strata else {"context": {"age": i / 40}} if kept.context else {}
    outcome = {"reward": float(rng.random() < 0.5), "risk": float(rng.random() < 0.2)}
    if i == 20 and kept.design is None:
        ledger.amend("t", alpha=0.25, **NEWS)
    if i == 25:
        ledger.correct("t", "u2", reward=0.5, **NEWS)
    given = ledger.ask("t", f"u{i}", actor="Ada", **more)
    if given.arm is not None and (i == 2 or rng.random() < 0.8):
        ledger.tell("t", f"u{i}", actor="Ada", **outcome)


MADE = {
    "tsbu": lambda: strata("tsbu"),
    "safe-ids": lambda: strata("safe-ids"),
    "linear": by_context,
    "design": dropping,
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE.keys())
def test_two_who_take_turns_write_what_one_alone_writes(database, tmp_path, made):
    with Ledger(database) as one, Ledger(database) as other, Ledger(tmp_path / "alone.db") as alone:
        turns, rngs = random.Random(5), [random.Random(1), random.Random(1)]
        for ledger in (one, alone):
            ledger.create("t", made(), actor="Ada")
        for i in range(40):
            step(turns.choice([one, other]), i, rngs[0])
            step(alone, i, rngs[1])
        logs = [[(event.kind, event.body) for event in ledger.events("t")] for ledger in (one, alone)]
        assert logs[0] == logs[1]
        assert {kind for kind, _ in logs[0]} > {"asked", "told", "corrected"}
        assert verify(other, "t").holds
