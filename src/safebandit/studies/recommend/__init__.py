"""A policy for the size of a trial: candidates on the same truths, in pairs, and the one that exposes the fewest."""

from safebandit.studies.recommend.run import Recommendation, recommend

__all__ = ["Recommendation", "recommend"]
