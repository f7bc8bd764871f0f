"""The durable record of live trials: a log of events that is only ever added to, and the state that it gives."""

from safebandit.trials.events import Event
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.settings import Settings

__all__ = ["Event", "Ledger", "Settings"]
