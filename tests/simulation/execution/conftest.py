"""The small run, whole and as a summary, by one thread: what every other way must give."""

import pytest

from safebandit import simulate
from safebandit.simulation import execution

from .helpers import DRUG, POLICIES, SETTINGS


@pytest.fixture(scope="package")
def drug():
    return simulate(DRUG, POLICIES, **SETTINGS, workers=1)


@pytest.fixture(scope="package")
def summary():
    return simulate(DRUG, POLICIES, **SETTINGS, workers=1, keep="summary")


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(execution, "CHUNK_ROUNDS", 4 * SETTINGS["horizon"])
    monkeypatch.setattr(execution, "LONGER_ON_EXECUTOR", 1)
