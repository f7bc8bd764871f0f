"""Without a Chromium the browser tests are not run, and that is said; where one is required, the run fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(("setting", "status"), [("", 5), ("required", 4)])
def test_a_machine_without_chromium(tmp_path, setting, status):
    environment = {**os.environ, "PATH": str(tmp_path), "SAFEBANDIT_BROWSER": setting, "SAFEBANDIT_NODE": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/browser"]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert "the browser tests were NOT RUN: no Chromium was found" in run.stdout + run.stderr
    assert run.returncode == status
