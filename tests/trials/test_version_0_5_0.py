"""What version 0.5.0 wrote: read, verified in every number, and gone on with."""

import shutil
from pathlib import Path

import pytest

import safebandit as sb
from safebandit import Trial
from safebandit.errors import RecordError
from safebandit.trials.record import Ledger
from safebandit.trials.record.database import migrate
from safebandit.trials.record.verification import verify

from .record.helpers import refused

WRITTEN = Path(__file__).parent / "version_0_5_0"


def test_a_database_is_migrated_verified_and_gone_on_with(tmp_path):
    database = shutil.copy(WRITTEN / "trials.db", tmp_path / "trials.db")
    with refused("safebandit db migrate", RecordError):
        Ledger(database)
    migrate(database)
    with Ledger(database) as ledger:
        assert verify(ledger, "knee").holds
        assert ledger.ask("knee", "p12", actor="desk").arm in ("low", "mid", "high")


def test_a_saved_trial_is_verified_in_every_number():
    trial = Trial.from_json((WRITTEN / "trial-tsbu.json").read_text(encoding="utf-8"))
    assert trial.log[0].content["software"] == "0.5.0"
    assert trial.verify().holds
    assert trial.replay() == []
    assert trial.ask().arm in trial.arms


def test_a_result_is_read():
    result = sb.Result.load(WRITTEN / "result.parquet")
    assert result.trials == 4
    with pytest.raises(sb.ResultError, match=r"version 0\.5\.0"):
        sb.extend(result, trials=8)
