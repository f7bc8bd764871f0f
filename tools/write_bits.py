"""Write the hashes that `safebandit validate` holds bits to: after a change that gives other bits on purpose."""

from __future__ import annotations

import json
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "src" / "safebandit" / "studies" / "validation" / "bits.json"


def main() -> int:
    """Compute every fixed run, and keep its hash with the platform."""
    if not FILE.is_file():
        FILE.write_text(
            '{"hashes": {"simulation": "", "design": "", "decisions": ""}, "platform": {}}\n', encoding="utf-8"
        )
    from safebandit.studies.validation.identity import FIXED, this_platform

    document = {"hashes": {name: compute(1) for name, (_, compute) in FIXED.items()}, "platform": this_platform()}
    FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(FILE.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
