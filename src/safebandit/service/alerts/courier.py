"""A thread that watches the logs for alerts and has messages sent, each in a thread of its own.

Nothing here is waited for by whoever asks or tells: a receiver that hangs keeps only its own messages back.
"""

from __future__ import annotations

import random
import threading
import time
from typing import Any, NamedTuple

from safebandit.errors import SafebanditError
from safebandit.service.alerts import outbox
from safebandit.service.alerts.finding import Finder, OvertakenError
from safebandit.service.alerts.lease import Lease
from safebandit.service.alerts.mail import MailServer, send
from safebandit.service.alerts.outbox import Message, Outbox
from safebandit.service.alerts.outcome import FailedError
from safebandit.service.alerts.rules import active_alerts
from safebandit.service.alerts.webhook import post
from safebandit.service.alerts.words import Happened
from safebandit.service.logs import log
from safebandit.service.metrics import Metrics
from safebandit.trials.events import now
from safebandit.trials.record.database import database_errors
from safebandit.trials.record.ledger import Ledger


class Pace(NamedTuple):
    """How often logs are looked at, and waits; how long a lease lasts, and an attempt; waits between attempts, which
    double from the first to the longest, and how many attempts there are: with these they go on for a day.
    """

    look_seconds: float = 0.5
    waits_seconds: float = 2.0
    lease_seconds: float = 6.0
    attempt_seconds: float = 10.0
    first_seconds: float = 5.0
    longest_seconds: float = 3600.0
    attempts: int = 33
    # Receivers that are talked to at once.
    at_once: int = 16


class Courier:
    """Sends what alerts have to tell, if this process is the one that does; `late`: viewers see sums late."""

    def __init__(
        self,
        ledger: Ledger,
        metrics: Metrics,
        *,
        mail: MailServer | None = None,
        late: bool = False,
        pace: Pace | None = None,
    ) -> None:
        self._engine = ledger.engine
        self._metrics, self._mail, self._late = metrics, mail, late
        self._pace = pace or Pace()
        self._lease = Lease(self._engine, "alerts", seconds=self._pace.lease_seconds)
        self._finder = Finder(self._engine, late=late)
        self._outbox = Outbox(self._engine)
        # The threads that send, by the alert.
        self._sending: dict[str, threading.Thread] = {}
        self._looked_at_waits = -self._pace.waits_seconds
        self._stopping, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="courier", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look at once: an alert was made, or something is to be sent."""
        self._woken.set()

    def close(self) -> None:
        """Begin nothing more; what is being sent has some seconds to end, and is otherwise sent again."""
        self._stopping.set()
        self.wake()
        self._thread.join()
        until = time.monotonic() + self._pace.attempt_seconds / 2
        for thread in list(self._sending.values()):
            thread.join(max(0.0, until - time.monotonic()))
        try:
            self._lease.release()
        except SafebanditError as problem:
            log.warning("a lease was not released", extra={"fields": {"problem": str(problem)}})

    def verified(self, trial: str | None, problem: str, *, event: int = 0, since: float | None = None) -> None:
        """Have told that a trial, or the database itself (None), fails verification."""
        tell_failed_verification(self._engine, trial, problem, event=event, since=since, late=self._late)
        self.wake()

    def _work(self) -> None:
        while not self._stopping.is_set():
            wait = self._pace.look_seconds
            try:
                if not self._beat():
                    # Nobody to tell, or another process does.
                    wait = 4 * self._pace.look_seconds
            except OvertakenError:
                self._finder.forget()
            except SafebanditError as problem:
                log.warning("alerts cannot be looked after now", extra={"fields": {"problem": str(problem)}})
                wait = 10 * self._pace.look_seconds
            except Exception:  # noqa: BLE001  one mistake must not end all alerts
                log.exception("alerts failed")
                wait = 10 * self._pace.look_seconds
            self._woken.wait(wait)
            self._woken.clear()

    def _beat(self) -> bool:
        """Look at the logs and begin to send what is due; False if there is nothing to do here."""
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            alerts = active_alerts(connection)
        if not alerts:
            return False
        held, new = self._lease.hold()
        if not held:
            return False
        if new:
            self._finder.forget()
            self._outbox.recover()
        waits = time.monotonic() - self._looked_at_waits >= self._pace.waits_seconds
        self._finder.look(alerts, waits=waits)
        if waits:
            self._looked_at_waits = time.monotonic()
        self._sending = {alert: thread for alert, thread in self._sending.items() if thread.is_alive()}
        for message in self._outbox.due(but=list(self._sending)):
            if len(self._sending) < self._pace.at_once and not self._stopping.is_set():
                thread = threading.Thread(target=self._send, args=(message,), daemon=True)
                self._sending[message.alert] = thread
                thread.start()
        return True

    def _send(self, message: Message) -> None:
        try:
            taken = self._outbox.take(message, seconds=1.5 * self._pace.attempt_seconds)
            if taken is not None:
                self._attempt(*taken)
        except SafebanditError as problem:
            # What became of it is not known to the database: it is sent again, with the same id.
            log.warning("a message was not noted", extra={"fields": {"id": message.id, "problem": str(problem)}})
        except Exception:  # noqa: BLE001  it is tried again
            log.exception("a message failed", extra={"fields": {"id": message.id}})
        else:
            self.wake()

    def _attempt(self, message: Message, alert: Any) -> None:
        noted = {"id": message.id, "alert": message.alert, "kind": message.kind, "attempts": message.attempts}
        try:
            said = self._deliver(message, alert)
        except FailedError as problem:
            over = problem.final or message.attempts >= self._pace.attempts
            self._metrics.alerted(alert.channel, "given up" if over else "failed")
            log.warning("a message was not sent", extra={"fields": {**noted, "problem": str(problem), "over": over}})
            if over:
                self._outbox.give_up(message, str(problem))
            else:
                self._outbox.failed(message, str(problem), wait=self._wait(message.attempts))
            return
        self._outbox.sent(message, said)
        self._metrics.alerted(alert.channel, "sent")
        log.info("a message was sent", extra={"fields": noted})

    def _deliver(self, message: Message, alert: Any) -> str:
        seconds = self._pace.attempt_seconds
        if alert.channel == "webhook":
            return post(alert.target, alert.secret, message.id, message.body, seconds=seconds)
        if self._mail is None:
            raise FailedError("this service has no mail server: start it with --smtp-host")
        return send(self._mail, alert.target, message.id, message.body, seconds=seconds)

    def _wait(self, attempts: int) -> float:
        """Seconds until the next attempt; half of them random, so that many do not come together."""
        longest = min(self._pace.longest_seconds, self._pace.first_seconds * 2.0 ** (attempts - 1))
        return longest * random.uniform(0.5, 1.0)


def tell_failed_verification(
    engine: Any, trial: str | None, problem: str, *, event: int = 0, since: float | None = None, late: bool = True
) -> int:
    """Have every alert that is about it tell that a trial, or the database itself (None), fails verification at an
    event; how many do. One that fails `since` a time is told once: by those that have not told of it since then, nor
    of the same event before.
    """
    happened = Happened("verification", trial, event, event, 1, now(), {"problem": problem})
    with database_errors(), engine.connect().execution_options(reading=True) as reading:
        wanted = [alert for alert in active_alerts(reading) if alert.concerns(trial, "verification")]
        if since is not None:
            wanted = [each for each in wanted if not outbox.has_told(reading, each, happened, since=since)]
    if wanted:
        with database_errors(), engine.begin() as connection:
            for alert in wanted:
                outbox.add(connection, alert, happened, late=late)
    return len(wanted)
