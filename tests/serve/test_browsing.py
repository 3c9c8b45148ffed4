"""Models, cards and taxonomies can be browsed."""

from __future__ import annotations

MODEL = "/api/v1/models/joint"


def test_cards_say_what_a_model_takes_and_can_do(client) -> None:
    names = [entry["name"] for entry in client.get("/api/v1/models").json()["models"]]
    assert names == ["fields", "flat", "joint", "single", "vectors"]
    card = client.get(MODEL).json()
    assert card["can"] == {"explain": True, "probabilities": True, "risk": True}
    assert card["properties"]["model"] == "RRSVM"
    assert client.get("/api/v1/models/fields").json()["takes"] == ["title", "text"]
    assert client.get("/api/v1/models/flat").json()["can"]["risk"] is False
    assert client.get("/api/v1/ready").json()["status"] == "ready"


def test_children_come_page_by_page(client) -> None:
    assert [node["label"] for node in client.get(f"{MODEL}/taxonomy/tops").json()["nodes"]] == ["Animals", "Plants"]
    first = client.get(f"{MODEL}/taxonomy/children", params={"node": "Animals", "limit": 1}).json()
    assert ([node["label"] for node in first["nodes"]], first["total"], first["next_offset"]) == (["Cats"], 2, 1)
    last = client.get(f"{MODEL}/taxonomy/children", params={"node": "Animals", "limit": 1, "offset": 1}).json()
    assert ([node["label"] for node in last["nodes"]], last["next_offset"]) == (["Dogs"], None)
    assert client.get(f"{MODEL}/taxonomy").json()["nodes"] == 6


def test_a_node_has_its_texts_parents_and_paths(client) -> None:
    node = client.get(f"{MODEL}/taxonomy/node", params={"node": "Cats"}).json()
    assert {"kind": "alternative", "language": "en", "text": "Felines"} in node["texts"]
    assert ([parent["label"] for parent in node["parents"]], node["depth"], node["answerable"]) == (
        ["Animals"],
        2,
        True,
    )
    paths = client.get(f"{MODEL}/taxonomy/paths", params={"node": "Cats"}).json()["paths"]
    assert [[step["label"] for step in path] for path in paths] == [["Animals", "Cats"]]


def test_an_unknown_node_is_not_found_with_the_nearest(client) -> None:
    response = client.get(f"{MODEL}/taxonomy/node", params={"node": "Cots"})
    assert (response.status_code, "did you mean 'Cats'" in response.json()["detail"]) == (404, True)


def test_search_finds_alternative_labels_codes_beginnings_and_misspellings(client) -> None:
    def found(q: str, **more: object) -> list[tuple[str, str]]:
        matches = client.get(f"{MODEL}/taxonomy/search", params={"q": q, **more}).json()["matches"]
        return [(match["label"], match["how"]) for match in matches]

    assert found("felines")[0] == ("Cats", "folded")
    assert found("feli")[0] == ("Cats", "prefix")
    assert found("42.1")[0] == ("Cats", "exact")
    assert found("Flowrs")[0] == ("Flowers", "fuzzy")
    assert found("Katzen", language="de")[0] == ("Cats", "exact")
    assert client.get(f"{MODEL}/taxonomy/search", params={"q": "x", "language": "xx"}).status_code in (404, 422)
