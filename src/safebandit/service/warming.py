"""Formulas compiled beside the service when it starts: after an upgrade no unit waits for those of its trial."""

from __future__ import annotations

import json
import threading

import sqlalchemy as sa

from safebandit.errors import SafebanditError
from safebandit.service.logs import log
from safebandit.trials.engine import warm_up
from safebandit.trials.record.database import trials
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.settings import Settings


class Warming:
    """A thread that goes once through all trials that go on. Who asks before it is done waits as without it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="warming", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Begin nothing more; no process waits for what is being compiled."""
        self._stopping.set()

    def _work(self) -> None:
        done: set[str] = set()
        for name, state in self._open():
            if self._stopping.is_set():
                return
            try:
                settings = json.loads(state)["settings"]
                # Others of the same policy and design need the same formulas.
                formulas = json.dumps([settings["policy"], settings.get("design")])
                if formulas not in done:
                    warm_up(Settings.from_dict(settings))
                    done.add(formulas)
            except (SafebanditError, LookupError, TypeError, ValueError, AttributeError) as problem:
                # Whoever asks in it is told what is wrong.
                told = {"trial": name, "problem": str(problem)}
                log.warning("formulas were not compiled ahead", extra={"fields": told})

    def _open(self) -> list[tuple[str, str]]:
        """The names and states of trials that go on; none where they cannot be read now."""
        try:
            with self._ledger.reading() as connection:
                goes_on = trials.c.status.in_(("open", "paused"))
                found = connection.execute(sa.select(trials.c.name, trials.c.state).where(goes_on))
                return [(row.name, row.state) for row in found]
        except SafebanditError as problem:
            log.warning("formulas were not compiled ahead", extra={"fields": {"problem": str(problem)}})
            return []
