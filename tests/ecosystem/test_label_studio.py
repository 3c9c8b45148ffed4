"""The example backend speaks Label Studio's protocol: health, setup, predict, webhook."""

from __future__ import annotations

import json
import runpy
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import linnaeus
from linnaeus import OneVsRestSVM, Pipeline, Taxonomy
from linnaeus.features import TextFeatures

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "label_studio" / "backend.py"
CONFIG = """<View><Text name="doc" value="$body"/>
  <Taxonomy name="subject" toName="doc"><Choice value="Animals"><Choice value="Cats"/></Choice></Taxonomy></View>"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    tax = Taxonomy.from_edges([("Root", "Animals"), ("Root", "Plants"), ("Animals", "Cats"), ("Animals", "Dogs")])
    pipe = Pipeline(OneVsRestSVM(taxonomy=tax, random_state=0), TextFeatures())
    pipe.fit(["cats purr", "dogs bark", "trees grow"], [["Cats"], ["Dogs"], ["Plants"]])
    folder = tmp_path_factory.mktemp("label-studio") / "model"
    linnaeus.save(pipe, folder)
    server = runpy.run_path(str(EXAMPLE))["serve"](str(folder), port=0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def ask(address: str, path: str, content: object = None) -> dict:
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(address + path, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def test_a_project_is_set_up_and_gets_predictions(address) -> None:
    assert ask(address, "/health")["status"] == "UP"
    version = ask(address, "/setup", {"project": "1.1", "schema": CONFIG, "hostname": "http://localhost"})[
        "model_version"
    ]
    answer = ask(address, "/predict", {"tasks": [{"id": 1, "data": {"body": "cats purr"}}], "label_config": CONFIG})
    (found,) = answer["results"]
    (entry,) = found["result"]
    assert entry == {
        "from_name": "subject",
        "to_name": "doc",
        "type": "taxonomy",
        "value": {"taxonomy": [["Animals", "Cats"]]},
    }
    assert 0 < found["score"] < 1
    assert found["model_version"] == version
    assert ask(address, "/webhook", {"action": "ANNOTATION_CREATED"}) == {"status": "ok"}


def test_choices_get_labels_without_paths(address) -> None:
    config = CONFIG.replace("Taxonomy", "Choices")
    answer = ask(address, "/predict", {"tasks": [{"data": {"body": "dogs bark"}}], "label_config": config})
    assert answer["results"][0]["result"][0]["value"] == {"choices": ["Dogs"]}


def test_a_configuration_without_tags_is_an_error_that_says_so(address) -> None:
    with pytest.raises(urllib.error.HTTPError) as failed:
        ask(address, "/setup", {"schema": "<View><Image name='i' value='$i'/></View>"})
    assert failed.value.code == 400
    assert "no Taxonomy or Choices tag" in json.load(failed.value)["error"]
