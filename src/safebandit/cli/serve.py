"""`safebandit serve`: live trials over HTTP."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from safebandit.cli.extras import live_packages
from safebandit.cli.live import DATABASE, Database
from safebandit.errors import RecordError, suggest


def _read_config(context: typer.Context, file: Path | None) -> Path | None:
    """Settings from a file: each counts where neither a flag nor an environment variable says otherwise."""
    if file is None:
        return None
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise RecordError(f'the configuration "{file}" cannot be read: {(problem.strerror or "").lower()}') from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise RecordError(f'the configuration "{file}" is not a TOML file: {problem}') from None
    known = {each.opts[0].removeprefix("--"): each for each in context.command.params if each.name not in _NOT_IN_FILE}
    for key, value in _flat(found).items():
        if key not in known:
            raise RecordError(f'the configuration "{file}" has an unknown setting "{key}"; {suggest(key, known)}')
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise RecordError(f"{key} in {file} must be a text or a number, got {value!r}")
    context.default_map = {str(known[key].name): value for key, value in _flat(found).items()}
    return file


def _flat(found: dict[str, Any]) -> dict[str, Any]:
    """Settings in a table by the names of their flags, `[oidc] issuer` as oidc-issuer; its groups as one text."""
    flat = {key: value for key, value in found.items() if key != "oidc" or not isinstance(value, dict)}
    for key, value in found["oidc"].items() if isinstance(found.get("oidc"), dict) else ():
        listed = isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
        flat[f"oidc-{key}"] = "; ".join(f"{name}: {roles}" for name, roles in value.items()) if listed else value
    return flat


_NOT_IN_FILE = ("config", "help")


def _setting(variable: str, help: str, **rules: Any) -> Any:
    """A flag that an environment variable may set, too."""
    return typer.Option(help=help, envvar=f"SAFEBANDIT_{variable}", show_envvar=True, **rules)


def serve(
    config: Annotated[
        Path | None,
        _setting("CONFIG", "A TOML file of settings, by the names of the flags.", callback=_read_config, is_eager=True),
    ] = None,
    db: Database = DATABASE,
    host: Annotated[str, _setting("HOST", "The address to listen on; other than loopback only with a key.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, _setting("PORT", "The port to listen on; 0 takes a free one.", min=0, max=65535)] = 8000,
    workers: Annotated[int, _setting("WORKERS", "How many processes answer.", min=1, max=64)] = 1,
    certificate: Annotated[
        Path | None, _setting("CERTIFICATE", "A file with the certificate of this host, for TLS (https).")
    ] = None,
    certificate_key: Annotated[
        Path | None, _setting("CERTIFICATE_KEY", "A file with the private key of the certificate.")
    ] = None,
    proxies: Annotated[
        str, _setting("PROXIES", "Addresses or networks of proxies, with commas, whose X-Forwarded-For is believed.")
    ] = "127.0.0.1",
    rate: Annotated[
        float, _setting("RATE", "Requests per second that each key may make, of each process.", min=0.001)
    ] = 2000.0,
    burst: Annotated[
        float, _setting("BURST", "Requests that each key may make at once, of each process.", min=1.0)
    ] = 4000.0,
    connections: Annotated[
        int, _setting("CONNECTIONS", "Connections that each process takes at once.", min=1, max=1_000_000)
    ] = 512,
    head_seconds: Annotated[float, _setting("HEAD_SECONDS", "Seconds to send the head of a request.", min=0.1)] = 10.0,
    body_seconds: Annotated[float, _setting("BODY_SECONDS", "Seconds to send its body.", min=0.1)] = 30.0,
    idle_seconds: Annotated[
        float, _setting("IDLE_SECONDS", "Seconds after which a connection that asks nothing is closed.", min=0.1)
    ] = 60.0,
    answer_seconds: Annotated[
        float, _setting("ANSWER_SECONDS", "Seconds in which something of an answer must be read.", min=0.1)
    ] = 30.0,
    pool: Annotated[int, _setting("POOL", "Connections of each process to PostgreSQL, at most.", min=2, max=1000)] = 15,
    viewer_delay: Annotated[
        int, _setting("VIEWER_DELAY", "Units that viewers see sums late, at least; 0: at once.", min=0, max=1_000_000)
    ] = 0,
    verify_every: Annotated[
        float,
        _setting("VERIFY_EVERY", "Hours between verifications of what changed; 0: only when asked.", min=0, max=8760),
    ] = 1.0,
    session_hours: Annotated[
        float, _setting("SESSION_HOURS", "Hours after which a browser is signed out.", min=0.01, max=8760)
    ] = 12.0,
    session_idle_minutes: Annotated[
        float,
        _setting("SESSION_IDLE_MINUTES", "Minutes after which a browser that is not used is signed out.", min=1),
    ] = 60.0,
    oidc_issuer: Annotated[
        str | None, _setting("OIDC_ISSUER", "The identity provider that people sign in by, by its issuer (https).")
    ] = None,
    oidc_client_id: Annotated[str | None, _setting("OIDC_CLIENT_ID", "What the provider calls this service.")] = None,
    oidc_client_secret_file: Annotated[
        Path | None, _setting("OIDC_CLIENT_SECRET_FILE", "A file with the secret that the provider gave this service.")
    ] = None,
    oidc_scopes: Annotated[str, _setting("OIDC_SCOPES", "What the provider is asked for.")] = "openid email profile",
    oidc_groups: Annotated[
        str, _setting("OIDC_GROUPS", 'Roles by group: "desk: oncology=operator; board: oncology=viewer".')
    ] = "",
    oidc_groups_claim: Annotated[
        str, _setting("OIDC_GROUPS_CLAIM", "The claim that has a person's groups.")
    ] = "groups",
    oidc_address: Annotated[
        str | None, _setting("OIDC_ADDRESS", "This service's address for browsers.  [default: what they ask for]")
    ] = None,
    oidc_label: Annotated[str, _setting("OIDC_LABEL", "What the page calls the provider.")] = "your organisation",
    smtp_host: Annotated[str | None, _setting("SMTP_HOST", "The mail server that alerts are sent by.")] = None,
    smtp_port: Annotated[
        int | None,
        _setting("SMTP_PORT", "Its port; 587, 465 or 25, by the security.", min=1, max=65535),
    ] = None,
    smtp_security: Annotated[
        str, _setting("SMTP_SECURITY", "starttls, tls, or none for a mail server on this machine.")
    ] = "starttls",
    smtp_from: Annotated[str | None, _setting("SMTP_FROM", "The address that e-mail comes from.")] = None,
    smtp_user: Annotated[str | None, _setting("SMTP_USER", "The user that the mail server knows.")] = None,
    smtp_password_file: Annotated[
        Path | None, _setting("SMTP_PASSWORD_FILE", "A file with the password of that user.")
    ] = None,
    key_file: Annotated[
        Path | None,
        _setting("KEY_FILE", "A new file for the first key, instead of stdout; only its owner can read it."),
    ] = None,
) -> None:
    """Serve live trials: an interface for programs, and a page for people.

    The first start prints a key, once, that works for a week. SIGTERM or Ctrl-C stops it after the requests in flight
    are answered. A flag counts before an environment variable, and that before the configuration file.
    """
    with live_packages("serve"):
        from safebandit.service.alerts.mail import MailServer
        from safebandit.service.keys import SessionLimits
        from safebandit.service.limits import ConnectionLimits
        from safebandit.service.network import Network
        from safebandit.service.oidc.settings import OidcSettings
        from safebandit.service.rates import RateLimits
        from safebandit.service.run import Options, Place
        from safebandit.service.run import serve as run

    limits = ConnectionLimits(
        connections,
        head_seconds=head_seconds,
        body_seconds=body_seconds,
        idle_seconds=idle_seconds,
        answer_seconds=answer_seconds,
    )
    network = Network.read(certificate=certificate, certificate_key=certificate_key, proxies=proxies)
    identity = OidcSettings.read(
        issuer=oidc_issuer, client_id=oidc_client_id, client_secret_file=oidc_client_secret_file, scopes=oidc_scopes,
        groups=oidc_groups, groups_claim=oidc_groups_claim, address=oidc_address, label=oidc_label,
    )  # fmt: skip
    sessions = SessionLimits(session_hours, session_idle_minutes)
    rates = RateLimits(rate=rate, burst=burst)
    mail = MailServer.read(
        host=smtp_host,
        port=smtp_port,
        security=smtp_security,
        sender=smtp_from,
        user=smtp_user,
        password_file=smtp_password_file,
    )
    options = Options(rates, limits, viewer_delay, network, pool, mail, sessions, identity, verify_every)
    status = run(Place(db, host, port, key_file), workers=workers, options=options, say=_say)
    if status:
        raise typer.Exit(status)


def _say(line: str) -> None:
    # Programs that started the service wait for these lines.
    typer.echo(line)
    typer.get_text_stream("stdout").flush()
