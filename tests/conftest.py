"""Settings that all tests share."""

import os

from hypothesis import HealthCheck, settings

# Compiled code is slow once, and the machine may be busy: no test asserts a time.
settings.register_profile("safebandit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "safebandit"))
