"""Requests that wait are answered together, with the answers that each would get alone."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from linnaeus.serve import answers, batching
from linnaeus.serve.app import create_app
from linnaeus.serve.models import ModelRegistry, ServedModel
from linnaeus.serve.schemas import Predict, Request, Top
from linnaeus.serve.settings import Settings

TEXTS = ["cat purr", "dog bark leash", "nothing known", "rose petal bloom", "tree root", "kitten claw puppy"]


@pytest.fixture
def served(folders) -> ServedModel:
    return ModelRegistry([folders["joint"]]).get()


def asked(served: ServedModel, requests: list[Request], timeout: float = 60.0) -> list[object]:
    """Records of requests that are sent at the same time, or their errors."""

    async def ask() -> list[object]:
        deadline = time.monotonic() + timeout
        waiting = [served.queue.records(one, one.given(), deadline) for one in requests]
        return await asyncio.gather(*waiting, return_exceptions=True)

    with ThreadPoolExecutor(1) as thread:  # a loop may be running in this one
        return thread.submit(asyncio.run, ask()).result()


@pytest.fixture
def calls(monkeypatch) -> list[int]:
    """The number of documents of each call of a model."""
    made, real = [], answers.records

    def counted(served: ServedModel, request: Request, deadline: float) -> object:
        made.append(len(request.documents))
        return real(served, request, deadline)

    monkeypatch.setattr(answers, "records", counted)
    return made


@pytest.mark.parametrize(
    "request_of", [lambda text: Top(documents=[text], k=3), lambda text: Predict(documents=[text])]
)
def test_requests_that_arrive_together_are_one_call_with_the_answers_of_each_alone(served, calls, request_of) -> None:
    requests = [request_of(text) for text in TEXTS]
    alone = [answers.records(served, one, time.monotonic() + 60) for one in requests]
    calls.clear()
    for _ in range(batching._FIRST + 2):  # in a thread at first, then in the loop
        assert asked(served, requests) == alone
    assert calls == [len(TEXTS)] * (batching._FIRST + 2)


def test_ids_and_numbers_of_documents_are_those_of_each_request(served) -> None:
    requests = [
        Top(documents=["cat", "dog"], k=1),
        Top(documents=[{"id": "a", "text": "rose"}, "tree"], k=1),
    ]
    first, second = asked(served, requests)
    assert [record["id"] for record in first] == ["1", "2"]
    assert [record["id"] for record in second] == ["a", "2"]


def test_requests_of_other_forms_or_with_rules_are_calls_of_their_own(served, calls) -> None:
    requests = [
        Top(documents=["cat"], k=1),
        Top(documents=["cat"], k=2),
        Top(documents=["cat"], k=1, rules={"exclude": ["Cats"]}),
        Predict(documents=["cat"]),
        Predict(documents=["cat"], decoder="threshold"),
    ]
    found = asked(served, requests)
    assert calls == [1, 1, 1, 1, 1]
    assert [len(records[0]["labels"]) for records in found[:2]] == [1, 2]
    assert found[2][0]["labels"][0]["label"] != "Cats"


def test_an_error_of_one_request_is_not_that_of_the_others(served, monkeypatch) -> None:
    real = answers.records

    def failing(served: ServedModel, request: Request, deadline: float) -> object:
        if any(one.text == "late" for one in request.given()):
            raise TimeoutError
        return real(served, request, deadline)

    monkeypatch.setattr(answers, "records", failing)
    found = asked(served, [Top(documents=[text], k=1) for text in ("cat", "late", "dog")])
    assert [type(one) for one in found] == [list, TimeoutError, list]


def test_a_model_that_is_busy_elsewhere_is_not_waited_for_in_the_loop(served, calls) -> None:
    for _ in range(batching._FIRST):
        asked(served, [Top(documents=["cat"], k=1)])
    with served.lock:
        assert [type(one) for one in asked(served, [Top(documents=["cat"], k=1)], timeout=0.05)] == [TimeoutError]
    assert isinstance(asked(served, [Top(documents=["cat"], k=1)])[0], list)


def test_the_direct_path_answers_and_refuses_as_the_framework_does(folders, client) -> None:
    from starlette.testclient import TestClient

    app = create_app(Settings(tuple(folders.values()), max_bytes=100_000, max_documents=50, reload_every=0))
    app.user_middleware = [one for one in app.user_middleware if one.cls.__name__ != "DirectPath"]
    head = {"content-type": "application/json", "x-request-id": "same"}
    bodies = [
        b'{"documents": ["cat purr", {"id": "x", "text": "dog"}], "k": 2}',
        b'{"documents": ["\\ud800 cat"]}',
        b'{"documents": []}',
        b'{"documents": ["cat"], "k": 0}',
        b'{"documents": ["cat"], "rules": {"exclude": ["Sprots"]}}',
        b'{"documents": [{"vector": [1.0]}]}',
        b'{"documents": ["cat"], "probabilities": true}',
        b"{",
        b"\xff",
        b"[" * 100_000,
        b"",
        json.dumps({"documents": ["cat"] * 51}).encode(),
        b"x" * 100_001,
    ]
    with TestClient(app, raise_server_exceptions=False) as plain:
        for name in ("joint", "flat", "absent", "a%2Fb"):
            for operation in ("top", "predict"):
                for body in bodies:
                    found, expected = (
                        one.post(f"/api/v1/models/{name}/{operation}", content=body, headers=head)
                        for one in (client, plain)
                    )
                    assert (found.status_code, found.content) == (expected.status_code, expected.content), body[:60]
                    assert found.headers["content-type"] == expected.headers["content-type"]
        for kind in ("text/plain", "application/json; charset=utf-8", "APPLICATION/JSON"):
            found, expected = (
                one.post("/api/v1/models/joint/top", content=bodies[0], headers={**head, "content-type": kind})
                for one in (client, plain)
            )
            assert (found.status_code, found.content) == (expected.status_code, expected.content), kind
