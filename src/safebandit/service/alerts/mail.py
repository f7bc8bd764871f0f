"""E-mail: a message given to a mail server, over TLS unless it is on this machine."""

from __future__ import annotations

import contextlib
import json
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from pathlib import Path
from typing import NamedTuple

from safebandit.errors import RecordError
from safebandit.service.alerts.outcome import FailedError
from safebandit.service.alerts.rules import is_address
from safebandit.service.other_servers import is_here, read_secret

SECURITY = ("starttls", "tls", "none")
_PORTS = {"starttls": 587, "tls": 465, "none": 25}


class MailServer(NamedTuple):
    """A mail server: how it is spoken to, as whom, and the address that messages come from."""

    host: str
    port: int
    security: str
    sender: str
    user: str | None = None
    password: str | None = None
    # Certificates that are trusted beside those of the system.
    authority: Path | None = None

    @classmethod
    def read(
        cls,
        *,
        host: str | None,
        port: int | None,
        security: str,
        sender: str | None,
        user: str | None,
        password_file: Path | None,
    ) -> MailServer | None:
        """As people give it, checked before the service starts; None if no host is given."""
        given = {"smtp-port": port, "smtp-from": sender, "smtp-user": user, "smtp-password-file": password_file}
        if host is None:
            extra = next((name for name, value in given.items() if value is not None), None)
            if extra is not None:
                raise RecordError(f"--{extra} is for a mail server; name it with --smtp-host, or leave it out")
            return None
        if security not in SECURITY:
            raise RecordError(f"--smtp-security must be one of {', '.join(SECURITY)}, got {security!r}")
        if sender is None or not is_address(sender):
            raise RecordError(f"e-mail needs the address that it comes from: --smtp-from, got {sender!r}")
        if (user is None) != (password_file is None):
            raise RecordError("a user of a mail server has a password: give --smtp-user and --smtp-password-file")
        if security == "none" and not is_here(host):
            raise RecordError(f"e-mail to {host} needs TLS; --smtp-security none is for a mail server on this machine")
        password = None if password_file is None else read_secret("password of the mail server", password_file)
        return cls(host, port or _PORTS[security], security, sender, user, password)


def send(server: MailServer, target: str, id: str, body: str, *, seconds: float) -> str:
    """Give a message to the mail server; what it said, if it took it, and an error otherwise."""
    try:
        with _connected(server, seconds) as smtp:
            smtp.send_message(compose(server, target, id, body))
    except smtplib.SMTPRecipientsRefused as problem:
        code, said = next(iter(problem.recipients.values()))
        raise FailedError(f"the mail server refused the address: {code} {_text(said)}") from None
    except smtplib.SMTPResponseException as problem:
        raise FailedError(f"the mail server refused: {problem.smtp_code} {_text(problem.smtp_error)}") from None
    except (smtplib.SMTPException, OSError, ssl.SSLError) as problem:
        raise FailedError(f"the mail server cannot be used: {str(problem) or type(problem).__name__}") from None
    return f"taken by {server.host}"


def compose(server: MailServer, target: str, id: str, body: str) -> EmailMessage:
    """The e-mail of a message; a header cannot hold a line break, whatever a trial is named."""
    said = json.loads(body)
    data = said["data"]
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"] = server.sender, target
    mail["Subject"] = " ".join(f"[safebandit] {data['message']}".split())[:200]
    mail["Date"] = formatdate()
    # The same of every attempt: whoever gets it twice can tell.
    mail["Message-ID"] = f"<{id}@{server.sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    lines = [data["message"], "", f"time: {said['timestamp']}"]
    lines += [f"{name.replace('_', ' ')}: {value}" for name, value in data.items() if name != "message"]
    mail.set_content("\n".join(lines) + "\n")
    return mail


@contextlib.contextmanager
def _connected(server: MailServer, seconds: float) -> Iterator[smtplib.SMTP]:
    context = ssl.create_default_context(cafile=server.authority)
    made: smtplib.SMTP
    if server.security == "tls":
        made = smtplib.SMTP_SSL(server.host, server.port, timeout=seconds, context=context)
    else:
        made = smtplib.SMTP(server.host, server.port, timeout=seconds)
    # Each answer may take so long by smtplib; all of them together must not.
    end = threading.Timer(seconds, _cut, [made])
    end.daemon = True
    end.start()
    try:
        with made as smtp:
            if server.security == "starttls":
                smtp.starttls(context=context)
            if server.user is not None and server.password is not None:
                smtp.login(server.user, server.password)
            yield smtp
    finally:
        end.cancel()


def _cut(smtp: smtplib.SMTP) -> None:
    with contextlib.suppress(OSError, AttributeError):
        smtp.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


def _text(said: bytes | str) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
