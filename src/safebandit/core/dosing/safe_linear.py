"""Safe-Linear (Wang, Wagenmaker and Jamieson 2022): the best arm where reward and risk are proportional to the dose.

Arm k at dose a has mean reward theta_k a and mean risk mu_k a. In epoch i every arm that is left gets
n = ceil(2 s^2 4^(i-1) log(parts d i^2 / delta)) units at its safe dose a_k, for d arms; then, with w_k = 2^(1-i) / a_k
and the means divided by a_k as estimates,

    safe dose       min(M, max(first, alpha / (mu_k + w_k)))
    uncertain dose  min(M, alpha / max(mu_k - w_k, 0.001))

and arm k is dropped where uncertain_k (theta_k + w_k) < max_j safe_j (theta_j - w_j). It ends with one arm left.

It promises that with a chance of at least 1 - delta no unit gets a dose whose risk is above alpha, and the answer is
right: by the union bound over two means of every arm in every epoch it fails with a chance of at most
4 (pi^2/6) delta / parts. So parts must be 6.58 at least, and by default they are 8; the authors' script has 1. It
promises nothing where means are not proportional to the dose, and does not end where two arms are equally good.
"""

from __future__ import annotations

from typing import NamedTuple

from safebandit.core.dosing.interface import Ask, Conduct, Doses, unit_count
from safebandit.core.policies.checking import read_above_0, read_delta

# An uncertain dose is no more than alpha over this.
LEAST_SLOPE = 1e-3


class SafeLinear(NamedTuple):
    """The largest dose that is safe at what is known, in epochs of which each is twice as exact; arms are dropped."""

    delta: float = 0.1
    parts: float = 8.0

    def checked(self) -> SafeLinear:
        """The system with its parameters read."""
        return SafeLinear(read_delta(self.delta), read_above_0("parts", self.parts))

    def conduct(self, doses: Doses) -> Conduct:
        """One trial."""
        safe, left, epoch = list(doses.first), list(range(doses.arms)), 1
        answer = (0, safe[0])
        while len(left) > 1:
            width = 2.0 ** (1 - epoch)
            units = unit_count(width, self.delta / (self.parts * doses.arms * epoch**2))
            least, most = {}, {}
            for k in left:
                dose = safe[k]
                reward, risk = yield Ask(k, dose, units, epoch, answer)
                theta, mu, w = reward / dose, risk / dose, width / dose
                safe[k] = min(doses.most, max(doses.first[k], doses.alpha / (mu + w)))
                uncertain = min(doses.most, doses.alpha / max(mu - w, LEAST_SLOPE))
                least[k], most[k] = safe[k] * (theta - w), uncertain * (theta + w)
            best = max(left, key=least.__getitem__)
            left = [k for k in left if most[k] >= least[best]]
            answer = (best, safe[best])
            epoch += 1
        return answer
