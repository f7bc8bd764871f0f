"""Servers that the service itself speaks to, of mail and of identities: whether one is here, and the secret for it."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from safebandit.errors import RecordError


def is_here(host: str) -> bool:
    """Whether a host is this machine, by its address or as localhost.

    >>> is_here("127.0.0.1"), is_here("localhost"), is_here("mail.example.org")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_secret(what: str, file: Path) -> str:
    """A secret from a file of its own, without the end of its line."""
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise RecordError(f'the {what} cannot be read from "{file}": {problem}') from None
