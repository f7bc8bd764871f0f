"""Finished chunks of trials: collected in any order, and kept on disk as they end, so that a killed run resumes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from safebandit.kernel import Trials
from safebandit.results import Specification
from safebandit.sources import sources

_DIGEST = 32
_NAME = re.compile(r"(\d+)-(\d+)\.chunk")


class Chunk(NamedTuple):
    """Trials of one policy, from the number `first` on, and the seconds they took."""

    first: int
    trials: Trials
    seconds: float

    @property
    def end(self) -> int:
        """The number of the first trial after it."""
        return self.first + len(self.trials.regret)

    def cut(self, first: int, end: int) -> Chunk:
        """The part of it between two numbers."""
        columns: list[Any] = [column[first - self.first : end - self.first] for column in self.trials]
        return Chunk(first, Trials(*columns), self.seconds * (end - first) / (self.end - self.first))


class Shelf:
    """A folder with the finished chunks of one policy on one problem, each in a file named after its trials.

    Folders are named after all that determines the trials and all that made them: others never meet.
    """

    def __init__(self, folder: str | Path, specification: Specification, policy: Any) -> None:
        document = {**replace(specification, policies={}).to_dict(), "policy": repr(policy), "sources": sources()}
        key = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
        self.folder = Path(folder) / key

    def keep(self, chunk: Chunk) -> None:
        """Write a chunk: all of it or nothing."""
        content = io.BytesIO()
        columns: dict[str, Any] = chunk.trials._asdict()
        np.savez(content, seconds=chunk.seconds, **columns)
        data = content.getvalue()
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{chunk.first}-{chunk.end}.chunk"
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            partial.write_bytes(hashlib.sha256(data).digest() + data)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)

    def load(self, wanted: range) -> Iterator[Chunk]:
        """The kept trials among those wanted, each once and in order, however they were cut; damaged files are none."""
        reached = wanted.start
        for first, end, path in sorted(self._files()):
            start, stop = max(first, reached), min(end, wanted.stop)
            chunk = _read(path, first) if start < stop else None
            if chunk is not None and chunk.end == end:
                yield chunk.cut(start, stop)
                reached = stop

    def _files(self) -> Iterator[tuple[int, int, Path]]:
        for path in self.folder.glob("*.chunk"):
            match = _NAME.fullmatch(path.name)
            if match:
                yield int(match[1]), int(match[2]), path


def _read(path: Path, first: int) -> Chunk | None:
    data = path.read_bytes()
    # A power cut can leave a file under its final name without its content.
    if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
        return None
    with np.load(io.BytesIO(data[_DIGEST:]), allow_pickle=False) as arrays:
        return Chunk(first, Trials(*(arrays[name] for name in Trials._fields)), float(arrays["seconds"]))


def clear(folder: str | Path) -> None:
    """Remove all kept chunks of a folder, and the folder if nothing else is in it."""
    folder = Path(folder)
    for shelf in {path.parent for path in folder.glob("*/*.chunk")}:
        shutil.rmtree(shelf)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


class Finished:
    """The finished chunks of one policy, among the trials that are wanted of it."""

    def __init__(self, wanted: range, shelf: Shelf | None) -> None:
        self.wanted = wanted
        self.shelf = shelf
        self.chunks = {} if shelf is None else {chunk.first: chunk for chunk in shelf.load(wanted)}

    def add(self, chunk: Chunk) -> None:
        """Take a chunk in, on disk first."""
        if self.shelf is not None:
            self.shelf.keep(chunk)
        self.chunks[chunk.first] = chunk

    @property
    def count(self) -> int:
        """How many trials are finished."""
        return sum(chunk.end - chunk.first for chunk in self.chunks.values())

    def gaps(self) -> list[range]:
        """The trials that are not finished, as ranges in order."""
        found, reached = [], self.wanted.start
        for first in sorted(self.chunks):
            found.append(range(reached, first))
            reached = self.chunks[first].end
        return [gap for gap in [*found, range(reached, self.wanted.stop)] if gap]

    def whole(self) -> int:
        """How many trials are finished before the first that is not."""
        gaps = self.gaps()
        return (gaps[0].start if gaps else self.wanted.stop) - self.wanted.start

    def first(self, count: int) -> tuple[Trials, float]:
        """The first so many trials, and the seconds they took."""
        end = self.wanted.start + count
        parts = [
            self.chunks[first].cut(first, min(end, self.chunks[first].end))
            for first in sorted(self.chunks)
            if first < end
        ]
        columns = zip(*(part.trials for part in parts), strict=True)
        return Trials(*(np.concatenate(column) for column in columns)), sum(part.seconds for part in parts)
