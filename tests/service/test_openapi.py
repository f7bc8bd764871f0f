"""The OpenAPI document says what is so: requests made from it are never answered with a failure or another shape."""

from __future__ import annotations

import re

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import positive_data_acceptance

from safebandit.service.api.schemas import NAME
from safebandit.service.app import create_app
from servers.service import SECONDS

# Some rules are beyond a schema: which units, policies and arms there are, names that differ, no control characters.
BEYOND = [positive_data_acceptance]
DOCUMENT = create_app("unused.db").openapi()
# Keys that do not work are another test's; here every request shows one that does.
CONFIG = SchemathesisConfig.from_dict({"generation": {"with-security-parameters": False}})
schema = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)


@pytest.fixture(scope="module")
def crowded(served):
    """A service with a trial in which something has happened already."""
    path = served.create("knee-pain")
    for unit in ("patient 17", "1", "2"):
        served.post(f"{path}/units", {"unit": unit})
    served.post(f"{path}/outcomes", {"unit": "1", "reward": 1, "risk": 0})
    return served


# Names made at random hit no trial; most requests are to meet one.
@schema.hook
def map_path_parameters(context, path_parameters):
    name = str((path_parameters or {}).get("trial", ""))
    if re.fullmatch(NAME, name, re.ASCII) and len(name) % 4:
        path_parameters["trial"] = "knee-pain"
    return path_parameters


@schema.parametrize()
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_requests_made_from_the_document(crowded, case):
    headers = {"Authorization": f"Bearer {crowded.keys['admin']}"}
    case.call_and_validate(base_url=crowded.url, headers=headers, timeout=SECONDS, excluded_checks=BEYOND)


def test_every_path_has_a_summary_typed_answers_and_documented_problems():
    for path, operations in DOCUMENT["paths"].items():
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


def test_what_is_sent_has_examples():
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
    ):
        properties = DOCUMENT["components"]["schemas"][name]["properties"]
        assert any(value.get("examples") for value in properties.values()), name
