"""Webhooks: a message posted to an address, signed as Standard Webhooks says.

Of the answer only its status counts. No redirect is followed, an address that leads to this network's own plumbing is
refused when its name is resolved, and the whole exchange has one deadline, however slowly the receiver talks.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import socket
import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore

from safebandit.service.alerts.outcome import FailedError
from safebandit.version import __version__

# Of an answer no more is read.
ANSWER_BYTES = 16 * 1024
GONE = 410


def sign(secret: str, id: str, timestamp: int, body: str) -> str:
    """The signature of a message: HMAC-SHA256 of its id, the time and its body.

    >>> published = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330
    >>> sign(*published, '{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    made = hmac.new(key, f"{id}.{timestamp}.{body}".encode(), hashlib.sha256).digest()
    return f"v1,{base64.b64encode(made).decode()}"


def post(target: str, secret: str, id: str, body: str, *, seconds: float) -> str:
    """Post a message; what the receiver said, if it took it, and an error otherwise."""
    timestamp = int(time.time())
    headers: dict[bytes | str, bytes | str] = {
        "content-type": "application/json",
        "user-agent": f"safebandit/{__version__}",
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, id, timestamp, body),
    }
    plain = target.startswith("http://")
    # To read all certificates that this machine trusts takes time.
    trusted = None if plain else ssl.create_default_context()
    network = _Network(time.monotonic() + seconds, plain=plain)
    try:
        with (
            httpcore.ConnectionPool(ssl_context=trusted, network_backend=network) as pool,
            pool.stream("POST", target, headers=headers, content=body.encode()) as response,
        ):
            status = response.status
            received = 0
            for part in response.iter_stream():
                received += len(part)
                if received > ANSWER_BYTES:
                    break
    except (httpcore.TimeoutException, TimeoutError):
        raise FailedError(f"no answer within {seconds:g} s") from None
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol, OSError) as problem:
        raise FailedError(f"cannot be reached: {str(problem) or type(problem).__name__}") from None
    if not 200 <= status < 300:
        raise FailedError(f"answered {status}", final=status == GONE)
    return f"answered {status}"


class _Network(httpcore.SyncBackend):
    """Connects to the address that was checked, and ends everything at one deadline."""

    def __init__(self, deadline: float, *, plain: bool) -> None:
        self._deadline, self._plain = deadline, plain

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            raise httpcore.ConnectError("its host has no address") from None
        address = str(found[0][4][0])
        refuse_address(address, plain=self._plain)
        made = super().connect_tcp(address, port, _left(self._deadline), local_address, socket_options)
        return _Stream(made, self._deadline)


def refuse_address(address: str, *, plain: bool) -> None:
    """Refuse an address that no receiver has, such as that of one link, where clouds keep what their machines may know;
    and, to whoever listens on the way, what is sent without TLS (`plain`).
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None) or found
    if mapped.is_link_local or mapped.is_multicast or mapped.is_unspecified:
        raise FailedError(f"its host has the address {address}, to which nothing is sent")
    if plain and mapped.is_global:
        raise FailedError(f"its host has the address {address}, which is not of a network of your own; use https://")


class _Stream(httpcore.NetworkStream):
    """A connection that ends at its deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(max_bytes, _left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._stream.write(buffer, _left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(self._deadline)), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout
    return left
