"""Settings that all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from .browser.chromium import MISSING, find_chromium, required

# Compiled code is slow once, and the machine may be busy: no test asserts a time.
settings.register_profile("safebandit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "safebandit"))


def pytest_configure():
    if required() and find_chromium() is None:
        raise pytest.UsageError(f"SAFEBANDIT_BROWSER=required, but {MISSING}")


def pytest_terminal_summary(terminalreporter, config):
    # Here, and not beside the browser tests: the process that writes the summary of a parallel run collects nothing.
    browser = Path(__file__).parent / "browser"
    chosen = [Path(arg.split("::")[0]).resolve() for arg in config.args]
    if find_chromium() is None and any(browser.is_relative_to(path) or path.is_relative_to(browser) for path in chosen):
        terminalreporter.write_line(MISSING, yellow=True, bold=True)
