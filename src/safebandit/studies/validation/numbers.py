"""Numbers that others printed of formulas and decisions, each once: for the checks here, and for the tests.

Numbers of simulated designs are in `studies/designs/published.py`.
"""

from __future__ import annotations

# Liu and Yuan (2015), table 1: a target, up to which rate BOIN escalates, and from which on it de-escalates.
BOIN_BOUNDARIES = (
    (0.15, 0.118, 0.179), (0.2, 0.157, 0.238), (0.25, 0.197, 0.298), (0.3, 0.236, 0.359), (0.35, 0.276, 0.419),
)  # fmt: skip
# The table of BOIN for a target of .3: after 3, 6, ... 30 units, up to which number of harms one escalates, from which
# on one de-escalates, and from which on the dose is eliminated.
BOIN_TABLE = {
    "escalate": (0, 1, 2, 2, 3, 4, 4, 5, 6, 7),
    "de-escalate": (2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
    "eliminate": (3, 4, 5, 7, 8, 9, 10, 11, 12, 14),
}
# Ji et al. (2010), a target of .3 and intervals of .05: units, escalate up to, de-escalate from so many harms.
MTPI_STEPS = ((3, 0, 2), (6, 1, 4), (9, 1, 5))
# Lin et al. (2020), tolerated .35, wanted .25: ranks of desirability by units, harms and efficacies.
BOIN12_RANKS = {
    (0, 0, 0): 60.0, (3, 0, 3): 91.0, (6, 1, 5): 87.0, (9, 0, 8): 99.0, (9, 2, 3): 32.5, (9, 3, 1): 7.0,
}  # fmt: skip
BOIN12_INADMISSIBLE = (9, 6, 9)
# The same: a trial, one cohort a word (its dose; N neither, E efficacy, T toxicity, B both), and the doses that follow.
BOIN12_PATH = ("1NNN", "2NNB", "3NEE", "3NTN", "4ETE", "4NBE", "4BNN", "5BEN", "5NBT", "4NEN")
BOIN12_NEXT = (2, 3, 3, 4, 4, 4, 5, 5, 4)
# getprior(.05, .3, 3, 6) of the R package dfcrm.
CRM_SKELETON = (0.1225, 0.2040, 0.3, 0.4018, 0.5013, 0.5928)
# Wheeler et al., 3+3 with de-escalation on risks of .1 to .5: the chance of each dose, and of none.
THREE_PLUS_THREE_RISKS = (0.1, 0.2, 0.3, 0.4, 0.5)
THREE_PLUS_THREE = (0.28, 0.33, 0.20, 0.06, 0.02)
THREE_PLUS_THREE_NONE = 0.10
# The main terms of the drug trial, as multiples of log t: regret and unsafe plays, by alpha. The paper prints 137 and
# 81 at .21; more digits, and those at .19, are of an independent computation.
SLOPES = {0.21: (137.09, 81.59), 0.19: (28.2, 935.6)}
SLOPE_DIGITS = {0.21: 0.01, 0.19: 0.1}
# What the paper prints at .19 is near the sums of its theorem on TSBU.
TSBU_SLOPES = {0.19: (38.2, 1389.0)}
# Means of an independent prototype, over about so many trials: regret and unsafe plays of TSBU in two runs of each.
PROTOTYPE_TRIALS = 200
PROTOTYPE = {
    "drug trial, alpha .21": ((147.0, 598.0), (149.0, 572.0)),
    "drug trial, alpha .19": ((178.0, 6028.0), (180.0, 6264.0)),
    "two dominated arms": ((21.7, 109.0), (22.9, 110.0)),
}
# Of DOCB in the paper's case 2: the prototype's unsafe plays over 100 trials, and what the paper says of as many.
CASE_2_TRIALS = 100
CASE_2 = 531.0
CASE_2_PAPER = 550.0
# confseq 0.0.11 (`betting_mart`, `cs_from_martingale` with 10,000 breaks, half of the capital on either side) on 80
# outcomes, given the same stakes: the log of the wealth against .2 after 10, 40 and 80 of them, and both bounds.
CONFSEQ_LOOKS = (10, 40, 80)
CONFSEQ_WEALTH = (0.4631487147970321, 1.0643647276897157, 3.0354834262909094)
CONFSEQ_LOW, CONFSEQ_HIGH = (0.1099, 0.1777, 0.1968), (0.6593, 0.3823, 0.3190)
# Mean regret without risks, mu = (.36, .34, .469, .465, .537), 10,000 rounds: library, policy, mean, standard error.
PEER_MEANS = (0.36, 0.34, 0.469, 0.465, 0.537)
PEER_ROUNDS = 10_000
PEERS = (
    ("river 0.26.1", "Thompson", 70.0, 3.0),
    ("MABWiser 2.7.4", "Thompson", 80.0, 10.0),
    ("SMPyBandits 0.9.7", "Thompson", 65.0, 4.0),
    ("SMPyBandits 0.9.7", "KL-UCB", 122.0, 7.0),
    ("a NumPy script", "Thompson", 75.0, 1.0),
    ("a NumPy script", "KL-UCB", 110.0, 1.0),
)
