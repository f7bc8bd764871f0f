"""A service that is killed again and again: each time a fork of a process that has loaded all of it already.

It is the real application on a real socket; only what Python loads is not loaded anew, so that a start takes
milliseconds and not seconds. `python -m servers.forked DATABASE` writes the address, then the process id of each start.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from types import TracebackType
from typing import Any, Self, cast

from servers.service import ROOT, environment


class ForkedService:
    """Started with `with`; `kill` ends the process that serves, and the next one serves at the same address."""

    def __init__(self, database: str) -> None:
        self._database = database
        self.url = ""
        self.pid = 0

    def __enter__(self) -> Self:
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "benchmarks")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "servers.forked", self._database],
            stdout=subprocess.PIPE,
            text=True,
            env={**environment(), "PYTHONPATH": path},
            start_new_session=True,
        )
        # A pipe, which a process of ours always has.
        self._lines: Any = cast("Any", self._process.stdout)
        self.url = self._lines.readline().strip()
        self.pid = int(self._lines.readline())
        return self

    def kill(self) -> None:
        """End the process that serves, at once, and wait until the next one has started."""
        os.kill(self.pid, signal.SIGKILL)
        self.pid = int(self._lines.readline())

    def __exit__(self, kind: type[BaseException] | None, value: Any, trace: TracebackType | None) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._lines.close()


def serve_again_and_again(database: str) -> None:
    """Load everything, then serve in a fork, and in another one whenever that has ended."""
    import safebandit as sb
    from safebandit.service.rates import RateLimits
    from safebandit.service.run import Options, serve_here

    # Compiled code is loaded once, and shared by every fork.
    warm = sb.Trial(["a", "b"], alpha=0.5, policy="tsbu", seed=1)
    warm.tell(warm.ask().id, reward=1, risk=0)
    options = Options(rates=RateLimits(rate=1e6, burst=1e6))
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        _say(f"http://127.0.0.1:{listener.getsockname()[1]}")
        while True:
            child = os.fork()
            if child == 0:
                os._exit(serve_here(database, listener, options))
            _say(str(child))
            os.waitpid(child, 0)


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    serve_again_and_again(sys.argv[1])
