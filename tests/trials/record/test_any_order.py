"""A ledger, anything in any order and crashes in between, against a plain model: a dict of units."""

import contextlib
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from safebandit.errors import ConflictError, TrialError
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.overview import overview
from safebandit.trials.record.verification import verify

VALUES = st.sampled_from([0.0, 1.0, 0.5, 0.125])
REASON = {"reason": "so decided", "actor": "Ada"}


class Crash(Exception):
    """The process ends here."""


class AnyOrder(RuleBasedStateMachine):
    """Ask, tell, correct, give up, void, amend, pause and crash at will; the model says what must be so."""

    policy = "tsbu"

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "trials.db"
        self.ledger = Ledger(self.path)
        self.arms, self.gone, self.alpha, self.status = ["a", "b", "c"], set(), 0.4, "open"
        self.units, self.voided, self.events = {}, set(), 1
        made = Settings.read(self.arms, self.alpha, policy=self.policy, seed=5, pending_cap=2)
        self.ledger.create("t", made, actor="Ada")

    def free(self, arm):
        """Whether the cap on pending units leaves room."""
        risks = [unit for unit in self.units.values() if unit["arm"] == arm]
        waiting = sum(unit["risk"] is None and not unit["lost"] for unit in risks)
        known = sum(unit["risk"] is not None or unit["lost"] for unit in risks)
        return waiting < max(2, known)

    def write(self, change, crash):
        """Do it; after a crash before the end of the transaction, nothing of it may be found."""
        if not crash:
            with self.ledger.writing() as writing:
                return change(writing)
        with contextlib.suppress(Crash), self.ledger.writing() as writing:
            change(writing)
            raise Crash
        self.ledger.dispose()
        self.ledger = Ledger(self.path)
        return None

    @rule(crash=st.booleans(), number=st.integers(0, 60))
    def ask(self, crash, number):
        unit = f"u{number}"
        if unit in self.voided:
            with pytest.raises(ConflictError):
                self.write(lambda writing: writing.trial("t").ask(unit, actor="Ada"), False)
            return
        if unit not in self.units and self.status != "open":
            with pytest.raises(ConflictError):
                self.write(lambda writing: writing.trial("t").ask(unit, actor="Ada"), False)
            return
        given = self.write(lambda writing: writing.trial("t").ask(unit, actor="Ada"), crash)
        if given is None:
            return
        if unit in self.units:
            assert (given.arm, given.new) == (self.units[unit]["arm"], False)
            return
        self.events += given.new
        if given.arm is None:
            return
        assert given.arm in self.arms
        assert given.arm not in self.gone
        assert self.free(given.arm)
        self.units[unit] = {"arm": given.arm, "reward": None, "risk": None, "lost": False}

    @precondition(lambda self: self.units)
    @rule(data=st.data(), crash=st.booleans())
    def tell(self, data, crash):
        name = data.draw(st.sampled_from(sorted(self.units)))
        told = data.draw(st.dictionaries(st.sampled_from(["reward", "risk"]), VALUES, min_size=1))
        unit = self.units[name]
        contradicts = any(unit[part] not in (None, value) for part, value in told.items())
        news = [part for part in told if unit[part] is None]
        if contradicts or (unit["lost"] and news):
            with pytest.raises(ConflictError):
                self.write(lambda writing: writing.trial("t").tell(name, **told, actor="Ada"), False)
            return
        done = self.write(lambda writing: writing.trial("t").tell(name, **told, actor="Ada"), crash)
        if done is not None:
            assert done.new == bool(news)
            self.events += done.new
            unit.update(told)

    @precondition(lambda self: self.units)
    @rule(data=st.data(), part=st.sampled_from(["reward", "risk"]), value=VALUES, crash=st.booleans())
    def correct(self, data, part, value, crash):
        name = data.draw(st.sampled_from(sorted(self.units)))
        unit = self.units[name]
        if unit[part] == value or (unit[part] is None and not unit["lost"]):
            with pytest.raises(TrialError):
                self.write(lambda writing: writing.trial("t").correct(name, **{part: value}, **REASON), False)
            return
        done = self.write(lambda writing: writing.trial("t").correct(name, **{part: value}, **REASON), crash)
        if done is not None:
            self.events += 1
            unit[part] = value

    @precondition(lambda self: self.units)
    @rule(data=st.data(), crash=st.booleans())
    def give_up(self, data, crash):
        name = data.draw(st.sampled_from(sorted(self.units)))
        unit = self.units[name]
        if not unit["lost"] and None not in unit.values():
            with pytest.raises(ConflictError):
                self.write(lambda writing: writing.trial("t").give_up(name, **REASON), False)
            return
        done = self.write(lambda writing: writing.trial("t").give_up(name, **REASON), crash)
        if done is not None:
            assert done.new != unit["lost"]
            self.events += done.new
            unit["lost"] = True

    @precondition(lambda self: self.units)
    @rule(data=st.data(), crash=st.booleans())
    def void(self, data, crash):
        name = data.draw(st.sampled_from(sorted(self.units)))
        unit = self.units[name]
        if unit["reward"] is not None or unit["risk"] is not None:
            with pytest.raises(ConflictError):
                self.write(lambda writing: writing.trial("t").void(name, **REASON), False)
        elif self.write(lambda writing: writing.trial("t").void(name, **REASON), crash) is not None:
            self.events += 1
            self.voided.add(name)
            del self.units[name]

    @rule(alpha=st.sampled_from([0.2, 0.4, 0.7]), crash=st.booleans())
    def amend_alpha(self, alpha, crash):
        if alpha == self.alpha:
            with pytest.raises(TrialError):
                self.write(lambda writing: writing.trial("t").amend(alpha=alpha, **REASON), False)
        elif self.write(lambda writing: writing.trial("t").amend(alpha=alpha, **REASON), crash) is not None:
            self.alpha = alpha
            self.events += 1

    @rule(arm=st.sampled_from(["a", "b", "c", "d"]), crash=st.booleans())
    def add_or_withdraw(self, arm, crash):
        there = arm in self.arms and arm not in self.gone
        change = {"withdraw": [arm]} if there else {"add": [arm]}
        if there and len(self.arms) - len(self.gone) == 1:
            with pytest.raises(TrialError):
                self.write(lambda writing: writing.trial("t").amend(**change, **REASON), False)
        elif self.write(lambda writing: writing.trial("t").amend(**change, **REASON), crash) is not None:
            self.events += 1
            self.gone = self.gone | {arm} if there else self.gone - {arm}
            self.arms += [] if arm in self.arms else [arm]

    @rule(change=st.sampled_from(["pause", "resume"]), crash=st.booleans())
    def pause_or_resume(self, change, crash):
        done = self.write(lambda writing: writing.trial("t").set_status(change, **REASON), crash)
        if done is not None:
            wanted = {"pause": "paused", "resume": "open"}[change]
            assert done.new == (self.status != wanted)
            self.events += done.new
            self.status = wanted

    @rule()
    def restart(self):
        self.ledger.dispose()
        self.ledger = Ledger(self.path)

    @invariant()
    def books_balance(self):
        if not hasattr(self, "ledger"):
            return
        seen = overview(self.ledger, "t")
        waiting = [unit for unit in self.units.values() if None in unit.values() and not unit["lost"]]
        assert (seen.status, seen.units, seen.pending) == (self.status, len(self.units), len(waiting))
        assert (seen.events, seen.voided) == (self.events, len(self.voided))
        assert [arm.arm for arm in seen.arms] == self.arms
        for arm in seen.arms:
            mine = [unit for unit in self.units.values() if unit["arm"] == arm.arm]
            assert arm.plays == len(mine)
            assert arm.active == (arm.arm not in self.gone)
            if arm.active:
                rewards = [unit["reward"] for unit in mine if unit["reward"] is not None]
                risks = [unit["risk"] for unit in mine if unit["risk"] is not None]
                # A risk that is missing for good counts as harm.
                risks += [1.0 for unit in mine if unit["risk"] is None and unit["lost"]]
                assert arm.mean_reward == (pytest.approx(sum(rewards) / len(rewards)) if rewards else None)
                assert arm.mean_risk == [pytest.approx(sum(risks) / len(risks)) if risks else None]

    def teardown(self):
        if hasattr(self, "ledger"):
            found = verify(self.ledger, "t")
            assert found.holds, found.problem
            for name, unit in self.units.items():
                kept = self.ledger.unit("t", name)
                assert (kept.arm, kept.outcome) == (unit["arm"], [unit["reward"], unit["risk"]])
            self.ledger.dispose()
            shutil.rmtree(self.folder)


class AnyOrderWithKL(AnyOrder):
    policy = "docb"


TestAnyOrder = AnyOrder.TestCase
TestAnyOrderWithKL = AnyOrderWithKL.TestCase
TestAnyOrder.settings = TestAnyOrderWithKL.settings = settings(max_examples=12, stateful_step_count=40)
