"""What administrators set and install: the configuration of `serve`, TLS, proxies, and the files in deploy/."""

from __future__ import annotations

import configparser
import json
import re
import ssl
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import trustme
import yaml

from safebandit.cli.serve import serve
from safebandit.errors import RecordError
from safebandit.service import run
from safebandit.service.homes.homes import Seat
from safebandit.service.network import Network

from .conftest import serving

DEPLOY = Path(__file__).parents[2] / "deploy"
NO_FILES = {"certificate": None, "certificate_key": None}


@pytest.fixture
def started(monkeypatch, command):
    """What `serve` would be run with."""
    calls = []

    def remember(place, *, workers, options, say):
        calls.append((place, workers, options))
        return 0

    monkeypatch.setattr(run, "serve", remember)
    for name in ("CONFIG", "PORT", "WORKERS", "DB"):
        monkeypatch.delenv(f"SAFEBANDIT_{name}", raising=False)

    def start(*arguments):
        done = command("serve", *arguments)
        return (done, calls.pop()) if done.status == 0 else (done, None)

    return start


def test_a_flag_counts_before_a_variable_and_that_before_the_file(started, monkeypatch, tmp_path):
    file = tmp_path / "serve.toml"
    file.write_text('db = "of-file.db"\nport = 1\nworkers = 2\nrate = 3.5\nidle-seconds = 7\n')
    monkeypatch.setenv("SAFEBANDIT_PORT", "4")
    monkeypatch.setenv("SAFEBANDIT_WORKERS", "5")
    _, (place, workers, options) = started("--config", str(file), "--workers", "6")
    assert (place.database, place.port, workers) == ("of-file.db", 4, 6)
    assert (options.rates.rate, options.connections.idle_seconds) == (3.5, 7.0)
    monkeypatch.setenv("SAFEBANDIT_CONFIG", str(file))
    assert started()[1][0].database == "of-file.db"


def test_without_a_file_the_defaults_of_the_parts_hold(started):
    _, (place, workers, options) = started()
    assert (place, workers) == (run.Place("trials.db", "127.0.0.1", 8000), 1)
    assert options == run.Options()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", 'has an unknown setting "prot"'),
        ("config = 'a'", 'has an unknown setting "config"'),
        ("port = [1]", "port in"),
        ("port = true", "port in"),
        ("port = 70000", "--port"),
        ("port = 1\nport = 2", "is not a TOML file"),
    ],
)
def test_a_wrong_configuration_is_refused_in_one_line(started, tmp_path, text, message):
    file = tmp_path / "serve.toml"
    file.write_text(text)
    done, _ = started("--config", str(file))
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert message in done.err


def test_the_identity_provider_in_the_file_and_before_it(started, tmp_path):
    (tmp_path / "secret").write_text("s\n")
    file = tmp_path / "serve.toml"
    file.write_text(
        f"""session-hours = 8
[oidc]
issuer = "https://login.example.org"
client-id = "trials"
client-secret-file = "{tmp_path / "secret"}"
[oidc.groups]
desk = "oncology=operator"
board = "oncology=viewer, installation"
"""
    )
    _, (_, _, options) = started("--config", str(file), "--oidc-client-id", "other", "--oidc-label", "Example")
    found = options.identity
    assert (found.issuer, found.client_id, found.secret, found.label) == (
        "https://login.example.org", "other", "s", "Example",
    )  # fmt: skip
    assert found.groups == (
        ("desk", {"oncology": "operator"}), ("board", {"oncology": "viewer", "*": "admin"}),
    )  # fmt: skip
    assert (options.sessions.hours, options.sessions.idle_minutes) == (8.0, 60.0)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--oidc-issuer", "https://a.example.org"), "give --oidc-client-id, too"),
        (("--oidc-client-id", "a"), "give --oidc-issuer, too"),
        (("--oidc-issuer", "http://a.example.org", "--oidc-client-id", "a"), "must be an https address"),
        (("--oidc-issuer", "login", "--oidc-client-id", "a"), "must be an address such as"),
        (
            ("--oidc-issuer", "https://a.org", "--oidc-client-id", "a", "--oidc-groups", "desk"),
            "--oidc-groups are like",
        ),
        (("--oidc-issuer", "https://a.org", "--oidc-client-id", "a", "--oidc-groups", "desk: root"), "names no role"),
        (("--oidc-issuer", "https://a.org", "--oidc-client-id", "a", "--oidc-scopes", "email"), 'must have "openid"'),
        (
            ("--oidc-issuer", "https://a.org", "--oidc-client-id", "a", "--oidc-client-secret-file", "/no/such/file"),
            "the client secret cannot be read",
        ),
    ],
)
def test_a_wrong_identity_provider_is_refused_in_one_line(started, flags, message):
    done, _ = started(*flags)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert message in done.err


def test_a_configuration_that_is_not_there_is_refused(started, tmp_path):
    done, _ = started("--config", str(tmp_path / "none.toml"))
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "cannot be read: no such file" in done.err


def test_a_certificate_needs_its_key_and_must_fit_it(tmp_path):
    with pytest.raises(RecordError, match="got --certificate alone; give --certificate-key"):
        Network.read(certificate=tmp_path / "a", certificate_key=None, proxies="")
    with pytest.raises(RecordError, match="got --certificate-key alone; give --certificate,"):
        Network.read(certificate=None, certificate_key=tmp_path / "a", proxies="")
    with pytest.raises(RecordError, match="cannot be used: No such file"):
        Network.read(certificate=tmp_path / "a", certificate_key=tmp_path / "b", proxies="")
    one, other = trustme.CA().issue_cert("localhost"), trustme.CA().issue_cert("localhost")
    one.cert_chain_pems[0].write_to_path(tmp_path / "a")
    other.private_key_pem.write_to_path(tmp_path / "b")
    with pytest.raises(RecordError, match="cannot be used"):
        Network.read(certificate=tmp_path / "a", certificate_key=tmp_path / "b", proxies="")


@pytest.mark.parametrize("home", [False, True])
def test_the_service_speaks_tls(tmp_path, home):
    """A worker that is a home takes connections in another way."""
    authority = trustme.CA()
    mine = authority.issue_cert("127.0.0.1")
    mine.cert_chain_pems[0].write_to_path(tmp_path / "certificate")
    mine.private_key_pem.write_to_path(tmp_path / "key")
    files = {"certificate": tmp_path / "certificate", "certificate_key": tmp_path / "key"}
    seat = Seat(0, 2, tmp_path) if home else None
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with serving(tmp_path / "trials.db", network=Network.read(**files, proxies=""), seat=seat) as served:
        address = f"{served.url}/healthz"
        assert address.startswith("https://")
        with urllib.request.urlopen(address, context=trusting) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(address)


@pytest.mark.parametrize(
    ("proxies", "believed"), [("127.0.0.1", True), ("127.0.0.0/8", True), ("10.0.0.1", False), ("", False)]
)
def test_only_named_proxies_are_believed(tmp_path, proxies, believed):
    network = Network.read(**NO_FILES, proxies=proxies)
    with serving(tmp_path / "trials.db", network=network) as served:
        headers = {"Sec-Fetch-Site": "same-origin", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
        answer = served.http.post("/sign-in", data={"key": served.keys["viewer"]}, headers=headers)
    # A browser sends a cookie that is `Secure` over TLS only.
    assert ("Secure" in answer.headers["set-cookie"]) is believed


@pytest.mark.parametrize("proxies", ["*", "proxy.example", "10.0.0.1/8"])
def test_proxies_are_addresses(proxies):
    with pytest.raises(RecordError, match="proxies are addresses or networks"):
        Network.read(**NO_FILES, proxies=proxies)


def test_dashboard_and_alerts_ask_for_metrics_that_exist(served):
    path = served.create("measured")
    served.post(f"{path}/units", {"unit": "1"})
    text = served.get("/metrics").text
    offered = set(re.findall(r"^# TYPE (\w+) (?!histogram)", text, re.M))
    offered |= {f"{name}_bucket" for name in re.findall(r"^# TYPE (\w+) histogram", text, re.M)}
    rules = [rule for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"] for rule in group["rules"]]
    panels = json.loads((DEPLOY / "dashboard.json").read_text())["panels"]
    asked = [rule["expr"] for rule in rules] + [each["expr"] for panel in panels for each in panel["targets"]]
    names = {name for text in asked for name in re.findall(r"safebandit_\w+", text)}
    assert names <= offered, names - offered
    # Each of our own numbers is looked at.
    assert {name for name in offered if name.startswith("safebandit_") and not name.endswith("_created")} <= names


def test_the_files_of_an_installation_hold_together():
    settings = tomllib.loads((DEPLOY / "safebandit.toml").read_text())
    flags = {name.replace("_", "-") for name in serve.__annotations__}
    assert set(settings) <= flags
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "safebandit.service")
    assert unit["Service"]["ExecStart"].endswith("safebandit serve --config /etc/safebandit/safebandit.toml")
    # What the service writes lies where systemd lets it.
    assert all(settings[key].startswith("/var/lib/safebandit/") for key in ("db", "key-file"))
    assert float(unit["Service"]["TimeoutStopSec"]) > run.STOP_SECONDS
    container = (DEPLOY / "Containerfile").read_text()
    named = re.findall(r"SAFEBANDIT_(\w+)=", container)
    assert {name.lower().replace("_", "-") for name in named} <= flags
    for copied in re.findall(r"^COPY (.*) /source\S*$", container, re.M):
        assert all((DEPLOY.parent / name).exists() for name in copied.split())
