"""Who may do what: every role against every path, and keys that do not work."""

from __future__ import annotations

import itertools

import pytest

from safebandit.service.access import COOKIE
from safebandit.service.app import create_app
from safebandit.service.keys import Keys
from safebandit.service.roles import PERMISSIONS, ROLES
from servers.service import ask_again_until

# What each path needs (None: no key at all; "people": an admin who is a person, not a service). A new path has to be
# added here.
NEEDS = {
    ("GET", "/v1/openapi.json"): None,
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    ("GET", "/metrics"): "read",
    ("GET", "/v1/trials"): "list",
    ("POST", "/v1/trials"): "manage",
    ("GET", "/v1/trials/{trial}"): "read",
    ("GET", "/v1/trials/{trial}/events"): "log",
    ("GET", "/v1/trials/{trial}/events/{number}"): "log",
    ("GET", "/v1/trials/{trial}/analysis"): "read",
    ("GET", "/v1/trials/{trial}/units"): "log",
    ("GET", "/v1/trials/{trial}/unit"): "log",
    ("GET", "/v1/trials/{trial}/verification"): "log",
    ("GET", "/v1/trials/{trial}/export"): "log",
    ("POST", "/v1/trials/{trial}/unit"): "log",
    ("POST", "/v1/trials/{trial}/explanation"): "log",
    ("POST", "/v1/trials/{trial}/units"): "ask",
    ("POST", "/v1/trials/{trial}/outcomes"): "tell",
    ("POST", "/v1/trials/{trial}/corrections"): "manage",
    ("POST", "/v1/trials/{trial}/given-up"): "manage",
    ("POST", "/v1/trials/{trial}/voided"): "manage",
    ("POST", "/v1/trials/{trial}/units/batch"): "ask",
    ("POST", "/v1/trials/{trial}/outcomes/batch"): "tell",
    ("POST", "/v1/trials/{trial}/corrections/batch"): "manage",
    ("POST", "/v1/trials/{trial}/given-up/batch"): "manage",
    ("POST", "/v1/trials/{trial}/voided/batch"): "manage",
    ("POST", "/v1/trials/{trial}/amendments"): "manage",
    ("GET", "/v1/trials/{trial}/proposals"): "log",
    ("POST", "/v1/trials/{trial}/proposals"): "people",
    ("POST", "/v1/trials/{trial}/proposals/{number}/approval"): "people",
    ("POST", "/v1/trials/{trial}/proposals/{number}/refusal"): "people",
    ("POST", "/v1/trials/{trial}/pause"): "manage",
    ("POST", "/v1/trials/{trial}/resume"): "manage",
    ("POST", "/v1/trials/{trial}/close"): "manage",
    ("POST", "/v1/trials/{trial}/route"): "manage",
    ("POST", "/v1/trials/{trial}/unroute"): "manage",
    ("GET", "/v1/worklist"): "tell",
    ("GET", "/v1/keys"): "keys",
    ("POST", "/v1/keys"): "keys",
    ("DELETE", "/v1/keys/{id}"): "keys",
    ("POST", "/v1/keys/{id}/rotation"): "keys",
    ("GET", "/v1/alerts"): "alerts",
    ("POST", "/v1/alerts"): "alerts",
    ("GET", "/v1/alert-messages"): "alerts",
    ("DELETE", "/v1/alerts/{id}"): "alerts",
    ("POST", "/v1/alerts/{id}/test"): "alerts",
    ("GET", "/v1/me"): "list",
    ("GET", "/v1/projects"): "list",
    ("POST", "/v1/projects"): "projects",
    ("GET", "/v1/people"): "keys",
    ("POST", "/v1/people"): "keys",
    ("POST", "/v1/people/{id}/roles"): "keys",
    ("DELETE", "/v1/people/{id}"): "projects",
}
# Pages for people, held to the same rules by tests of their own.
PAGES = {
    ("GET", path)
    for path in (
        "/", "/keys", "/live", "/sign-in", "/sign-in/oidc", "/sign-in/oidc/callback", "/static", "/people",
        "/worklist", "/alerts",
        "/trials/{trial}", "/trials/{trial}/arms", "/trials/{trial}/live",
        "/trials/{trial}/log", "/trials/{trial}/log/{number}", "/trials/{trial}/units", "/trials/{trial}/{form}",
        "/trials/{trial}/analysis", "/trials/{trial}/rehearsal",
    )
} | {
    ("POST", path)
    for path in (
        "/keys", "/keys/{id}/revoke", "/keys/{id}/rotate", "/people", "/people/{id}/role",
        "/people/{id}/remove", "/projects", "/sign-in", "/sign-out", "/worklist", "/worklist/live", "/alerts",
        "/alerts/{id}/test", "/alerts/{id}/remove", "/trials", "/trials/{trial}/amend",
        "/trials/{trial}/ask", "/trials/{trial}/correct", "/trials/{trial}/give-up", "/trials/{trial}/log/verify",
        "/trials/{trial}/proposals/{number}", "/trials/{trial}/rehearsal",
        "/trials/{trial}/tell", "/trials/{trial}/outcomes/batch",
        "/trials/{trial}/units", "/trials/{trial}/unseal", "/trials/{trial}/void",
        "/trials/{trial}/{change}",
    )
}  # fmt: skip
WHAT_ROLES_DO = {
    "admin": {"list", "read", "ask", "tell", "log", "manage", "keys", "alerts"},
    "operator": {"list", "ask", "tell"},
    "viewer": {"list", "read"},
    "auditor": {"list", "read", "log"},
}


def paths(holder):
    """Every method and path of an application, those of the routers inside it too."""
    for route in holder.routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from paths(inner)
        else:
            for method in getattr(route, "methods", None) or {"GET"}:
                if method != "HEAD":
                    yield method, route.path


APP = create_app("unused.db")
ALL = sorted(set(paths(APP)) - PAGES)


def test_every_path_is_in_the_table():
    assert set(ALL) == set(NEEDS)


def test_roles_are_as_promised():
    assert {role: set(actions) for role, actions in PERMISSIONS.items()} == WHAT_ROLES_DO


@pytest.fixture(scope="module")
def trial(served):
    path = served.create("access", context=["age"])
    served.post(f"{path}/units", {"unit": "1", "context": [1]})
    return path


def body_of(method: str, path: str) -> dict | None:
    if method != "POST":
        return None
    if path.endswith("/batch"):
        return {"requests": [body_of(method, path.removesuffix("/batch"))]}
    return {
        "trials": {"name": "other", "arms": ["a"], "alpha": 0.2, "seed": 1, "policy": "docb"},
        "unit": {"unit": "1"},
        "explanation": {"context": [1]},
        "units": {"unit": "1"},
        "outcomes": {"unit": "1", "reward": 1},
        "corrections": {"unit": "1", "reward": 0, "reason": "x"},
        "given-up": {"unit": "1", "reason": "x"},
        "voided": {"unit": "1", "reason": "x"},
        "amendments": {"reason": "x", "pending_cap": 7},
        **{change: {"reason": "x"} for change in ("pause", "resume", "close", "route", "unroute")},
        "keys": {"name": "x", "role": "viewer"},
        "proposals": {"amend": {"reason": "x", "pending_cap": 7}},
        "approval": None,
        "refusal": {"reason": "x"},
        "rotation": {"overlap_hours": 1},
        "alerts": {"channel": "email", "target": "desk@clinic.example", "trial": "access"},
        "test": {},
        "people": {"name": "x", "roles": {"default": "viewer"}},
        "roles": {"roles": {"default": "viewer"}},
        "projects": {"name": "other"},
    }[path.rpartition("/")[2]]


def call(served, method: str, path: str, **options):
    values = {"trial": "access", "number": "1", "id": "0" * 16}
    return served.request(method, path.format(**values), body_of(method, path), params={"unit": "1"}, **options)


@pytest.mark.parametrize(("method", "path"), ALL)
def test_every_role_against_every_path(served, trial, method, path):
    needs = NEEDS[method, path]
    if needs is None:
        assert call(served, method, path, role=None).status_code == 200
        return
    without = call(served, method, path, role=None)
    assert (without.status_code, without.headers["www-authenticate"]) == (401, "Bearer")
    for role in ROLES:
        answer = call(served, method, path, role=role)
        if needs in WHAT_ROLES_DO[role]:
            assert answer.status_code not in (401, 403, 500), (role, answer.text)
        else:
            assert answer.status_code == 403, (role, answer.text)
            assert answer.json()["error"] == "refused"
            assert role in answer.json()["message"] or (needs == "people" and "service's" in answer.json()["message"])


def with_key(served, text: str | bytes, path: str = "/v1/trials"):
    value = b"Bearer " + (text if isinstance(text, bytes) else text.encode())
    return served.http.get(path, headers=[(b"Authorization", value)])


def altered(key: str):
    """Keys that are almost the one: another secret, another id, cut short, made longer."""
    head, name, secret = key.split("_", 2)
    other = "A" if secret[0] != "A" else "B"
    yield f"{head}_{name}_{other}{secret[1:]}"
    yield f"{head}_{name[::-1] if name != name[::-1] else '0' * 16}_{secret}"
    yield key[:-1]
    yield key + "A"
    yield f"{head}_{name.upper()}x_{secret}"
    yield f"{name}_{secret}"
    yield key.upper()


def test_forged_and_malformed_keys_are_401(served):
    good = served.keys["admin"]
    wrong = ["sb_", "null", "sb_" + "0" * 16 + "_" + "A" * 43, "' OR 1=1 --", "<script>", "x" * 5000]
    raw = [b"\xff\xfe", "sb_ключ".encode()]
    for text in itertools.chain(altered(good), wrong, raw):
        refused = with_key(served, text)
        assert refused.status_code == 401, text
        assert set(refused.json()) == {"error", "message"}
        assert good not in refused.text
    for value in (good, f"Basic {good}", f"Token {good}", "Bearer"):
        assert served.http.get("/v1/trials", headers={"Authorization": value}).status_code == 401
    assert with_key(served, good).status_code == 200


def test_an_expired_key_is_401(served):
    _, text = served.app.state.keys.create("short", "admin", days=1e-9)
    assert with_key(served, text).status_code == 401


def test_a_revoked_key_is_401_at_once_here_and_soon_in_other_processes(served):
    made = served.post("/v1/keys", {"name": "desk", "role": "operator", "days": 1}).json()
    assert with_key(served, made["key"]).status_code == 200
    # That it was used is written after the answer, and both answers below are to tell it.
    ask_again_until(lambda: served.app.state.keys.one(made["id"]).used, "a use of a key is not written")
    gone = served.request("DELETE", f"/v1/keys/{made['id']}").json()
    assert gone["revoked"] is not None
    assert with_key(served, made["key"]).status_code == 401
    assert served.request("DELETE", f"/v1/keys/{made['id']}").json() == gone
    other = served.post("/v1/keys", {"name": "desk", "role": "operator"}).json()
    assert with_key(served, other["key"]).status_code == 200
    Keys(served.app.state.ledger).revoke(other["id"])
    ask_again_until(lambda: with_key(served, other["key"]).status_code == 401, "a revoked key goes on working")


def test_secrets_are_shown_once_and_kept_as_hashes(served):
    made = served.post("/v1/keys", {"name": "once", "role": "auditor"}).json()
    secret = made["key"].split("_", 2)[2]
    listed = served.get("/v1/keys")
    assert made["id"] in listed.text
    assert secret not in listed.text
    database = served.app.state.ledger.engine.url.database
    for suffix in ("", "-wal"):
        with open(database + suffix, "rb") as file:
            assert secret.encode() not in file.read()


def test_keys_that_make_no_sense_are_422(served):
    for wrong in (
        {"name": "x", "role": "root"},
        {"name": "", "role": "viewer"},
        {"name": "x\x00", "role": "viewer"},
        {"name": "x", "role": "viewer", "days": 0},
        {"name": "x", "role": "viewer", "days": -1},
        {"name": "x", "role": "viewer", "days": 1e9},
        {"name": "x"},
    ):
        assert served.post("/v1/keys", wrong).status_code == 422, wrong
    assert served.request("DELETE", "/v1/keys/nothing").status_code == 422
    assert served.request("DELETE", f"/v1/keys/{'0' * 16}").status_code == 404


def test_a_browser_that_signed_in_acts_by_its_key_but_not_for_other_sites(served, trial):
    keys = served.app.state.keys
    key, _ = keys.create("a person", "operator")
    cookie = {"Cookie": f"{COOKIE}={keys.sign_in(key)}"}
    ask = f"{trial}/units"
    assert served.get("/v1/trials", role=None, headers=cookie).status_code == 200
    assert served.get(trial, role=None, headers=cookie).status_code == 403
    assert served.post(ask, {"unit": "1"}, role=None, headers=cookie).status_code in (200, 409)
    for site in ("cross-site", "same-site"):
        elsewhere = {**cookie, "Sec-Fetch-Site": site}
        assert served.post(ask, {"unit": "1"}, role=None, headers=elsewhere).status_code == 401
    keys.revoke(key.id)
    assert served.get("/v1/trials", role=None, headers=cookie).status_code == 401
    assert served.get("/v1/trials", role=None, headers={"Cookie": f"{COOKIE}=x"}).status_code == 401
