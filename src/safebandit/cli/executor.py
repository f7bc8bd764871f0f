"""Where a command plays: the threads of this machine, or a Dask cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Annotated, TypedDict

import typer

Workers = Annotated[int | None, typer.Option(help="Threads, or processes with --dask local.  [default: one per core]")]
Dask = Annotated[
    str | None,
    typer.Option(help="Play on a Dask cluster: its scheduler's address, or local for processes of this machine."),
]


class Where(TypedDict):
    """The arguments of the functions that play which say where."""

    workers: int | None
    executor: Executor | None


@contextlib.contextmanager
def chosen_executor(dask: str | None, workers: int | None) -> Iterator[Where]:
    """Where to play, as --dask and --workers say."""
    if dask is None:
        yield {"workers": workers, "executor": None}
        return
    from safebandit.simulation.cluster import dask_cluster

    with dask_cluster(dask, workers=workers) as cluster:
        yield {"workers": cluster.workers, "executor": cluster.executor}
