"""A real identity provider, and a browser's way through it: to the provider, back, and signed in."""

from __future__ import annotations

import contextlib
from urllib.parse import urljoin

import httpx
import pytest

from safebandit.service.oidc.provider import Provider
from safebandit.service.oidc.settings import OidcSettings
from safebandit.trials.record.verification import verify_database

from ..conftest import serving
from .node import provider


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A service, and the provider that its people sign in by."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "secret").write_text("a secret of the tests\n")
    with serving(folder / "trials.db") as served, provider(f"{served.url}/sign-in/oidc/callback") as issuer:
        settings = OidcSettings.read(issuer=issuer, client_id="safebandit", client_secret_file=folder / "secret")
        served.app.state.provider = Provider(settings)
        served.settings = settings
        for name in ("ada", "bea"):
            served.app.state.people.invite(name, email=f"{name}@example.org", given={"default": "admin"}, actor="root")
        yield served


def walk(client, address, name):
    """Follow redirects from the service to the provider and back, and fill in its form."""
    for _ in range(12):
        answer = client.get(address)
        if answer.is_redirect:
            address = urljoin(str(answer.url), answer.headers["location"])
        elif "<title>Provider</title>" in answer.text:
            address = f"{answer.url}?name={name}"
        else:
            return answer
    raise AssertionError("the way has no end")


@contextlib.contextmanager
def enter(served, name):
    """A browser of this person, and the page that it comes to."""
    with httpx.Client(timeout=120) as client:
        yield client, walk(client, f"{served.url}/sign-in/oidc", name)


def test_a_person_signs_in_works_and_signs_out(real):
    with enter(real, "ada") as (client, answer):
        assert answer.status_code == 200, answer.text
        assert "You are signed in" in answer.text
        me = client.get(f"{real.url}/v1/me").json()
        assert (me["name"], me["roles"]) == ("ada", {"default": "admin"})
        assert client.get(f"{real.url}/").status_code == 200
        settings = {"name": "knee", "arms": ["a", "b"], "alpha": 0.3, "policy": "docb", "seed": 1}
        settings["second_person"] = ["amend"]
        assert client.post(f"{real.url}/v1/trials", json=settings).status_code == 201
        proposed = client.post(f"{real.url}/v1/trials/knee/proposals", json={"amend": {"alpha": 0.2, "reason": "r"}})
        with enter(real, "bea") as (other, _):
            approval = f"{real.url}/v1/trials/knee/proposals/{proposed.json()['event']}/approval"
            assert client.post(approval).status_code == 409
            assert other.post(approval).status_code == 201
        real.app.state.keys.sign_out(client.cookies["safebandit_session"])
        assert client.get(f"{real.url}/v1/me").status_code == 401
    kinds = [event.kind for event in real.app.state.ledger.registry()]
    assert kinds.count("person bound") == 2
    assert kinds.count("signed in") == 2
    assert verify_database(real.app.state.ledger).holds


def test_somebody_whose_address_is_not_verified_stays_outside(real):
    with enter(real, "eve") as (client, answer):
        assert answer.status_code == 403
        assert "nobody has invited you here" in answer.text
        assert client.get(f"{real.url}/v1/me").status_code == 401


def test_groups_from_the_user_info(real):
    project = real.settings._replace(groups=(("chiefs", {"default": "auditor"}),))
    real.app.state.provider = Provider(project)
    with enter(real, "bea") as (client, answer):
        assert answer.status_code == 200
        assert client.get(f"{real.url}/v1/me").json()["roles"] == {"default": "auditor"}
    real.app.state.provider = Provider(real.settings)


def test_a_wrong_secret_or_another_redirect_is_refused_by_the_provider(real):
    real.app.state.provider = Provider(real.settings._replace(secret="another"))
    with enter(real, "ada") as (_, answer):
        assert (answer.status_code, "refused the sign-in (status 401)" in answer.text) == (403, True)
    real.app.state.provider = Provider(real.settings._replace(address="http://127.0.0.1:1"))
    with enter(real, "ada") as (_, answer):
        assert str(answer.url).startswith(real.settings.issuer)
        assert answer.status_code == 400
    real.app.state.provider = Provider(real.settings)


def test_a_code_is_good_for_the_browser_that_began(real):
    """A code that somebody else's browser got is worth nothing in another one: state, and the PKCE verifier."""
    with httpx.Client(timeout=120) as thief, httpx.Client(timeout=120) as victim:
        address = f"{real.url}/sign-in/oidc"
        for _ in range(12):
            answer = thief.get(address)
            address = (
                urljoin(str(answer.url), answer.headers["location"]) if answer.is_redirect else f"{address}?name=eve"
            )
            if address.startswith(f"{real.url}/sign-in/oidc/callback"):
                break
        assert victim.get(f"{real.url}/sign-in/oidc").status_code == 303
        assert "has not begun to sign in" in victim.get(address).text
        begun = victim.get(f"{real.url}/sign-in/oidc")
        state = httpx.URL(begun.headers["location"]).params["state"]
        stolen = httpx.URL(address).copy_set_param("state", state)
        refused = victim.get(stolen)
        assert (refused.status_code, "refused the sign-in (status 400)" in refused.text) == (403, True)
