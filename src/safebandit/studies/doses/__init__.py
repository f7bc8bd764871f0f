"""Doses within arms: which arm is best at a safe dose; how often that is wrong, and who is given too much."""

from safebandit.studies.doses.study import DoseStudy, identify_doses

__all__ = ["DoseStudy", "identify_doses"]
