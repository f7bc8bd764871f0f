"""`safebandit` and kernels of notebooks, whose every run is a fork of one process that has loaded all of it already.

A tutorial runs a command twenty times, and each has a kernel of its own: to load Python's modules and compiled code
anew each time would take most of it. `python forked_commands.py SOCKET` serves; the commands in the folder that
`commands` makes ask it, and pass on their streams, their folder, their environment and their exit status.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

ASKING = """\
#!{python} -IS
import array, json, os, signal, socket, sys
# A kernel is interrupted at its end; what is waited for here ends by itself.
signal.signal(signal.SIGINT, signal.SIG_IGN)
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    order = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    streams = array.array("i", [0, 1, 2])
    asked.sendmsg([len(order).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    asked.sendall(order)
    status = asked.recv(1)
sys.exit(status[0] if status else 70)
"""
# The kernel that notebooks ask for by its name, where this folder is on JUPYTER_PATH.
KERNEL = Path("kernels", "python3", "kernel.json")


@contextlib.contextmanager
def commands(folder: Path):
    """A folder for the PATH, with `safebandit` in it, and for JUPYTER_PATH, with the kernel `python3` in it."""
    address = str(folder / "socket")
    for name in ("safebandit", "kernel"):
        command = folder / name
        command.write_text(ASKING.format(python=sys.executable, address=address), encoding="utf-8")
        command.chmod(0o755)
    (folder / KERNEL).parent.mkdir(parents=True)
    said = {"argv": [str(folder / "kernel"), "-f", "{connection_file}"], "display_name": "", "language": "python"}
    (folder / KERNEL).write_text(json.dumps(said), encoding="utf-8")
    # As the loaded kernel reads it: started by another process, it says nothing on its own streams.
    surroundings = {**os.environ, "JPY_PARENT_PID": str(os.getpid())}
    serving = [sys.executable, __file__, address]
    with subprocess.Popen(serving, stdout=subprocess.PIPE, env=surroundings, start_new_session=True) as server:
        try:
            assert server.stdout.readline() == b"ready\n"
            yield folder
        finally:
            # And its forks, of which none is to be left where a test has failed.
            os.killpg(server.pid, signal.SIGTERM)


def load() -> None:
    """What most commands and notebooks load, and compiled code: each fork has it."""
    import pandas as pd  # noqa: F401
    import scipy.stats  # noqa: F401
    from ipykernel import ipkernel, kernelapp, zmqshell  # noqa: F401
    from matplotlib_inline import backend_inline  # noqa: F401

    import safebandit as sb
    from safebandit.cli import main, trial  # noqa: F401
    from safebandit.simulation import plots  # noqa: F401
    from safebandit.trials import record  # noqa: F401
    from safebandit.trials.record import ledger, verification  # noqa: F401

    warm = sb.Trial(["a", "b"], alpha=0.5, policy="tsbu", seed=1)
    warm.tell(warm.ask().id, reward=1, risk=0)


def serve(address: str) -> None:
    """Run each command in a fork; another fork waits for it, as a kernel runs while its notebook runs commands."""
    load()
    signal.signal(signal.SIGCHLD, lambda *_: reap())
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(1, b"ready\n")
        while True:
            asking, _ = listener.accept()
            with asking:
                if os.fork() == 0:
                    listener.close()
                    wait_for_one(asking)


def reap() -> None:
    """Let go of the forks that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def wait_for_one(asking: socket.socket) -> None:
    """Fork what is asked for, and say how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        run(asking)
    _, ended = os.waitpid(child, 0)
    asking.sendall(bytes([os.waitstatus_to_exitcode(ended) % 256]))
    os._exit(0)


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
        {"safebandit": command, "kernel": kernel}[Path(sys.argv[0]).name]()
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def command() -> None:
    from safebandit.cli import main

    main()


def kernel() -> None:
    import pandas as pd
    from ipykernel.kernelapp import launch_new_instance

    # What pandas itself chooses where it is loaded in a notebook; it was loaded outside of one.
    pd.set_option("display.max_columns", 20)
    launch_new_instance()


if __name__ == "__main__":
    serve(sys.argv[1])
