"""Requests made from the OpenAPI document: no internal error, and no answer that the document does not describe."""

from __future__ import annotations

import pytest

schemathesis = pytest.importorskip("schemathesis")

from hypothesis import HealthCheck, Phase, settings  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance  # noqa: E402

from linnaeus.serve.app import create_app  # noqa: E402
from linnaeus.serve.settings import Settings  # noqa: E402

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def document(folders, tmp_path_factory):
    """The document of a service with a store."""
    given = Settings((folders["joint"],), store=str(tmp_path_factory.mktemp("store")), reload_every=0, max_documents=20)
    return schemathesis.openapi.from_asgi("/openapi.json", create_app(given))


schema = schemathesis.pytest.from_fixture("document").exclude(path_regex="/(refit|recalibrate|events|stream)$")


@schema.parametrize()
@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_described_and_none_is_an_internal_error(case) -> None:
    case.call_and_validate(checks=CHECKS)
