"""What tests of the command line share: real processes."""

import signal
import subprocess
import sys

COMMAND = [sys.executable, "-c", "from safebandit.cli import main; main()"]


def hear_ctrl_c():
    """What runs in the background of a script, and so the tests there, is deaf to Ctrl-C; what they start is not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(*arguments, at):
    """The exit status and the last words of a command that gets Ctrl-C once a line of its progress begins so."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_ctrl_c,  # noqa: PLW1509  no thread is there yet
    )
    for line in process.stderr:
        if line.strip().startswith(at):
            process.send_signal(signal.SIGINT)
            break
    _, rest = process.communicate(timeout=300)
    return process.returncode, rest
