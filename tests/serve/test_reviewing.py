"""Documents are added, handed out and decided over HTTP; progress and exports follow from the verdicts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import numpy as np
import pytest
from starlette.testclient import TestClient

from linnaeus.serve import review_schemas as schemas
from linnaeus.serve.app import create_app
from linnaeus.serve.settings import Settings
from tests.serve.conftest import WORDS, corpus

API = "/api/v1"


def started(folders, folder, **more) -> TestClient:
    given = {"control": 0.0, "blind": 0.0, "double": 0.0, **more}
    names = (folders["joint"], folders["fields"], folders["vectors"])
    return TestClient(
        create_app(Settings(names, store=str(folder), reload_every=0, **given)), raise_server_exceptions=False
    )


@pytest.fixture
def desk(folders, tmp_path) -> Iterator[TestClient]:
    with started(folders, tmp_path / "store") as client:
        yield client


def checked(response, schema: type, status: int = 200) -> dict:
    """The content of an answer, which has the documented form."""
    assert response.status_code == status, response.text
    schema.model_validate(response.json())
    return response.json()


def add(client, n: int = 8) -> dict:
    texts, _ = corpus(n)
    rows = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]
    return checked(client.post(f"{API}/documents", json={"documents": rows}), schemas.Added)


def following(client, coder: str = "anna", **query) -> dict:
    return checked(client.get(f"{API}/queue/next", params={"coder": coder, **query}), schemas.NextDocuments)


def say(client, *verdicts: dict, status: int = 200) -> dict:
    given = [
        {"key": f"{v.get('kind')}-{v.get('coder', 'anna')}-{v['document']}", "coder": "anna", **v} for v in verdicts
    ]
    response = client.post(f"{API}/verdicts", json={"verdicts": given})
    assert response.status_code == status, response.text
    return response.json()


def one(client, id: str) -> dict:
    return checked(client.get(f"{API}/documents/one", params={"id": id}), schemas.DocumentAnswer)


def test_documents_are_added_listed_decided_and_remembered_by_the_next_process(folders, tmp_path) -> None:
    with started(folders, tmp_path / "store") as client:
        assert add(client)["added"] == 8
        assert (add(client)["added"], add(client)["known"]) == (0, 8)
        found = following(client, limit=2)
        assert found["remaining"] == 8
        first = found["documents"][0]
        assert first["suggestions"][0]["probability"] >= first["suggestions"][1]["probability"]
        assert first["scored_by"] == found["model"]["fingerprint"]
        label = first["suggestions"][0]["label"]
        verdict = {"document": first["id"], "kind": "accept", "labels": [label], "rank": 1, "seconds": 2.5}
        assert [row["stored"] for row in say(client, verdict)["results"]] == [True]
        assert [row["stored"] for row in say(client, verdict)["results"]] == [False]
        assert [d["id"] for d in following(client, limit=1)["documents"]] == [found["documents"][1]["id"]]
    with started(folders, tmp_path / "store") as client:
        answer = one(client, first["id"])
        assert answer["document"]["labels"] == [label]
        assert [row["kind"] for row in answer["history"]] == ["accept"]
        listed = checked(client.get(f"{API}/documents?state=done"), schemas.DocumentList)
        assert [row["id"] for row in listed["documents"]] == [first["id"]]


def test_the_most_uncertain_documents_come_first_and_only_those_of_a_subtree(desk) -> None:
    add(desk, 24)
    every = following(desk, limit=50)["documents"]
    useful = [row["usefulness"] for row in every]
    assert useful == sorted(useful, reverse=True)
    checked(desk.post(f"{API}/queue/release", json={"coder": "anna"}), schemas.Released)
    below = following(desk, "ben", subtree="Animals", limit=50)["documents"]
    assert 0 < len(below) < 24
    assert all({"Cats", "Dogs"} & set(row["answer"]) for row in below)


def test_the_order_is_random_while_the_model_knows_little(desk, monkeypatch) -> None:
    served = next(iter(desk.app.state.service.models))
    monkeypatch.setitem(vars(served), "held_out_f1", 0.49)
    add(desk, 24)
    with desk.app.state.service.review.read() as transaction:
        rows = transaction.rows("SELECT usefulness, place, scored_by, number FROM documents ORDER BY number")
    assert all(row["usefulness"] == row["place"] for row in rows)
    assert all(row["scored_by"] == served.fingerprint for row in rows)
    assert [row["place"] for row in rows] != sorted(row["place"] for row in rows)


def test_held_out_f1_is_that_of_the_calibration_documents(desk) -> None:
    from linnaeus import metrics

    served = next(iter(desk.app.state.service.models))
    control, tax = served.model.estimator.risk_control_, served.taxonomy
    answers = [[str(tax.names[v]) for v in np.flatnonzero(row > 0.5)] for row in control.P.toarray()]
    expected = metrics.hierarchical_f1(control.gold, tax.indicator(answers), tax)
    assert served.held_out_f1 == pytest.approx(expected)
    assert 0.5 < served.held_out_f1 <= 1.0  # so that its expected costs are used


def test_usefulness_is_the_expected_number_of_wrong_nodes(folders, desk) -> None:
    from linnaeus import load

    add(desk, 6)
    model = load(folders["joint"])
    texts, _ = corpus(6)
    P, tax = model.node_probabilities(texts), model.taxonomy_
    found = {row["id"]: row for row in following(desk, limit=9)["documents"]}
    for i in range(6):
        closed = {int(v) for label in found[f"d{i}"]["answer"] for v in tax.ancestors(label)}
        nodes = [v for v in range(tax.n_nodes) if v != tax.root]
        cost = sum(1 - P[i, v] if v in closed else P[i, v] for v in nodes)
        assert found[f"d{i}"]["usefulness"] == pytest.approx(cost, abs=1e-5)


def test_documents_are_found_by_their_id_and_text(desk) -> None:
    rows = [{"id": "a%1", "text": "Kätzchen  purr\nloudly"}, {"id": "b", "text": "dog 100"}]
    checked(desk.post(f"{API}/documents", json={"documents": rows}), schemas.Added)

    def found(q: str) -> list[str]:
        listed = checked(desk.get(f"{API}/documents", params={"q": q}), schemas.DocumentList)
        return [row["preview"] for row in listed["documents"]]

    assert found("Kätz") == found("A%") == ["Kätzchen purr loudly"]
    assert found("%0") == found("_") == []
    assert found("DOG 1") == ["dog 100"]


def test_blind_documents_have_no_suggestions_until_they_are_decided(folders, tmp_path) -> None:
    with started(folders, tmp_path, control=1.0, blind=1.0) as client:
        add(client, 4)
        first = following(client)["documents"][0]
        assert (first["blind"], first["control"]) == (True, True)
        assert first["suggestions"] is first["answer"] is None
        say(client, {"document": first["id"], "kind": "none-fits"})
        assert one(client, first["id"])["document"]["suggestions"]


def test_files_of_documents_are_read_as_on_the_command_line(desk) -> None:
    table = "id,text,author\na1,cat purr,x\na2,dog bark,y\n"
    response = desk.post(f"{API}/documents/file?name=docs.csv", content=table.encode())
    assert checked(response, schemas.Added)["added"] == 2
    assert one(desk, "a1")["document"]["source"] == "docs.csv"
    lines = b'{"id": "b1", "title": "cat", "text": "purr"}\n{"id": "b2", "title": "dog", "text": "bark"}\n'
    response = desk.post(f"{API}/documents/file", params={"model": "fields"}, content=lines)
    assert checked(response, schemas.Added)["added"] == 2
    found = checked(desk.get(f"{API}/documents/one?id=b1&model=fields"), schemas.DocumentAnswer)
    assert found["document"]["fields"] == {"title": "cat", "text": "purr"}
    refused = desk.post(f"{API}/documents/file?name=docs.csv", content=b"\xff\xfe\x00broken")
    assert refused.status_code == 422
    assert "/tmp" not in refused.json()["detail"]


def test_vectors_are_documents_too(desk) -> None:
    rows = [{"id": str(i), "vector": [float(i == j) * 4 for j in range(3)]} for i in range(3)]
    response = desk.post(f"{API}/documents?model=vectors", json={"documents": rows})
    assert checked(response, schemas.Added)["added"] == 3
    assert following(desk, model="vectors")["documents"][0]["suggestions"][0]["score"] is not None
    refused = desk.post(f"{API}/documents?model=vectors", json={"documents": [{"text": "cat"}]})
    assert "vectors of numbers" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("verdict", "status", "message"),
    [
        ({"document": "d0", "kind": "accept", "labels": ["Catz"]}, 422, "did you mean 'Cats'"),
        ({"document": "d99", "kind": "accept", "labels": ["Cats"]}, 404, "no document 'd99'"),
        ({"document": "d0", "kind": "accept"}, 422, "needs 'labels'"),
        ({"document": "d0", "kind": "like"}, 422, "kind"),
        ({"document": "d0", "kind": "undo"}, 422, "no verdict"),
        ({"document": "d0", "kind": "flag", "coder": "a\0b"}, 422, "coder"),
        ({"document": "d0", "kind": "flag", "seconds": -1}, 422, "seconds"),
        ({"document": "d\ud800", "kind": "flag"}, 422, "document"),
    ],
)
def test_verdicts_that_cannot_be_stored_are_refused_in_words(desk, verdict, status, message) -> None:
    add(desk, 1)
    given = {"verdicts": [{"key": "k", "coder": "anna", **verdict}]}
    response = desk.post(f"{API}/verdicts", content=json.dumps(given), headers={"content-type": "application/json"})
    assert response.status_code == status, response.text
    assert message in response.json()["detail"]
    assert one(desk, "d0")["history"] == []


def test_verdicts_of_a_request_are_stored_all_or_not_at_all(desk) -> None:
    add(desk, 2)
    say(desk, {"document": "d0", "kind": "flag"}, {"document": "d9", "kind": "flag"}, status=404)
    assert one(desk, "d0")["history"] == []
    say(desk, {"document": "d0", "kind": "accept", "labels": ["Cats", "Cats"]}, {"document": "d1", "kind": "flag"})
    assert one(desk, "d0")["document"]["labels"] == ["Cats"]
    reused = {"verdicts": [{"key": "accept-anna-d0", "coder": "anna", "document": "d1", "kind": "flag"}]}
    assert desk.post(f"{API}/verdicts", json=reused).status_code == 409


def test_undo_and_redo_reach_the_state_of_the_document(desk) -> None:
    add(desk, 1)
    say(desk, {"document": "d0", "kind": "accept", "labels": ["Cats"]})
    assert say(desk, {"document": "d0", "kind": "undo"})["results"][0]["state"] == "open"
    assert say(desk, {"document": "d0", "kind": "redo"})["results"][0]["state"] == "done"
    assert [row["counts"] for row in one(desk, "d0")["history"]] == [True, False, True]
    assert one(desk, "d0")["history"][1]["undoes"] == "accept-anna-d0"


def test_progress_measures_the_model_on_control_documents_and_the_agreement_of_coders(folders, tmp_path) -> None:
    with started(folders, tmp_path, control=0.5, blind=0.1, double=1.0) as client:
        add(client, 40)
        empty = checked(client.get(f"{API}/progress"), schemas.Progress)
        assert (empty["states"], empty["control"]["n"], empty["seconds_left"]) == ({"open": 40}, 0, None)
        wrong = right = 0
        for coder in ("anna", "ben"):
            for row in following(client, coder, limit=50)["documents"]:
                answer = one(client, row["id"])["document"]["answer"] or ["Cats"]
                labels = answer if int(row["id"][1:]) % 4 else ["Flowers", "Cats"]
                say(
                    client,
                    {"document": row["id"], "coder": coder, "kind": "replace", "labels": labels, "seconds": 4.0},
                )
        for row in checked(client.get(f"{API}/documents?limit=1000"), schemas.DocumentList)["documents"]:
            if row["control"]:
                same = set(row["labels"]) == set(row["answer"])
                right, wrong = right + same, wrong + (not same)
        found = checked(client.get(f"{API}/progress"), schemas.Progress)
        assert (found["states"], found["seconds_left"]) == ({"done": 40}, 0.0)
        assert (found["control"]["n"], found["control"]["right"]) == (right + wrong, right)
        assert found["control"]["low"] < found["control"]["accuracy"] < found["control"]["high"]
        assert sum(block["n"] for block in found["control_over_time"]) == right + wrong
        assert 0 < found["blind"]["n"] < found["control"]["n"]
        (pair,) = found["agreement"]
        assert (pair["documents"], pair["same"], pair["kappa_nodes"], pair["kappa_hierarchical"]) == (40, 40, 1.0, 1.0)


def test_exports_have_the_final_labels_and_no_formula_for_spreadsheets(desk) -> None:
    rows = [
        {"id": "=1+1", "text": "=HYPERLINK(1)\ncat \ud800"},
        {"id": "d/2", "text": "dog, bark"},
        {"id": "open", "text": "x"},
    ]
    desk.post(
        f"{API}/documents",
        content=json.dumps({"documents": rows}),
        headers={"content-type": "application/json"},
    )
    say(
        desk,
        {"key": "1", "document": "=1+1", "kind": "accept", "labels": ["Cats"]},
        {"key": "2", "document": "d/2", "kind": "none-fits"},
    )
    lines = desk.get(f"{API}/export").text.splitlines()
    assert [json.loads(line)["labels"] for line in lines] == [["Cats"], []]
    assert len(desk.get(f"{API}/export?state=all").text.splitlines()) == 3
    table = desk.get(f"{API}/export?format=csv")
    assert table.headers["content-disposition"] == 'attachment; filename="joint.csv"'
    cells = list(csv.DictReader(io.StringIO(table.content.decode("utf-8-sig"))))
    assert [row["id"] for row in cells] == ["'=1+1", "d/2"]
    assert cells[0]["text"].startswith("'=HYPERLINK")
    assert desk.get(f"{API}/export?format=annif").text.splitlines()[0].endswith("\t<Cats>")
    tasks = desk.get(f"{API}/export?format=label-studio").json()
    assert tasks[0]["annotations"][0]["result"][0]["value"]["taxonomy"] == [["Animals", "Cats"]]


def test_exported_lines_train_a_model(desk, tmp_path) -> None:
    from linnaeus.data.readers import read_dataset

    add(desk, 4)
    say(desk, *({"document": f"d{i}", "kind": "accept", "labels": [list(WORDS)[i]]} for i in range(4)))
    (tmp_path / "out.jsonl").write_bytes(desk.get(f"{API}/export").content)
    assert read_dataset(tmp_path / "out.jsonl").labels == [[label] for label in WORDS]


def test_erased_texts_are_gone_and_verdicts_stay(desk) -> None:
    add(desk, 2)
    say(desk, {"document": "d0", "kind": "accept", "labels": ["Cats"]})
    assert checked(desk.post(f"{API}/documents/erase?id=d0"), schemas.Erased)["erased"]
    found = one(desk, "d0")
    assert (found["document"]["erased"], "text" in found["document"], len(found["history"])) == (True, False, 1)
    assert desk.get(f"{API}/export?format=csv").status_code == 200


def test_a_service_without_a_store_says_how_to_get_one(client) -> None:
    for path in ("documents", "queue/next?coder=a", "progress", "export"):
        response = client.get(f"{API}/{path}")
        assert (response.status_code, "--store" in response.json()["detail"]) == (404, True)


def test_documents_are_scored_again_when_the_model_is_replaced(folders, tmp_path) -> None:
    import shutil

    shutil.copytree(folders["joint"], tmp_path / "joint")
    settings = Settings((str(tmp_path / "joint"),), store=str(tmp_path / "store"), reload_every=0)
    app = create_app(settings)
    with TestClient(app) as client:
        add(client, 4)
        before = following(client)["documents"][0]["scored_by"]
        shutil.rmtree(tmp_path / "joint")
        shutil.copytree(folders["flat"], tmp_path / "joint")
        assert app.state.service.models.refresh() == ["joint"]
        after = following(client)
        assert before != after["documents"][0]["scored_by"] == after["model"]["fingerprint"]


def read(client, name: str, content: str, status: int = 200) -> dict:
    response = client.post(f"{API}/verdicts/file", params={"coder": "anna", "name": name}, content=content.encode())
    assert response.status_code == status, response.text
    return response.json()


def exported(client, format: str) -> str:
    return client.get(f"{API}/export", params={"format": format}).text


def test_what_annif_has_coded_is_read_as_verdicts_once_and_documents_are_found_by_their_text(desk) -> None:
    add(desk, 4)
    texts, _ = corpus(4)
    content = f"{texts[0].upper()}\t<Cats> <Trees>\na  new thing\t<Dogs>\n"
    found = read(desk, "coded.tsv", content)
    assert (found["added"], found["stored"], found["repeated"]) == (1, 2, 0)
    assert read(desk, "coded.tsv", content)["repeated"] == 2
    answer = one(desk, "d0")
    assert (answer["document"]["labels"], answer["history"][0]["coder"]) == (["Cats", "Trees"], "anna")


def test_an_export_for_label_studio_is_read_with_its_coders(folders, tmp_path) -> None:
    with started(folders, tmp_path / "first") as client:
        add(client, 4)
        say(client, {"document": "d0", "kind": "replace", "labels": ["Cats"], "coder": "ben"})
        say(client, {"document": "d1", "kind": "none-fits", "coder": "ben"})
        tasks = client.get(f"{API}/export", params={"format": "label-studio", "state": "all"}).text
    skipped = {"completed_by": {"id": 9}, "was_cancelled": True, "result": []}
    given = json.loads(tasks)
    given[2]["annotations"] = [skipped]
    with started(folders, tmp_path / "second") as client:
        found = read(client, "tasks.json", json.dumps(given))
        assert (found["added"], found["stored"], found["without"]) == (4, 3, 1)
        assert one(client, "d0")["document"]["labels"] == ["Cats"]
        assert one(client, "d0")["history"][0]["coder"] == "ben"
        assert [one(client, id)["history"][0]["kind"] for id in ("d1", "d2")] == ["none-fits", "cannot-tell"]
        assert one(client, "d2")["history"][0]["coder"] == "9"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a thing\t<Catz>\n", "label 'Catz' of document 1 is not in the taxonomy; did you mean 'Cats'"),
        ('[{"data": {"text": "a"}, "annotations": []}]', "no document has labels"),
    ],
)
def test_files_that_cannot_be_verdicts_are_refused_and_nothing_is_added(desk, content, words) -> None:
    assert words in read(desk, "coded", content, 422)["detail"]
    assert checked(desk.get(f"{API}/documents"), schemas.DocumentList)["total"] == 0


def test_annotations_with_skos_concepts_are_rdf(desk) -> None:
    ox = pytest.importorskip("pyoxigraph")
    hostile = 'a "quoted" <id>'
    desk.post(
        f"{API}/documents", json={"documents": [{"id": hostile, "text": "a"}, {"id": "http://e.org/1", "text": "b"}]}
    )
    for id in (hostile, "http://e.org/1"):
        say(desk, {"document": id, "kind": "replace", "labels": ["Cats", "Trees"]})
    found = {tuple(map(str, quad))[:3] for quad in ox.parse(exported(desk, "skos"), format=ox.RdfFormat.TURTLE)}
    subject = "<http://purl.org/dc/terms/subject>"
    assert ("<http://e.org/1>", subject, "<urn:linnaeus:Cats>") in found
    assert sum(predicate == subject for _, predicate, _ in found) == 4
