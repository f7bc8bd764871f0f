"""Files of past outcomes as tables: how a text is encoded and separated, and on which line each of its rows stands."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safebandit.errors import InstanceError

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# UTF-32 before UTF-16, whose mark begins alike.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", ""),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_SYMBOLS = "\xa0§°±²·½–—‘’“”…€"
_WORD, _FOREIGN = re.compile(r"[^\W\d_]+"), re.compile(r"[^\x00-\x7f]+")


class Table(NamedTuple):
    """Rows, the line of the file on which each stands (None where there are no lines), and how it was read."""

    rows: pd.DataFrame
    lines: Sequence[int] | None = None
    reading: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """Where a row is found: "line 4" of a text, "row 3" of other tables."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"


def read_file(path: Path, wanted: Sequence[str]) -> Table:
    """A Parquet file, or a text; its separator is the one that makes a header with the `wanted` columns."""
    import pandas as pd
    import pyarrow as pa

    if not path.is_file():
        raise InstanceError(f"there is no file {path}")
    if path.stat().st_size == 0:
        raise InstanceError(f"{path} is empty; it needs the columns {', '.join((*wanted, 'risk'))}")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return Table(pd.read_parquet(path))
        return _read_text(path, wanted)
    except (ValueError, OSError, EOFError, lzma.LZMAError, pa.ArrowException) as problem:
        if isinstance(problem, InstanceError):
            raise
        raise InstanceError(f"{path} cannot be read as a table: {str(problem).splitlines()[0]}") from None


def _read_text(path: Path, wanted: Sequence[str]) -> Table:
    import pandas as pd

    text, encoding = _decoded(path)
    separator = _separator(text, wanted)
    records = _records(text, separator, path)
    _, header = next(records)
    lines, rows = [], []
    for line, record in records:
        if len(record) != len(header):
            raise InstanceError(
                f"{path} cannot be read as a table: line {line} has {len(record)} fields, the header has "
                f"{len(header)}; put values that hold the separator, such as decimal commas, in quotes"
            )
        lines.append(line)
        rows.append(record)
    reading = [f"read as {encoding}"] if encoding else []
    reading += [f"separated by {SEPARATORS[separator]}"] if separator != "," else []
    frame = pd.DataFrame(rows, columns=[name.strip() for name in header], dtype=object)
    return Table(frame, lines, tuple(reading))


def _separator(text: str, wanted: Sequence[str]) -> str:
    def header(separator: str) -> list[str]:
        try:
            _, names = next(_records(text, separator))
        except csv.Error:
            return []
        return [name.strip() for name in names]

    fitting = [separator for separator in SEPARATORS if set(wanted) <= set(header(separator))]
    return fitting[0] if fitting else max(SEPARATORS, key=lambda separator: len(header(separator)))


def _records(text: str, separator: str, path: Path | None = None) -> Iterator[tuple[int, list[str]]]:
    """The records of a text that are not blank, each with the line on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    begins, found = 1, False
    try:
        for record in reader:
            # The first line of a file for Excel may name the separator.
            named = begins == 1 and re.fullmatch(r"sep=.?", separator.join(record), re.IGNORECASE)
            if any(map(str.strip, record)) and not named:
                found = True
                yield begins, record
            begins = reader.line_num + 1
    except csv.Error as problem:
        if path is None:
            raise
        raise InstanceError(f"{path} cannot be read as a table: line {begins}: {problem}") from None
    if not found:
        raise ValueError("it has no line with text")


def _decoded(path: Path) -> tuple[str, str]:
    """The text of a file, and the name of its encoding where that is not UTF-8."""
    with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
        data = file.read()
    for mark, codec, name in _MARKS:
        if data.startswith(mark):
            return data.decode(codec), name
    if b"\0" in data:
        even, odd = data[::2].count(0), data[1::2].count(0)
        if bool(even) != bool(odd):
            return data.decode("utf-16-be" if even else "utf-16-le"), "UTF-16"
        raise ValueError("it holds zero bytes and is no text; save it as CSV in UTF-8")
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        return _western(data), "Latin-1 (Windows-1252)"


def _western(data: bytes) -> str:
    """A text in Latin-1, or in what Windows makes of it, if it looks like one: few accents among many plain letters."""
    text = data.decode("cp1252", errors="replace")
    accents = (run for word in _WORD.findall(text) for run in _FOREIGN.findall(word) if len(word) > 1)
    whole = any(len(word) > 1 and _FOREIGN.fullmatch(word) for word in _WORD.findall(text))
    strange = any(ord(char) > 127 and not char.isalpha() and char not in _SYMBOLS for char in text)
    if whole or strange or any(len(run) > 2 for run in accents):
        raise ValueError("it is not UTF-8, and which encoding it has cannot be told; save it as UTF-8")
    return text
