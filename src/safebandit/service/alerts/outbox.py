"""What alerts have to send: kept until it was sent, or given up after many attempts; and the log of both."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.errors import NotFoundError
from safebandit.service.alerts.rules import Alert
from safebandit.service.alerts.words import Happened, describe
from safebandit.service.refusals import sendable
from safebandit.trials.events import canonical
from safebandit.trials.events import now as time_now
from safebandit.trials.record.database import alerts, database_errors, messages

# What was said of an attempt is kept in so many characters.
SAID_LENGTH = 300
# Of an attempt whose end was not noted.
BEGUN = "is being sent"
# Of what was sent or given up, so many messages are kept at least.
MOST_KEPT = 100_000
MESSAGE_ID = "^msg_[0-9a-f]{32}$"


class Message(NamedTuple):
    """Something to send, with its one id: a receiver that gets it twice can tell. Times are seconds since 1970."""

    id: str
    alert: str
    trial: str | None
    kind: str
    body: str
    made: float
    due: float
    attempts: int
    state: str
    said: str | None
    done: float | None


def add(connection: sa.Connection, alert: Alert, happened: Happened, *, late: bool) -> None:
    """Have an alert tell of something: now, or where it told of such a thing a moment ago, with all until then."""
    before = _newest(connection, alert, happened)
    now = time.time()
    if before is not None and before.state == "waiting" and before.attempts == 0 and before.due > now:
        known = json.loads(before.body)["data"]
        first, times = known["first_event"], known["times"] + happened.times
        strata = dict.fromkeys((*known.get("strata", ()), *happened.content.get("strata", ())))
        content = {**happened.content, "strata": list(strata)} if strata else happened.content
        body = describe(alert, happened._replace(first=first, times=times, content=content), late=late)
        unsent = messages.update().where(messages.c.id == before.id, messages.c.attempts == 0)
        if connection.execute(unsent.values(body=sendable(canonical(body)))).rowcount:
            return
    due = now if before is None else max(now, min(before.made, now) + alert.quiet)
    made = {
        "id": f"msg_{secrets.token_hex(16)}",
        "alert": alert.id,
        "trial": happened.trial,
        "kind": happened.kind,
        "body": sendable(canonical(describe(alert, happened, late=late))),
        "made": due,
        "due": due,
        "attempts": 0,
        "state": "waiting",
        "said": None,
        "done": None,
    }
    connection.execute(messages.insert(), made)


def has_told(connection: sa.Connection, alert: Alert, happened: Happened, *, since: float) -> bool:
    """Whether an alert's last message of this kind and trial, sent or not, is of this time or later, or about the same
    event.
    """
    before = _newest(connection, alert, happened)
    return before is not None and (before.made >= since or json.loads(before.body)["data"]["event"] == happened.last)


def _newest(connection: sa.Connection, alert: Alert, happened: Happened) -> Any:
    same = (messages.c.alert == alert.id, messages.c.trial == happened.trial, messages.c.kind == happened.kind)
    return connection.execute(
        sa.select(messages).where(*same).order_by(messages.c.made.desc()).limit(1)
    ).one_or_none()  # fmt: skip


def _older(connection: sa.Connection, before: str, of: Sequence[str] | None) -> sa.ColumnElement[bool]:
    """A condition: a message is listed behind this one, which must be of these alerts itself."""
    same = sa.select(messages.c.made).where(messages.c.id == before)
    made = connection.scalar(same if of is None else same.where(messages.c.alert.in_(list(of))))
    if made is None:
        raise NotFoundError(f"there is no message {before[:40]!r} here; leave it out to begin with the newest")
    return sa.or_(messages.c.made < made, sa.and_(messages.c.made == made, messages.c.id > before))


class Outbox:
    """The messages of one database."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def due(self, *, but: Sequence[str] = ()) -> list[Message]:
        """The oldest message that is due of each alert, but for these alerts: each tells one thing after another."""
        ready = (messages.c.state == "waiting", messages.c.due <= time.time(), messages.c.alert.not_in(list(but)))
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            rows = connection.execute(sa.select(messages).where(*ready).order_by(messages.c.made, messages.c.id))
            return list({row.alert: Message(*row) for row in reversed(rows.all())}.values())

    def take(self, message: Message, *, seconds: float) -> tuple[Message, Any] | None:
        """A message to be sent now, with its alert's row, or None if another process took it; one that is never heard
        of again is due again after so many seconds.
        """
        claimed = messages.update().where(
            messages.c.id == message.id, messages.c.attempts == message.attempts, messages.c.state == "waiting"
        )
        with database_errors(), self._engine.begin() as connection:
            values = {"attempts": message.attempts + 1, "due": time.time() + seconds, "said": BEGUN}
            if not connection.execute(claimed.values(**values)).rowcount:
                return None
            # What it says may have grown since it was read.
            row = connection.execute(sa.select(messages).where(messages.c.id == message.id)).one()
            return Message(*row), connection.execute(sa.select(alerts).where(alerts.c.id == message.alert)).one()

    def recover(self) -> None:
        """Have sent again what a process was sending that does so no longer."""
        begun = messages.update().where(messages.c.state == "waiting", messages.c.said == BEGUN)
        with database_errors(), self._engine.begin() as connection:
            connection.execute(begun.values(due=time.time(), said="the service ended while it was being sent"))

    def sent(self, message: Message, said: str) -> None:
        """Note that a message was taken by its receiver: what else waits for it may be tried at once."""
        with database_errors(), self._engine.begin() as connection:
            self._end(connection, message, "sent", said)
            others = messages.update().where(messages.c.alert == message.alert, messages.c.state == "waiting")
            now = time.time()
            connection.execute(others.where(messages.c.attempts > 0, messages.c.due > now).values(due=now))

    def failed(self, message: Message, said: str, *, wait: float) -> None:
        """Note that an attempt failed, and after how many seconds comes the next."""
        with database_errors(), self._engine.begin() as connection:
            one = messages.update().where(messages.c.id == message.id, messages.c.state == "waiting")
            connection.execute(one.values(said=said[:SAID_LENGTH], due=time.time() + wait))

    def give_up(self, message: Message, said: str) -> None:
        """Note that a message was given up."""
        with database_errors(), self._engine.begin() as connection:
            self._end(connection, message, "given up", said)

    def _end(self, connection: sa.Connection, message: Message, state: str, said: str) -> None:
        one = messages.update().where(messages.c.id == message.id, messages.c.state == "waiting")
        connection.execute(one.values(state=state, said=said[:SAID_LENGTH], done=time.time()))
        # Now and then the oldest go, so that the log does not grow for ever.
        if secrets.randbelow(1000) == 0:
            ended = sa.select(messages.c.made).where(messages.c.state != "waiting").order_by(messages.c.made.desc())
            oldest = connection.scalar(ended.offset(MOST_KEPT).limit(1))
            if oldest is not None:
                connection.execute(messages.delete().where(messages.c.state != "waiting", messages.c.made <= oldest))

    def log(
        self, of: Sequence[str] | None = None, *, trial: str | None = None, before: str | None = None, limit: int = 100
    ) -> list[Message]:  # fmt: skip
        """What was sent, waits or was given up, newest first: of these alerts and this trial, or of all; with `before`
        those that come after the message of this id in that order.
        """
        wanted = sa.select(messages).order_by(messages.c.made.desc(), messages.c.id).limit(limit)
        wanted = wanted if of is None else wanted.where(messages.c.alert.in_(list(of)))
        # A test of an alert about a whole project is of no trial.
        wanted = (
            wanted if trial is None else wanted.where(sa.or_(messages.c.trial == trial, messages.c.trial.is_(None)))
        )
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            wanted = wanted if before is None else wanted.where(_older(connection, before, of))
            return [Message(*row) for row in connection.execute(wanted)]

    def get(self, id: str) -> Message:
        """One message."""
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            return Message(*connection.execute(sa.select(messages).where(messages.c.id == id)).one())

    def waiting(self) -> int:
        """How many messages have not been sent yet, though they are due."""
        counted = sa.select(sa.func.count()).where(messages.c.state == "waiting", messages.c.made <= time.time())
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            return connection.scalar(counted) or 0

    def test(self, alert: Alert) -> Message:
        """Have an alert send a test, at once."""
        happened = Happened("test", alert.trial, 0, 0, 1, time_now(), {})
        with database_errors(), self._engine.begin() as connection:
            add(connection, alert._replace(quiet=0.0), happened, late=True)
            newest = sa.select(messages).where(messages.c.alert == alert.id, messages.c.kind == "test")
            return Message(*connection.execute(newest.order_by(messages.c.made.desc()).limit(1)).one())
