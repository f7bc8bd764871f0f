"""What is installed here: versions, platform, hashes of sources, and whether each file is the one that was packed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import safebandit
from safebandit.sources import design_sources, formulas_hash, sources
from safebandit.studies.validation.check import SAME, Check, Extent, Obtained
from safebandit.studies.validation.identity import this_platform
from safebandit.version import __version__

GROUP = "installation"
PACKAGE = "safebandit"


def installation() -> dict[str, Any]:
    """All that a reader needs to make the same installation again."""
    return {
        "safebandit": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": {**this_platform(), "release": platform.release(), "processor": processor()},
        "cores": os.cpu_count(),
        "formulas": formulas_hash(),
        "simulation sources": sources(),
        "design sources": design_sources(),
        "all sources": tree_hash(Path(safebandit.__file__).parent),
        "installed as": "a folder of sources, editable" if _is_editable() else "a wheel",
        "packages": _versions(),
    }


def tree_hash(folder: Path) -> str:
    """A hash of all files of the package by name and content, whatever was compiled beside them left out."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc" and "__pycache__" not in path.parts:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def processor() -> str:
    """The processor by its name."""
    try:
        listed = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or "unknown"
    found = re.search(r"^model name\s*:\s*(.+)$", listed, re.MULTILINE)
    return found[1] if found else platform.processor() or "unknown"


def _versions() -> dict[str, str]:
    """Of everything that the package needs, with and without extras, and that is installed."""
    wanted = sorted({re.split(r"[^\w.-]", line)[0].lower() for line in metadata.requires(PACKAGE) or ()} - {PACKAGE})
    found = {}
    for name in wanted:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _is_editable() -> bool:
    said = metadata.distribution(PACKAGE).read_text("direct_url.json")
    return bool(said and json.loads(said).get("dir_info", {}).get("editable"))


def changed_files(distribution: metadata.Distribution) -> list[str]:
    """Sources that are not as the RECORD has them: changed, gone, or added."""
    wrong, known = [], set()
    for file in distribution.files or ():
        # Scripts and notes beside the package are the installer's own.
        if file.hash is None or file.parts[0] != PACKAGE:
            continue
        path = Path(str(distribution.locate_file(file)))
        known.add(path.resolve())
        if not path.is_file():
            wrong.append(f"{file} is missing")
            continue
        found = base64.urlsafe_b64encode(hashlib.new(file.hash.mode, path.read_bytes()).digest()).rstrip(b"=").decode()
        if found != file.hash.value:
            wrong.append(f"{file} was changed")
    folder = Path(str(distribution.locate_file(PACKAGE)))
    wrong += [f"{path.name} was added" for path in sorted(folder.rglob("*.py")) if path.resolve() not in known]
    return wrong


def _files(_: Extent) -> Obtained:
    wrong = changed_files(metadata.distribution(PACKAGE))
    if wrong:
        return Obtained(f"{len(wrong)} differ: {', '.join(wrong[:5])}")
    if _is_editable():
        return Obtained("no record", excuse="sources that are edited in place have no record of their bytes")
    return Obtained("all as packed")


def _same_version(_: Extent) -> Obtained:
    excuse = (
        "sources that are edited in place keep the metadata that they were installed with" if _is_editable() else ""
    )
    return Obtained(metadata.version(PACKAGE), excuse=excuse)


def _python(_: Extent) -> Obtained:
    return Obtained(f"{sys.version_info.major}.{sys.version_info.minor}", excuse=_untested())


def _untested() -> str:
    tested = _tested()
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    return "" if here in tested else f"tested are {', '.join(tested)}; this one may do, and no test was run on it"


def _tested() -> list[str]:
    words = metadata.metadata(PACKAGE).get_all("Classifier") or []
    return [word.rpartition(" ")[2] for word in words if re.fullmatch(r".*Python :: 3\.\d+", word)]


def _expected_python() -> str:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    return here if here in _tested() else f"one of {', '.join(_tested())}"


CHECKS = (
    Check("files of the package", GROUP, "the RECORD of the wheel", "all as packed", _files, "every byte", sense=SAME),
    Check("version of the metadata", GROUP, "version.py", __version__, _same_version, "the same", sense=SAME),
    Check("version of Python", GROUP, "the classifiers", _expected_python(), _python, "one that is tested", sense=SAME),
)
