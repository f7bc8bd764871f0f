"""Finished chunks of trials: put in order for a collector, and saved as they end, so that a killed run resumes."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.kernels import Trials
from safebandit.errors import ResultError
from safebandit.files import written_whole
from safebandit.simulation.collecting import Collector
from safebandit.simulation.results import Specification

_DIGEST = 32
_NAME = re.compile(r"(\d+)-(\d+)\.chunk")


class Chunk(NamedTuple):
    """Trials of one policy, from the number `first` on, and the seconds they took."""

    first: int
    trials: Trials
    seconds: float

    @property
    def end(self) -> int:
        """The number of the first trial after the chunk."""
        return self.first + len(self.trials.regret)

    def cut(self, first: int, end: int) -> Chunk:
        """The part of the chunk between two numbers."""
        columns: list[Any] = [column[first - self.first : end - self.first] for column in self.trials]
        return Chunk(first, Trials(*columns), self.seconds * (end - first) / (self.end - self.first))


class SavedChunk(NamedTuple):
    """A file with a chunk from the number `first` on, and those of its trials that are wanted."""

    path: Path
    first: int
    wanted: range

    def read(self) -> Chunk:
        """Read the wanted trials of the chunk."""
        chunk = _read(self.path, self.first)
        if chunk is None:
            raise ResultError(f"{self.path} was changed while it was in use; run it again")
        return chunk.cut(self.wanted.start, self.wanted.stop)


class ChunkFolder:
    """A folder with the finished chunks of one policy on one problem, each in a file named after its trials.

    Folders are named after all that determines the trials and all that made them: others never meet.
    """

    def __init__(self, folder: str | Path, specification: Specification, policy: Any) -> None:
        document = {**replace(specification, policies={}).to_dict(), "policy": repr(policy)}
        key = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
        self.folder = Path(folder) / key

    def save(self, chunk: Chunk) -> None:
        """Write a chunk: all of it or nothing."""
        content = io.BytesIO()
        columns: dict[str, Any] = chunk.trials._asdict()
        np.savez(content, seconds=chunk.seconds, **columns)
        data = content.getvalue()
        with written_whole(self.folder / f"{chunk.first}-{chunk.end}.chunk") as partial:
            partial.write_bytes(hashlib.sha256(data).digest() + data)

    def find(self, wanted: range) -> list[SavedChunk]:
        """The saved trials among those wanted, each once and in order, however they were cut; none of damaged files."""
        found, reached = [], wanted.start
        for first, end, path in sorted(self._files()):
            start, stop = max(first, reached), min(end, wanted.stop)
            chunk = _read(path, first) if start < stop else None
            if chunk is not None and chunk.end == end:
                found.append(SavedChunk(path, first, range(start, stop)))
                reached = stop
        return found

    def _files(self) -> Iterator[tuple[int, int, Path]]:
        for path in self.folder.glob("*.chunk"):
            match = _NAME.fullmatch(path.name)
            if match:
                yield int(match[1]), int(match[2]), path


def _read(path: Path, first: int) -> Chunk | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    # A power cut can leave a file under its final name without its content.
    if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
        return None
    with np.load(io.BytesIO(data[_DIGEST:]), allow_pickle=False) as arrays:
        return Chunk(first, Trials(*(arrays[name] for name in Trials._fields)), float(arrays["seconds"]))


def clear(folder: str | Path) -> None:
    """Remove all saved chunks of a folder, and the folder if nothing else is in it."""
    folder = Path(folder)
    for of_one_policy in {path.parent for path in folder.glob("*/*.chunk")}:
        shutil.rmtree(of_one_policy)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def gaps(wanted: range, saved: Sequence[SavedChunk]) -> list[range]:
    """The wanted trials that are not saved, as ranges in order."""
    starts = [wanted.start, *(chunk.wanted.stop for chunk in saved)]
    ends = [*(chunk.wanted.start for chunk in saved), wanted.stop]
    return [range(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


class Assembler:
    """Takes finished chunks in any order, and hands the trials that every policy has finished to a collector, in order.

    In a thread of its own: Ctrl-C is heard in the main thread only, and trials are added for all policies or for none.
    """

    def __init__(self, collector: Collector, first: int, saved: Mapping[str, Sequence[SavedChunk]]) -> None:
        self.seconds = dict.fromkeys(saved, 0.0)
        self._collector = collector
        self._next = first
        self._saved = {(label, chunk.wanted.start): chunk for label, chunks in saved.items() for chunk in chunks}
        self._early: dict[tuple[str, int], Chunk] = {}
        self._closing = False
        self._thread = ThreadPoolExecutor(1)

    @property
    def waiting(self) -> int:
        """How many chunks wait in memory for one before them, or for another policy."""
        return len(self._early)

    def take(self, label: str, chunk: Chunk) -> None:
        """Take a chunk of one policy."""
        self._early[label, chunk.first] = chunk
        self.catch_up()

    def catch_up(self) -> None:
        """Hand over all trials that are next in order."""
        self._thread.submit(self._hand_over).result()

    def _hand_over(self) -> None:
        while all(self._has_next(label) for label in self.seconds):
            chunks = {label: self._pop_next(label) for label in self.seconds}
            first, end = self._next, min(chunk.end for chunk in chunks.values())
            parts = {label: chunk.cut(first, end) for label, chunk in chunks.items()}
            self._collector.add({label: part.trials for label, part in parts.items()})
            for label, chunk in chunks.items():
                self.seconds[label] += parts[label].seconds
                if end < chunk.end:
                    self._early[label, end] = chunk.cut(end, chunk.end)
            self._next = end

    def _has_next(self, label: str) -> bool:
        place = label, self._next
        # Files can be many: whoever is closing does not wait for them.
        return place in self._early or (place in self._saved and not self._closing)

    def _pop_next(self, label: str) -> Chunk:
        place = label, self._next
        return self._early.pop(place) if place in self._early else self._saved.pop(place).read()

    def close(self) -> None:
        """End when what is in memory, and in order, has been handed over."""
        self._closing = True
        self._thread.shutdown()
