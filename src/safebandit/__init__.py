"""Adaptive experiments that keep every choice safe: bandits with the risk limit inside the allocation rule.

Names are imported when they are first used, so that `import safebandit` and the command line start at once; the list of
them is `__init__.pyi`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
