"""Looks at the trials: how sure an interval must be where the same claim is looked at again with more of them.

Whoever looks again and again until a claim is decided is deceived more often than one look would be. So errors are
spent: at look k an interval has confidence 1 - 0.05 / (k (k + 1)), and since 1/2 + 1/6 + 1/12 + ... = 1, all looks at
a number together miss it with a chance of at most 5 %. Look k is at 2^(k-1) times the paper's trials, whoever asks
and when: the same command again looks at the same numbers, and spends nothing anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from safebandit.studies.paper.claims import Claim
from safebandit.studies.paper.claims.claim import Results
from safebandit.studies.paper.evidence import UNDECIDED, Evidence, Part, combined
from safebandit.studies.paper.runs import RUNS
from safebandit.studies.saved import narrowed

ERROR = 0.05


class Look(NamedTuple):
    """Which look at a claim it is; 0 is the only one that there will be."""

    number: int = 0

    @property
    def confidence(self) -> float:
        """The confidence of an interval at this look."""
        return 1.0 - ERROR if self.number == 0 else 1.0 - ERROR / (self.number * (self.number + 1))


@dataclass(frozen=True)
class Judgement:
    """A claim and what a look at it found."""

    claim: Claim
    parts: Sequence[Part]
    look: Look
    trials: Mapping[str, int]

    @property
    def verdict(self) -> str:
        """The verdict over all parts."""
        return combined(self.parts)

    @property
    def cautions(self) -> list[str]:
        """Why intervals may cover too little, part by part."""
        return [f"{part.label}: {part.caution}" for part in self.parts if part.caution]


def look_at(claim: Claim, results: Results, asked: Mapping[str, int], *, again: bool = False) -> Judgement:
    """Put a claim to its test on all trials that its runs have in common, as multiples of those asked for.

    One look at a number of trials fixed beforehand is a look by itself. Where there are more than were asked for,
    someone may have looked before; where one will look `again`, only 1, 2, 4, ... times as many are looked at.
    """
    size = min(results[run].trials / asked[run] for run in claim.runs)
    if again:
        size = 2.0 ** math.floor(math.log2(size))
    trials = {run: math.floor(size * asked[run]) for run in claim.runs}
    multiple = max(count / RUNS[run].trials for run, count in trials.items())
    look = Look() if size == 1.0 and not again else Look(1 + max(0, math.ceil(math.log2(multiple))))
    seen = {run: narrowed(results[run], results[run].policies, count) for run, count in trials.items()}
    return Judgement(claim, claim.test(seen, Evidence(look.confidence)), look, trials)


def next_trials(judgements: Sequence[Judgement], most: int) -> dict[str, int]:
    """How many trials each run needs for the next look at what is undecided; nothing where that is more than `most`."""
    needed: dict[str, int] = {}
    for judgement in judgements:
        wanted = {run: 2 * count for run, count in judgement.trials.items()}
        if judgement.verdict == UNDECIDED and max(wanted.values()) <= most:
            needed |= {run: max(count, needed.get(run, 0)) for run, count in wanted.items()}
    return needed
