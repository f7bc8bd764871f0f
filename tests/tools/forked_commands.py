"""`safebandit` as a command whose every run is a fork of one process that has loaded all of it already.

A tutorial runs a command twenty times: to load Python's modules and compiled code anew each time would take most of it.
`python forked_commands.py SOCKET` serves; the command in the folder that `commands` makes asks it, and passes on its
streams, its folder, its environment and its exit status.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

ASKING = """\
#!{python} -IS
import array, json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    order = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    streams = array.array("i", [0, 1, 2])
    asked.sendmsg([len(order).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    asked.sendall(order)
    status = asked.recv(1)
sys.exit(status[0] if status else 70)
"""


@contextlib.contextmanager
def commands(folder: Path):
    """A folder for the PATH, with `safebandit` in it."""
    address = str(folder / "socket")
    command = folder / "safebandit"
    command.write_text(ASKING.format(python=sys.executable, address=address), encoding="utf-8")
    command.chmod(0o755)
    with subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout.readline() == b"ready\n"
            yield folder
        finally:
            server.terminate()


def load() -> None:
    """What most commands load, and compiled code: each fork has it."""
    import safebandit as sb
    from safebandit.cli import main, trial  # noqa: F401
    from safebandit.trials import record  # noqa: F401
    from safebandit.trials.record import ledger, verification  # noqa: F401

    warm = sb.Trial(["a", "b"], alpha=0.5, policy="tsbu", seed=1)
    warm.tell(warm.ask().id, reward=1, risk=0)


def serve(address: str) -> None:
    """Run each command in a fork, one after the other."""
    load()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(1, b"ready\n")
        while True:
            asking, _ = listener.accept()
            with asking:
                child = os.fork()
                if child == 0:
                    run(asking)
                _, ended = os.waitpid(child, 0)
                asking.sendall(bytes([os.waitstatus_to_exitcode(ended) % 256]))


def run(asking: socket.socket) -> None:
    """Become the command that is asked for."""
    streams = array.array("i")
    size, [(_, _, sent)], _, _ = asking.recvmsg(8, socket.CMSG_SPACE(3 * streams.itemsize))
    streams.frombytes(sent)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    with asking.makefile("rb") as order:
        sys.argv, folder, environment = json.loads(order.read(int.from_bytes(size, "big")))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    status = 70
    try:
        from safebandit.cli import main

        main()
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(sys.argv[1])
