"""The real service, started as people start it."""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from safebandit.cli import main; main()"]
# Long: the machine may be busy, and the first start compiles.
SECONDS = 300
_SERVES = re.compile(r"safebandit serves (\S+) \(database: .*\)")
_FIRST_KEY = "first key (admin), shown once: "


def environment() -> dict[str, str]:
    """The environment of a command that runs these sources."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"}


def safebandit(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, env=environment(), timeout=SECONDS, check=False
    )


def ask_again_until(done: Any, what: str) -> Any:
    """Try until it gives something true, or so much time has passed that it never will."""
    deadline = time.monotonic() + SECONDS
    pause = threading.Event()
    while time.monotonic() < deadline:
        found = done()
        if found:
            return found
        pause.wait(0.02)
    raise TimeoutError(what)


class Service:
    """`safebandit serve` on a free port, from the start until it is stopped or killed.

    with Service(tmp_path / "trials.db") as service:
        service.post("/v1/trials", {"name": "knee", "arms": ["a", "b"], "alpha": 0.2})
    """

    def __init__(self, database: str | Path, *arguments: str, key: str = "", port: int = 0) -> None:
        self.database = str(database)
        self._arguments = arguments
        self._port = port
        # The first key, if the service made one.
        self.key = key
        self.url = ""
        self.stderr: list[str] = []
        self.process: subprocess.Popen[bytes]
        # Both ends of pipes, which a process of ours always has.
        self._stdout: Any = None
        self._stderr: Any = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, value: Any, trace: TracebackType | None) -> None:
        self.kill()

    def start(self) -> Self:
        """Start it, and wait until it answers."""
        command = [*COMMAND, "serve", "--db", self.database, "--port", str(self._port), *self._arguments]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=environment(),
            # A group of its own, so that all of its processes can be ended at once.
            start_new_session=True,
        )
        self._stdout, self._stderr = self.process.stdout, self.process.stderr
        self._reader = threading.Thread(target=self._read_stderr, args=(self._stderr,), daemon=True)
        self._reader.start()
        try:
            self._read_lines()
        except BaseException:
            self.kill()
            raise
        return self

    def _read_lines(self) -> None:
        said = b""
        while b"\n" not in said:
            more = os.read(self._stdout.fileno(), 65536)
            if not more:
                self.process.wait(SECONDS)
                self._reader.join(SECONDS)
                raise RuntimeError(f"the service did not start: {said.decode()}{''.join(self.stderr)}")
            said += more
        serves = _SERVES.match(said.decode())
        if serves is None:
            raise RuntimeError(f"the service said something else: {said.decode()}")
        self.url = serves[1]
        ask_again_until(self._ready, "the service does not become ready")
        # Both lines are said before the first answer is given.
        if select.select([self._stdout], [], [], 0)[0]:
            said += os.read(self._stdout.fileno(), 65536)
        for line in said.decode().splitlines():
            if line.startswith(_FIRST_KEY):
                self.key = line.removeprefix(_FIRST_KEY)

    def _read_stderr(self, stream: Any) -> None:
        # Buffered: the pipe itself would be read byte by byte, which takes a quarter of a processor under load.
        with io.BufferedReader(stream) as lines:
            self.stderr.extend(line.decode() for line in lines)

    def _ready(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"the service ended: {''.join(self.stderr)}")
        try:
            return self.request("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def request(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> tuple[int, Any]:
        """The status and the answer, read if it is JSON; a ConnectionError if it did not come whole."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            try:
                response = urllib.request.urlopen(request, timeout=SECONDS)
            except urllib.error.HTTPError as refused:
                response = refused
            with response:
                return response.status, _read(response)
        except http.client.HTTPException as cut:
            raise ConnectionError(f"the service hung up before its answer was whole: {cut!r}") from cut

    def get(self, path: str, *, key: str | None = None) -> tuple[int, Any]:
        return self.request("GET", path, key=key)

    def post(self, path: str, body: Any, *, key: str | None = None) -> tuple[int, Any]:
        return self.request("POST", path, body, key=key)

    @property
    def workers(self) -> list[int]:
        """The processes that answer: its children of this kind, or itself where it has none."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        workers = [int(pid) for pid in children.split() if b"spawn_main" in _command(pid)]
        return workers or [self.process.pid]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop, and wait; the exit status."""
        self.process.send_signal(number)
        return self._ended()

    def kill(self) -> None:
        """End all of its processes at once (SIGKILL)."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self._ended()

    def _ended(self) -> int:
        status = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        for stream in (self._stdout, self._stderr):
            if not stream.closed:
                stream.close()
        return status


def _command(pid: str) -> bytes:
    """The command line of a process, nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _read(response: Any) -> Any:
    content = response.read()
    return json.loads(content) if response.headers.get_content_type() == "application/json" else content
