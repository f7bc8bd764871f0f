"""What the policies are timed on: the drug trial, and instances of as many arms as wanted."""

from __future__ import annotations

import numpy as np

from safebandit.problems import Instance, instance_by_name

SEED = 1


def drug_trial() -> Instance:
    """Five doses, the tolerated risk between the second and the third."""
    return instance_by_name("drug-trial", 0.21)


def many_arms(count: int) -> Instance:
    """Means on two even grids, rewards in [0.1, 0.9] and risks in [0.05, 0.55], shuffled; about half are safe.

    The safest arm comes first: `pess` must know a safe one.
    """
    shuffle = np.random.default_rng(SEED).permutation
    mu, nu = shuffle(np.linspace(0.1, 0.9, count)), shuffle(np.linspace(0.05, 0.55, count))
    safest = int(np.argmin(nu))
    nu[[0, safest]] = nu[[safest, 0]]
    return Instance.bernoulli(mu, nu, alpha=0.3, name=f"many-arms-{count}")
