"""A receiver of webhooks on loopback that can fail, hang, redirect, or answer at length; and a mail server."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import threading


class Receiver:
    """Answers each post by `mode`: a status, "hang" until it is let, "redirect", "flood" or "drip"."""

    def __init__(self, port=0):
        self.mode = 204
        self.got = []
        self.begun = threading.Semaphore(0)
        self.let = threading.Event()
        self.gone = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.begun.release()
                # A receiver that goes away now breaks off what it was told.
                with contextlib.suppress(OSError):
                    outer.answer(self, outer.mode, body)

            def do_GET(self):
                outer.got.append(("GET", self.path))

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/alerts/of/a-secret"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def answer(self, handler, mode, body):
        if mode == "hang":
            self.let.wait(60)
            return
        if mode == "drip":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not self.let.wait(0.02):
                handler.wfile.write(b"x-more: 1\r\n")
            return
        if isinstance(mode, int) and 200 <= mode < 300:
            self.got.append((dict(handler.headers), body))
        handler.send_response({"redirect": 302, "flood": 200}.get(mode, mode))
        if mode == "redirect":
            handler.send_header("Location", f"http://127.0.0.1:{self.port}/elsewhere")
        handler.end_headers()
        if mode == "flood":
            self.got.append((dict(handler.headers), body))
            for _ in range(10_000):
                handler.wfile.write(b"x" * 65536)

    @property
    def said(self):
        """The contents of what was taken, in order."""
        return [json.loads(body)["data"] for _, body in self.got]

    def close(self):
        self.let.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def is_signed(secret, headers, body):
    """As a receiver checks it, by the published convention."""
    headers = {name.lower(): value for name, value in headers.items()}
    key = base64.b64decode(secret.split("_", 1)[1])
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    return headers["webhook-signature"] == f"v1,{wanted}"


@contextlib.contextmanager
def receiving(port=0):
    made = Receiver(port)
    try:
        yield made
    finally:
        made.close()
