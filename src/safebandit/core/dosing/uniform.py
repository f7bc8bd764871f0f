"""Equal shares for all arms and doses, whatever their risk: what safe systems are held against.

In round i every arm gets 2^(i-1) units more at each of m doses, M/m, 2M/m, ..., M. Answered is the arm and the dose
of the largest mean reward among those whose mean risk is at most alpha, and the lowest dose of the first arm where
there is none. It never ends by itself, and promises nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.core.dosing.interface import Ask, Conduct, Doses
from safebandit.core.naming import read_number
from safebandit.errors import PolicyError

# Of every arm; each is played in every round.
MOST_DOSES = 10_000


class UniformDoses(NamedTuple):
    """Every arm at each of so many doses, alike; no dose is ever excluded."""

    doses: int = 10

    def checked(self) -> UniformDoses:
        """The system with its parameters read."""
        count: Any = read_number("doses", self.doses, int, PolicyError)
        if not 1 <= count <= MOST_DOSES:
            raise PolicyError(f"doses must be 1 to {MOST_DOSES}, got {count}")
        return UniformDoses(int(count))

    def conduct(self, doses: Doses) -> Conduct:
        """One trial; whoever plays it ends it."""
        ladder = [doses.most * (i + 1) / self.doses for i in range(self.doses)]
        cells = [(k, dose) for k in range(doses.arms) for dose in ladder]
        rewards, risks, known = dict.fromkeys(cells, 0.0), dict.fromkeys(cells, 0.0), 0
        answer, epoch = cells[0], 1
        while True:
            units = 2 ** (epoch - 1)
            for cell in cells:
                reward, risk = yield Ask(*cell, units, epoch, answer)
                rewards[cell] += units * reward
                risks[cell] += units * risk
            known += units
            tolerated = [cell for cell in cells if risks[cell] <= doses.alpha * known]
            answer = max(tolerated, key=rewards.__getitem__, default=cells[0])
            epoch += 1
