"""Where uv takes packages from is where pip would; what uv cannot follow is left to pip."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

import install

LISTED = """\
:env:.find-links='/one\\n/two'
global.extra-index-url='file:///more/simple'
global.index-url='https://everyone.example/simple'
global.timeout='60'
install.index-url='https://people.example/simple'
list.format='json'
"""


def test_uv_looks_where_pip_is_told_to_look():
    assert install.variables_of(install.read_settings(LISTED)) == {
        "UV_DEFAULT_INDEX": "https://people.example/simple",
        "UV_INDEX": "file:///more/simple",
        "UV_FIND_LINKS": "/one,/two",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_what_pip_says_of_itself_can_be_read():
    settings = {"PIP_INDEX_URL": "https://people.example/it's", "PIP_CONFIG_FILE": "/dev/null"}
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout
    assert install.read_settings(listed)["index-url"] == "https://people.example/it's"


@pytest.fixture
def commands(monkeypatch):
    """What is run, by uv or by pip; `config` is what pip lists, `fail` are the programs that fail."""
    said = SimpleNamespace(run=[], config="", fail=())

    def run(command, **options):
        if command[-2:] == ["config", "list"]:
            return SimpleNamespace(stdout=said.config)
        said.run.append(("uv" if command[0] == str(install._uv()) else "pip", command, options.get("env")))
        return SimpleNamespace(returncode=int(said.run[-1][0] in said.fail))

    monkeypatch.setattr(install.subprocess, "run", run)
    return said


def test_uv_installs_at_the_pinned_versions_into_the_python_that_is_named(commands):
    commands.config = "global.index-url='https://people.example/simple'\n"
    install.install(["--editable", ".[dev]"], python="other/python")
    ((_, command, variables),) = commands.run
    assert command[1:5] == ["pip", "install", "--python", "other/python"]
    assert command[-4:] == ["--constraint", str(install.CONSTRAINTS), "--editable", ".[dev]"]
    assert variables["UV_DEFAULT_INDEX"] == "https://people.example/simple"


@pytest.mark.parametrize(
    ("config", "fail", "ran"),
    [
        ("global.proxy='http://proxy.example'\n", (), ["pip"]),
        ("install.no-index='true'\n", (), ["pip"]),
        ("", ("uv",), ["uv", "pip"]),
    ],
)
def test_pip_installs_what_uv_cannot_and_a_line_says_so(commands, capsys, config, fail, ran):
    commands.config, commands.fail = config, fail
    install.install(["safebandit"])
    assert [name for name, _, _ in commands.run] == ran
    assert commands.run[-1][1][-3:] == ["--constraint", str(install.CONSTRAINTS), "safebandit"]
    assert "so pip does" in capsys.readouterr().err
