"""The worklist: pending units of all trials that somebody may tell of, as far as they see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from safebandit.service.access import in_trial
from safebandit.service.keys import Key
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.store import trial_row
from safebandit.trials.record.waiting import Place, Sight, WaitingUnit, Wanted, waiting_counts, waiting_units
from safebandit.trials.texts import check_name


class Worklist(NamedTuple):
    """A page of the list; how many units there are in all, and in every trial whichever one is wanted; and the place
    behind which the next page begins, if there is one.
    """

    units: Sequence[WaitingUnit]
    total: int
    counts: Mapping[str, int]
    next: Place | None


def worklist(ledger: Ledger, key: Key, wanted: Wanted, *, after: Place | None, most: int) -> Worklist:
    """What waits for this caller.

    Who may not read a project's log sees there the units that were asked for with the same key.
    """
    if wanted.trial:
        in_trial(key, check_name(wanted.trial), "tell")
        with ledger.reading() as connection:
            trial_row(connection, wanted.trial)
    tells, reads = key.where("tell"), key.where("log")
    sight = Sight(tells & reads, tells - reads, key.actor)
    found = waiting_units(ledger, sight, wanted, after=after, most=most + 1)
    shown = found[:most]
    counts = waiting_counts(ledger, sight, wanted._replace(trial=""))
    total = counts.get(wanted.trial, 0) if wanted.trial else sum(counts.values())
    return Worklist(shown, total, counts, shown[-1].place if len(found) > most else None)
