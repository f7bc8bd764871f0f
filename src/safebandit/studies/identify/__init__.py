"""Pure exploration: how often its answer is wrong after so many units, which arms are feasible and which is best."""

from safebandit.studies.identify.run import Identification, identify

__all__ = ["Identification", "identify"]
