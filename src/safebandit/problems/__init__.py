"""Supposed truths: instances by means, from data or by name, their limits of risk, and what theory says of them.

Names are imported when they are first used: limits of risk are read where nothing is simulated, too.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
