"""An identity provider of our own that can tell every lie: what it answers is set by the test, path by path."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm


def new_key(name):
    """A private key, and what a provider shows of it."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    shown = json.loads(RSAAlgorithm.to_jwk(private.public_key()))
    return private, {**shown, "kid": name, "use": "sig", "alg": "RS256"}


class Liar:
    """The truth that it would tell, and the lies in its place."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.private, self.shown = new_key("first")
        self.reset()

    def reset(self) -> None:
        self.claims: dict = {"sub": "ada", "email": "ada@example.org", "email_verified": True, "name": "Ada"}
        self.keys = [self.shown]
        self.document: dict = {}
        self.token = None
        self.nonce = ""
        self.statuses: dict[str, int] = {}
        self.bodies: dict[str, bytes] = {}
        self.wait = threading.Event()
        self.slow = False
        self.seen: list[tuple[str, dict]] = []

    def sign(self, *, key=None, algorithm="RS256", header=None, **claims):
        now = int(time.time())
        said = {
            "iss": self.issuer,
            "aud": "safebandit",
            "iat": now,
            "exp": now + 300,
            "nonce": self.nonce,
            **self.claims,
        }
        said = {name: value for name, value in {**said, **claims}.items() if value is not None}
        return jwt.encode(said, key or self.private, algorithm=algorithm, headers={"kid": "first", **(header or {})})

    def answer(self, path: str, form: dict) -> tuple[int, bytes]:
        self.seen.append((path, form))
        if self.slow:
            self.wait.wait(30)
        if path in self.bodies:
            return self.statuses.get(path, 200), self.bodies[path]
        said = {
            "/.well-known/openid-configuration": {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/auth",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/jwks",
                **self.document,
            },
            "/jwks": {"keys": self.keys},
            "/token": {"access_token": "a", "token_type": "Bearer", "id_token": (self.token or self.sign)()},
        }.get(path, {})
        return self.statuses.get(path, 200 if said else 404), json.dumps(said).encode()


@contextlib.contextmanager
def lying():
    """A liar on a port of this machine."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            length = int(self.headers.get("content-length", 0))
            form = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
            status, body = liar.answer(self.path, form)
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                if 300 <= status < 400:
                    self.send_header("location", f"{liar.issuer}/elsewhere")
                self.end_headers()
                self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    liar = Liar(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield liar
    finally:
        liar.wait.set()
        server.shutdown()
        thread.join()
        server.server_close()
