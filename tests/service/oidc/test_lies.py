"""An identity provider that is away, slow or lies: nobody is signed in by it, and keys work on."""

from __future__ import annotations

import json
import time
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest

from safebandit.service.oidc import provider as module
from safebandit.service.oidc.settings import OidcSettings
from safebandit.trials.record.verification import verify_database

from ..conftest import serving
from .liar import lying, new_key

WORDS = "You are not signed in: "


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A service whose people sign in by a liar; Ada was invited."""
    with lying() as liar:
        identity = OidcSettings.read(issuer=liar.issuer, client_id="safebandit")
        with serving(tmp_path_factory.mktemp("desk") / "trials.db", identity=identity) as served:
            served.liar = liar
            people = served.app.state.people
            people.invite("Ada", email="ADA@example.org", given={"default": "viewer"}, actor="root")
            yield served


@pytest.fixture(autouse=True)
def honest(desk):
    desk.liar.reset()
    desk.app.state.provider = module.Provider(desk.app.state.provider.settings)


def begin(desk, next="/"):
    """Begin to sign in: the cookies of the browser, and what the provider is asked."""
    answer = desk.http.get("/sign-in/oidc", params={"next": next})
    desk.http.cookies.clear()
    asked = {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
    desk.liar.nonce = asked["nonce"]
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}, asked


def come_back(desk, cookies, **said):
    answer = desk.http.get("/sign-in/oidc/callback", params={"code": "c", **said}, headers=cookies)
    desk.http.cookies.clear()
    return answer


def sign_in(desk, **said):
    cookies, asked = begin(desk)
    return come_back(desk, cookies, **{"state": asked["state"], **said})


def refused(answer, words, status=403):
    assert answer.status_code == status, answer.text
    assert WORDS in answer.text
    assert words in answer.text.replace("&#39;", "'").replace("&#34;", '"')
    assert "safebandit_session" not in answer.headers.get("set-cookie", "")


def test_the_truth_signs_in(desk):
    cookies, asked = begin(desk, next="/trials/knee")
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"] == f"{desk.url}/sign-in/oidc/callback"
    answer = come_back(desk, cookies, state=asked["state"], iss=desk.liar.issuer)
    assert answer.status_code == 200, answer.text
    assert 'content="0;url=/trials/knee"' in answer.text
    session = next(each for each in answer.headers.get_list("set-cookie") if "safebandit_session" in each)
    assert "HttpOnly" in session
    assert "SameSite=strict" in session
    form = dict(desk.liar.seen)["/token"]
    assert form["client_id"] == "safebandit"
    assert len(form["code_verifier"]) >= 43
    me = desk.http.get("/v1/me", headers={"Cookie": session.partition(";")[0]}).json()
    assert (me["name"], me["roles"]) == ("Ada", {"default": "viewer"})
    log = desk.app.state.ledger.registry()
    assert [event.kind for event in log[-2:]] == ["person bound", "signed in"]
    assert verify_database(desk.app.state.ledger).holds


def of(**claims):
    return lambda liar: liar.sign(**claims)


def by_another_key(liar):
    return liar.sign(key=new_key("first")[0])


def by_a_secret(liar):
    return jwt.encode({"sub": "ada"}, "s" * 32, algorithm="HS256", headers={"kid": "first"})


def by_the_public_key_as_a_secret(liar):
    return jwt.encode({"sub": "ada"}, json.dumps(liar.shown)[:64], algorithm="HS256", headers={"kid": "first"})


def by_nothing(liar):
    now = int(time.time())
    said = {"iss": liar.issuer, "aud": "safebandit", "iat": now, "exp": now + 300, "nonce": liar.nonce, "sub": "ada"}
    return jwt.encode(said, None, algorithm="none", headers={"kid": "first"})


LIES = {
    "another issuer": (of(iss="https://evil.example.org"), "Invalid issuer"),
    "another audience": (of(aud="another"), "Audience doesn't match"),
    "several audiences": (of(aud=["safebandit", "another"]), "made for another service (azp)"),
    "another party": (of(azp="another"), "made for another service (azp)"),
    "expired": (of(iat=int(time.time()) - 900, exp=int(time.time()) - 600), "Signature has expired"),
    "of tomorrow": (of(iat=int(time.time()) + 86400, exp=int(time.time()) + 90000), "not yet valid"),
    "no end": (of(exp=None), 'missing the "exp" claim'),
    "no beginning": (of(iat=None), 'missing the "iat" claim'),
    "no issuer": (of(iss=None), 'missing the "iss" claim'),
    "no audience": (of(aud=None), 'missing the "aud" claim'),
    "nobody": (of(sub=None), 'missing the "sub" claim'),
    "an empty name": (of(sub=""), "its subject is no short text"),
    "a long name": (of(sub="x" * 300), "its subject is no short text"),
    "another sign-in": (of(nonce="x"), "it is of another sign-in (nonce)"),
    "no sign-in": (of(nonce=None), "it is of another sign-in (nonce)"),
    "another key": (by_another_key, "Signature verification failed"),
    "a secret": (by_a_secret, "signs with 'HS256', which is not accepted"),
    "the public key as a secret": (by_the_public_key_as_a_secret, "signs with 'HS256', which is not accepted"),
    "no signature": (by_nothing, "signs with 'none', which is not accepted"),
    "no token": (lambda liar: "x.y", "the identity provider's token is refused"),
    "a key that it does not show": (of(header={"kid": "hidden"}), "signed by a key that it does not show (hidden)"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_token_that_lies(desk, lie):
    made, words = LIES[lie]
    desk.liar.token = lambda: made(desk.liar)
    refused(sign_in(desk), words)


def test_somebody_who_was_not_invited_or_whose_address_is_not_verified(desk):
    for claims in (
        {"sub": "eve", "email": "eve@example.org"},
        {"sub": "eve", "email": "ada@example.org", "email_verified": False},
        {"sub": "eve", "email": "ada@example.org", "email_verified": "true"},
        {"sub": "eve", "email": None, "email_verified": None},
    ):
        desk.liar.claims = {**desk.liar.claims, **claims}
        refused(sign_in(desk), "nobody has invited you here")
    # Ada has signed in before: her address given to somebody else is no invitation for them.
    desk.liar.claims = {"sub": "new owner", "email": "ada@example.org", "email_verified": True}
    desk.app.state.people.admit(f"{desk.liar.issuer} ada", name="Ada", email="ada@example.org", given={}, places=(),
                                actor="root")  # fmt: skip
    refused(sign_in(desk), "nobody has invited you here")


def test_a_browser_that_did_not_begin(desk):
    cookies, asked = begin(desk)
    refused(come_back(desk, {}, state=asked["state"]), "has not begun to sign in")
    refused(come_back(desk, cookies, state="other"), "has not begun to sign in")
    refused(come_back(desk, cookies), "has not begun to sign in")
    refused(come_back(desk, {"Cookie": "safebandit_begun=..."}, state=""), "has not begun to sign in")
    refused(sign_in(desk, iss="https://evil.example.org"), "another identity provider answered")
    refused(sign_in(desk, code=""), "did not sign you in")
    refused(sign_in(desk, code="x" * 5000), "did not sign you in")


def test_where_it_leads_afterwards_is_a_page_of_this_site(desk):
    for elsewhere in ("https://evil.example.org", "//evil.example.org", "/sign-out", "javascript:1"):
        cookies, asked = begin(desk, next=elsewhere)
        assert 'content="0;url=/"' in come_back(desk, cookies, state=asked["state"]).text


def test_another_key_of_the_provider_is_found_when_it_signs(desk, monkeypatch):
    assert sign_in(desk).status_code == 200
    private, shown = new_key("second")
    desk.liar.keys = [shown]
    desk.liar.token = lambda: desk.liar.sign(key=private, header={"kid": "second"})
    # Not asked for again at once: whoever sends tokens of unknown keys must not keep the provider busy.
    refused(sign_in(desk), "signed by a key that it does not show (second)")
    monkeypatch.setattr(module, "KEYS_SECONDS", 0.0)
    assert sign_in(desk).status_code == 200
    asked = [path for path, _ in desk.liar.seen].count("/jwks")
    assert sign_in(desk).status_code == 200
    assert [path for path, _ in desk.liar.seen].count("/jwks") <= asked + 1


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"issuer": "https://evil.example.org"}, "calls itself 'https://evil.example.org'"),
        ({"issuer": None}, "calls itself 'None'"),
        ({"token_endpoint": "http://evil.example.org/token"}, "must be an https address"),
        ({"jwks_uri": "file:///etc/passwd"}, "must be an address such as"),
        ({"authorization_endpoint": None}, "must be an address such as"),
        ({"token_endpoint": "http://a@127.0.0.1/"}, "must be an address such as"),
    ],
)
def test_a_document_that_lies(desk, document, words):
    desk.liar.document = document
    refused(desk.http.get("/sign-in/oidc"), words)


def test_answers_that_make_no_sense(desk):
    cookies, asked = begin(desk)
    for path, status, body, words in (
        ("/token", 200, b"{}", "gave no ID token"),
        ("/token", 200, b"[1]", "is no JSON object"),
        ("/token", 200, b"\xff", "is no JSON object"),
        ("/token", 200, b"[" * 100_000, "is no JSON object"),
        ("/token", 200, b" " * (module.MOST_BYTES + 1), "is too long"),
        ("/token", 400, b'{"error": "invalid_grant"}', "refused the sign-in (status 400)"),
        ("/token", 302, b"{}", "refused the sign-in (status 302)"),
    ):
        desk.liar.bodies, desk.liar.statuses = {path: body}, {path: status}
        refused(come_back(desk, cookies, state=asked["state"]), words)
    desk.liar.bodies, desk.liar.statuses = {"/jwks": b'{"keys": 7}'}, {}
    refused(come_back(desk, cookies, state=asked["state"]), "signed by a key that it does not show")
    desk.liar.bodies = {"/jwks": json.dumps({"keys": [{"kid": "first", "kty": "RSA"}]}).encode()}
    desk.app.state.provider = module.Provider(desk.app.state.provider.settings)
    refused(come_back(desk, cookies, state=asked["state"]), "token is refused")


def test_another_person_in_the_user_info(desk):
    desk.liar.document = {"userinfo_endpoint": f"{desk.liar.issuer}/me"}
    desk.liar.claims = {"sub": "ada"}
    desk.liar.bodies["/me"] = json.dumps({"sub": "eve", "email": "ada@example.org"}).encode()
    refused(sign_in(desk), "tells of another person")


def test_a_provider_that_is_away_or_slow_holds_nobody_else_up(desk, monkeypatch):
    cookies, asked = begin(desk)
    desk.liar.statuses, desk.liar.bodies = {"/token": 503}, {"/token": b"{}"}
    refused(come_back(desk, cookies, state=asked["state"]), "cannot be used now (status 503)", 503)
    desk.liar.bodies = {}
    monkeypatch.setattr(module, "REQUEST_SECONDS", 0.2)
    desk.liar.slow = True
    refused(come_back(desk, cookies, state=asked["state"]), "cannot be used now (ReadTimeout)", 503)
    monkeypatch.setattr(module, "REQUEST_SECONDS", 20.0)
    monkeypatch.setattr(module, "SIGN_IN_SECONDS", 0.2)
    refused(come_back(desk, cookies, state=asked["state"]), "does not answer in time", 503)
    assert desk.get("/v1/trials").status_code == 200
    desk.liar.wait.set()
    monkeypatch.undo()
    away = OidcSettings("http://127.0.0.1:9", "safebandit")
    desk.app.state.provider = module.Provider(away)
    refused(desk.http.get("/sign-in/oidc"), "cannot be used now (ConnectError)", 503)
    assert "Sign in by your organisation" in desk.http.get("/sign-in").text
    assert desk.get("/v1/trials").status_code == 200


def test_groups_say_what_people_may_do(desk):
    groups = "chiefs: admin; desk: operator; board: viewer"
    settings = OidcSettings.read(issuer=desk.liar.issuer, client_id="safebandit", groups=groups)
    desk.app.state.provider = module.Provider(settings)
    people = desk.app.state.people

    def roles():
        return next(each for each in people.all() if each.name == "Gil").roles

    desk.liar.claims = {"sub": "gil", "name": "Gil", "groups": ["desk", "board", "other"]}
    assert sign_in(desk).status_code == 200
    assert roles() == {"default": "operator"}
    desk.liar.claims["groups"] = ["board"]
    assert sign_in(desk).status_code == 200
    assert roles() == {"default": "viewer"}
    for gone in ([], None, "other", 7, {"board": 1}):
        desk.liar.claims["groups"] = gone
        refused(sign_in(desk), "nobody has invited you here")
        assert roles() == {}
    desk.liar.claims = {"sub": "hal", "name": "Hal"}
    refused(sign_in(desk), "nobody has invited you here")
    assert "Hal" not in [each.name for each in people.all()]
    assert verify_database(desk.app.state.ledger).holds


def test_a_service_without_a_provider(tmp_path):
    with serving(tmp_path / "trials.db") as served:
        assert served.http.get("/sign-in/oidc").status_code == 404
        assert "/sign-in/oidc" not in served.http.get("/sign-in").text
