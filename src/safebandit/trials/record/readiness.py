"""Whether a record can be written to now, without writing to it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import sqlalchemy as sa

from safebandit.errors import RecordError
from safebandit.trials.record.database import trials
from safebandit.trials.record.ledger import Ledger

# What a few hundred decisions need.
ROOM_BYTES = 1024 * 1024


def check_ready(ledger: Ledger) -> None:
    """Refuse with one line if the database does not answer, or could not keep what it is told.

    A transaction that is rolled back proves nothing of the disk: SQLite writes when it commits. So beside its file
    another one is written, which has no name and is gone at once. PostgreSQL says whether it takes writes at all; the
    room on its disk is its own to watch.
    """
    with ledger.reading() as connection:
        connection.execute(sa.select(sa.func.count()).select_from(trials)).scalar_one()
        if connection.dialect.name == "postgresql" and connection.scalar(sa.text("SELECT pg_is_in_recovery()")):
            raise RecordError("the database takes no writes: it is a standby; connect to its primary")
    if ledger.engine.dialect.name == "sqlite":
        _check_room(Path(str(ledger.engine.url.database)))


def _check_room(file: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=file.parent, buffering=0) as room:
            left = ROOM_BYTES
            while left > 0:
                left -= room.write(b"\0" * min(left, 65536))
    except OSError as problem:
        said = (problem.strerror or str(problem)).lower()
        raise RecordError(f"the disk of the database takes no writes ({said}); make room for it") from problem
