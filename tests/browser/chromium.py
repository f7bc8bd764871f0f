"""The Chromium of this machine, and whether the tests must have one."""

import os
import shutil

# The first has no windows, menus or sign-in of its own: the tests take less than half of the processor time with it.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
MISSING = f"the browser tests were NOT RUN: no Chromium was found ({', '.join(NAMES)}); install one to run them"


def find_chromium():
    return next(filter(None, map(shutil.which, NAMES)), None)


def required():
    return os.environ.get("SAFEBANDIT_BROWSER") == "required"
