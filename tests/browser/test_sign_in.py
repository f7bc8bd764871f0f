"""Signing in by a real identity provider, in a real browser: people, projects, and what needs two of them."""

import pytest
from playwright.sync_api import expect

from safebandit.service.oidc.provider import Provider
from safebandit.service.oidc.settings import OidcSettings
from safebandit.trials.record.projects import make_project
from safebandit.trials.record.verification import verify, verify_database

from ..service.oidc.node import provider
from .serving import serving


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    """A service whose people sign in by a provider, with a project."""
    folder = tmp_path_factory.mktemp("hospital")
    (folder / "secret").write_text("a secret of the tests")
    with serving(folder / "trials.db") as running, provider(f"{running.url}/sign-in/oidc/callback") as issuer:
        settings = OidcSettings.read(
            issuer=issuer, client_id="safebandit", client_secret_file=folder / "secret", label="Example Hospital"
        )
        running.app.state.provider = Provider(settings)
        people = running.app.state.people
        make_project(running.app.state.ledger, "oncology", actor="root")
        people.invite("Ada", email="ada@example.org", given={"oncology": "admin", "*": "admin"}, actor="root")
        people.invite("Bea", email="bea@example.org", given={"oncology": "admin"}, actor="root")
        yield running


@pytest.fixture
def enter(hospital, browser):
    opened = []

    def sign_in(name):
        context = browser.new_context(base_url=hospital.url)
        context.set_default_timeout(120_000)
        opened.append(context)
        page = context.new_page()
        page.goto("/people")
        page.get_by_role("link", name="Sign in by Example Hospital").click()
        page.get_by_label("Name").fill(name)
        page.get_by_role("button", name="Enter").click()
        return page

    yield sign_in
    for context in opened:
        context.close()


def test_two_people_of_a_project(hospital, enter):
    ada = enter("ada")
    # Where she wanted to go when she was asked to sign in.
    ada.wait_for_url(f"{hospital.url}/people")
    expect(ada.get_by_role("banner")).to_contain_text("Ada")
    ada.get_by_label("New project").fill("knee")
    ada.get_by_role("button", name="Make the project").click()
    expect(ada.get_by_text("knee", exact=True).first).to_be_visible()
    ada.goto("/")
    typed = {"name": "oncology:dose", "arms": "low\nhigh", "alpha": "0.3", "policy": "docb", "second_person": "amend"}
    for field, value in typed.items():
        ada.locator(f"#create-{field}").fill(value)
    ada.get_by_role("button", name="Create the trial").click()
    ada.wait_for_url("**/trials/oncology:dose")
    ada.get_by_text("Amend the trial").click()
    amend = ada.locator("#amend")
    amend.get_by_label("Alpha").fill("0.2")
    amend.get_by_label("Reason").fill("two events")
    ada.get_by_role("button", name="Propose the amendment").click()
    expect(ada.locator("#amend-said")).to_contain_text("Written as event 2: to amend")
    ada.get_by_role("button", name="Approve proposal 2").click()
    expect(ada.locator("#proposals-said")).to_contain_text("needs a second person")
    bea = enter("bea")
    bea.wait_for_url(f"{hospital.url}/people")
    expect(bea.get_by_role("button", name="Make the project")).to_have_count(0)
    bea.goto("/trials/oncology:dose")
    bea.get_by_role("button", name="Approve proposal 2").click()
    expect(bea.get_by_role("button", name="Approve proposal 2")).to_have_count(0)
    assert hospital.app.state.ledger.state("oncology:dose").settings.limits == (0.2,)
    bea.get_by_role("button", name="Sign out").click()
    bea.wait_for_url(f"{hospital.url}/sign-in")
    bea.goto("/trials/oncology:dose")
    bea.wait_for_url("**/sign-in?next=**")
    assert verify(hospital.app.state.ledger, "oncology:dose").holds
    assert verify_database(hospital.app.state.ledger).holds


def test_somebody_who_was_not_invited(hospital, enter):
    page = enter("eve")
    expect(page.get_by_role("alert")).to_contain_text("nobody has invited you here")
    page.goto("/")
    page.wait_for_url("**/sign-in?next=**")
