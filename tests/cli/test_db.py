"""`safebandit db` as an administrator uses it."""

import json
import shutil
from pathlib import Path

from safebandit.trials.record.database import REVISION

WRITTEN = Path(__file__).parents[1] / "trials" / "version_0_1_0" / "trials.db"


def test_a_database_of_an_older_version_is_migrated_only_when_told(tmp_path, command):
    database, copy = str(shutil.copy(WRITTEN, tmp_path / "trials.db")), str(tmp_path / "copy.db")
    refused = command("trial", "list", "--db", database)
    assert refused.status == 2
    assert "safebandit db migrate" in refused.err
    assert command("db", "backup", copy, "--db", database).status == 0
    assert (
        command("db", "migrate", "--db", database).out
        == f"the database was of version 0001, and is of {REVISION} now\n"
    )
    assert command("db", "migrate", "--db", database).out == f"the database has version {REVISION} already\n"
    assert "safebandit db migrate" in command("trial", "list", "--db", copy).err
    found = json.loads(command("db", "check", "--db", database, "--json").out)
    assert found["holds"] is True
    assert len(found["trials"]) > 1


def test_a_backup_is_restored(tmp_path, command):
    database, copy, other = (str(tmp_path / f"{name}.db") for name in ("trials", "copy", "other"))
    command("trial", "new", "knee", "--arms", "2", "--alpha", ".3", "--policy", "docb", "--db", database)
    assert command("db", "backup", copy, "--db", database).status == 0
    assert command("db", "restore", copy, "--db", other).status == 0
    assert "the database is whole: 1 trials" in command("db", "check", "--db", other).out
    again = command("db", "backup", copy, "--db", database)
    assert again.status == 2
    assert again.err.count("\n") == 1
