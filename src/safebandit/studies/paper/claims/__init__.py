"""Everything that the paper's text asserts about its simulations, each with a test that was fixed before looking.

A rule that was changed after looking says so, and how (`changed`).
"""

from __future__ import annotations

from safebandit.studies.paper.claims import bounds, drug_trial, gaps, mixtures, sampled_risks, schedules
from safebandit.studies.paper.claims.claim import Claim as Claim

CLAIMS = (
    *mixtures.CLAIMS,
    *drug_trial.CLAIMS,
    *gaps.CLAIMS,
    *schedules.CLAIMS,
    *sampled_risks.CLAIMS,
    *bounds.CLAIMS,
)
