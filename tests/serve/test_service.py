"""The service says what went wrong and what to do, keeps its limits, counts, and reloads."""

from __future__ import annotations

import gzip
import json
import shutil
import time
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from linnaeus import OneVsRestSVM, Pipeline, save
from linnaeus.errors import ParameterError, StoreError
from linnaeus.features.text import TextFeatures
from linnaeus.serve.app import create_app
from linnaeus.serve.models import ModelRegistry
from linnaeus.serve.schemas import ProblemDetails
from linnaeus.serve.settings import Settings

PREDICT = "/api/v1/models/joint/predict"


def sent(client, body: object, kind: str = "application/json"):
    """The answer to a body in ASCII, which may hold halves of surrogate pairs."""
    return client.post(PREDICT, content=json.dumps(body), headers={"content-type": kind})


def problem(response) -> dict:
    """The content of an error, which has the documented form and no trace."""
    assert response.headers["content-type"] == "application/problem+json"
    found = response.json()
    ProblemDetails.model_validate(found)
    assert found["status"] == response.status_code
    assert found["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in response.text
    return found


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        (b"{", 400, "not valid JSON"),
        (b"\xff\xfe", 400, ""),
        (b"[]", 422, "body"),
        (b"{}", 422, "documents"),
        (b'{"documents": []}', 422, "documents"),
        (b'{"documents": ["a"], "ruels": {}}', 422, "ruels"),
        (b'{"documents": [{"text": "a", "vector": [1]}]}', 422, "exactly one of"),
        (b'{"documents": [{"vector": [1.0]}]}', 422, "trained on texts"),
        (b'{"documents": ["a"], "rules": {"only_under": "Animols"}}', 422, "did you mean 'Animals'"),
        (b'{"documents": ["a"], "decoder": "best_laef"}', 422, "best_leaf"),
        (b'{"documents": [' + b'"a",' * 60 + b'"a"]}', 413, "at most 50"),
        (b'{"documents": ["' + b"x" * 200_000 + b'"]}', 413, "100,000 bytes"),
        (b"[" * 50_000, 400, ""),
    ],
)
def test_wrong_requests_are_refused_in_words(client, body, status, expected) -> None:
    response = client.post(PREDICT, content=body, headers={"content-type": "application/json"})
    assert response.status_code == status, response.text
    assert expected in problem(response)["detail"] + response.text


def test_addresses_that_do_not_exist_name_what_does(client) -> None:
    assert "did you mean 'joint'" in problem(client.get("/api/v1/models/jiont"))["detail"]
    assert problem(client.get("/nothing"))["status"] == 404
    assert problem(client.get(PREDICT))["status"] == 405
    for path in ("..%2f..%2fetc%2fpasswd", "%00", "joint%2f..", "a" * 3000):
        assert problem(client.get(f"/api/v1/models/{path}"))["status"] == 404


@pytest.mark.parametrize("text", ["", "\0", "\u202egnp.cat", "<script>alert(1)</script>", "\ud800", "x" * 90_000])
def test_hostile_texts_and_ids_are_answered(client, text) -> None:
    assert sent(client, {"documents": [text]}).status_code == 200
    named = sent(client, {"documents": [{"id": text[:9], "text": "cat"}]})
    if text == "\ud800":  # half of a pair cannot be returned in UTF-8
        assert problem(named)["status"] == 422
    else:
        assert named.json()["results"][0]["id"] == text[:9]


def test_compressed_bodies_and_bodies_without_length_are_limited(client) -> None:
    refused = client.post(PREDICT, content=b"\x1f\x8b", headers={"content-encoding": "gzip"})
    assert problem(refused)["status"] == 415
    parts = (b"x" * 10_000 for _ in range(20))  # sent in chunks, without Content-Length
    assert problem(client.post(PREDICT, content=parts, headers={"content-type": "application/json"}))["status"] == 413


@pytest.mark.slow
def test_a_document_of_ten_megabytes_is_answered_as_its_words_are(folders) -> None:
    with TestClient(create_app(Settings((folders["flat"],), reload_every=0))) as client:
        texts = ["cat purr " * 1_200_000, "cat purr"]
        found = [client.post("/api/v1/models/flat/predict", json={"documents": [text]}).json() for text in texts]
    labels = [[entry["label"] for entry in one["results"][0]["labels"]] for one in found]
    assert labels[0] == labels[1] == ["Cats"]


def test_a_file_that_unpacks_to_much_more_than_a_body_may_have_is_refused(folders, tmp_path) -> None:
    settings = Settings((folders["flat"],), store=str(tmp_path), reload_every=0, max_bytes=100_000)
    with TestClient(create_app(settings)) as client:
        bomb = gzip.compress(b"a line of text\n" * 500_000)
        assert len(bomb) < 100_000
        refused = client.post("/api/v1/documents/file?name=docs.txt.gz", content=bomb)
        assert (refused.status_code, "docs.txt.gz" in problem(refused)["detail"]) == (422, True)
        assert client.get("/api/v1/documents").json()["total"] == 0


def test_hostile_ids_of_documents_name_these_documents_only(folders, tmp_path) -> None:
    ids = ["../../etc/passwd", "a/b?c=d&e", "'; DROP TABLE documents; --", "\u202ed", "<b>", "%00", "x" * 1000]
    with TestClient(create_app(Settings((folders["flat"],), store=str(tmp_path), reload_every=0))) as client:
        rows = [{"id": id, "text": "cat"} for id in ids]
        assert client.post("/api/v1/documents", json={"documents": rows}).json()["added"] == len(ids)
        for id in ids:
            assert client.get("/api/v1/documents/one", params={"id": id}).json()["document"]["id"] == id
            assert client.get(f"/api/v1/jobs/{quote(id, safe='')}/result").status_code == 404


def test_no_file_of_the_store_holds_a_text_that_was_erased(folders, tmp_path) -> None:
    with TestClient(create_app(Settings((folders["flat"],), store=str(tmp_path), reload_every=0))) as client:
        rows = [{"id": f"d{i}", "text": f"cat marker{i}xyz purr"} for i in range(3)]
        client.post("/api/v1/documents", json={"documents": rows})
        assert client.post("/api/v1/documents/erase?id=d1").json()["erased"]
        content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"marker0xyz" in content
    assert b"marker1xyz" not in content


def test_json_that_is_sent_as_a_form_is_refused_with_the_header_to_send(client) -> None:
    refused = sent(client, {"documents": ["cat"]}, "application/x-www-form-urlencoded")
    assert "Content-Type: application/json" in problem(refused)["detail"]
    assert refused.status_code == 415


def test_ids_of_requests_are_kept_or_made(client) -> None:
    kept = client.get("/api/v1/health", headers={"x-request-id": "desk-17"})
    assert kept.headers["x-request-id"] == kept.json()["request_id"] == "desk-17"
    made = client.get("/api/v1/health", headers={"x-request-id": "a b"})
    assert made.headers["x-request-id"] == made.json()["request_id"] != "a b"
    assert "default-src 'self'" in made.headers["content-security-policy"]


def test_errors_of_the_service_show_no_trace(client, monkeypatch) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("linnaeus.serve.answers.records", failing)
    response = client.post(PREDICT, json={"documents": ["cat"]})
    assert (response.status_code, "secret" in response.text) == (500, False)
    assert problem(response)["request_id"] in problem(response)["detail"]


def test_requests_that_take_too_long_or_wait_in_a_long_queue_are_given_up(folders) -> None:
    app = create_app(Settings((folders["joint"],), timeout=0.05, reload_every=0, max_waiting=1))
    with TestClient(app) as client:
        service = app.state.service
        served = service.models.get("joint")
        with served.lock:  # as if another request were being answered
            slow = client.post(PREDICT, json={"documents": ["cat"]})
        assert (slow.status_code, slow.headers["retry-after"]) == (503, "1")
        assert "fewer documents" in problem(slow)["detail"]
        service._waiting = 1
        assert "waiting" in problem(client.post(PREDICT, json={"documents": ["cat"]}))["detail"]
        service._waiting = 0
        assert client.post("/api/v1/models/joint/explain", json={"document": "cat"}).status_code == 200


def test_metrics_count_requests_by_route_and_documents_by_model(folders) -> None:
    with TestClient(create_app(Settings((folders["joint"],), reload_every=0))) as client:
        client.post(PREDICT, json={"documents": ["cat", "dog"]})
        client.get("/api/v1/models/unknown")
        client.get("/some/path")
        text = client.get("/metrics").text
    assert 'linnaeus_documents_total{model="joint",operation="predict"} 2\n' in text
    assert 'linnaeus_requests_total{method="GET",path="/api/v1/models/{name}",status="404"} 1\n' in text
    assert 'linnaeus_requests_total{method="GET",path="other",status="404"} 1\n' in text
    assert 'linnaeus_request_seconds_bucket{path="/api/v1/models/{name}/predict",le="+Inf"} 1\n' in text
    assert all(line.startswith("#") or line.rsplit(" ", 1)[1] for line in text.splitlines())


def test_the_documentation_needs_nothing_from_the_network(client) -> None:
    document = client.get("/openapi.json").json()
    page = client.get("/docs").text
    assert all(path in page for path in document["paths"])
    assert "<script" not in page
    assert "http" not in page.replace("http.", "")
    assert client.get("/docs/style.css").headers["content-type"].startswith("text/css")


def test_every_operation_documents_its_problems(client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    described = [op for path, ops in paths.items() if "models" in path or "projects" in path for op in ops.values()]
    assert all({"404", "422", "503"} <= set(operation["responses"]) for operation in described)


# -- models ------------------------------------------------------------------------------------------------------------


def small(labels: tuple[str, str]) -> Pipeline:
    return Pipeline(OneVsRestSVM(random_state=0), TextFeatures(min_df=1)).fit(["cats purr", "dogs bark"], list(labels))


def test_a_replaced_folder_is_loaded_again_and_a_damaged_one_is_not(tmp_path) -> None:
    save(small(("cat", "dog")), tmp_path / "pets")
    app = create_app(Settings((str(tmp_path / "pets"),), reload_every=0.01))
    with TestClient(app) as client:

        def label() -> str:
            found = client.post("/api/v1/models/pets/top", json={"documents": ["purr"], "k": 1}).json()
            return found["results"][0]["labels"][0]["label"]

        assert label() == "cat"
        save(small(("Katze", "Hund")), tmp_path / "pets")
        for _ in range(500):
            if label() == "Katze":
                break
            time.sleep(0.01)
        assert label() == "Katze"
        manifest = tmp_path / "pets" / "manifest.json"
        manifest.write_text("{}")
        app.state.service.models.refresh()
        assert label() == "Katze"
        assert "manifest.json" in client.get("/api/v1/ready").json()["reload_failures"]["pets"]
        shutil.rmtree(tmp_path / "pets")
        app.state.service.models.refresh()
        assert label() == "Katze"


def test_models_are_named_after_folders_or_by_hand(folders, tmp_path) -> None:
    root = folders["joint"].rsplit("/", 1)[0]
    assert sorted(ModelRegistry([root]).folders) == sorted(folders)
    assert list(ModelRegistry([f"first={folders['flat']}"]).folders) == ["first"]
    with pytest.raises(ParameterError, match="both be called 'flat'.*NAME=FOLDER"):
        ModelRegistry([folders["flat"], f"flat={folders['joint']}"])
    with pytest.raises(ParameterError, match="cannot be the name"):
        ModelRegistry([f"a b={folders['flat']}"])
    with pytest.raises(StoreError, match="no such folder"):
        ModelRegistry([str(tmp_path / "absent")])
