"""The units of a trial as an analysis takes them, whatever they come from: a trial, a record, or a table of units."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Counts, Numbers
from safebandit.errors import TrialError, suggest
from safebandit.names import find_name
from safebandit.problems.cells import are_missing, read_numbers
from safebandit.problems.limits import read_limits
from safebandit.problems.tables import Table, read_file
from safebandit.trials.chances import ESTIMATED
from safebandit.trials.drafts import ENDED
from safebandit.trials.events import Event
from safebandit.trials.reading import check_lost
from safebandit.trials.recounting import HARM
from safebandit.trials.settings import Settings
from safebandit.trials.strata import AnyStratum, stratum_names
from safebandit.trials.texts import from_cell
from safebandit.trials.trial import Trial
from safebandit.trials.units import UnitTable, as_table, of_stratum

if TYPE_CHECKING:
    import pandas as pd
    import sqlalchemy as sa

    from safebandit.trials.record.ledger import Ledger

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class AnalysedUnits:
    """Units in the order in which they were given arms, without those that were voided; outcomes as known now.

    `arm` is the place of a unit's arm in `arms`. A `reward` or a `risk` (a column for each) is NaN where it is not
    known, but the risk of a unit that was `given_up` is 1 where `lost` is "harm", as in the trial itself. `told` has a
    column for the reward and for each risk: the number of the event by which it first was known, or counted, 0 where it
    is not. A correction changes the value and not its place. `limits` are those in force now, NaN where none is known.

    `chances` has the recorded chance of every arm for every unit, NaN where none was recorded, and `exact` whether
    they are exact, or integrated, not estimated by draws. `unseen` (a column for each risk) says which risks nobody
    saw, of units that were given up, and `by_context` whether the policy gives arms by the unit's context, or one did
    before an amendment. `stratum` names the one stratum that these units are of, if they are of one, and `strata` all
    that are pooled otherwise; `masked` is how many units asked with only some arms eligible.
    """

    name: str
    arms: tuple[str, ...]
    risks: tuple[str, ...]
    limits: tuple[float, ...]
    control: str | None
    rewarded: bool
    arm: Counts
    reward: Numbers
    risk: Numbers
    told: Counts
    given_up: Flags
    chances: Numbers
    exact: Flags
    lost: str = "harm"
    planned: int | None = None
    in_order: bool = True
    unseen: Flags | None = None
    by_context: bool = False
    stratum: str = ""
    strata: tuple[str, ...] = ()
    masked: int = 0

    @property
    def size(self) -> int:
        """How many units there are."""
        return len(self.arm)

    @property
    def outcomes(self) -> Numbers:
        """The reward, then every risk: columns."""
        return np.column_stack([self.reward, self.risk])


def read_units(
    source: Any, name: str | None = None, *, chances: bool = True, stratum: AnyStratum | None = None, **said: Any
) -> AnalysedUnits:
    """The units of a `Trial`, of a trial of this name in a record (a `Ledger`), or of a table of units; of one
    `stratum`, or of all.

    A table is a file as `safebandit trial export` writes it (.csv, .parquet) or a pandas one; it does not say `alpha`,
    `control` and `lost`.
    """
    if isinstance(source, AnalysedUnits):
        return source
    if isinstance(source, Trial):
        _none_said(said, "a trial")
        return from_trial(source, chances=chances, stratum=stratum)
    if name is not None or hasattr(source, "reading"):
        _none_said(said, "a record")
        if name is None:
            raise TrialError("a record holds several trials; give the name of one")
        return from_record(source, name, chances=chances, stratum=stratum)
    if stratum is not None:
        raise TrialError(f"a stratum is that of a trial, got {stratum!r} for a table of units; give its rows alone")
    return from_csv(source, **said)


def _none_said(said: dict[str, Any], what: str) -> None:
    given = [name for name, value in said.items() if value is not None]
    if given:
        raise TrialError(f"{what} says its own {given[0]}; leave it out")


def from_trial(trial: Trial, *, chances: bool = True, stratum: AnyStratum | None = None) -> AnalysedUnits:
    """The units of a trial in this process; without `chances` none are read from its log."""
    units, log = list(trial._store.units()), trial._store.log
    whole = Whole(trial.settings, _ever_by_context(log), trial._engine.state.masked)
    part = whole.stratum(stratum)
    asked = (log[unit.asked_at - 1] for unit in units if unit.voided_at is None and part in ("", unit.stratum))
    return _from_table(trial.name, whole, as_table(units), asked if chances else None, part)


def from_past(record: Ledger, name: str, *, delay: int) -> AnalysedUnits:
    """The units of a trial in a record as they were at least so many units ago, for those who see sums that late; of a
    trial that has ended, as they are.
    """
    from safebandit.trials.record.past import units_before
    from safebandit.trials.record.store import read_log

    now, past, _ = units_before(record, name, delay=delay)
    if now.status in ENDED:
        return from_record(record, name, chances=False)
    with record.reading() as connection:
        whole = Whole(now.settings, _ever_by_context(read_log(connection, name, kinds=VERSIONS)), now.masked)
    return _from_table(name, whole, as_table(past.units()), None, "")


def from_record(
    record: Ledger,
    name: str,
    *,
    chances: bool = True,
    stratum: AnyStratum | None = None,
    connection: sa.Connection | None = None,
) -> AnalysedUnits:
    """The units of a trial in a record; without `chances` none are read from its log. With a `connection` they are read
    as they are there, beside what else is.
    """
    from safebandit.trials.record.store import as_written, read_ahead, read_log, trial_row

    there = record.reading() if connection is None else contextlib.nullcontext(connection)
    with there as reading:
        row, ahead = trial_row(reading, name), read_ahead(reading, name)
        with as_written(f'the state of trial "{name}"'):
            state = json.loads(row.state)
            settings = Settings.from_dict(state["settings"])
        versions = list(read_log(reading, name, kinds=VERSIONS))
        whole, asked = Whole(settings, _ever_by_context(versions), state.get("masked", 0)), None
        part = whole.stratum(stratum)
        if chances:
            mine = (ahead.table.arms >= 0) & ((ahead.table.strata == part) | (part == ""))
            counted = {ahead.table.rounds[row] for row in np.flatnonzero(mine)}
            decided = (event for event in read_log(reading, name) if event.kind == "asked")
            asked = [event for event in decided if event.content["round"] in counted]
    return _from_table(name, whole, ahead.table, asked, part)


class Whole(NamedTuple):
    """What is known of a trial besides its units: its settings now, whether arms were ever given by the unit's context,
    and how many units asked with only some arms eligible.
    """

    settings: Settings
    by_context: bool
    masked: int

    def stratum(self, stratum: AnyStratum | None) -> str:
        """The name of the stratum that is asked about; nothing where all are."""
        return "" if stratum is None else self.settings.read_stratum("an analysis", stratum)


def _from_table(
    name: str, whole: Whole, table: UnitTable, asked: Iterable[Event] | None, stratum: str
) -> AnalysedUnits:  # fmt: skip
    """The units of a trial, or of one stratum; `asked` are the events in which those that count were given their arms,
    in order.
    """
    settings, table = whole.settings, of_stratum(table, stratum) if stratum else table
    order = np.argsort(table.rounds, kind="stable")
    order = order[table.arms[order] >= 0]
    places = np.array([settings.arms.index(arm) for arm in table.names], np.int64)
    # A table of no units has no columns for their risks.
    shape = (len(order), 1 + len(settings.risks))
    values = table.outcomes[order].reshape(shape)
    known = ~np.isnan(values)
    told = np.where(known, table.told_at[order].reshape(shape), 0)
    given_up = table.lost_at[order] > 0
    counted = given_up[:, None] & ~known
    counted[:, 0] = False
    if settings.lost == "harm":
        values[counted] = HARM
        told = np.where(counted, table.lost_at[order][:, None], told)
    chances, exact = _no_chances(len(order), len(settings.arms))
    if asked is not None:
        chances, exact = _read_chances(asked, settings.arms, len(order))
    design = settings.design
    return AnalysedUnits(
        name, settings.arms, settings.risks, settings.limits, settings.control_arm,
        settings.rewarded, places[table.arms[order]], values[:, 0], values[:, 1:], told, given_up, chances, exact,
        settings.lost, None if design is None else design.units,
        unseen=counted[:, 1:], by_context=whole.by_context, stratum=stratum,
        strata=() if stratum else tuple(stratum_names(settings.factors)), masked=whole.masked,
    )  # fmt: skip


# The events that have settings.
VERSIONS = ("created", "amended")


def _ever_by_context(events: Iterable[Event]) -> bool:
    """Whether what was decided ever depended on the unit's context, under these settings or others before."""
    versions = (Settings.from_dict(event.content["settings"]) for event in events if event.kind in VERSIONS)
    return any(settings.goes_by_context for settings in versions)


def _no_chances(units: int, arms: int) -> tuple[Numbers, Flags]:
    return np.full((units, arms), np.nan), np.zeros(units, bool)


def _read_chances(asked: Iterable[Event], arms: Sequence[str], units: int) -> tuple[Numbers, Flags]:
    """What was recorded when each unit was given its arm; an arm that was not there had no chance."""
    chances, exact = np.zeros((units, len(arms))), np.zeros(units, bool)
    places = {arm: k for k, arm in enumerate(arms)}
    for row, event in enumerate(asked):
        content = event.content
        exact[row] = not content["propensities"].startswith(ESTIMATED)
        for arm, saw in content["arms"].items():
            chances[row, places[arm]] = np.nan if saw["propensity"] is None else saw["propensity"]
    return chances, exact


def from_csv(
    table: str | Path | pd.DataFrame, *, alpha: Any = None, control: str | None = None, lost: str | None = None
) -> AnalysedUnits:
    """The units of a file as `safebandit trial export` writes it, or of a table with such columns.

    It needs the columns arm and risk, or several that begin with "risk"; it may have reward, round, given_up, void and
    propensity. When outcomes were told is not known: they count in the order of the rounds, or of the rows.
    """
    import pandas as pd

    if not isinstance(table, pd.DataFrame | str | Path):
        raise TrialError(f"units come from a trial, a record or a table with the columns arm and risk, got {table!r}")
    named = "the table" if isinstance(table, pd.DataFrame) else Path(table).name
    read = Table(table) if isinstance(table, pd.DataFrame) else read_file(Path(table), ["arm"])
    rows = read.rows.rename(columns=lambda column: _head(from_cell(str(column))))
    if "arm" not in rows:
        raise TrialError(f'{named} has no column "arm"; {suggest("arm", map(str, rows.columns))}')
    columns = [column for column in rows.columns if column.startswith("risk")]
    if not columns:
        raise TrialError(f'{named} has no column "risk"; {suggest("risk", map(str, rows.columns))}')
    check_lost(lost or "harm")
    return _from_columns(read._replace(rows=rows), columns, named, alpha, control, lost or "harm")


def _head(column: str) -> str:
    """The name of a column, however its blanks and capitals are typed; what follows "risk" is a name of its own.

    >>> _head(" Arm"), _head("Given_Up"), _head("Risk toxic Effects")
    ('arm', 'given_up', 'risk toxic Effects')
    """
    first, blank, rest = column.strip().partition(" ")
    return first.lower() + blank + rest


def _from_columns(
    table: Table, columns: list[str], named: str, alpha: Any, control: str | None, lost: str
) -> AnalysedUnits:  # fmt: skip
    # An arm may be named "None" or "NA": only what is no text, or an empty one, is missing.
    cells = table.rows["arm"]
    empty = cells.map(lambda arm: isinstance(arm, str) and not arm.strip())
    missing = (cells.isna() | empty).to_numpy(bool)
    if missing.any():
        raise TrialError(f"every unit needs an arm, {table.place(int(missing.argmax()))} has none")
    names = [from_cell(str(arm)) for arm in table.rows["arm"]]
    arms = tuple(dict.fromkeys(names))
    place = {arm: k for k, arm in enumerate(arms)}
    # Without rounds all are NaN, and stay as they are.
    order = np.argsort(_numbers(table, "round"), kind="stable")
    order = order[_numbers(table, "void")[order] != 1.0]
    values = np.column_stack([_numbers(table, column) for column in ("reward", *columns)])[order]
    given_up = _numbers(table, "given_up")[order] == 1.0
    unseen = given_up[:, None] & np.isnan(values[:, 1:])
    if lost == "harm":
        values[:, 1:][unseen] = HARM
    told = np.where(np.isnan(values), 0, np.arange(1, len(order) + 1)[:, None])
    given = np.array([place[names[row]] for row in order], np.int64)
    chances, exact = _no_chances(len(order), len(arms))
    chances[np.arange(len(order)), given] = _numbers(table, "propensity")[order]
    risks = tuple(column.removeprefix("risk ") for column in columns)
    limits = (np.nan,) * len(risks) if alpha is None else read_limits(alpha, len(risks), TrialError)
    return AnalysedUnits(
        named, arms, risks, limits, control, "reward" in table.rows, given, values[:, 0], values[:, 1:], told,
        given_up, chances, exact, lost, None, False, unseen,
    )  # fmt: skip


def _numbers(table: Table, column: str) -> Numbers:
    """The numbers of a column, NaN where there is none; but for rounds they lie in [0, 1]."""
    if column not in table.rows:
        return np.full(len(table.rows), np.nan)
    cells = table.rows[column]
    if cells.ndim > 1:
        raise TrialError(f'there are {cells.shape[1]} columns "{column}"; give them names that differ')
    found = read_numbers(cells)
    wrong = (found.isna() & ~are_missing(cells)).to_numpy()
    if column != "round":
        wrong = wrong | (found.notna() & ~found.between(0.0, 1.0)).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        rule = "be a number" if column == "round" else "lie in [0, 1]"
        raise TrialError(f"{column} must {rule}, {table.place(row)} has {cells.iloc[row]!r}")
    return np.asarray(found, float)


def read_control(units: AnalysedUnits, control: str | None) -> int | None:
    """The place of the control among the arms: the one named, or the design's."""
    named = units.control if control is None else control
    if named is None:
        return None
    found = find_name(str(named), units.arms)
    if found is None:
        raise TrialError(f'the control must be an arm, got "{named}"; {suggest(str(named), units.arms)}')
    return units.arms.index(found)
