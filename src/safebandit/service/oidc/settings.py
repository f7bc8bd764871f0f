"""Which identity provider people sign in by, and what its groups may do here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from safebandit.errors import RecordError, SafebanditError
from safebandit.service.other_servers import is_here, read_secret
from safebandit.service.roles import parse_roles

# What the provider is asked for: who somebody is, and their address.
SCOPES = "openid email profile"


class OidcSettings(NamedTuple):
    """A provider by its issuer, this service as it knows it, and roles by group, in the order in which they count.

    Without groups, people are those who were invited by an address that the provider has verified. `address` is that of
    this service, as browsers reach it; without one, what they asked for.
    """

    issuer: str
    client_id: str
    secret: str | None = None
    scopes: str = SCOPES
    groups_claim: str = "groups"
    groups: tuple[tuple[str, Mapping[str, str]], ...] = ()
    address: str | None = None
    label: str = "your organisation"

    @classmethod
    def read(
        cls,
        *,
        issuer: str | None,
        client_id: str | None,
        client_secret_file: Path | None = None,
        scopes: str = SCOPES,
        groups: str = "",
        groups_claim: str = "groups",
        address: str | None = None,
        label: str = "your organisation",
    ) -> OidcSettings | None:
        """As administrators give it; None where there is no provider."""
        if issuer is None and client_id is None:
            return None
        if issuer is None or client_id is None:
            missing = "--oidc-issuer" if issuer is None else "--oidc-client-id"
            raise RecordError(f"signing in by OpenID Connect needs an issuer and a client id; give {missing}, too")
        check_address("--oidc-issuer", issuer)
        if address is not None:
            check_address("--oidc-address", address)
        if "openid" not in scopes.split():
            raise RecordError(f'--oidc-scopes must have "openid", got {scopes!r}')
        secret = None if client_secret_file is None else _read_secret(client_secret_file)
        listed = _read_groups(groups)
        return cls(issuer, client_id, secret, scopes, groups_claim, listed, address and address.rstrip("/"), label)

    @property
    def places(self) -> frozenset[str]:
        """The projects in which groups say who may do what."""
        return frozenset(project for _, roles in self.groups for project in roles)

    def roles_of(self, groups: object) -> dict[str, str]:
        """What somebody of these groups may do; of several groups the first that is declared counts in a project."""
        held = groups if isinstance(groups, list) else [groups]
        found: dict[str, str] = {}
        for name, roles in self.groups:
            if name in held:
                found = {**roles, **found}
        return found


def check_address(what: str, address: str) -> None:
    """Refuse an address that is not https, but for one of this machine."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or "@" in address:
        raise RecordError(f"{what} must be an address such as https://login.example.org, got {address!r}")
    if parts.scheme == "http" and not is_here(parts.hostname):
        raise RecordError(f"{what} must be an https address, got {address!r}; http is for this machine alone")


def _read_secret(file: Path) -> str:
    secret = read_secret("client secret", file).strip()
    if not secret:
        raise RecordError(f'the file "{file}" of the client secret is empty')
    return secret


def _read_groups(text: str) -> tuple[tuple[str, Mapping[str, str]], ...]:
    """Groups with their roles.

    >>> _read_groups("desk: oncology=operator; board: oncology=viewer, knee=auditor")
    (('desk', {'oncology': 'operator'}), ('board', {'oncology': 'viewer', 'knee': 'auditor'}))
    """
    found = []
    for part in filter(None, (each.strip() for each in text.split(";"))):
        name, colon, roles = part.rpartition(":")
        if not colon or not name.strip():
            raise RecordError(f'--oidc-groups are like "desk: oncology=operator; board: oncology=viewer", got {part!r}')
        try:
            found.append((name.strip(), parse_roles([role for role in roles.split(",") if role.strip()])))
        except SafebanditError as problem:
            raise RecordError(f"--oidc-groups: {problem}") from None
    return tuple(found)
