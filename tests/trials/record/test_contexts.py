"""Contexts in a record: kept beside the log, exported, counted anew, verified, and found where they were changed."""

import csv
import io

import pytest
import sqlalchemy as sa

from safebandit.errors import ConflictError, DamagedError
from safebandit.trials.record import Ledger
from safebandit.trials.record.export import export
from safebandit.trials.record.overview import overview
from safebandit.trials.record.past import state_before
from safebandit.trials.record.verification import verify

from .helpers import refused, settings

DECLARED = ["age:18..90", "smoker"]


def begin(ledger, policy="linear", **others):
    given = {"context": DECLARED, "pending_cap": 50, **others}
    ledger.create("t", settings(policy, **given), actor="Ada")


def run(ledger, units):
    with ledger.writing() as writing:
        for i in range(units):
            given = writing.trial("t").ask(f"p{i}", context=[18 + i, i % 2], actor="Ada")
            writing.trial("t").tell(given.id, reward=(i % 3) / 2, risk=(i % 4) / 10, actor="Ada")


def test_contexts_are_kept_counted_anew_exported_and_verified(database):
    with Ledger(database) as ledger:
        begin(ledger, features={"high": [1, 2], "low": [1, 1], "placebo": [1, 0]})
        run(ledger, 12)
        ledger.ask("t", "late", context={"smoker": 0, "age": 80.5}, actor="Ada")
        ledger.ask("t", "typo", context=[30, 1], actor="Ada")
    # Another process, which reads all units to count them anew.
    with Ledger(database) as ledger:
        ledger.correct("t", "p3", risk=1, reason="a typing error", actor="Ada")
        ledger.give_up("t", "late", reason="moved away", actor="Ada")
        ledger.void("t", "typo", reason="never there", actor="Ada")
        assert ledger.unit("t", "late").context == [80.5, 0.0]
        assert ledger.ask("t", "late", actor="Ada").new is False
        with refused("by another context", ConflictError):
            ledger.ask("t", "late", context=[80, 0], actor="Ada")
        assert verify(ledger, "t").holds
        rows = list(csv.DictReader(io.StringIO(export(ledger, "t", "csv").decode())))
        assert [(row["context age"], row["context smoker"]) for row in rows[-3:]] == [
            ("29", "1"),
            ("80.5", "0"),
            ("30", "1"),
        ]
        past, _ = state_before(ledger, "t", delay=5)
        assert past.allocator.course["given"] == 5


@pytest.mark.parametrize("policy", ["linear", "docb"])
def test_an_overview_says_who_is_permissible_for_a_context_that_is_supposed(ledger, policy):
    begin(ledger, policy)
    run(ledger, 12)
    plain, supposed = overview(ledger, "t"), overview(ledger, "t", context={"age": 40, "smoker": 1})
    goes_by_it = policy == "linear"
    assert (plain.context, plain.by_context) == (["age:18..90", "smoker:0..1"], goes_by_it)
    assert [arm.permissible for arm in plain.arms] == [None if goes_by_it else True] * 3
    assert [arm.permissible for arm in supposed.arms] == [True] * 3
    assert {arm.risk_index[0] is None for arm in plain.arms} == {goes_by_it}
    assert (plain.propensities == "depends on the unit's context") == goes_by_it
    assert (plain.expected == []) == goes_by_it
    with refused("age must lie in 18..90"):
        overview(ledger, "t", context=[10, 0])


@pytest.mark.parametrize("damage", ["[19.0,1.0]", "[19.0, 0.0]", None, "no list"])
def test_a_context_that_was_changed_beside_the_log_is_found(ledger, damage):
    begin(ledger)
    run(ledger, 3)
    with ledger.engine.begin() as connection:
        connection.execute(sa.text("UPDATE units SET context = :to WHERE id = 'p2'"), {"to": damage})
    found = verify(ledger, "t")
    assert not found.holds
    assert "p2" in found.problem
    if damage != "[19.0,1.0]" and damage is not None:
        with pytest.raises(DamagedError):
            ledger.unit("t", "p2")
