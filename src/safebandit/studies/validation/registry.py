"""Every check, by group: the one list that a report goes through."""

from __future__ import annotations

from safebandit.errors import StudyError, suggest
from safebandit.studies.validation import (
    designs,
    doses,
    identity,
    indices,
    installation,
    paper,
    peers,
    posteriors,
    sequences,
    theory,
)
from safebandit.studies.validation.check import Check

# What a reader of each group should know, in the order of the report.
GROUPS = {
    installation.GROUP: (installation.CHECKS, "Whether what is installed is what was packed, on a tested Python."),
    identity.GROUP: (identity.CHECKS, "Whether the same seed gives the same bits, here and where it was made."),
    posteriors.GROUP: (posteriors.CHECKS, "Tails, quantiles and comparisons, beside SciPy and closed forms."),
    indices.GROUP: (indices.CHECKS, "What live trials show of every arm, beside the definitions."),
    theory.GROUP: (theory.CHECKS, "The constants of the theorems."),
    sequences.GROUP: (sequences.CHECKS, "Confidence sequences and e-values: promises, and another package's numbers."),
    doses.GROUP: (doses.CHECKS, "Decisions of dose-finding designs that their authors printed."),
    designs.GROUP: (designs.CHECKS, "Operating characteristics that others printed, simulated again."),
    paper.GROUP: (paper.CHECKS, "Simulations of the paper: its words, and an independent prototype's means."),
    peers.GROUP: (peers.CHECKS, "Regret of other libraries where no arm has a risk."),
}  # fmt: skip


def chosen(groups: list[str], *, full: bool) -> list[Check]:
    """The checks of some groups, or of all; those that take long only in a full run."""
    for name in groups:
        if name not in GROUPS:
            raise StudyError(f'unknown group "{name}"; {suggest(name, GROUPS)}')
    wanted = [name for name in GROUPS if not groups or name in groups]
    return [check for name in wanted for check in GROUPS[name][0] if full or not check.full]
