"""Requests made from the OpenAPI document: no internal error, and no answer that the document does not describe."""

from __future__ import annotations

import pytest

schemathesis = pytest.importorskip("schemathesis")

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance  # noqa: E402

from linnaeus.serve.app import create_app  # noqa: E402
from linnaeus.serve.settings import Settings  # noqa: E402

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]
UNENDING = ("/refit", "/recalibrate", "/events", "/stream")  # start processes, or wait for the end of a connection


@pytest.mark.parametrize("examples", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_every_answer_is_described_and_none_is_an_internal_error(folders, tmp_path, examples) -> None:
    chosen = Settings((folders["joint"],), store=str(tmp_path), reload_every=0, max_documents=20)
    document = schemathesis.openapi.from_asgi("/openapi.json", create_app(chosen))
    failures, n_operations = [], 0
    for found in document.get_all_operations():
        operation = found.ok()
        if operation.path.endswith(UNENDING):
            continue

        n_operations += 1

        @given(case=operation.as_strategy())
        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def send(case) -> None:
            case.call_and_validate(checks=CHECKS)

        try:
            send()
        except (Exception, BaseExceptionGroup) as error:
            failures.append(f"{operation.label}: {error} {getattr(error, 'exceptions', '')}"[:1500])
    assert n_operations > 40
    assert not failures, "\n\n".join(failures)
