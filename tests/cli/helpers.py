"""What tests of the command line share: real processes."""

import signal
import subprocess
import sys

COMMAND = [sys.executable, "-c", "from safebandit.cli import main; main()"]


def interrupted(*arguments, at):
    """The exit status and the last words of a command that gets Ctrl-C once a line of its progress begins so."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.strip().startswith(at):
            process.send_signal(signal.SIGINT)
            break
    _, rest = process.communicate(timeout=300)
    return process.returncode, rest
