"""Live trials, anything in any order, against a plain model: a dict of units."""

import math

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from safebandit import Trial

from .test_trial import ARMS, refused

VALUES = st.sampled_from([0.0, 1.0, 0.5, 0.125])


class AnyOrder(RuleBasedStateMachine):
    """Ask and tell at will; the dict says what must be known, pending, capped and refused."""

    policy = "tsbu"
    alpha = 0.4
    risks = ("risk",)
    declared = None

    def __init__(self):
        super().__init__()
        self.trial = Trial(ARMS, self.alpha, self.policy, seed=31, risks=self.risks, context=self.declared)
        self.names = ("reward", *self.risks)
        self.units = {}

    def of_arm(self, arm, name):
        return [unit[name] for unit in self.units.values() if unit["arm"] == arm]

    def free(self, arm):
        told = [[value is not None for value in self.of_arm(arm, name)] for name in self.risks]
        return all(known.count(False) < max(1, known.count(True)) for known in told)

    def pieces(self, told, listed):
        """What is told, as `tell` takes it: one risk as a number, several as a list or by name."""
        risks = {name: told[name] for name in self.risks if name in told}
        if len(self.risks) == 1:
            return told
        return {"reward": told.get("reward"), "risk": [risks.get(name) for name in self.risks] if listed else risks}

    @rule(context=st.sampled_from([0.0, 0.5, 9.0]))
    def ask(self, context):
        told = {} if self.declared is None else {"context": [context]}
        promised = self.trial.explain(**told)
        answer = self.trial.ask(**told)
        assert answer.arm == promised.chosen
        if answer.arm is None:
            assert not any(view.permissible and self.free(view.arm) for view in promised.arms)
            return
        assert answer.id == str(len(self.units) + 1)
        assert self.free(answer.arm)
        self.units[answer.id] = {"arm": answer.arm, **dict.fromkeys(self.names)}

    @precondition(lambda self: self.units)
    @rule(data=st.data(), listed=st.booleans())
    def tell(self, data, listed):
        number = data.draw(st.sampled_from(sorted(self.units)))
        told = data.draw(st.dictionaries(st.sampled_from(self.names), VALUES, min_size=1))
        unit, before = self.units[number], self.trial.to_json()
        if any(unit[name] not in (None, value) for name, value in told.items()):
            with refused("correct it with a reason if that was wrong"):
                self.trial.tell(number, **self.pieces(told, listed))
            assert self.trial.to_json() == before
            return
        news = {name for name in told if unit[name] is None}
        self.trial.tell(number, **self.pieces(told, listed))
        assert (self.trial.to_json() == before) == (not news)
        unit.update(told)

    @rule()
    def save_and_load(self):
        self.trial = Trial.from_json(self.trial.to_json())

    @invariant()
    def books_balance(self):
        assert self.trial.pending == {i: unit["arm"] for i, unit in self.units.items() if None in unit.values()}
        assert self.trial.round == len(self.units) + 1
        for view in self.trial.explain(context=self.declared and [1.0]).arms:
            values = [self.of_arm(view.arm, name) for name in self.names]
            assert view.plays == len(values[0])
            assert view.pending == max(risk.count(None) for risk in values[1:])
            risks = (view.mean_risk,) if len(self.risks) == 1 else view.mean_risk
            for shown, each in zip((view.mean_reward, *risks), values, strict=True):
                known = [value for value in each if value is not None]
                assert shown == (pytest.approx(math.fsum(known) / len(known)) if known else None)

    def teardown(self):
        assert self.trial.replay() == []


class AnyOrderWithKL(AnyOrder):
    policy = "docb"


class AnyOrderByDefault(AnyOrder):
    policy = None


class AnyOrderOfRisks(AnyOrder):
    policy = "docb"
    alpha = (0.4, 0.5)
    risks = ("toxicity", "nausea")


class AnyOrderByContext(AnyOrder):
    policy = "linear"
    declared = ("dose:0..9",)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrderByContext = AnyOrderByContext.TestCase
TestAnyOrderWithKL = AnyOrderWithKL.TestCase
TestAnyOrderByDefault = AnyOrderByDefault.TestCase
TestAnyOrderOfRisks = AnyOrderOfRisks.TestCase
FEW = settings(max_examples=25, stateful_step_count=40)
TestAnyOrder.settings = TestAnyOrderWithKL.settings = FEW
TestAnyOrderByDefault.settings = TestAnyOrderOfRisks.settings = TestAnyOrderByContext.settings = FEW
