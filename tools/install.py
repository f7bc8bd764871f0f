"""Install packages at their pinned versions: by uv, in seconds, from where pip would take them; else by pip.

python tools/install.py --editable '.[dev]'
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
# Settings of pip, and the variables that say the same to uv.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}
# Settings of pip that do not say what is installed, or from where.
OF_NO_MATTER = {
    "break-system-packages", "cache-dir", "default-timeout", "disable-pip-version-check", "no-cache-dir", "no-color",
    "no-input", "no-python-version-warning", "no-warn-script-location", "progress-bar", "quiet", "require-virtualenv",
    "retries", "root-user-action", "timeout", "verbose",
}  # fmt: skip


def read_settings(listed: str) -> dict[str, str]:
    """The settings that hold for `pip install`, by what `pip config list` says; of two, the one that pip follows."""
    found: dict[str, str] = {}
    for section in ("global", "install", ":env:"):
        for name, value in re.findall(rf"^{section}\.([\w-]+)=(.+)$", listed, re.MULTILINE):
            found[name] = " ".join(ast.literal_eval(value).split())
    return found


def variables_of(settings: dict[str, str]) -> dict[str, str] | None:
    """The same settings as variables that uv reads; None where one of them is not known here."""
    if settings.keys() - SETTINGS.keys() - OF_NO_MATTER:
        return None
    said = {SETTINGS[name]: value for name, value in settings.items() if name in SETTINGS}
    if "UV_FIND_LINKS" in said:
        said["UV_FIND_LINKS"] = said["UV_FIND_LINKS"].replace(" ", ",")
    # Of two indexes, pip takes the newest file; uv would take the first index that has any.
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", **said}


def install(what: list[str], *, python: str = sys.executable) -> None:
    """Install into the environment of a Python; where uv cannot, a line on stderr says so and pip does it."""
    known = ["--quiet", "--constraint", str(CONSTRAINTS), *what]
    own_pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    # An environment needs no pip of its own.
    pip = own_pip if python == sys.executable else [*own_pip, "--python", python]
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=True).stdout
    variables = variables_of(read_settings(listed))
    if variables is not None and _has_uv(own_pip):
        command = [str(_uv()), "pip", "install", "--python", python, *known]
        if subprocess.run(command, env={**variables, **os.environ}, check=False).returncode == 0:
            return
    print("uv cannot install this here, so pip does, which takes a minute or two", file=sys.stderr)
    subprocess.run([*pip, "install", "--no-compile", *known], check=True)


def _uv() -> Path:
    return Path(sysconfig.get_path("scripts")) / ("uv.exe" if os.name == "nt" else "uv")


def _has_uv(pip: list[str]) -> bool:
    """Whether uv is here, or could be installed here: it is one file, and pip fetches it."""
    asked = ["install", "--quiet", "--only-binary", "uv", "--constraint", str(CONSTRAINTS), "uv"]
    return _uv().exists() or subprocess.run([*pip, *asked], check=False).returncode == 0


def main() -> int:
    """Install what is named into the environment of this Python."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="Files, folders or names of packages.")
    parser.add_argument("--editable", action="append", default=[], help="A folder that is used where it lies.")
    asked = parser.parse_args()
    try:
        install([*(word for folder in asked.editable for word in ("--editable", folder)), *asked.what])
    except subprocess.CalledProcessError as failed:
        return int(failed.returncode)
    return 0


if __name__ == "__main__":
    sys.exit(main())
