"""Build the wheel and the source package, install the wheel into empty environments, and use it there as people do.

python tools/check_package.py                                without extras, then with those of live trials
python tools/check_package.py --python python3.12            by another Python; may be repeated
python tools/check_package.py --out package.json             keep sizes and times, for tools/write_installation.py
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from install import CONSTRAINTS, install

ROOT = Path(__file__).resolve().parent.parent
LIVE = 'pip install "safebandit[live]"'
DASK = "safebandit[dask]"
# Commands that need no extra, with the status and a word of what they say.
PLAIN = (
    ("--version", 0, "safebandit"),
    ("", 0, "Where to begin"),
    ("policies", 0, "tsbu"),
    ("bounds --instance drug-trial --alpha .21", 0, "137"),
    ("simulate --instance drug-trial --policy equal --horizon 100 --trials 4 --json", 0, '"regret"'),
    ("design new dose.toml --kind dose-finding", 0, "design show dose.toml"),
    ("design show dose.toml", 0, "scenario"),
    ("validate installation bounds --json", 0, '"all as packed"'),
    ("trial new knee --arms low,high --alpha .2", 2, LIVE),
    ("trial status knee", 2, LIVE),
    ("serve", 2, LIVE),
    ("key list", 2, LIVE),
    ("db check", 2, LIVE),
    ("simulate --instance drug-trial --policy equal --horizon 100 --trials 4 --dask local", 2, DASK),
)
# Commands of live trials, in order.
WITH_LIVE = (
    ("trial new knee --arms low,high --alpha .2 --policy equal --seed 1", 0, "knee"),
    ("trial ask knee one", 0, ""),
    ("trial tell knee one --reward 1 --risk 0", 0, ""),
    ("trial verify knee", 0, ""),
    ("db check", 0, ""),
)


def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command, and end where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done


def build(folder: Path) -> Path:
    """The wheel, which must be the same where it is built from the source package."""
    run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT)
    (wheel,), (sources,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    shutil.unpack_archive(sources, folder / "unpacked", filter="data")
    (inner,) = (folder / "unpacked").iterdir()
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "again")], cwd=inner)
    (again,) = (folder / "again").glob("*.whl")
    if contents(wheel) != contents(again):
        sys.exit(f"the wheel that {sources.name} makes is another one: {contents(wheel) ^ contents(again)}")
    return wheel


def contents(wheel: Path) -> set[tuple[str, int]]:
    """The files of a wheel, each with the checksum of its bytes."""
    with zipfile.ZipFile(wheel) as archive:
        return {(each.filename, each.CRC) for each in archive.infolist()}


class Taken(NamedTuple):
    """Seconds by the clock, and of processors."""

    clock: float
    processor: float


class Environment:
    """An empty environment with nothing of this one: no packages, no caches, no home."""

    def __init__(self, python: str, folder: Path, *, measure: bool) -> None:
        self.folder, self.measure = folder, measure
        self.work, self.bin = folder / "work", folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.work.mkdir(parents=True)
        keep = {name: os.environ[name] for name in os.environ if name.startswith("PIP_") or name in ("PATH", "LANG")}
        self.variables = {**keep, "HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")}
        run([python, "-m", "venv", "--without-pip", str(folder / "venv")])

    def install(self, what: str) -> Taken:
        """Install by pip, at the pinned versions; what it took. If nobody measures it, uv brings all but the wheel.

        Pip then finds everything there but the wheel; of an extra, everything.
        """
        python = str(self.bin / "python")
        # This Python's pip serves an environment without one, which takes three seconds less to make.
        pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--quiet"]
        if not self.measure:
            install([what], python=python)
            if "[" in what:
                return Taken(0.0, 0.0)
            run([*pip, "uninstall", "--yes", "safebandit"])
        began = _now()
        run([*pip, "install", "--constraint", str(CONSTRAINTS), what])
        return _since(began)

    def size(self) -> int:
        """Bytes of all that is installed, but for the installer itself."""
        (packages,) = (self.folder / "venv").glob("[Ll]ib/**/site-packages")
        return sum(path.stat().st_size for path in packages.rglob("*") if path.is_file()
                   and path.relative_to(packages).parts[0].split("-")[0] not in ("pip", "setuptools"))  # fmt: skip

    def use(self, words: str, status: int, said: str) -> None:
        """Type a command; it must end so and say that, in one line where it is refused."""
        command = [str(self.bin / "safebandit"), *words.split()]
        done = subprocess.run(
            command, cwd=self.work, env=self.variables, capture_output=True, text=True, check=False, timeout=600
        )
        text = done.stdout + done.stderr
        one_line = status != 2 or len(done.stderr.splitlines()) == 1
        if done.returncode != status or said not in text or "Traceback" in text or not one_line:
            sys.exit(f"safebandit {words}: status {done.returncode}, expected {status} and {said!r} in\n{text}")

    def seconds_of(self, code: str) -> float:
        """The least processor time of three processes that run this code, after one that nobody counts."""
        times = []
        for _ in range(4):
            began = _now()
            run([str(self.bin / "python"), "-c", code], env=self.variables, cwd=self.work)
            times.append(_since(began).processor)
        return min(times[1:])

    def newcomer(self) -> dict[str, Taken]:
        """What the first steps take, in an empty folder with empty caches."""
        self.work = self.folder / "newcomer"
        self.work.mkdir()
        self.variables["XDG_CACHE_HOME"] = str(self.folder / "newcomer's cache")
        found = {}
        for step, commands in NEWCOMER.items():
            began = _now()
            for words in commands:
                self.use(words, 0, "")
            found[step] = _since(began)
        return found


def _now() -> Taken:
    times = os.times()
    return Taken(time.perf_counter(), times.children_user + times.children_system)


def _since(began: Taken) -> Taken:
    now = _now()
    return Taken(now.clock - began.clock, now.processor - began.processor)


# What a newcomer types, in order, in an empty folder with empty caches.
NEWCOMER = {
    "first result: `safebandit simulate --instance drug-trial --alpha .21`": (
        "simulate --instance drug-trial --alpha .21",
    ),
    "second result: the same with `--seed 2`": ("simulate --instance drug-trial --alpha .21 --seed 2",),
    "a design: `safebandit design new dose.toml`, then `design run dose.toml`": (
        "design new dose.toml --kind dose-finding",
        "design run dose.toml",
    ),
    "first live unit: `safebandit trial new knee --arms low,high --alpha .2`, then `trial ask knee one`": (
        "trial new knee --arms low,high --alpha .2",
        "trial ask knee one",
    ),
    "second live unit: `safebandit trial ask knee two`": ("trial ask knee two",),
}
IMPORTS = {
    "python": "pass",
    "import safebandit": "import safebandit",
    "sb.Trial": "import safebandit as sb; sb.Trial",
    "sb.simulate": "import safebandit as sb; sb.simulate",
    "safebandit --help": "import sys; sys.argv = ['safebandit', '--version']\nfrom safebandit.cli import main\nmain()",
}


def check(python: str, wheel: Path, folder: Path, *, measure: bool) -> dict[str, Any]:
    """Install without extras and use it, then with those of live trials and use these."""
    environment = Environment(python, folder, measure=measure)
    version = run([python, "-c", "import platform; print(platform.python_version())"]).stdout.strip()
    found: dict[str, Any] = {"python": version, "wheel": wheel.stat().st_size, "load": os.getloadavg()[0]}
    found["plain install"], found["plain bytes"] = environment.install(str(wheel)), environment.size()
    for words, status, said in PLAIN:
        environment.use(words, status, said)
    if measure:
        found["imports"] = {name: environment.seconds_of(code) for name, code in IMPORTS.items()}
    found["live install"], found["live bytes"] = environment.install(f"{wheel}[live]"), environment.size()
    for words, status, said in WITH_LIVE:
        environment.use(words, status, said)
    if measure:
        found["newcomer"] = environment.newcomer()
    print(f"Python {version}: {len(PLAIN) + len(WITH_LIVE)} commands as they should be, without extras and with live")
    return found


def main() -> int:
    """Check every Python that is named, or this one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="A Python to install into; may be repeated.")
    parser.add_argument("--out", type=Path, help="A file for sizes and times.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        wheel = build(Path(name) / "built")
        pythons = asked.python or [sys.executable]
        found = [
            check(python, wheel, Path(name) / str(i), measure=asked.out is not None) for i, python in enumerate(pythons)
        ]
    if asked.out is not None:
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
