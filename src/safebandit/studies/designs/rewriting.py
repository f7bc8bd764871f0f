"""A copy of a design file with other values: all else, comments too, stays as people wrote it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from safebandit.errors import SafebanditError, StudyError
from safebandit.files import write_text
from safebandit.studies.designs.parameters import with_design_value
from safebandit.trials.design_file import parse_design_file, read_design_file
from safebandit.trials.toml import find_line

_VALUE = re.compile(r"""^(\s*[^=]+=\s*)([^#"'\[{]+?)(\s*(?:#.*)?)$""")


def write_values(source: Path, target: Path, values: Mapping[str, float]) -> Path:
    """Write the design file at `source` to `target` with these values; refused where that is not the file's place."""
    wanted = read_design_file(source).design
    text = source.read_text(encoding="utf-8-sig")
    for path, value in values.items():
        wanted, text = with_design_value(wanted, path, value), _with_value(text, path, value)
    try:
        same = parse_design_file(text, folder=source.parent).design == wanted
    except SafebanditError:
        same = False
    if not same:
        told = ", ".join(f"{path} = {value!r}" for path, value in values.items())
        raise StudyError(f"{source.name} does not say the parameter in a line of its own; write it yourself: {told}")
    return write_text(target, text)


def _with_value(text: str, path: str, value: float) -> str:
    """The text with the value in the line of its key, or in a new line below its table's heading."""
    lines = text.splitlines()
    number = find_line(text, path)
    key = path.rpartition(".")[2]
    if number is None:
        return text
    line = lines[number - 1]
    found = _VALUE.match(line)
    if found is not None and line.partition("=")[0].strip().strip("\"'") in (key, path):
        lines[number - 1] = f"{found[1]}{_written(value, found[2])}{found[3]}"
    elif line.lstrip().startswith("["):
        lines.insert(number, f"{key} = {value!r}")
    return "\n".join(lines) + "\n"


def _written(value: float, before: str) -> str:
    """A whole number stays one."""
    return str(int(value)) if re.fullmatch(r"\s*[+-]?\d+\s*", before) else repr(float(value))
