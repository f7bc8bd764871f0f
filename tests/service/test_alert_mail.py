"""Alerts by e-mail: a real mail server on loopback, with TLS from the start or after STARTTLS, and a login."""

from __future__ import annotations

import email
import email.policy
import json
import ssl

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from safebandit.errors import RecordError
from safebandit.service.alerts.mail import MailServer, compose, send
from safebandit.service.alerts.outcome import FailedError
from safebandit.service.alerts.rules import is_address
from servers.service import SECONDS, ask_again_until

from .conftest import serving
from .test_alerts import QUICK

# aiosmtpd does not know that it speaks TLS where it did not begin it itself.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
BODY = json.dumps({"timestamp": "2026-02-28T12:00:00.000000Z", "data": {"message": 'trial "knee" holds', "event": 7}})
PLAIN = {"host": None, "port": None, "security": "starttls", "sender": None, "user": None, "password_file": None}


class Box:
    """Keeps what it gets; refuses the first `refusals` messages."""

    def __init__(self):
        self.got, self.refusals = [], 0

    async def handle_DATA(self, server, session, envelope):
        if self.refusals:
            self.refusals -= 1
            return "451 come back later"
        self.got.append((envelope, email.message_from_bytes(envelope.content, policy=email.policy.default)))
        return "250 taken"


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A certificate of the mail server, and the file of the authority that made it."""
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    file = tmp_path_factory.mktemp("authority") / "authority.pem"
    authority.cert_pem.write_to_path(file)
    return context, file


class AnyPort(Controller):
    """A mail server on a free port, which is known once it listens."""

    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


def authenticate(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b"desk", b"word"), handled=False)


@pytest.fixture(params=["starttls", "tls"])
def mail(request, certified):
    """A mail server that wants TLS and a login; the box, and how it is reached."""
    context, authority = certified
    box, first = Box(), request.param == "tls"
    options = {"ssl_context": context} if first else {"tls_context": context, "require_starttls": True}
    needs = {"auth_required": True, "auth_require_tls": not first, "authenticator": authenticate}
    controller = AnyPort(box, hostname="127.0.0.1", port=0, ready_timeout=SECONDS, **options, **needs)
    controller.start()
    login = ("safebandit@clinic.example", "desk", "word")
    server = MailServer("127.0.0.1", controller.port, request.param, *login, authority)
    yield box, server
    controller.stop()


def test_a_message_is_given_to_the_mail_server_over_tls(mail):
    box, server = mail
    assert send(server, "desk@clinic.example", "msg_1", BODY, seconds=60) == "taken by 127.0.0.1"
    ((envelope, got),) = box.got
    assert (envelope.mail_from, envelope.rcpt_tos) == ("safebandit@clinic.example", ["desk@clinic.example"])
    assert got["Subject"] == '[safebandit] trial "knee" holds'
    assert got["Message-ID"] == "<msg_1@clinic.example>"
    assert "event: 7" in got.get_content()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"password": "wrong"}, "the mail server refused: 535"),
        ({"authority": None}, "the mail server cannot be used: .*CERTIFICATE_VERIFY_FAILED"),
        ({"host": "localhost"}, "the mail server cannot be used"),
    ],
)
def test_a_mail_server_that_refuses_or_is_another_one(mail, change, message):
    box, server = mail
    with pytest.raises(FailedError, match=message):
        send(server._replace(**change), "desk@clinic.example", "msg_1", BODY, seconds=60)
    assert box.got == []


def test_a_mail_server_that_cannot_take_it_now_is_asked_again(mail, tmp_path):
    box, server = mail
    box.refusals = 2
    with serving(tmp_path / "trials.db", pace=QUICK, mail=server) as served:
        path = served.create("knee")
        served.post("/v1/alerts", {"channel": "email", "target": "desk@clinic.example"})
        served.post(f"{path}/amendments", {"reason": "so", "alpha": 0.5})
        ask_again_until(lambda: box.got, "nobody is told")
        ask_again_until(lambda: served.get("/v1/alert-messages").json()[0]["state"] == "sent", "it is not noted")
        (message,) = served.get("/v1/alert-messages").json()
    ((_, got),) = box.got
    assert (message["attempts"], got["To"]) == (3, "desk@clinic.example")
    assert got["Message-ID"] == f"<{message['id']}@clinic.example>"
    assert 'trial "knee" was amended' in got["Subject"]


def test_without_a_mail_server_the_log_says_so(tmp_path):
    with serving(tmp_path / "trials.db", pace=QUICK._replace(attempts=1)) as served:
        made = served.post("/v1/alerts", {"channel": "email", "target": "desk@clinic.example"}).json()
        assert made["secret"] is None
        served.post(f"/v1/alerts/{made['id']}/test", {})
        ask_again_until(lambda: served.get("/v1/alert-messages").json()[0]["state"] == "given up", "it is not noted")
        assert "start it with --smtp-host" in served.get("/v1/alert-messages").json()[0]["said"]


def test_no_header_can_be_added():
    server = MailServer("127.0.0.1", 25, "none", "safebandit@clinic.example")
    said = {"timestamp": "x", "data": {"message": "a\r\nBcc: c@d.example\r\n\r\nbody"}}
    made = compose(server, "desk@clinic.example", "msg_1", json.dumps(said))
    read = email.message_from_bytes(made.as_bytes(), policy=email.policy.default)
    assert read["Bcc"] is None
    assert read["Subject"] == "[safebandit] a Bcc: c@d.example body"
    for text in (
        "a@b.example\n",
        "a@b.example\r\nBcc: c@d",
        "a b@c.example",
        "<a@b.example>",
        "a@b.example, c@d.example",
    ):
        assert not is_address(text)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sender": "a@b.example"}, "--smtp-from is for a mail server; name it with --smtp-host"),
        ({"host": "mail.example"}, "e-mail needs the address that it comes from"),
        ({"host": "mail.example", "sender": "a\nb@c.example"}, "e-mail needs the address that it comes from"),
        ({"host": "mail.example", "sender": "a@b.example", "security": "ssl"}, "--smtp-security must be one of"),
        ({"host": "mail.example", "sender": "a@b.example", "security": "none"}, "mail.example needs TLS"),
        ({"host": "mail.example", "sender": "a@b.example", "user": "a"}, "a user of a mail server has a password"),
    ],
)
def test_wrong_settings_are_refused_before_the_service_starts(given, message):
    with pytest.raises(RecordError, match=message):
        MailServer.read(**{**PLAIN, **given})


def test_settings_are_read_with_the_password_from_its_file(tmp_path):
    file = tmp_path / "password"
    file.write_text("word\n")
    given = {"host": "mail.example", "sender": "a@b.example", "user": "a", "password_file": file}
    assert MailServer.read(**{**PLAIN, **given}) == MailServer(
        "mail.example", 587, "starttls", "a@b.example", "a", "word"
    )
    assert MailServer.read(**PLAIN) is None
    with pytest.raises(RecordError, match="cannot be read from"):
        MailServer.read(**{**PLAIN, **given, "password_file": tmp_path / "none"})
