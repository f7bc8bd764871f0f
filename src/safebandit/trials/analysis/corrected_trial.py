"""A live trial corrected for its bias: its settings, how it ended and its units, from a trial or a record."""

from __future__ import annotations

from typing import Any

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.errors import TrialError
from safebandit.trials.analysis.corrected import Corrected, corrected
from safebandit.trials.analysis.correction import Sums
from safebandit.trials.analysis.units import AnalysedUnits
from safebandit.trials.state import TrialState
from safebandit.trials.trial import Trial


def correct_trial(source: Any, name: str | None, units: AnalysedUnits, **options: Any) -> Corrected:
    """Correct the means of a `Trial`, or of a trial of this name in a record, whose units these are.

    One that its design has stopped is simulated to its end, any other until as many units have an arm.
    """
    state = _state(source, name)
    if state.version > 1:
        raise TrialError(
            f'"{state.name}" was amended, and a correction simulates a trial whose rules stay; leave it out, and go by '
            "the sequences"
        )
    if state.settings.context or state.settings.features:
        raise TrialError("a correction simulates units without a context and arms without features; leave it out")
    if state.settings.factors:
        raise TrialError("a correction simulates a trial without strata; leave it out, and go by the sequences")
    known = ~np.isnan(units.outcomes)
    if not np.isin(units.outcomes[known], (0.0, 1.0)).all():
        raise TrialError("a correction simulates bits, and outcomes between 0 and 1 were told; leave it out")
    stop = state.stop
    return corrected(
        state.settings, **_sums(units, known)._asdict(), selected=None if stop is None else stop["selected"],
        units=units.size if stop is None else None, **options,
    )  # fmt: skip


def _state(source: Any, name: str | None) -> TrialState:
    if isinstance(source, Trial):
        return source._engine.state
    if name is not None and hasattr(source, "state"):
        state: TrialState = source.state(name)
        return state
    raise TrialError("a table of units does not say by which rules arms were given; correct a trial or one in a record")


def _sums(units: AnalysedUnits, known: Numbers) -> Sums:
    """How many outcomes of every quantity and arm are known, and their sums."""
    on = units.arm[:, None] == np.arange(len(units.arms))
    plays = known.T.astype(float) @ on
    return Sums(plays, np.where(known, units.outcomes, 0.0).T @ on)
