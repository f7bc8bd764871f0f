"""Between the service and the network: TLS, and the proxies whose word about a client's address is taken."""

from __future__ import annotations

import ipaddress
import ssl
from pathlib import Path
from typing import Any, NamedTuple

from safebandit.errors import RecordError


class Network(NamedTuple):
    """The files of a certificate and its key, if the service speaks TLS itself, and the addresses of proxies."""

    certificate: Path | None = None
    certificate_key: Path | None = None
    proxies: tuple[str, ...] = ("127.0.0.1",)

    @classmethod
    def read(cls, *, certificate: Path | None, certificate_key: Path | None, proxies: str) -> Network:
        """As people give it, checked before a port is taken.

        >>> Network.read(certificate=None, certificate_key=None, proxies="10.0.0.0/8, 127.0.0.1").proxies
        ('10.0.0.0/8', '127.0.0.1')
        """
        if (certificate is None) != (certificate_key is None):
            given, missing = ("certificate", "certificate-key")[:: 1 if certificate_key is None else -1]
            raise RecordError(f"TLS needs a certificate and its key, got --{given} alone; give --{missing}, too")
        listed = tuple(part.strip() for part in proxies.split(",") if part.strip())
        for part in listed:
            try:
                ipaddress.ip_network(part)
            except ValueError:
                raise RecordError(
                    f"proxies are addresses or networks such as 127.0.0.1 or 10.0.0.0/8, got {part!r}"
                ) from None
        made = cls(certificate, certificate_key, listed)
        made._check_certificate()
        return made

    def _check_certificate(self) -> None:
        if self.certificate is None or self.certificate_key is None:
            return
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(self.certificate, self.certificate_key)
        except (OSError, ssl.SSLError) as problem:
            said = problem.strerror or str(problem)
            raise RecordError(
                f'the certificate "{self.certificate}" with the key "{self.certificate_key}" cannot be used: {said}'
            ) from None

    @property
    def scheme(self) -> str:
        """What the addresses of the service begin with."""
        return "http" if self.certificate is None else "https"

    @property
    def options(self) -> dict[str, Any]:
        """What Uvicorn is told."""
        return {
            "ssl_certfile": None if self.certificate is None else str(self.certificate),
            "ssl_keyfile": None if self.certificate_key is None else str(self.certificate_key),
            "proxy_headers": bool(self.proxies),
            "forwarded_allow_ips": list(self.proxies),
        }
