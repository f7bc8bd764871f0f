"""Verifications as jobs; whoever wants to know is told when one fails."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable

from safebandit.errors import DamagedError, SafebanditError
from safebandit.service.jobs import Job, Jobs
from safebandit.service.logs import log
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.verification import verify
from safebandit.trials.replay import Verification


class Verifications(Jobs[Verification]):
    """The verifications of one process; what is asked for is the hash that is to be found, or None."""

    word = "verification"

    def __init__(
        self, ledger: Ledger, turn: asyncio.Semaphore, *, failed: Callable[[str, str], None] | None = None
    ) -> None:
        super().__init__(turn)
        self._ledger, self._failed = ledger, failed

    def work(self, job: Job[Verification]) -> Verification:
        """Verify, and tell those who want to know when it fails."""
        try:
            found = verify(self._ledger, job.trial, expected=job.asked, progress=functools.partial(self.note, job))
        except DamagedError as damage:
            self._tell(job.trial, str(damage))
            raise
        if not found.holds:
            self._tell(job.trial, str(found.problem))
        return found

    def _tell(self, trial: str, problem: str) -> None:
        try:
            if self._failed is not None:
                self._failed(trial, problem)
        except SafebanditError as failure:
            # A database that is damaged may take no message; whoever asked is told all the same.
            log.error("a failed verification was not told", extra={"fields": {"problem": str(failure)}})
