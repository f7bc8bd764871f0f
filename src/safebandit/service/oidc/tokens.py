"""Whether an ID token is what the provider says of the person who is signing in now; the checks are PyJWT's."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from typing import Any

from safebandit.errors import AccessError

# Signed by a key that the provider alone has; never "none", nor a secret that this service has, too.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
# Clocks of two machines may differ so much.
LEEWAY_SECONDS = 60
MOST_CHARACTERS = 255


class UnknownKeyError(Exception):
    """The token is signed by a key that is not among those that are known: the provider may have another one now."""


def check_token(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, client_id: str, nonce: str
) -> dict[str, Any]:  # fmt: skip
    """What a token says, if the provider signed it, for this service, for this sign-in, not long ago."""
    import jwt

    try:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise AccessError(f"the identity provider signs with {str(algorithm)[:20]!r}, which is not accepted")
        key = jwt.PyJWK(dict(_key(header, keys)), algorithm=str(algorithm))
        claims: dict[str, Any] = jwt.decode(
            token, key=key, algorithms=[str(algorithm)], audience=client_id, issuer=issuer, leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iat", "iss", "aud", "sub"]},
        )  # fmt: skip
    except (jwt.PyJWTError, LookupError, TypeError, ValueError, AttributeError) as problem:
        raise AccessError(f"the identity provider's token is refused: {problem}") from None
    _check_claims(claims, client_id, nonce)
    return claims


def _key(header: Mapping[str, Any], keys: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The key that a token names; without a name, the only one that there is."""
    signing = [key for key in keys if key.get("use", "sig") == "sig" and key.get("kty") != "oct"]
    name = header.get("kid")
    named = signing if name is None else [key for key in signing if key.get("kid") == name]
    if len(named) != 1:
        raise UnknownKeyError(str(name)[:80])
    return named[0]


def _check_claims(claims: Mapping[str, Any], client_id: str, nonce: str) -> None:
    subject, audience = claims["sub"], claims["aud"]
    if not isinstance(subject, str) or not 0 < len(subject) <= MOST_CHARACTERS or not subject.isprintable():
        raise AccessError("the identity provider's token is refused: its subject is no short text")
    if not hmac.compare_digest(str(claims.get("nonce")).encode(), nonce.encode()):
        raise AccessError("the identity provider's token is refused: it is of another sign-in (nonce)")
    party = claims.get("azp", client_id if not isinstance(audience, list) or len(audience) == 1 else None)
    if party != client_id:
        raise AccessError("the identity provider's token is refused: it was made for another service (azp)")
