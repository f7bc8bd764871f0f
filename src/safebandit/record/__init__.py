"""The durable record of live trials: a log of events that is only ever added to, and the state that it gives."""

from safebandit.record.events import Event
from safebandit.record.ledger import Ledger
from safebandit.record.settings import Settings

__all__ = ["Event", "Ledger", "Settings"]
