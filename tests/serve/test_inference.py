"""Health and metadata of the Open Inference Protocol V2, and vectors as indices and values."""

from __future__ import annotations

import numpy as np
import pytest


def test_health_and_metadata_follow_the_open_inference_protocol(client) -> None:
    assert client.get("/v2/health/live").json() == {"live": True}
    assert client.get("/v2/health/ready").json() == {"ready": True}
    assert set(client.get("/v2").json()) == {"name", "version", "extensions"}
    for name in ("joint", "fields", "vectors"):
        found = client.get(f"/v2/models/{name}").json()
        assert set(found) == {"name", "versions", "platform", "inputs", "outputs"}
        for tensor in (*found["inputs"], *found["outputs"]):
            assert set(tensor) == {"name", "datatype", "shape"}
        version = found["versions"][0]
        assert client.get(f"/v2/models/{name}/versions/{version}").json() == found
        assert client.get(f"/v2/models/{name}/ready").json() == {"name": name, "ready": True}
        assert client.get(f"/v2/models/{name}/versions/{version}/ready").status_code == 200
        assert client.get(f"/v2/models/{name}/versions/other/ready").status_code == 404
    assert client.get("/v2/models/none/ready").status_code == 404
    assert [one["name"] for one in client.get("/v2/models/fields").json()["inputs"]] == ["title", "text"]
    assert client.get("/v2/models/vectors").json()["inputs"][0]["shape"] == [-1, 3]


@pytest.mark.parametrize("operation", ["predict", "top", "n-best"])
def test_indices_and_values_are_answered_as_whole_vectors(client, operation) -> None:
    rows = np.random.default_rng(1).normal(size=(6, 3)) * (np.random.default_rng(2).random((6, 3)) > 0.4)
    whole = [{"vector": row.tolist()} for row in rows]
    sparse = [
        {"vector": {"indices": np.flatnonzero(row)[::-1].tolist(), "values": row[row != 0][::-1].tolist()}}
        for row in rows
    ]
    address = f"/api/v1/models/vectors/{operation}"
    expected = client.post(address, json={"documents": whole}).json()["results"]
    assert client.post(address, json={"documents": sparse}).json()["results"] == expected
    assert client.post(address, json={"documents": whole[:3] + sparse[3:]}).json()["results"] == expected


@pytest.mark.parametrize(
    ("name", "vector", "expected"),
    [
        ("vectors", {"indices": [3], "values": [1.0]}, "positions 0 to 2"),
        ("vectors", {"indices": [0, 1], "values": [1.0]}, "2 indices and 1 values"),
        ("vectors", {"indices": [0, 0], "values": [1.0, 2.0]}, "given twice"),
        ("vectors", {"indices": [-1], "values": [1.0]}, "greater than or equal to 0"),
        ("joint", {"indices": [0], "values": [1.0]}, "trained on texts"),
    ],
)
def test_wrong_indices_are_refused_in_words(client, name, vector, expected) -> None:
    response = client.post(f"/api/v1/models/{name}/top", json={"documents": [{"vector": vector}]})
    assert response.status_code == 422
    assert expected in response.text
