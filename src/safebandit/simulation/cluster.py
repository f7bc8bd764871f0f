"""A Dask cluster as an executor: connected to, or started here; refused at the door where it could not do the work."""

from __future__ import annotations

import contextlib
import logging
import re
import signal
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any, NamedTuple

from safebandit.errors import ExecutorError
from safebandit.simulation.simulate import at_least, default_workers
from safebandit.sources import sources

LOCAL = "local"
_ADDRESS = re.compile(r"((tcp|tls|ws|wss)://)?(\[[^]]+\]|[^]/:\s]+):\d+/?")
CONNECT_SECONDS = 20
# A chunk that fails on one worker is tried on others: that worker may be the one that is ill.
RETRIES = 2


class Cluster(NamedTuple):
    """Where chunks are played, and how many at once."""

    executor: Executor
    workers: int


@contextlib.contextmanager
def dask_cluster(address: str, *, workers: int | None = None) -> Iterator[Cluster]:
    """The cluster of a scheduler's address, such as tcp://10.0.0.5:8786, or with "local" processes of this machine.

    with dask_cluster("local") as cluster:
        simulate(..., executor=cluster.executor, workers=cluster.workers)
    """
    if address != LOCAL:
        _check_address(address, workers)
    distributed = _distributed()
    with contextlib.ExitStack() as until_done:
        where: Any = address
        if address == LOCAL:
            count = default_workers() if workers is None else at_least("workers", workers, 1, "processes")
            where = until_done.enter_context(_local_cluster(distributed, count))
        client = until_done.enter_context(_client(distributed, where))
        _check_workers(client, address)
        if address == LOCAL:
            # A terminal sends it to the workers too; they are to stop when this process tells them.
            client.run(_ignore_ctrl_c)
        yield Cluster(client.get_executor(pure=False, retries=RETRIES), sum(client.nthreads().values()))


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ExecutorError("Dask is not installed; pip install 'safebandit[dask]'") from None
    return distributed


def _check_address(address: str, workers: int | None) -> None:
    if not _ADDRESS.fullmatch(address):
        raise ExecutorError(f'a cluster is "{LOCAL}" or an address such as tcp://10.0.0.5:8786, got "{address}"')
    if workers is not None:
        raise ExecutorError(f'workers goes with "{LOCAL}", got {workers}; {address} has the workers that joined it')


def _local_cluster(distributed: Any, workers: int) -> Any:
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


def _ignore_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _client(distributed: Any, where: Any) -> Any:
    # What goes wrong is said in one line, here or by whoever waits for a chunk.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        return distributed.Client(where, timeout=CONNECT_SECONDS, set_as_default=False)
    except OSError as problem:
        reason = " ".join(str(problem).split())
        raise ExecutorError(
            f"no Dask scheduler answers at {where} ({reason}); start one with `dask scheduler` and give its address"
        ) from None


def _check_workers(client: Any, address: str) -> None:
    """Check that there are workers, and that all have the sources and versions that are here."""
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError:
        raise ExecutorError(
            f"the scheduler at {address} has had no worker for {CONNECT_SECONDS} s; start some: dask worker {address}"
        ) from None
    for worker, answer in client.run(sources, on_error="return").items():
        if answer != sources():
            found = f"{type(answer).__name__}: {answer}" if isinstance(answer, Exception) else answer
            raise ExecutorError(
                f"the worker at {worker} has not the safebandit, NumPy and Numba that are here "
                f"({' '.join(found.split())}, not {sources()}); install the same there and restart it"
            )
