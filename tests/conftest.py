"""Settings that all tests share."""

import functools
import gc
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer.main
from hypothesis import HealthCheck, settings

from safebandit import cli, sources
from safebandit.cli import main
from safebandit.waits import WAITS

from .browser import chromium
from .service.oidc import node

# Compiled code is slow once, and the machine may be busy: no test asserts a time.
settings.register_profile("safebandit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "safebandit"))


def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: services, browsers and other processes are waited for."""
    return (os.cpu_count() or 1) + 1


def pytest_configure():
    for found, needs, setting in (
        (chromium.find_chromium(), chromium, "SAFEBANDIT_BROWSER"),
        (node.find_node(), node, "SAFEBANDIT_NODE"),
    ):
        if needs.required() and found is None:
            raise pytest.UsageError(f"{setting}=required, but {needs.MISSING}")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    # Nothing that is loaded to collect the tests is garbage: to look for some takes a fifth of that time.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Examples in docstrings are the package's; to look for some in every test takes a tenth of collecting."""
    return [found for found in (yield) if isinstance(found, pytest.Module)]


def pytest_terminal_summary(terminalreporter, config):
    # Here, and not beside the browser tests: the process that writes the summary of a parallel run collects nothing.
    here = Path(__file__).parent
    chosen = [Path(arg.split("::")[0]).resolve() for arg in config.args]
    for found, folder, missing in (
        (chromium.find_chromium(), here / "browser", chromium.MISSING),
        (node.find_node(), here / "service" / "oidc", node.MISSING),
    ):
        if found is None and any(folder.is_relative_to(path) or path.is_relative_to(folder) for path in chosen):
            terminalreporter.write_line(missing, yellow=True, bold=True)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server that all tests of a process share."""
    from servers.postgres import Postgres

    server = Postgres()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def site():
    """The site of the docs, built strictly: once, for all processes of a run and for `make check`."""
    import build_site

    built = build_site.build_once()
    assert built is not None
    return built


@pytest.fixture
def edited(monkeypatch):
    """Calling this stands for an edit of a formula: from then on the sources have another hash."""

    def edit():
        monkeypatch.setattr(sources, "_hash_of", lambda *_: "edited")
        sources.sources.cache_clear()
        sources.design_sources.cache_clear()

    yield edit
    sources.sources.cache_clear()
    sources.design_sources.cache_clear()


# Made once in a process: the tree of all commands takes longer to make than most commands take to run.
tree_of_commands = functools.cache(typer.main.get_command)


@pytest.fixture
def command(monkeypatch, capsysbinary):
    """Run `safebandit ...` in this process; tests of signals, pipes and imports start real ones."""
    monkeypatch.setattr(typer.main, "get_command", tree_of_commands)
    # Garbage is looked for here as often as before: what tests leave behind would add up.
    monkeypatch.setattr(cli, "GARBAGE", gc.get_threshold()[0])
    # What is compiled here depends on the tests before.
    monkeypatch.setattr(WAITS, "announce", lambda say: None)

    def run(*arguments, cwd=None):
        monkeypatch.setattr(sys, "argv", ["safebandit", *arguments])
        before = os.getcwd()
        os.chdir(cwd or before)
        try:
            with pytest.raises(SystemExit) as left:
                main()
        finally:
            os.chdir(before)
        out, err = capsysbinary.readouterr()
        return SimpleNamespace(status=left.value.code, out=out.decode(errors="replace"), err=err.decode(), bytes=out)

    return run
