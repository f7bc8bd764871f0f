"""`sb.what_if`: what another policy would have given at every decision of a trial, and what that would have meant.

At each decision that gave an arm, the other policy is asked for its chances, given all that was known in the trial
then. With these, p_t(k), and the recorded ones, e_t(k), three means over the n decisions are estimated (see
`core/importance.py`), for the reward and for every risk:

    other       mean over t of sum over k of p_t(k) mu(k): each time the next unit alone is the other policy's
    recorded    the same with e_t(k): what the trial itself was to give on average
    difference  the first less the second

That is not what a trial run by the other policy from its first unit would give: it would have seen other data. It is
what the data say of its decisions where the trial has been.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers
from safebandit.core.importance import Points, bounds, estimate
from safebandit.core.naming import read_number
from safebandit.errors import TrialError
from safebandit.trials.analysis.endpoints import said_of
from safebandit.trials.analysis.units import AnalysedUnits, from_record, from_trial
from safebandit.trials.analysis.weighted import plug_in
from safebandit.trials.analysis.words import of_one_stratum, of_unseen
from safebandit.trials.chances import ESTIMATED
from safebandit.trials.events import Event
from safebandit.trials.reading import read_policy
from safebandit.trials.settings import Settings
from safebandit.trials.state import TrialState
from safebandit.trials.store import MemoryStore
from safebandit.trials.strata import AnyStratum
from safebandit.trials.trial import Trial

if TYPE_CHECKING:
    import pandas as pd

KIND = "anytime-valid interval for a mean over the decisions so far"
# A chance that is no larger is none: integrals are right to this.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Outcome:
    """The mean of an endpoint per unit: by the other policy, by the trial's own, and the difference; with intervals.

    `known` units have it, `missing` ones do not: for each end of an interval they are what moves it outwards.
    """

    endpoint: str
    known: int
    missing: int
    other: float
    other_interval: tuple[float, float]
    recorded: float
    recorded_interval: tuple[float, float]
    difference: float
    difference_interval: tuple[float, float]


@dataclass(frozen=True)
class WhatIf:
    """What another policy would have done at each decision of a trial; `refused` says why nothing can be said.

    `shares` are its mean chances by arm, `recorded_shares` those of the trial, `held` the chance that it gives none.
    `risky` is how many units it would on average have given an arm whose mean risk so far was above its limit,
    `recorded_risky` how many were expected of the trial. `heaviest` is the largest weight of a unit. `stratum` is the
    one that it is about, if not all.
    """

    trial: str
    policy: str
    recorded_policy: str
    units: int
    confidence: float
    shares: dict[str, float]
    recorded_shares: dict[str, float]
    held: float
    risky: float
    recorded_risky: float
    heaviest: float | None
    outcomes: tuple[Outcome, ...]
    refused: str | None
    assumptions: tuple[str, ...]
    kind: str = KIND
    stratum: str = ""

    def outcome(self, endpoint: str = "reward") -> Outcome:
        """What is said of one endpoint."""
        return said_of(self.outcomes, endpoint)

    def table(self) -> pd.DataFrame:
        """One row per endpoint."""
        import pandas as pd

        return pd.DataFrame([asdict(each) for each in self.outcomes])

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


class _Asked(NamedTuple):
    """Of every unit that counts, by arm: the other policy's chances, and whether its mean risk was above a limit;
    and whether those chances are estimated from draws, and that no arm is given.
    """

    chances: Numbers
    risky: NDArray[np.bool_]
    estimated: NDArray[np.bool_]
    held: Numbers


def what_if(
    source: Any,
    policy: Any,
    name: str | None = None,
    *,
    confidence: float = 0.95,
    stratum: AnyStratum | None = None,
) -> WhatIf:
    """What another policy would have given at each decision of a trial, and the reward and harms that go with that.

    The source is a `Trial`, or a record with the name of a trial: its log is needed. With a `stratum` it is about the
    decisions for units of that one alone. See the module for what is estimated. It is refused where the other policy
    has a chance for an arm that had none in the trial.
    """
    confidence = float(read_number("confidence", confidence, float, TrialError))
    if not 0.0 < confidence < 1.0:
        raise TrialError(f"confidence must lie between 0 and 1, got {confidence:g}")
    units, events, settings = _read(source, name, stratum)
    if units.size == 0:
        where = f" in the stratum {units.stratum}" if units.stratum else ""
        said = f'no unit of trial "{units.name}" was given an arm yet{where}: there is no decision to ask about'
        raise TrialError(said)
    asked = ask_other(units.name, events, policy, units.arms, stratum=units.stratum)
    chances = units.chances / units.chances.sum(axis=1, keepdims=True)
    refused = _refusal(units, asked.chances, chances) or _refused_holds(units, asked.held)
    outcomes: tuple[Outcome, ...] = ()
    if refused is None:
        outcomes = tuple(_outcomes(units, asked.chances, chances, confidence))
    drawn = asked.chances[np.arange(units.size), units.arm] / chances[np.arange(units.size), units.arm]
    return WhatIf(
        units.name,
        read_policy(policy, settings.arms, units.planned),
        settings.policy,
        units.size,
        confidence,
        _shares(units, asked.chances),
        _shares(units, chances),
        float(asked.held.mean()),
        float((asked.chances * asked.risky).sum()),
        float((chances * asked.risky).sum()),
        None if refused else float(drawn.max()),
        outcomes,
        refused,
        tuple(_assumptions(units, asked)),
        stratum=units.stratum,
    )


def _read(
    source: Any, name: str | None, stratum: AnyStratum | None
) -> tuple[AnalysedUnits, Iterable[Event], Settings]:  # fmt: skip
    if isinstance(source, Trial):
        return from_trial(source, stratum=stratum), list(source.log), source.settings
    if not hasattr(source, "reading"):
        raise TrialError(f"what_if needs the log of a trial: give a Trial, or a record and a name, got {source!r}")
    if name is None:
        raise TrialError("a record holds several trials; give the name of one")
    from safebandit.trials.record.store import load_state, read_log

    # One state of the record: whoever asks or tells meanwhile is in neither the units nor the log.
    with source.reading() as connection:
        units = from_record(source, name, stratum=stratum, connection=connection)
        return units, list(read_log(connection, name)), load_state(connection, name).settings


def ask_other(name: str, events: Iterable[Event], policy: Any, arms: Sequence[str], *, stratum: str = "") -> _Asked:
    """The chances of another policy at every decision of a log that gave an arm, in one stratum or in all, given what
    was known then.
    """
    state, store, places = None, MemoryStore(), {arm: k for k, arm in enumerate(arms)}
    found: dict[str, tuple[Numbers, NDArray[np.bool_], bool, float]] = {}
    for event in events:
        content = event.content
        if event.kind in ("created", "amended"):
            content = {**content, "settings": _by_other(Settings.from_dict(content["settings"]), policy).to_dict()}
        if state is None:
            state = TrialState(name, Settings.from_dict(content["settings"]))
        if event.kind == "asked" and stratum in ("", state.settings.read_stratum("a unit", content.get("stratum"))):
            found[content["unit"]] = _ask(state, places, content)
        state.do(event.number, event.kind, content, store)
    counting = (unit for unit in store.units() if unit.voided_at is None and unit.id in found)
    kept = [found[unit.id] for unit in sorted(counting, key=lambda unit: unit.round)]
    chances, risky, estimated, held = zip(*kept, strict=True)
    given = 1.0 - np.array(held)
    # Of both policies the chances are those of the arms, given that one is given: a held unit is nobody's.
    shares = np.array(chances) / np.where(given > NEGLIGIBLE, given, 1.0)[:, None]
    return _Asked(shares, np.array(risky), np.array(estimated), np.array(held))


def _by_other(settings: Settings, policy: Any) -> Settings:
    """The settings with another policy; its design, if it has one, with all else that it fixes."""
    units = None if settings.design is None else settings.design.units
    text = read_policy(policy, settings.arms, units)
    if text == settings.policy:
        return settings
    return replace(settings, policy=text).checked() if settings.design is None else settings.amended(policy=text)


def _ask(
    state: TrialState, places: dict[str, int], asked: Mapping[str, Any]
) -> tuple[Numbers, NDArray[np.bool_], bool, float]:  # fmt: skip
    """What the policy in force gives a unit that asks as this one was `asked` for."""
    context = asked.get("context")
    stratum = state.settings.read_stratum("a unit", asked.get("stratum"))
    allocator = state.decider(stratum)
    own = [places[arm] for arm in allocator.arms]
    chances, risky = np.zeros(len(places)), np.zeros(len(places), bool)
    seen_with = state.settings.scaled(() if context is None else state.settings.read_context("a unit", context))
    with allocator.only(asked.get("eligible")):
        told = allocator.chances(state.clock(stratum), state.decisions + 1, context=seen_with)
    chances[own] = [chance if chance > NEGLIGIBLE else 0.0 for chance in told.arms]
    seen = allocator.memory.quantities[0, :, 1:]
    risky[own] = ((seen["plays"] > 0) & (seen["mean"] > np.array(allocator.limits))).any(axis=1)
    return chances, risky, told.how.startswith(ESTIMATED), told.held


def _shares(units: AnalysedUnits, chances: Numbers) -> dict[str, float]:
    return dict(zip(units.arms, chances.mean(axis=0).tolist(), strict=True))


def _refused_holds(units: AnalysedUnits, held: Numbers) -> str | None:
    never = int((held > 1.0 - NEGLIGIBLE).sum())
    if not never:
        return None
    return f"it would have given no arm to {never:,} of {units.size:,} units: what they would have had is nothing here"


def _refusal(units: AnalysedUnits, other: Numbers, chances: Numbers) -> str | None:
    lacking = (other > 0.0) & ~(chances > 0.0)
    rows = np.flatnonzero(lacking.any(axis=1))
    if not rows.size:
        return None
    row, k = rows[0], int(np.argmax(other[rows[0]] * lacking[rows[0]]))
    return (
        f"for {rows.size:,} of {units.size:,} units it has a chance for an arm that had none in the trial (the first "
        f'time {other[row, k]:.2g} for "{units.arms[k]}", unit {row + 1}): no data say what that would have given; '
        "take a trial whose policy draws among all permissible arms, such as one with a floor"
    )


def _outcomes(units: AnalysedUnits, other: Numbers, chances: Numbers, confidence: float) -> Iterator[Outcome]:
    for j in range(0 if units.rewarded else 1, 1 + len(units.risks)):
        values = units.outcomes[:, j]
        before = np.column_stack([plug_in(values, units.arm == k) for k in range(len(units.arms))])
        points, known = Points(units.arm, values, chances, before), int((~np.isnan(values)).sum())
        parts: list[Any] = []
        for coefficients, least in ((other, 0.0), (chances, 0.0), (other - chances, -1.0)):
            low, high = bounds(points, coefficients, confidence)
            parts += [estimate(points, coefficients), (max(least, low), min(1.0, high))]
        yield Outcome("reward" if j == 0 else units.risks[j - 1], known, units.size - known, *parts)


def _assumptions(units: AnalysedUnits, asked: _Asked) -> Iterator[str]:
    yield (
        "at each decision the next unit alone is given by the other policy, and all before it as it was: not what a "
        "trial of its own would have given, which would have seen other data"
    )
    yield from of_one_stratum(units)
    yield from of_unseen(units)
    yield "units come from one population, and which arm a unit is given does not change the outcomes of others"
    yield "decisions that gave no arm are not asked about; chances of both policies are those where an arm is given"
    for estimated, whose in ((~units.exact, "recorded chances"), (asked.estimated, "chances of the other policy")):
        if estimated.any():
            yield f"{whose} of {int(estimated.sum()):,} units are estimated from 1,000 draws, not exact"
