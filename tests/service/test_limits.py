"""Connections that take too long, send too much or are too many: each is ended, others go on, and it is counted."""

from __future__ import annotations

import contextlib
import json
import logging
import socket

import pytest

from safebandit.errors import RecordError
from safebandit.service import run
from safebandit.service.limits import RAW_BODY_BYTES, ConnectionLimits
from servers.service import SECONDS, ask_again_until

from .conftest import WIDE, serving
from .test_guards import sample

HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
SHORT = ConnectionLimits(8, 2048, head_seconds=0.3, body_seconds=0.3, idle_seconds=0.3, answer_seconds=0.3)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A service whose limits are small, and one trial."""
    with serving(tmp_path_factory.mktemp("short") / "trials.db", WIDE, SHORT) as made:
        made.create("knee")
        yield made


@contextlib.contextmanager
def connected(served, *parts: bytes):
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        for part in parts:
            connection.sendall(part)
        yield connection


def read(connection: socket.socket) -> bytes:
    """All that comes until the service hangs up."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while more := connection.recv(65536):
            said += more
    return said


def status(said: bytes) -> int:
    return int(said.split(b" ", 2)[1])


def ended(served, limit: str) -> float:
    text = served.get("/metrics", headers={"Connection": "close"}).text
    found = f'limit="{limit}"' in text
    return sample(text, "safebandit_connections_ended_total", limit=limit) if found else 0.0


@pytest.mark.parametrize(
    ("limit", "sent", "answered"),
    [
        ("head time", HEAD, 408),
        ("head time", b"GET /heal", 408),
        ("body time", b"POST /v1/trials HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{", 408),
        ("body time", b"POST /v1/trials HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{", 408),
        ("idle", b"", 408),
    ],
)
def test_what_is_not_sent_in_time_is_ended(short, caplog, limit, sent, answered):
    caplog.set_level(logging.WARNING, logger="safebandit.service")
    before = ended(short, limit)
    with connected(short, sent) as connection:
        said = read(connection)
    head, body = said.split(b"\r\n\r\n")
    assert (status(said), set(json.loads(body))) == (answered, {"error", "message"})
    assert b"connection: close" in head
    assert ended(short, limit) >= before + 1
    logged = [getattr(record, "fields", {}) for record in caplog.records]
    assert ({"limit": limit, "address": "127.0.0.1"} in logged) == (limit != "idle")


def test_a_connection_that_was_used_and_then_idles_is_closed_without_a_word(short):
    with connected(short, HEAD, b"\r\n") as connection:
        said = read(connection)
    assert status(said) == 200
    assert said.count(b"HTTP/1.1") == 1


def test_a_body_that_never_ends_is_ended_even_after_the_answer(short):
    """401 is answered before the body is whole: what follows has its deadline all the same."""
    sent = b"POST /v1/trials/knee/units HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{"
    with connected(short, sent, b"\r\n") as connection:
        assert status(read(connection)) in (401, 408)


@pytest.mark.parametrize(
    "sent",
    [
        HEAD + b"X: " + b"a" * 4096,
        HEAD + b"X: " + b"a" * 4096 + b"\r\n\r\n",
        HEAD + b"".join(b"X%d: aaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" % k for k in range(100)) + b"\r\n",
        b"GET /" + b"a" * 4096 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_a_head_has_a_limit(short, sent):
    before = ended(short, "head")
    with connected(short, sent, b"more") as connection:
        said = read(connection)
    # A connection that is ended while more of it arrives may be cut before its answer is read.
    assert said == b"" or status(said) == 431
    assert ended(short, "head") == before + 1


def test_a_header_without_end_stops_nobody(short):
    with connected(short, HEAD + b"X: ") as connection, contextlib.suppress(OSError):
        for _ in range(10_000):
            connection.sendall(b"a" * 65536)
            assert short.get("/healthz", role=None).status_code == 200


def test_trailers_without_end_are_a_body_without_end(short):
    before = ended(short, "body")
    sent = b"POST /v1/trials HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nX: "
    with connected(short, sent) as connection, contextlib.suppress(OSError):
        for _ in range(2 + RAW_BODY_BYTES // 65536):
            connection.sendall(b"a" * 65536)
        read(connection)
    assert ended(short, "body") == before + 1


def test_idle_connections_make_room(short, monkeypatch):
    """Eight may be there: of twelve that say nothing the oldest are ended, and whoever asks is answered."""
    before = ended(short, "connections")
    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(connected(short)) for _ in range(12)]
        assert short.get("/healthz", role=None).status_code == 200
        read(many[0])
        assert ended(short, "connections") >= before + 4


def test_one_more_than_can_be_served_is_503(tmp_path):
    """A connection that is being answered is never ended for another one."""
    limits = ConnectionLimits(connections=1, idle_seconds=30.0)
    with (
        serving(tmp_path / "trials.db", WIDE, limits) as served,
        connected(served, HEAD + b"Content-Length: 1\r\n\r\n"),
    ):
        refused = served.http.get("/healthz")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")


def test_an_answer_that_is_not_read_is_ended(short):
    path = "/v1/openapi.json"
    asked = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        connection = socket.socket()
        stack.enter_context(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = short.url.removeprefix("http://").split(":")
        connection.connect((host, int(port)))
        with contextlib.suppress(OSError):
            for _ in range(200):
                connection.sendall(asked)
        ask_again_until(lambda: ended(short, "answer time") >= 1, "an answer that nobody reads is kept")


def test_an_answer_that_nobody_takes_does_not_keep_a_closing_connection(short):
    """Less than is held back before writing pauses: it would wait to be read for ever."""
    before = ended(short, "answer time")
    with contextlib.closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        host, port = short.url.removeprefix("http://").split(":")
        connection.connect((host, int(port)))
        protocol = ask_again_until(lambda: _only(short, connection), "it is not connected")
        # As an answer would be that is longer than what the machine holds back for this client.
        call = protocol.loop.call_soon_threadsafe
        call(lambda: (protocol.transport.set_write_buffer_limits(high=2**30), protocol.transport.write(b" " * 2**23)))
        ask_again_until(lambda: ended(short, "answer time") >= before + 1, "a closing connection is kept")


def _only(served, connection: socket.socket):
    mine = connection.getsockname()
    return next((each for each in served.server.server_state.connections if each.client == mine), None)


def test_open_connections_are_counted(short):
    with connected(short, HEAD), connected(short, HEAD):
        text = short.get("/metrics").text
        assert sample(text, "safebandit_connections") >= 3


def test_files_are_asked_for_as_connections_need(monkeypatch):
    asked = []
    monkeypatch.setattr(run.resource, "getrlimit", lambda _: (256, 1024))
    monkeypatch.setattr(run.resource, "setrlimit", lambda _, limits: asked.append(limits))
    run._allow_descriptors(100)
    assert asked == []
    run._allow_descriptors(500)
    assert asked == [(628, 1024)]
    with pytest.raises(RecordError, match=r"1000 connections need 1128 open files.*--connections 896"):
        run._allow_descriptors(1000)
