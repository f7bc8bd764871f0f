"""A report that shows when it was changed: the hash over its document, and the page that must follow from it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from safebandit.errors import ResultError
from safebandit.files import write_text
from safebandit.studies.validation.check import FAILS, NOTED, PASSES, verdict_of

HASH = "sha256"


def hash_of(document: dict[str, Any]) -> str:
    """A hash over all of the document but the hash itself, whatever the order of its names."""
    content = {name: value for name, value in document.items() if name != HASH}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_document(path: Path, document: dict[str, Any]) -> dict[str, Any]:
    """Write a report with its hash, and give it back."""
    signed = {**document, HASH: hash_of(document)}
    write_text(path, json.dumps(signed, indent=1, ensure_ascii=False) + "\n")
    return signed


def read_document(path: Path) -> dict[str, Any]:
    """A report as it is in a file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        # What a report must have to be one.
        {name: document[name] for name in ("format", "checks", "summary", "installation", HASH)}
    except FileNotFoundError:
        raise ResultError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ResultError(f"{path} cannot be read: {problem}") from None
    except (ValueError, TypeError, KeyError):
        raise ResultError(
            f"{path} is no validation report; give the report.json that safebandit validate wrote"
        ) from None
    return dict(document)


def problems_of(document: dict[str, Any], page: Path | None = None) -> list[str]:
    """What is wrong with a report: a hash that is not that of its content, a verdict that its numbers do not give, or a
    page that shows another report.
    """
    found = []
    if hash_of(document) != document[HASH]:
        found.append("its content does not give its hash: it was changed after it was written")
    counts = dict.fromkeys((PASSES, NOTED, FAILS), 0)
    for each in document["checks"]:
        try:
            verdict = verdict_of(each)
        except (KeyError, TypeError):
            verdict = "?"
        counts[each.get("verdict")] = counts.get(each.get("verdict"), 0) + 1
        if verdict != each.get("verdict"):
            found.append(
                f'the verdict on "{each.get("name")}" is {each.get("verdict")}, and its numbers give {verdict}'
            )
    if any(document["summary"].get(word) != count for word, count in counts.items()):
        found.append("its summary does not count the verdicts that it has")
    if page is not None and page.is_file() and document[HASH] not in page.read_text(encoding="utf-8"):
        found.append(f"{page.name} beside it does not carry its hash: it is the page of another report")
    return found
