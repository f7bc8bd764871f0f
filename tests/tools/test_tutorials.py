"""The tutorials run, and show what is written in them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import nbformat
import pytest

from .forked_commands import commands

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


@pytest.fixture(scope="module")
def script():
    specification = importlib.util.spec_from_file_location("run_tutorials", ROOT / "tools" / "run_tutorials.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_there_are_five():
    assert len(NOTEBOOKS) == 5


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    with commands(tmp_path_factory.mktemp("forked")) as folder:
        yield folder


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_shows_what_is_written_in_it(script, path, forked, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(forked))
    written = nbformat.read(path, as_version=4)
    assert any(script.shown(written))
    found = script.run(path, forked)
    assert script.shown(found) == script.shown(written)
