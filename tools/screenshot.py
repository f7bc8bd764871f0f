"""Take the picture of a live trial's page, docs/pictures/live-trial.png: one is played, served, and seen in Chromium.

It is not drawn at every build, as it takes a browser. Outcomes have a fixed seed; times are those of the day.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "live-trial.png"
NAME, TITLE = "knee-pain", "Knee pain, five doses, severe side effects within 14 days"
ARMS = {"placebo": (0.1, 0.05), "20 mg": (0.25, 0.1), "40 mg": (0.36, 0.14), "80 mg": (0.5, 0.36), "120 mg": (0.6, 0.6)}
UNITS, PENDING = 640, 8
WIDTH, HEIGHT = 1280, 1320


def play(service: Any) -> None:
    """Give all units their arms, and tell the outcomes of all but the last."""
    random = np.random.default_rng(1)
    service.create(NAME, tuple(ARMS), alpha=0.21, title=TITLE, pending_cap=PENDING)
    with service.ledger.writing() as writing:
        trial = writing.trial(NAME)
        for n in range(UNITS):
            unit = f"patient {n + 1}"
            mu, nu = ARMS[trial.ask(unit, actor="desk").arm]
            reward, risk = (float(random.random() < mean) for mean in (mu, nu))
            if n < UNITS - PENDING:
                trial.tell(unit, reward=reward, risk=risk, actor="desk")


def main() -> None:
    """Play, serve, look, and keep."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    # The tests have a service on a free port, and find the browser.
    sys.path.insert(0, str(ROOT))
    serving = import_module("tests.browser.serving").serving
    chromium = import_module("tests.browser.chromium")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "trials.db") as service:
        play(service)
        with sync_playwright() as playwright:
            path = chromium.find_chromium()
            browser = playwright.chromium.launch(executable_path=path, args=chromium.ARGUMENTS)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(f"{service.url}/sign-in?next=/trials/{NAME}")
            page.get_by_label("Key").fill(service.keys["admin"])
            page.get_by_role("button", name="Sign in").click()
            page.get_by_text("Allocation over time").wait_for()
            page.screenshot(path=PICTURE)
            browser.close()
    with Image.open(PICTURE) as seen:
        seen.convert("RGB").quantize(128).save(PICTURE, optimize=True)
    print(PICTURE)


if __name__ == "__main__":
    main()
