"""The OpenAPI document says what is so: requests made from it are never answered with a failure or another shape."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, settings

from safebandit.service.api.schemas import NAME
from safebandit.service.app import create_app
from servers.service import SECONDS


@pytest.fixture(scope="module")
def document():
    return create_app("unused.db").openapi()


@pytest.fixture(scope="module")
def schema(document):
    """Requests that the document describes; Schemathesis is imported here, for every process collects this file."""
    import schemathesis
    from schemathesis.checks import load_all_checks
    from schemathesis.config import SchemathesisConfig

    load_all_checks()
    # Keys that do not work are another test's; here every request shows one that does.
    config = SchemathesisConfig.from_dict({"generation": {"with-security-parameters": False}})
    made = schemathesis.openapi.from_dict(document, config=config)
    made.hook(map_path_parameters)
    return made


@pytest.fixture(scope="module")
def crowded(served):
    """A service with a trial in which something has happened already."""
    # A person's: paths that need one are to be met, too.
    person, _ = served.app.state.people.invite("Ada", given={"default": "admin", "*": "admin"}, actor="tests")
    served.keys["person"] = served.app.state.keys.create("Ada's", {}, person=person.id)[1]
    path = served.create("knee-pain", second_person=["correct", "unseal"])
    for unit in ("patient 17", "1", "2"):
        served.post(f"{path}/units", {"unit": unit})
    served.post(f"{path}/outcomes", {"unit": "1", "reward": 1, "risk": 0})
    return served


@pytest.fixture(scope="module")
def connected():
    """One connection for thousands of requests, and no look for proxies before each."""
    import requests

    with requests.Session() as session:
        session.trust_env = False
        yield session


# Names made at random hit no trial; most requests are to meet one.
def map_path_parameters(context, path_parameters):
    name = str((path_parameters or {}).get("trial", ""))
    if re.fullmatch(NAME, name, re.ASCII) and len(name) % 4:
        path_parameters["trial"] = "knee-pain"
    return path_parameters


@pytest.mark.parametrize("reading", [True, False])
def test_requests_made_from_the_document(reading, schema, crowded, connected, subtests):
    from schemathesis.pytest.lazy import get_all_tests
    from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

    headers = {"Authorization": f"Bearer {crowded.keys['person']}"}
    # Beyond a schema: which units, policies and arms there are, that names differ, that text has no control characters;
    # and every path without a key, and with keys that do not work, is another test's.
    excluded = [positive_data_acceptance, ignored_auth]
    options = {"headers": headers, "timeout": SECONDS, "excluded_checks": excluded, "session": connected}

    def is_answered(case):
        case.call_and_validate(base_url=crowded.url, **options)

    chosen = schema.include(method="GET") if reading else schema.exclude(method="GET")
    examples = settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    for made in get_all_tests(schema=chosen, test_func=is_answered, settings=examples, given_kwargs=None):
        operation, answers = made.ok()
        with subtests.test(operation.label):
            answers()


def test_every_path_has_a_summary_typed_answers_and_documented_problems(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["description"], where
            good = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
            assert all(answer.get("content") for answer in good), where
            if path.startswith("/v1"):
                assert {"401", "403", "404", "409", "413", "422", "429", "503"} <= set(operation["responses"]), where
                problem = operation["responses"]["422"]["content"]["application/json"]["schema"]
                assert problem == {"$ref": "#/components/schemas/ProblemAnswer"}, where
                assert operation["security"], where


def test_what_is_sent_has_examples(document):
    for name in (
        "NewTrial",
        "Question",
        "Asking",
        "Supposed",
        "Outcome",
        "Correction",
        "GivenUp",
        "Amendment",
        "StatusChange",
        "NewKey",
        "NewProject",
        "NewPerson",
        "GivenRoles",
        "Rotation",
        "Proposal",
    ):
        properties = document["components"]["schemas"][name]["properties"]
        assert any(value.get("examples") for value in properties.values()), name
