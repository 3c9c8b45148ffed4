"""What the service answers is what Python and the command line answer, for every kind of model and request."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import load
from linnaeus.cli.main import run
from linnaeus.serve.schemas import Answer, Explanation, ProbabilityAnswer

from .conftest import WORDS

TEXTS = ["cat purr", "dog bark leash", "rose", "bark", "nothing known"]
ALL_WORDS = [word for words in WORDS.values() for word in words.split()]
# Operation and body of a request, and the same as options of `linnaeus predict`.
REQUESTS = [
    ("predict", {}, []),
    ("predict", {"closed": True}, ["--closed"]),
    ("predict", {"answer_unknown": True}, ["--answer-unknown"]),
    ("predict", {"decoder": "best_leaf"}, ["--decoder", "best_leaf"]),
    ("predict", {"rules": {"at_most": 1, "only_under": "Animals"}}, ["--at-most", "1", "--only-under", "Animals"]),
    ("predict", {"rules": {"exclude": ["Cats", "Trees"]}}, ["--exclude", "Cats", "--exclude", "Trees"]),
    ("top", {"k": 3}, ["--top", "3"]),
    ("top", {"k": 2, "rules": {"exclude": ["Dogs"]}}, ["--top", "2", "--exclude", "Dogs"]),
    ("n-best", {"n": 3}, ["--n-best", "3"]),
    ("n-best", {"n": 2, "rules": {"one_per": "tops"}}, ["--n-best", "2", "--one-per", "tops"]),
]
CALIBRATED = [
    ("predict", {"probabilities": True}, ["--probabilities"]),
    ("top", {"k": 3, "probabilities": True}, ["--top", "3", "--probabilities"]),
    ("top", {"probabilities": True, "ancestors": True}, ["--top", "5", "--probabilities", "--ancestors"]),
    ("risk", {"risk": 0.2}, ["--risk", "0.2"]),
    ("risk", {"risk": 0.06, "candidates": 2}, ["--risk", "0.06", "--candidates", "2"]),
]
CASES = [(name, *case) for name in ("joint", "flat", "fields", "single") for case in REQUESTS]
CASES += [("joint", *case) for case in CALIBRATED]


def answered(client, name: str, operation: str, documents: list, **body: object) -> list[dict]:
    response = client.post(f"/api/v1/models/{name}/{operation}", json={"documents": documents, **body})
    assert response.status_code == 200, response.text
    Answer.model_validate(response.json())
    return response.json()["results"]


@pytest.mark.parametrize(("name", "operation", "body", "options"), CASES)
def test_the_service_answers_as_the_command_line_does(client, folders, capsys, name, operation, body, options) -> None:
    texts = [word for text in TEXTS for word in ("--document", text)]
    with pytest.raises(SystemExit) as stopped:
        run(["predict", folders[name], *texts, "--json", *options])
    printed = capsys.readouterr()
    assert stopped.value.code == 0, printed.err
    expected = [json.loads(line) for line in printed.out.splitlines()]
    assert answered(client, name, operation, TEXTS, **body) == expected


@pytest.mark.parametrize("name", ["joint", "flat", "single"])
@settings(max_examples=10, deadline=None)
@given(
    texts=st.lists(st.lists(st.sampled_from(ALL_WORDS), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=4)
)
def test_a_batch_is_answered_as_single_documents_and_as_in_python(client, folders, name, texts) -> None:
    found = answered(client, name, "predict", texts)
    assert [answered(client, name, "predict", [text])[0] | {"id": str(i + 1)} for i, text in enumerate(texts)] == found
    answers = load(folders[name]).predict(texts)
    expected = [{answer} if isinstance(answer, str) else set(answer) for answer in answers]
    assert [{label["label"] for label in record["labels"]} for record in found] == expected


def test_vectors_are_answered(client, folders) -> None:
    vectors = [[4.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
    found = answered(client, "vectors", "top", [{"vector": vector} for vector in vectors], k=1)
    assert [record["labels"][0]["label"] for record in found] == load(folders["vectors"]).predict(vectors).tolist()


def test_rules_of_a_document_replace_those_of_the_request(client) -> None:
    documents = [
        {"id": "a", "text": "cat purr rose"},
        {"id": "b", "text": "cat purr rose", "rules": {"only_under": ["Plants"]}},
        {"id": "c", "text": "cat purr dog", "rules": {"exclude": ["Cats"]}},
    ]
    common = {"only_under": ["Animals"], "at_most": 1}
    found = answered(client, "joint", "predict", documents, rules=common)
    assert [record["id"] for record in found] == ["a", "b", "c"]
    assert [[label["label"] for label in record["labels"]] for record in found] == [["Cats"], ["Flowers"], ["Dogs"]]
    alone = answered(client, "joint", "predict", ["cat purr rose"], rules={"only_under": ["Plants"], "at_most": 1})
    assert found[1] == alone[0] | {"id": "b"}
    documents[2]["rules"] = {"exclude": ["Animals"]}
    refused = client.post("/api/v1/models/joint/predict", json={"documents": documents, "rules": common})
    assert "rules of 'c': No label set" in refused.json()["detail"]


def test_rules_that_no_set_obeys_are_refused_in_words(client) -> None:
    body = {"documents": ["cat"], "rules": {"only_under": "Animals", "exclude": "Animals"}}
    response = client.post("/api/v1/models/joint/predict", json=body)
    assert response.status_code == 422
    assert "contradict" in response.json()["detail"]


def test_bounds_above_the_number_of_nodes_cost_no_work(client) -> None:
    free = answered(client, "joint", "n-best", TEXTS, n=3)
    for rules in ({"at_most": 1000}, {"at_most_under": {"Animals": 1000}}):
        assert answered(client, "joint", "n-best", TEXTS, n=3, rules=rules) == free
    refused = client.post("/api/v1/models/joint/predict", json={"documents": ["cat"], "rules": {"at_least": 900}})
    assert (refused.status_code, refused.json()["detail"]) == (422, "at_least=900: the taxonomy has only 6 nodes.")
    assert (
        client.post(
            "/api/v1/models/joint/predict", json={"documents": ["cat"], "rules": {"at_most": 10**6}}
        ).status_code
        == 422
    )


def test_probabilities_are_those_of_predict_proba(client, folders) -> None:
    body = {"documents": ["cat purr", "rose"], "nodes": ["Cats", "Animals", "Flowers"]}
    response = client.post("/api/v1/models/joint/probabilities", json=body)
    ProbabilityAnswer.model_validate(response.json())
    model = load(folders["joint"])
    X = model.matrix(body["documents"])
    column = [str(model.taxonomy_.names[v]) for v in model.nodes_].index("Cats")
    for i, result in enumerate(response.json()["results"]):
        values = {entry["label"]: entry["probability"] for entry in result["probabilities"]}
        assert list(values) == body["nodes"]
        assert values["Cats"] == pytest.approx(model.predict_proba(body["documents"])[i, column], abs=1e-6)
        inner = model.estimator.node_probabilities(X)[i, model.taxonomy_.index("Animals")]
        assert values["Animals"] == pytest.approx(inner, abs=1e-6)
    best = client.post("/api/v1/models/joint/probabilities", json={"documents": ["cat purr"], "k": 1}).json()
    assert best["results"][0]["probabilities"][0]["label"] == "Cats"
    refused = client.post("/api/v1/models/flat/probabilities", json={"documents": ["cat"]})
    assert (refused.status_code, "linnaeus calibrate" in refused.json()["detail"]) == (422, True)


@pytest.mark.parametrize(("node", "options"), [(None, []), ("Dogs", ["--node", "Dogs"])])
def test_explanations_are_those_of_the_command_line(client, folders, capsys, node, options) -> None:
    with pytest.raises(SystemExit):
        run(["explain", folders["joint"], "--document", "cat purr bark", "--json", *options])
    expected = json.loads(capsys.readouterr().out)
    response = client.post("/api/v1/models/joint/explain", json={"document": "cat purr bark", "node": node})
    Explanation.model_validate(response.json())
    assert response.json()["nodes"] == expected
    assert all(entry["nearest"] for entry in expected)


# -- streams -----------------------------------------------------------------------------------------------------------


def test_a_stream_answers_every_line_as_a_batch_does(client) -> None:
    lines = "\n".join([json.dumps(text) for text in TEXTS * 30] + ["", json.dumps({"id": "last", "text": "rose"})])
    response = client.post("/api/v1/models/joint/top/stream?k=2", content=lines)
    assert response.headers["content-type"] == "application/x-ndjson"
    found = [json.loads(line) for line in response.text.splitlines()]
    expected = answered(client, "joint", "top", TEXTS, k=2)
    assert found[: len(TEXTS)] == expected
    assert [record["labels"] for record in found[5:10]] == [record["labels"] for record in expected]
    assert [record["id"] for record in found] == [*map(str, range(1, 151)), "last"]


def test_a_line_that_cannot_be_answered_does_not_stop_the_stream(client) -> None:
    bad = [
        "{",
        "[1, 2]",
        '{"text": "a", "vector": [1]}',
        '{"fields": {"titel": "cat"}}',
        '{"text": "x", "rules": {"exclude": ["Cots"]}}',
    ]
    response = client.post("/api/v1/models/joint/predict/stream", content="\n".join(['"cat"', *bad, '"dog"']))
    found = [json.loads(line) for line in response.text.splitlines()]
    assert [entry.get("line") for entry in found] == [None, 2, 3, 4, 5, 6, None]
    assert "did you mean 'Cats'" in found[5]["problem"]["detail"]
    assert [found[0]["id"], found[-1]["id"]] == ["1", "7"]


def test_parameters_of_a_stream_are_validated_before_it_starts(client) -> None:
    refused = client.post("/api/v1/models/joint/top/stream?k=0", content='"cat"')
    assert (refused.status_code, refused.json()["errors"][0]["place"]) == (422, "k")
    rules = client.post('/api/v1/models/joint/predict/stream?rules={"only_under":["Plants"]}', content='"cat rose"')
    assert [label["label"] for label in rules.json()["labels"]] == ["Flowers"]
    assert client.post("/api/v1/models/joint/explain/stream", content='"cat"').status_code == 404
    long = client.post("/api/v1/models/joint/predict/stream", content='"cat"\n"' + "x" * 200_000)
    assert json.loads(long.text.splitlines()[-1])["problem"]["status"] == 413


@pytest.mark.parametrize("operation", ["predict", "top", "n-best"])
def test_candidates_of_a_document_are_those_of_its_request_alone(client, operation) -> None:
    own = [["Cats", "Flowers"], ["Trees"], None, ["Flowers", "Dogs"]]
    documents = [{"text": "cat purr rose"} | ({} if few is None else {"rules": {"candidates": few}}) for few in own]
    found = answered(client, "joint", operation, documents)
    for record, few in zip(found, own, strict=True):
        rules = {} if few is None else {"rules": {"candidates": few}}
        assert record | {"id": "1"} == answered(client, "joint", operation, ["cat purr rose"], **rules)[0]
    assert [label["label"] for label in found[1]["labels"]] == ["Trees"]


def test_documents_with_different_candidates_are_answered_in_one_pass(client, monkeypatch) -> None:
    from linnaeus.answering.records import Answering

    sizes, each = [], Answering.records
    monkeypatch.setattr(Answering, "records", lambda self, batch: sizes.append(len(batch)) or each(self, batch))
    own = [["Cats"], ["Trees"], ["Flowers", "Dogs"]]
    documents = [{"text": "cat purr rose", "rules": {"candidates": few}} for few in own]
    answered(client, "joint", "predict", documents)
    assert sizes == [3]
