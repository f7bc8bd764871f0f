"""The Node.js of this machine, whether the tests must have one, and the packages of the provider that they start."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import platformdirs

FOLDER = Path(__file__).parent / "provider"
MISSING = "the tests with a real identity provider were NOT RUN: no node and npm were found; install them to run these"
SECONDS = 300


def find_node():
    return shutil.which("node") if shutil.which("npm") else None


def required():
    return os.environ.get("SAFEBANDIT_NODE") == "required"


def packages():
    """A folder with the packages, outside the tree; installed once for each list of them."""
    listed = FOLDER / "package.json"
    mark = hashlib.sha256(listed.read_bytes()).hexdigest()[:16]
    folder = Path(platformdirs.user_cache_dir("safebandit")) / f"identity-provider-{mark}"
    if not (folder / "node_modules").is_dir():
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        partial.mkdir(parents=True, exist_ok=True)
        shutil.copy(listed, partial)
        quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--silent"]
        subprocess.run(["npm", "install", *quiet], cwd=partial, check=True, timeout=SECONDS)
        # Whoever was first keeps the place.
        with contextlib.suppress(OSError):
            partial.rename(folder)
        shutil.rmtree(partial, ignore_errors=True)
    return folder


@contextlib.contextmanager
def provider(redirect):
    """A provider that leads people back to this address; its issuer."""
    command = [str(find_node()), str(FOLDER / "provider.mjs"), str(packages()), redirect]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        issuer = running.stdout.readline().decode().strip()
        try:
            assert issuer.startswith("http://127.0.0.1:"), "the identity provider did not start"
            yield issuer
        finally:
            running.stdin.close()
            running.wait(timeout=30)
