"""Parameters of designs by their path: `stop.harm.confidence` of a design, `cutoff` of a text."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from safebandit.core.naming import split_call, write_value
from safebandit.errors import StudyError, suggest

if TYPE_CHECKING:
    from safebandit.trials.design import Design
