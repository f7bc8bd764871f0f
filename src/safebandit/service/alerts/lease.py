"""A lease: of several processes on one database, the one that has it does the work."""

from __future__ import annotations

import os
import secrets
import socket
import time

import sqlalchemy as sa

from safebandit.trials.record.database import database_errors, leases


class Lease:
    """The lease of this name, as one process holds it or not; it must be renewed before so many seconds have passed."""

    def __init__(self, engine: sa.Engine, name: str, *, seconds: float) -> None:
        self._engine = engine
        self._name, self._seconds = name, seconds
        self._holder = f"{socket.gethostname()[:30]} {os.getpid()} {secrets.token_hex(8)}"
        # By this process's own clock, which nobody sets.
        self._renewed = -seconds

    def hold(self) -> tuple[bool, bool]:
        """Whether this process has the lease now, and whether it did not have it before; taken or renewed as needed."""
        had = time.monotonic() - self._renewed < self._seconds
        if had and time.monotonic() - self._renewed < self._seconds / 3:
            return True, False
        begun = time.monotonic()
        with database_errors(), self._engine.begin() as connection:
            now = _clock(connection)
            values = {"holder": self._holder, "until": now + self._seconds}
            free = sa.or_(leases.c.holder == self._holder, leases.c.until < now)
            taken = connection.execute(leases.update().where(leases.c.name == self._name, free).values(**values))
            got = bool(taken.rowcount) or self._make(connection, values)
        self._renewed = begun if got else -self._seconds
        return got, got and not had

    def _make(self, connection: sa.Connection, values: dict[str, object]) -> bool:
        try:
            with connection.begin_nested():
                connection.execute(leases.insert(), {"name": self._name, **values})
        except sa.exc.IntegrityError:
            return False
        return True

    def release(self) -> None:
        """Let another process take it at once."""
        if time.monotonic() - self._renewed < self._seconds:
            self._renewed = -self._seconds
            with database_errors(), self._engine.begin() as connection:
                connection.execute(
                    leases.delete().where(leases.c.name == self._name, leases.c.holder == self._holder)
                )  # fmt: skip


def _clock(connection: sa.Connection) -> float:
    """Seconds since 1970, by the one clock that all processes on this database share."""
    if connection.dialect.name == "postgresql":
        return float(connection.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())")) or 0.0)
    return time.time()
