"""Trials and units in lists, read from their rows: a trial's memory is built only where that says too little."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from safebandit.service.api.answers import PendingUnit, ProposalAnswer, TrialLine
from safebandit.trials.holds import Holds
from safebandit.trials.record.database import events, trials, units
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.projects import in_projects
from safebandit.trials.record.standing import Standings
from safebandit.trials.record.store import as_written, trial_row
from safebandit.trials.second_person import is_told
from safebandit.trials.settings import Settings
from safebandit.trials.strata import read_factors, stratum_names


def all_trials(ledger: Ledger, standings: Standings, projects: Collection[str]) -> list[TrialLine]:
    """Every trial of these projects, in the order of names."""
    wanted = sa.select(trials.c.name, trials.c.number, trials.c.status, trials.c.state).order_by(trials.c.name)
    wanted = wanted.where(in_projects(trials.c.name, projects))
    with ledger.reading() as connection:
        return [_line(connection, standings, row) for row in connection.execute(wanted).all()]


def _line(connection: sa.Connection, standings: Standings, row: Any) -> TrialLine:
    name, number, status, text = row
    with as_written(f'the state of trial "{name}"'):
        state = json.loads(text)
        settings = state["settings"]
        stand = standings.now(connection, name, number, Holds.of_row(state)) if status == "open" else []
        return TrialLine(
            name=name,
            title=settings["title"],
            status=status,
            units=state["units"],
            pending=state["waiting"],
            holding=any(each.held for each in stand),
            waiting=any(not each.held for each in stand),
            strata=stratum_names(read_factors((settings.get("design") or settings).get("strata"))),
            holding_in=[each.stratum for each in stand if each.held and each.stratum],
            waiting_in=[each.stratum for each in stand if not each.held and each.stratum],
        )


def all_is_told(ledger: Ledger, trial: str) -> bool:
    """Whether a trial is closed or unsealed, for good; asked before anything is read that is concealed until then."""
    with ledger.reading() as connection:
        row = trial_row(connection, trial)
    with as_written(f'the state of trial "{trial}"'):
        return is_told(row.status, json.loads(row.state).get("unsealed", ()))


def open_proposals(ledger: Ledger, trial: str) -> list[ProposalAnswer]:
    """What waits for a second person, the oldest first."""
    with ledger.reading() as connection:
        row = trial_row(connection, trial)
        with as_written(f'the state of trial "{trial}"'):
            found = dict(json.loads(row.state).get("proposals", {}))
    return [ProposalAnswer(proposal=int(number), **each) for number, each in found.items()]


def alpha_at(ledger: Ledger, trial: str, number: int) -> list[float]:
    """The limits that were in force when this event was written."""
    settled = events.c.kind.in_(["created", "amended"])
    wanted = sa.select(events.c.body).where(events.c.trial == trial, events.c.number <= number, settled)
    with ledger.reading() as connection:
        body = connection.scalar(wanted.order_by(events.c.number.desc()).limit(1))
    return list(Settings.from_dict(json.loads(str(body))["settings"]).limits)


def pending_units(ledger: Ledger, trial: str, *, after: int, limit: int) -> list[PendingUnit]:
    """Units whose outcome is waited for, in the order of their rounds."""
    wanted = sa.select(units).where(units.c.trial == trial, units.c.pending == sa.true(), units.c.round > after)
    with ledger.reading() as connection:
        trial_row(connection, trial)
        rows = list(connection.execute(wanted.order_by(units.c.round).limit(limit)))
    return [PendingUnit(unit=row.id, arm=row.arm, round=row.round, event=row.asked_at) for row in rows]
