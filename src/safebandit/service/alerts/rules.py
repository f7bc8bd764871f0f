"""The alerts of a database: what each is about, whom it tells, and how much that channel may know."""

from __future__ import annotations

import base64
import json
import math
import re
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.errors import NotFoundError, TrialError
from safebandit.service.roles import PERMISSIONS, ROLES
from safebandit.trials.events import now
from safebandit.trials.record.database import alert_positions, alerts, database_errors, messages, trials
from safebandit.trials.record.ledger import Ledger, local_actor
from safebandit.trials.record.projects import check_there, in_projects
from safebandit.trials.record.registry import register, registered_alert
from safebandit.trials.record.store import no_trial
from safebandit.trials.texts import DEFAULT, project_of

KINDS = ("hold", "waiting", "stop", "guard", "verification", "amendment")
CHANNELS = ("webhook", "email")
# Of a kind and a trial, an alert sends at most one message in so many seconds; what happens meanwhile is told together.
QUIET_SECONDS = 300.0
LONGEST_SECONDS = 366 * 24 * 3600.0
MOST_ALERTS = 1000
_URL = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[!-~]*)?")
# A stricter form than the standard's: no quotes, comments, blanks or line breaks.
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")


class Alert(NamedTuple):
    """An alert without its secret; one of no trial is about all of its project."""

    id: str
    project: str
    trial: str | None
    kinds: tuple[str, ...]
    channel: str
    target: str
    role: str
    patience: float | None
    quiet: float
    created: str
    removed: str | None

    @property
    def address(self) -> str:
        """Where it sends, as it may be shown: the rest of a webhook's address may be a secret."""
        return "/".join(self.target.split("/")[:3]) if self.channel == "webhook" else self.target

    def may(self, action: str) -> bool:
        """Whether the channel may know what this action shows."""
        return action in PERMISSIONS[self.role]

    def concerns(self, trial: str | None, kind: str) -> bool:
        """Whether it is about this; what the database itself does (None) is every alert's concern."""
        return kind in self.kinds and (trial is None or self.covers(trial))

    def covers(self, trial: str) -> bool:
        """Whether it is about this trial."""
        return self.trial == trial or (self.trial is None and project_of(trial) == self.project)


class Alerts:
    """The alerts of one database."""

    def __init__(self, ledger: Ledger) -> None:
        self._engine = ledger.engine

    def create(
        self,
        channel: str,
        target: str,
        *,
        project: str | None = None,
        trial: str | None = None,
        kinds: Sequence[str] | None = None,
        role: str = "operator",
        patience: float | None = None,
        quiet: float = QUIET_SECONDS,
        actor: str | None = None,
    ) -> tuple[Alert, str | None]:
        """A new alert, and the secret that its webhook is signed with: the only time that it can be seen.

        It is about a trial, or all of a project (without one, the default project). Without `kinds` it is about
        everything; about waiting only where `patience` says how many seconds are too long.
        """
        wanted = _read_kinds(kinds, patience)
        where = project or (DEFAULT if trial is None else project_of(trial))
        if trial is not None and project_of(trial) != where:
            raise TrialError(f'trial "{trial[:100]}" is not one of the project "{where}"; leave the project out')
        _check_channel(channel, target, role)
        for what, seconds in {"patience": patience, "quiet": quiet}.items():
            if seconds is not None and not (math.isfinite(seconds) and 0 <= seconds <= LONGEST_SECONDS):
                raise TrialError(f"{what} must be 0 to {LONGEST_SECONDS:.0f} seconds, got {seconds!r}")
        secret = f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}" if channel == "webhook" else None
        which = (secrets.token_hex(8), where, trial, wanted)
        alert = Alert(*which, channel, target, role, patience, float(quiet), now(), None)
        row = {**alert._asdict(), "kinds": json.dumps(wanted), "secret": secret}
        with database_errors(), self._engine.begin() as connection:
            check_there(connection, where)
            if trial is not None and connection.scalar(_named(trial)) is None:
                raise no_trial(connection, trial)
            if (connection.scalar(sa.select(sa.func.count()).select_from(alerts)) or 0) >= MOST_ALERTS:
                raise TrialError(f"a database has at most {MOST_ALERTS} alerts, removed ones too; name other channels")
            connection.execute(alerts.insert(), row)
            _begin_positions(connection, alert)
            register(connection, "alert made", registered_alert(row), actor=actor or local_actor())
        return alert, secret

    def all(self) -> list[Alert]:
        """Every alert, removed ones too, oldest first."""
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            rows = connection.execute(sa.select(alerts).order_by(alerts.c.created, alerts.c.id))
            return [_alert(row) for row in rows]

    def get(self, id: str) -> Alert:
        """One alert."""
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            return _alert(_row(connection, id))

    def remove(self, id: str, *, actor: str | None = None) -> Alert:
        """Send nothing more for an alert; what waits to be sent is given up. Again changes nothing."""
        with database_errors(), self._engine.begin() as connection:
            before = _row(connection, id)
            if before.removed is None:
                removed = now()
                connection.execute(alerts.update().where(alerts.c.id == id).values(removed=removed))
                waiting = messages.update().where(messages.c.alert == id, messages.c.state == "waiting")
                connection.execute(waiting.values(state="given up", said="the alert was removed"))
                register(connection, "alert removed", {"id": id, "removed": removed}, actor=actor or local_actor())
            return _alert(_row(connection, id))


def active_alerts(connection: sa.Connection) -> list[Alert]:
    """The alerts that were not removed."""
    return [_alert(row) for row in connection.execute(sa.select(alerts).where(alerts.c.removed.is_(None)))]


def about(alert: Alert, name: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """A condition: an alert is about a trial of this name."""
    return in_projects(name, [alert.project]) if alert.trial is None else name == alert.trial


def _row(connection: sa.Connection, id: str) -> Any:
    row = connection.execute(sa.select(alerts).where(alerts.c.id == id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no alert {str(id)[:40]!r}; list them to see their ids")
    return row


def _alert(row: Any) -> Alert:
    return Alert(**{name: getattr(row, name) for name in Alert._fields if name != "kinds"}, kinds=_kinds(row.kinds))


def _kinds(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def _named(trial: str) -> Any:
    return sa.select(trials.c.name).where(trials.c.name == trial)


def _begin_positions(connection: sa.Connection, alert: Alert) -> None:
    """Begin where the logs end now: an alert tells of nothing that was before it, but of units still waited for."""
    columns = (sa.literal(alert.id), trials.c.name, trials.c.number, sa.literal(0), sa.literal(0))
    ends = sa.select(*columns).where(about(alert, trials.c.name))
    connection.execute(alert_positions.insert().from_select(alert_positions.c.keys(), ends))


def _read_kinds(kinds: Sequence[str] | None, patience: float | None) -> tuple[str, ...]:
    if kinds is None:
        return tuple(kind for kind in KINDS if kind != "waiting" or patience is not None)
    for kind in kinds:
        if kind not in KINDS:
            raise TrialError(f"an alert is about {', '.join(KINDS)}, got {kind!r}")
    if not kinds:
        raise TrialError(f"an alert is about something: {', '.join(KINDS)}; got nothing")
    if ("waiting" in kinds) != (patience is not None):
        got = "waiting without patience" if patience is None else "patience without waiting"
        raise TrialError(f"an alert about waiting needs the seconds that are too long as its patience, got {got}")
    return tuple(kind for kind in KINDS if kind in kinds)


def is_address(text: str) -> bool:
    r"""Whether a text is one e-mail address, and nothing that could become a header or a second one.

    >>> is_address("desk@clinic.example"), is_address("a@b.example\nBcc: c@d.example"), is_address("a@b, c@d")
    (True, False, False)
    """
    return len(text) <= 254 and _ADDRESS.fullmatch(text) is not None


def _check_channel(channel: str, target: str, role: str) -> None:
    if channel not in CHANNELS:
        raise TrialError(f"channel must be one of {', '.join(CHANNELS)}, got {channel!r}")
    if role not in PERMISSIONS:
        raise TrialError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
    if channel == "webhook" and not (len(target) <= 2000 and _URL.fullmatch(target)):
        raise TrialError("a webhook's address is such as https://host/path, without a name, a password or blanks in it")
    if channel == "email" and not is_address(target):
        raise TrialError(f"an e-mail address is such as desk@clinic.example, got {target[:80]!r}")
