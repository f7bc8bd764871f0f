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
        self,
        ledger: Ledger,
        turn: asyncio.Semaphore,
        *,
        failed: Callable[[str, Verification], None] | None = None,
        noted: Callable[[str, bool], None] | None = None,
    ) -> None:
        super().__init__(turn)
        self._ledger, self._failed, self._noted = ledger, failed, noted

    def work(self, job: Job[Verification]) -> Verification:
        """Verify, and tell those who want to know when it fails."""
        try:
            found = verify(self._ledger, job.trial, expected=job.asked, progress=functools.partial(self.note, job))
        except DamagedError as damage:
            self._tell(job, Verification(job.trial, 0, 0, 0, "", 0, str(damage)))
            raise
        self._tell(job, found)
        return found

    def _tell(self, job: Job[Verification], found: Verification) -> None:
        # That a trial has not a hash that somebody typed is told, but says nothing of the trial by itself.
        if self._noted is not None and (found.holds or job.asked is None):
            self._noted(job.trial, found.holds)
        try:
            if self._failed is not None and not found.holds:
                self._failed(job.trial, found)
        except SafebanditError as failure:
            # A database that is damaged may take no message; whoever asked is told all the same.
            log.error("a failed verification was not told", extra={"fields": {"problem": str(failure)}})
