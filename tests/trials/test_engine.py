"""One engine: the same requests give the same answers and the same log in memory, in SQLite and in PostgreSQL."""

import random
from dataclasses import replace

import pytest

from safebandit import Trial
from safebandit.errors import PolicyError, TrialError
from safebandit.trials.record.export import export
from safebandit.trials.record.verification import verify

from .record.conftest import database, empty_file, ledger, one_database
from .record.helpers import ARMS, refused, settings

__all__ = ["database", "empty_file", "ledger", "one_database"]


def requests(seed, count):
    """Any requests in any order: some are refused, some change nothing."""
    rng = random.Random(seed)
    for i in range(count):
        unit = f"p{rng.randrange(i // 2 + 1)}"
        told = {name: rng.choice([0, 0, 1, 0.5]) for name in ("reward", "risk") if rng.random() < 0.6}
        kind = rng.choices(
            ["ask", "tell", "correct", "give_up", "amend", "pause", "resume"], [40, 40, 20, 5, 4, 2, 5]
        )[0]  # fmt: skip
        if kind == "ask":
            yield kind, (unit,), {}
        elif kind == "tell":
            yield kind, (unit,), told
        elif kind == "correct":
            yield kind, (unit,), {**told, "reason": "typing error"}
        elif kind == "give_up":
            yield kind, (unit,), {"reason": "moved away"}
        elif kind == "amend":
            change = rng.choice([{"alpha": rng.choice([0.1, 0.3, 0.6])}, {"withdraw": ["high"]}, {"add": ["high"]}])
            yield kind, (), {**change, "reason": "so decided"}
        else:
            yield kind, (), {"reason": "so ordered"}


def answer(request, *arguments, **named):
    try:
        return tuple(request(*arguments, **named))
    except TrialError as refusal:
        return type(refusal), str(refusal)


@pytest.mark.parametrize(("policy", "seed"), [("docb", 1), ("klbayes", 2), ("joint-kl", 3)])
def test_a_trial_in_memory_and_one_in_a_record_are_the_same(ledger, policy, seed):
    chosen = settings(policy, pending_cap=3, title="Knee pain")
    trial = Trial(ARMS, 0.3, policy, seed=7, pending_cap=3, title="Knee pain", name="knee", actor="Ada")
    ledger.create("knee", chosen, actor="Ada")
    refusals = 0
    for kind, arguments, named in requests(seed, 300):
        mine = answer(getattr(trial, kind), *arguments, **named)
        if kind in ("pause", "resume"):
            theirs = answer(ledger.set_status, "knee", kind, **named, actor="Ada")
        else:
            theirs = answer(getattr(ledger, kind), "knee", *arguments, **named, actor="Ada")
        assert mine == theirs
        refusals += isinstance(mine[0], type)
    assert refusals > 20
    mine, theirs = trial.log, ledger.events("knee")
    assert {event.kind for event in mine} >= {"asked", "told", "corrected", "given up", "amended", "paused", "resumed"}
    assert [(event.kind, event.actor, event.body) for event in mine] == [(e.kind, e.actor, e.body) for e in theirs]
    assert trial._allocator.position == ledger.state("knee").allocator.position
    found = verify(ledger, "knee")
    assert (found.problem, found._replace(hash="")) == (None, trial.verify()._replace(hash=""))
    # A record's export is a saved trial.
    read = Trial.from_json(export(ledger, "knee", "json", whole=True).decode())
    assert read.log == theirs
    assert read.verify() == found
    assert read.pending == trial.pending
    read.resume(reason="so ordered")
    trial.resume(reason="so ordered")
    assert answer(read.ask, "somebody")[:4] == answer(trial.ask, "somebody")[:4]


def test_a_record_keeps_no_policy_that_has_no_text(ledger):
    from safebandit import DoublyOptimistic, KLLower, KLUpper, tsbu

    ledger.create("knee", settings(tsbu()))
    assert ledger.state("knee").settings.policy == "tsbu"
    named = settings(DoublyOptimistic(KLUpper(), KLLower(), when_none=2))
    assert named.policy.endswith("when_none=high")
    ledger.create("hip", named)
    with refused("unknown", PolicyError):
        ledger.create("own", replace(named, policy="Mine()"))
    assert ledger.names() == ["hip", "knee"]
    assert ledger.ask("hip", 17).unit == "17"
    assert ledger.ask("hip", "17").new is False
