"""Joint KL-UCB: evidence against an arm's reward and against its safety, charged to one budget.

The lower bound of the paper has the sum of the two divergences, the upper bounds of its policies have the larger one. A
policy hands joint reward indices the safety index's evidence (`note_evidence`); each spends it in its own way.
"""

from __future__ import annotations

from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.bernoulli import kl_upper
from safebandit.core.indices.interface import described, note_evidence, start, upper, width
from safebandit.core.indices.kl import Level, budget
from safebandit.core.streams import Stream


@described(
    "U = max{ q >= mean : N d(mean||q) <= gamma_t - evidence }, the mean where the evidence is above gamma_t",
    "ours: the lower bound's sum",
    not_negative=("tail",),
    steady=True,
)
class JointUpper(NamedTuple):
    """KL-UCB with what the evidence against the arm's safety leaves of the budget; never looser than `KLUpper`."""

    level: Level = Level.practical
    tail: float = 0.0


@width.register(JointUpper)
def _keeps_evidence(index: JointUpper) -> int:
    return 1


@start.register(JointUpper)
def _starts_without_evidence(index: JointUpper, own: Numbers, alpha: float) -> None:
    own[0] = 0.0


@note_evidence.register(JointUpper)
def _notes_evidence(index: JointUpper, seen: Seen, against: float) -> None:
    seen.own[0] = against


@upper.register(JointUpper)
def joint_upper_index(index: JointUpper, seen: Seen, t: int, stream: Stream) -> float:
    if seen.plays == 0:
        return 1.0
    return kl_upper(seen.mean, (budget(index.level, index.tail, t) - seen.own[0]) / (seen.plays + seen.pending))
