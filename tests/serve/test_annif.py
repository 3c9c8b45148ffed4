"""Clients of Annif work unchanged."""

from __future__ import annotations

import pytest


def test_models_are_projects_and_taxonomies_vocabularies(client) -> None:
    projects = {entry["project_id"]: entry for entry in client.get("/v1/projects").json()["projects"]}
    assert projects["joint"] == client.get("/v1/projects/joint").json()
    assert projects["joint"]["is_trained"] is True
    assert set(projects["joint"]) >= {"name", "language", "backend", "vocab", "vocab_language", "modification_time"}
    vocabs = client.get("/v1/vocabs").json()["vocabs"]
    assert projects["joint"]["vocab"] in vocabs
    assert len(vocabs) == 1  # all models have the same taxonomy
    assert set(client.get("/v1/").json()) == {"title", "version"}


@pytest.mark.parametrize("name", ["joint", "flat", "fields", "single"])
def test_suggestions_are_the_best_nodes_with_scores_from_0_to_1(client, name) -> None:
    data = {"text": "cat purr whisker", "limit": "2", "project": "ignored"}
    results = client.post(f"/v1/projects/{name}/suggest", data=data).json()["results"]
    assert (results[0]["uri"], results[0]["notation"], len(results)) == ("Cats", "42.1", 2)
    assert 1 >= results[0]["score"] > results[1]["score"] > 0
    above = client.post(f"/v1/projects/{name}/suggest", data={**data, "threshold": "0.5"}).json()["results"]
    assert above == [entry for entry in results if entry["score"] >= 0.5]


def test_a_batch_is_suggested_as_single_texts(client) -> None:
    documents = [{"document_id": "a", "text": "cat purr"}, {"text": "nothing known"}, {"text": "rose"}]
    found = client.post("/v1/projects/joint/suggest-batch?limit=3", json={"documents": documents}).json()
    assert [entry["document_id"] for entry in found] == ["a", None, None]
    for document, entry in zip(documents, found, strict=True):
        single = client.post("/v1/projects/joint/suggest", data={"text": document["text"], "limit": 3}).json()
        assert entry["results"] == single["results"]
    assert found[1]["results"] == []


def test_labels_are_in_the_language_that_is_asked_for(client) -> None:
    data = {"text": "cat purr", "limit": 1, "language": "de"}
    assert client.post("/v1/projects/joint/suggest", data=data).json()["results"][0]["label"] == "Katzen"
    refused = client.post("/v1/projects/joint/suggest", data={**data, "language": "xx"})
    assert refused.status_code == 422


def test_metadata_are_fields_of_the_model(client) -> None:
    plain = client.post("/v1/projects/fields/suggest", data={"text": "bark", "limit": 1}).json()["results"]
    data = {"text": "bark", "metadata_title": "tree", "metadata_other": "x", "limit": 1}
    titled = client.post("/v1/projects/fields/suggest", data=data).json()["results"]
    assert titled[0]["uri"] == "Trees"
    assert titled != plain


@pytest.mark.parametrize(
    ("path", "data", "status"),
    [
        ("/v1/projects/nothing/suggest", {"text": "a"}, 404),
        ("/v1/projects/joint/suggest", {"limit": "3"}, 400),
        ("/v1/projects/joint/suggest", {"text": "a", "limit": "-1"}, 400),
        ("/v1/projects/joint/suggest", {"text": "a", "threshold": "nan"}, 400),
        ("/v1/detect-language", {"text": "a"}, 404),
    ],
)
def test_errors_are_problems(client, path, data, status) -> None:
    response = client.post(path, data=data)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
