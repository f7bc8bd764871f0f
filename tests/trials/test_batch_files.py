"""Tables of outcomes: which columns say what."""

import pytest

from safebandit.errors import TrialError
from safebandit.trials.batch_files import read_outcomes
from safebandit.trials.settings import read_settings


def read(head, row="a,1,0", **settings):
    given = read_settings(arms=["low", "high"], **{"alpha": 0.2, "seed": 1, **settings})
    return read_outcomes(f"{head}\n{row}\n", given, "outcomes.csv")


@pytest.mark.parametrize("column", ["risk", "complaint", " Complaint"])
def test_one_risk_is_told_under_its_name_or_as_the_risk(column):
    assert read(f"unit,reward,{column}", risks=["complaint"]) == [{"id": "a", "reward": 1.0, "risk": 0.0}]


def test_one_risk_is_not_told_under_both_names():
    with pytest.raises(TrialError, match='has the column "risk" twice'):
        read("unit,reward,risk,complaint", "a,1,0,1", risks=["complaint"])


def test_a_risk_that_is_named_as_the_reward_does_not_take_its_column():
    assert read("unit,reward,risk", risks=["reward"]) == [{"id": "a", "reward": 1.0, "risk": 0.0}]


def test_several_risks_are_told_by_name_alone():
    two = {"alpha": [0.2, 0.3], "risks": ["pain", "nausea"]}
    assert read("unit,pain,nausea", **two) == [{"id": "a", "reward": None, "risk": {"pain": 1.0, "nausea": 0.0}}]
    with pytest.raises(TrialError, match='a column "risk" that says nothing here'):
        read("unit,reward,risk", **two)
