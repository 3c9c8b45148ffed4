"""Clients of Annif work unchanged."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from linnaeus import OneVsRestSVM, Pipeline, Taxonomy, save
from linnaeus.features.text import TextFeatures
from linnaeus.serve.app import create_app
from linnaeus.serve.settings import Settings
from linnaeus.taxonomy.texts import Texts
from tests.serve.conftest import EDGES, corpus
from tests.serve.test_running import running


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
    assert refused.status_code == 400


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


# -- learning ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def learning(folders, tmp_path) -> Iterator[TestClient]:
    settings = Settings((folders["joint"],), store=str(tmp_path), reload_every=0, control=1.0, double=1.0)
    with TestClient(create_app(settings)) as made:
        yield made


def learned(client, *documents: dict) -> int:
    return client.post("/v1/projects/joint/learn", json=list(documents)).status_code


def test_documents_that_are_learned_are_decided_by_their_subjects_and_are_no_random_sample(learning) -> None:
    cat = {"text": "purr", "subjects": [{"uri": "Cats", "label": "Cats"}, {"uri": "Cats"}], "document_id": "a"}
    response = learning.post("/v1/projects/joint/learn", json=[cat, {"text": "moss", "subjects": []}])
    assert (response.status_code, response.content) == (204, b"")
    first, second = learning.get("/api/v1/documents").json()["documents"]
    assert (first["id"], first["state"], first["labels"], first["control"]) == ("a", "done", ["Cats"], False)
    assert (second["state"], second["labels"]) == ("done", [])


def test_the_last_subjects_count_and_what_is_sent_again_is_stored_once(learning) -> None:
    for uri in ("Cats", "Dogs", "Dogs", "Cats"):
        assert learned(learning, {"text": "purr", "subjects": [{"uri": uri}], "document_id": "a"}) == 204
    found = learning.get("/api/v1/documents/one?id=a").json()
    assert [row["labels"] for row in found["history"]] == [["Cats"], ["Dogs"], ["Cats"]]
    assert found["document"]["labels"] == ["Cats"]


def test_what_cannot_be_learned_is_refused_as_a_whole(learning, client) -> None:
    right = {"text": "purr", "subjects": [{"uri": "Cats"}], "document_id": "a"}
    assert learned(learning, right, {"text": "bark", "subjects": [{"uri": "Dgos"}]}) == 400
    assert learned(learning, right, {"text": "bark"}) == 400
    assert learning.get("/api/v1/documents").json()["total"] == 0
    assert learned(learning, right) == 204
    assert learned(learning, {**right, "text": "another text"}) == 409
    assert client.post("/v1/projects/joint/learn", json=[right]).status_code == 403  # a service without a store
    assert client.post("/v1/projects/none/learn", json=[right]).status_code == 404


# -- a real Annif ------------------------------------------------------------------------------------------------------

_ANNIF = os.environ.get("LINNAEUS_ANNIF", "")


@pytest.mark.slow
@pytest.mark.skipif(not _ANNIF, reason="LINNAEUS_ANNIF does not name the executable of an Annif")
def test_annif_suggests_and_evaluates_through_its_http_backend(tmp_path) -> None:
    address = "http://example.org/"
    tax = Taxonomy.from_edges([(address + parent, address + child) for parent, child in EDGES])
    named = [(v, "preferred", "en", str(name).removeprefix(address)) for v, name in enumerate(tax.names)]
    tax = tax.with_texts(Texts.from_entries(named))
    tax.write(tmp_path / "pets.ttl")
    texts, labels = corpus()
    uris = [[address + label for label in row] for row in labels]
    save(Pipeline(OneVsRestSVM(tax), TextFeatures(min_df=1)).fit(texts, uris), tmp_path / "pets")
    lines = [f"{text}\t{' '.join(f'<{uri}>' for uri in row)}" for text, row in zip(texts, uris, strict=True)]
    (tmp_path / "gold.tsv").write_text("\n".join(lines) + "\n")

    def annif(*arguments: str, text: str | None = None) -> str:
        found = subprocess.run(
            [_ANNIF, *arguments], cwd=tmp_path, input=text, capture_output=True, text=True, timeout=300, check=False
        )
        assert found.returncode == 0, found.stderr
        return found.stdout

    with running(str(tmp_path / "pets")) as (_, port):
        (tmp_path / "projects.cfg").write_text(
            "[linnaeus]\nname=linnaeus\nlanguage=en\nbackend=http\nvocab=pets\nlimit=10\n"
            f"endpoint=http://127.0.0.1:{port}/v1/projects/pets/suggest\n"
        )
        annif("load-vocab", "pets", "pets.ttl")
        suggested = annif("suggest", "--limit", "1", "linnaeus", text="cat purr whisker kitten claw")
        assert suggested.split("\t")[:2] == [f"<{address}Cats>", "Cats"]
        shown = annif("show-project", "linnaeus")
        assert "True" in next(line for line in shown.splitlines() if line.startswith("Trained"))
        annif("eval", "--metric", "NDCG@5", "--metrics-file", "scores.json", "linnaeus", "gold.tsv")
        assert json.loads((tmp_path / "scores.json").read_text())["NDCG@5"] > 0.9
