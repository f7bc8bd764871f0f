"""The units of an analysis, read from a trial, a record and a table of units: the same units."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import safebandit as sb
from safebandit.errors import TrialError
from safebandit.trials.analysis import units
from safebandit.trials.analysis.units import from_csv, from_record, from_trial, read_control, read_units
from safebandit.trials.chances import ESTIMATED, INTEGRATED
from safebandit.trials.record.export import export
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.settings import Settings

ARMS = ["placebo", "=drug"]


def played(ask, tell, give_up, void, correct):
    """Seven units, told late and out of order, corrected, given up and voided."""
    arms = {unit: ask(unit).arm for unit in "abcdefg"}
    tell("c", reward=1, risk=0)
    tell("a", reward=0.5)
    tell("b", reward=0, risk=1)
    tell("a", risk=1)
    correct("c", risk=1, reason="read again")
    give_up("d", reason="left")
    void("e", reason="never came")
    tell("f", risk=0)
    return arms


def expected(arms):
    nan = math.nan
    return (
        [arms[unit] for unit in "abcdfg"],
        [0.5, 0, 1, nan, nan, nan],
        [1, 1, 1, 1, 0, nan],
    )


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "trials.db") as ledger:
        yield ledger


def same_as(units, arms, tells):
    given, reward, risk = expected(arms)
    assert [units.arms[k] for k in units.arm] == given
    np.testing.assert_array_equal(units.reward, reward)
    np.testing.assert_array_equal(units.risk[:, 0], risk)
    np.testing.assert_array_equal(units.given_up, [False, False, False, True, False, False])
    if tells is not None:
        np.testing.assert_array_equal(units.told, tells)


def test_a_trial_and_its_record_and_its_table_have_the_same_units(ledger, tmp_path):
    trial = sb.Trial(ARMS, alpha=0.3, policy="docb", seed=3, pending_cap=9)
    arms = played(trial.ask, trial.tell, trial.give_up, trial.void, trial.correct)
    # Event 1 creates the trial, events 2 to 8 give arms; c is told in 9, and its correction keeps that place.
    tells = [[10, 12], [11, 11], [9, 9], [0, 14], [0, 16], [0, 0]]
    in_process = from_trial(trial)
    same_as(in_process, arms, tells)

    ledger.create("knee", Settings.read(ARMS, alpha=0.3, policy="docb", seed=3, pending_cap=9))

    def on_record(method):
        return lambda *args, **named: getattr(ledger, method)("knee", *args, **named)

    assert played(*(map(on_record, ("ask", "tell", "give_up", "void", "correct")))) == arms
    kept = from_record(ledger, "knee")
    same_as(kept, arms, tells)
    np.testing.assert_array_equal(kept.chances, in_process.chances)
    np.testing.assert_array_equal(in_process.exact, kept.exact)
    # Ties are drawn, and their chances are known.
    assert in_process.exact.all()
    assert (in_process.chances[np.arange(6), in_process.arm] > 0).all()
    assert in_process.chances.sum(axis=1) == pytest.approx(np.ones(6))
    assert kept.limits == in_process.limits == (0.3,)

    file = tmp_path / "units.csv"
    file.write_bytes(export(ledger, "knee", "csv"))
    table = from_csv(file, alpha=0.3)
    same_as(table, arms, None)
    assert table.told[:, 1].tolist() == [1, 2, 3, 4, 5, 0]
    assert set(table.arms) == set(ARMS)
    rows = np.arange(6)
    np.testing.assert_array_equal(table.chances[rows, table.arm], in_process.chances[rows, in_process.arm])
    assert math.isnan(from_csv(file).limits[0])
    ignored = from_csv(file, lost="ignore")
    assert math.isnan(ignored.risk[3, 0])


def test_what_cannot_be_read_is_said_in_a_line(tmp_path):
    trial = sb.Trial(ARMS, alpha=0.3, policy="docb", seed=3)
    with pytest.raises(sb.TrialError, match=r'^the control must be an arm, got "drug"; did you mean "=drug"\?'):
        read_control(from_trial(trial), "drug")
    with pytest.raises(sb.TrialError, match=r"^a trial says its own alpha; leave it out$"):
        read_units(trial, alpha=0.2)
    for rows, message in (
        ({"risk": [0]}, 'the table has no column "arm"'),
        ({"arm": ["a"]}, 'the table has no column "risk"'),
        ({"arm": ["a", None], "risk": [0, 0]}, "every unit needs an arm, row 2 has none"),
        ({"arm": ["a", "b"], "risk": [0, 2]}, r"risk must lie in \[0, 1\], row 2 has .*2"),
    ):
        with pytest.raises(sb.TrialError, match=message):
            from_csv(pd.DataFrame(rows))
    with pytest.raises(sb.TrialError, match="units come from a trial, a record or a table"):
        read_units(17)


def test_chances_that_were_estimated_are_told_from_exact_ones():
    words = ("exact", f"{INTEGRATED}1e-06", f"{ESTIMATED} 1001 draws")
    arms = {"a": {"propensity": 0.25}, "b": {"propensity": None}}
    asked = [SimpleNamespace(content={"arms": arms, "propensities": each}) for each in words]
    chances, exact = units._read_chances(asked, ["a", "b"], 3)
    assert exact.tolist() == [True, True, False]
    np.testing.assert_array_equal(chances, [[0.25, np.nan]] * 3)


def test_arms_named_none_or_na_come_back_from_a_file(tmp_path):
    file = tmp_path / "units.csv"
    file.write_text(" Arm,Risk,REWARD\nNone,0,1\nNA,1,0\nnan,0,1\n")
    assert from_csv(file).arms == ("None", "NA", "nan")
    file.write_text("arm,risk\nNone,0\n ,1\n")
    with pytest.raises(TrialError, match="every unit needs an arm"):
        from_csv(file)
