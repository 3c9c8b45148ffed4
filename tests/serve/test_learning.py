"""Verdicts act: through the memory at once, in online models at once, in others by trainings that a person promotes."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from linnaeus import Hieron, Pipeline, load, save
from linnaeus.features.text import TextFeatures
from linnaeus.serve import review_schemas as schemas
from linnaeus.serve import working
from linnaeus.serve.app import create_app
from linnaeus.serve.learning import FEWEST_CONTROL, learn_online
from linnaeus.serve.settings import Settings
from linnaeus.serve.store.audit import verify
from tests.serve.conftest import WORDS, corpus, taxonomy
from tests.serve.test_reviewing import API, add, checked, following, one, say


@pytest.fixture
def served(folders, tmp_path) -> Iterator[TestClient]:
    """A client of a calibrated model in a folder of its own, with its training documents."""
    shutil.copytree(folders["joint"], tmp_path / "joint")
    texts, labels = corpus()
    lines = [json.dumps({"text": text, "labels": row}) for text, row in zip(texts, labels, strict=True)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    settings = Settings(
        (str(tmp_path / "joint"),),
        store=str(tmp_path / "store"),
        reload_every=0,
        control=0.4,
        blind=0,
        double=0,
        training=(str(tmp_path / "train.jsonl"),),
    )
    with TestClient(create_app(settings)) as client:
        client.app_folder = tmp_path
        yield client


def finished(client, id: str) -> dict:
    for _ in range(600):
        found = checked(client.get(f"{API}/jobs/{id}"), working.JobAnswer)["job"]
        if found["state"] not in ("waiting", "running"):
            return found
        time.sleep(0.1)
    raise AssertionError(found)


# -- memory ------------------------------------------------------------------------------------------------------------


def documents(client, *texts: str) -> None:
    rows = [{"id": f"m{i}", "text": text} for i, text in enumerate(texts)]
    checked(client.post(f"{API}/documents", json={"documents": rows}), schemas.Added)


LONG = "the quick cat sat on the warm mat and watched a small bird outside the old kitchen window all day long"


def test_decided_duplicates_and_near_duplicates_are_shown_with_their_labels(served) -> None:
    documents(served, "A  cat purrs", "a CAT purrs", LONG, LONG + " today", "something else entirely")
    assert one(served, "m1")["document"]["memory"] is None
    say(served, {"document": "m0", "kind": "accept", "labels": ["Dogs"]})
    say(served, {"document": "m2", "kind": "accept", "labels": ["Trees"]})
    same = one(served, "m1")["document"]["memory"]
    assert same == {"document": "m0", "coder": "anna", "labels": ["Dogs"], "similarity": 1.0}
    near = one(served, "m3")["document"]["memory"]
    assert (near["document"], near["labels"]) == ("m2", ["Trees"])
    assert 0.8 <= near["similarity"] < 1
    assert one(served, "m4")["document"]["memory"] is None
    shown = {row["id"]: row["memory"] for row in following(served, limit=9)["documents"]}
    assert shown["m1"] == same
    say(served, {"document": "m0", "kind": "undo"})
    assert one(served, "m1")["document"]["memory"] is None


def test_answers_carry_what_is_remembered_unless_it_is_switched_off(folders, tmp_path) -> None:
    for memory in (True, False):
        settings = Settings(
            (folders["joint"],), store=str(tmp_path), reload_every=0, control=0, double=0, memory=memory
        )
        with TestClient(create_app(settings)) as client:
            documents(client, "a cat purrs")
            say(client, {"document": "m0", "kind": "accept", "labels": ["Dogs"]})
            response = client.post(f"{API}/models/joint/predict", json={"documents": ["A cat  purrs", "bark"]})
            first, second = response.json()["results"]
            assert [entry["label"] for entry in first["labels"]] == ["Cats"]  # the answer is that of the model
            assert ("memory" in first, "memory" in second) == (memory, False)
            if memory:
                assert first["memory"]["labels"] == ["Dogs"]


def test_answers_of_the_model_itself_are_not_remembered(served) -> None:
    documents(served, "a cat purrs", "A cat purrs")
    service = served.app.state.service
    from linnaeus.serve.store.verdicts import NewVerdict

    verdict = NewVerdict("k", "m0", "model:1", "accept", labels=["Cats"])
    service.review.verdicts(service.models.get("joint"), [verdict])
    assert one(served, "m0")["document"]["state"] == "done"
    assert one(served, "m1")["document"]["memory"] is None
    refused = {"key": "k2", "document": "m1", "coder": "model:1", "kind": "accept", "labels": ["Cats"]}
    assert served.post(f"{API}/verdicts", json={"verdicts": [refused]}).status_code == 422


# -- online models -----------------------------------------------------------------------------------------------------


def test_online_models_learn_each_verdict_once_and_never_from_control_documents(tmp_path) -> None:
    texts, labels = corpus(24)
    model = Pipeline(Hieron(taxonomy(), random_state=0), TextFeatures(min_df=1)).fit(texts, labels)
    save(model, tmp_path / "online")
    before = load(tmp_path / "online").estimator.n_docs_
    settings = Settings(
        (str(tmp_path / "online"),), store=str(tmp_path / "s"), reload_every=0, control=0.5, blind=0, double=0
    )
    app = create_app(settings)
    with TestClient(app) as client:
        add(client, 12)
        for i in range(12):
            say(client, {"document": f"d{i}", "kind": "accept", "labels": [list(WORDS)[i % 4]]})
        service = app.state.service
        n_free = sum(not one(client, f"d{i}")["document"]["control"] for i in range(12))
        assert 0 < n_free < 12
        assert learn_online(service.review, service.models.get("online")) == n_free
        assert learn_online(service.review, service.models.get("online")) == 0
        assert load(tmp_path / "online").estimator.n_docs_ == before + n_free
        assert service.models.refresh() == ["online"]
        versions = checked(client.get(f"{API}/models/online/versions"), working.VersionList)["versions"]
        back = client.post(f"{API}/models/online/promote", json={"version": versions[0]["id"], "by": "anna"})
        assert checked(back, working.Promoted)["after"] == versions[0]["fingerprint"]
        assert load(tmp_path / "online").estimator.n_docs_ == before
        assert verify(tmp_path / "s", service.review.database).problems == []


# -- trainings ---------------------------------------------------------------------------------------------------------


def decided(client, n: int) -> None:
    texts, labels = corpus(n)
    rows = [{"id": f"d{i}", "text": f"{text} {i}"} for i, text in enumerate(texts)]
    for start in range(0, n, 50):
        checked(client.post(f"{API}/documents", json={"documents": rows[start : start + 50]}), schemas.Added)
    say(client, *({"document": f"d{i}", "kind": "accept", "labels": labels[i]} for i in range(n)))


def test_a_refit_is_compared_on_control_documents_and_promoted_and_brought_back_by_a_person(served) -> None:
    decided(served, 40)
    before = served.get(f"{API}/models/joint").json()["fingerprint"]
    started = checked(served.post(f"{API}/models/joint/refit", json={"max_time": "10min"}), working.JobAnswer, 202)
    found = finished(served, started["job"]["id"])
    assert found["state"] == "done", found
    n_control = served.get(f"{API}/progress").json()["control"]["n"]
    assert found["result"]["documents"] == 48 + 40 - n_control
    assert found["result"]["control"] == n_control
    assert all("p_value" in row for row in found["result"]["comparison"])
    assert served.get(f"{API}/models/joint").json()["fingerprint"] == before  # nothing is replaced by itself
    version = found["result"]["version"]
    promoted = served.post(f"{API}/models/joint/promote", json={"version": version, "by": "anna"})
    answer = checked(promoted, working.Promoted)
    assert (answer["before"], answer["after"]) == (before, found["result"]["fingerprint"])
    card = served.get(f"{API}/models/joint").json()
    assert (card["fingerprint"], card["can"]["risk"]) == (answer["after"], True)
    back = served.post(f"{API}/models/joint/promote", json={"version": answer["version"], "by": "anna"})
    assert checked(back, working.Promoted)["after"] == before
    assert served.get(f"{API}/models/joint").json()["fingerprint"] == before
    unknown = served.post(f"{API}/models/joint/promote", json={"version": "x", "by": "anna"})
    assert unknown.status_code == 404


def test_a_recalibration_needs_enough_verdicts_on_control_documents(served) -> None:
    decided(served, 10)
    refused = served.post(f"{API}/models/joint/recalibrate")
    assert refused.status_code == 422
    assert f"at least {FEWEST_CONTROL} control documents" in refused.json()["detail"]
    assert "there are" in refused.json()["detail"]


def test_a_recalibration_uses_control_documents_only_and_its_promise_is_exact(served) -> None:
    decided(served, 320)
    n_control = served.get(f"{API}/progress").json()["control"]["n"]
    assert n_control >= FEWEST_CONTROL
    request = {"documents": ["cat purr whisker"], "risk": 0.2}
    assert "approximate" in served.post(f"{API}/models/joint/risk", json=request).json()["note"]
    started = checked(served.post(f"{API}/models/joint/recalibrate"), working.JobAnswer, 202)
    found = finished(served, started["job"]["id"])
    assert (found["state"], found["result"]["documents"]) == ("done", n_control)
    served.post(f"{API}/models/joint/promote", json={"version": found["result"]["version"], "by": "anna"})
    assert load(served.app_folder / "joint").risk_control_.exact
    assert "note" not in served.post(f"{API}/models/joint/risk", json=request).json()


def test_a_training_that_fails_says_why(served) -> None:
    rows = [{"text": "cat purr", "labels": ["Nowhere"]}, {"text": "dog bark", "labels": ["Dogs"]}]
    (served.app_folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    started = served.post(f"{API}/models/joint/refit", json={}).json()
    found = finished(served, started["job"]["id"])
    assert found["state"] == "failed"
    assert "Nowhere" in found["detail"]


# -- jobs --------------------------------------------------------------------------------------------------------------


def test_a_job_answers_as_a_request_does_and_sends_its_progress(served) -> None:
    texts, _ = corpus(40)
    request = {"documents": texts * 10, "k": 2}
    started = checked(served.post(f"{API}/jobs", json={"model": "joint", "top": request}), working.JobAnswer, 202)
    with served.stream("GET", f"{API}/jobs/{started['job']['id']}/events") as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        sent = [json.loads(line[6:]) for line in events.iter_lines() if line.startswith("data: ")]
    assert (sent[-1]["state"], sent[-1]["done"], sent[-1]["total"]) == ("done", 400, 400)
    lines = served.get(f"{API}/jobs/{started['job']['id']}/result").text.splitlines()
    direct = served.post(f"{API}/models/joint/top", json=request).json()["results"]
    assert [json.loads(line) for line in lines] == direct
    assert checked(served.get(f"{API}/jobs"), working.JobList)["jobs"][0]["id"] == started["job"]["id"]
    left = served.app.state.service.jobs.folder(started["job"]["id"])
    assert [path.name for path in left.iterdir()] == ["result.jsonl"]  # no text stays


def test_a_job_is_cancelled_and_a_job_of_a_process_that_ended_is_continued(served, monkeypatch) -> None:
    service = served.app.state.service
    content = {"documents": [f"cat {i}" for i in range(600)], "k": 1}
    stopped = service.jobs.create("top", "joint", content, 600)
    assert served.post(f"{API}/jobs/{stopped}/cancel").json()["job"]["state"] == "cancelled"
    left = service.jobs.create("top", "joint", content, 600)
    from linnaeus.serve import jobs

    records = served.post(f"{API}/models/joint/top", json=content).json()["results"]
    jobs._append(service.jobs.folder(left) / "result.jsonl", records[:256])
    with (service.jobs.folder(left) / "result.jsonl").open("ab") as file:
        file.write(b'{"id": "hal')  # a process was killed while it wrote
    folders = service.settings.folders
    with TestClient(create_app(Settings(folders, store=str(served.app_folder / "store"), reload_every=0))) as again:
        found = finished(again, left)
        assert (found["state"], found["done"]) == ("done", 600)
        lines = again.get(f"{API}/jobs/{left}/result").text.splitlines()
        assert [json.loads(line) for line in lines] == records
        assert again.get(f"{API}/jobs/{stopped}").json()["job"]["state"] == "cancelled"
        assert again.get(f"{API}/jobs/none").status_code == 404


@pytest.mark.parametrize("body", [{}, {"top": {"documents": ["a"]}, "predict": {"documents": ["a"]}}])
def test_a_job_is_one_operation(served, body) -> None:
    assert served.post(f"{API}/jobs", json=body).status_code == 422
