"""Linear policies: rewards and risks are linear in features of arms and units, which are known before any outcome.

Two of them give only arms that are surely safe, around one that is known to be (`safe-lucb`, `safe-lts`); the others
are optimistic about risks, too, as the paper's own policies are.
"""

from safebandit.core.policies.linear.colts import Colts, colts
from safebandit.core.policies.linear.doss import Doss, doss
from safebandit.core.policies.linear.optimistic import Linear, linear
from safebandit.core.policies.linear.safe_lts import SafeLts, safe_lts
from safebandit.core.policies.linear.safe_lucb import SafeLucb, safe_lucb

__all__ = ["Colts", "Doss", "Linear", "SafeLts", "SafeLucb", "colts", "doss", "linear", "safe_lts", "safe_lucb"]
