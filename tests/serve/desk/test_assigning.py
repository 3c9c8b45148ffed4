"""Documents are assigned to coders by share and by subtree; control, blind and double shares are as configured."""

from __future__ import annotations

import urllib.error

import pytest

from linnaeus.serve.store.documents import Shares
from tests.serve.conftest import WORDS

CATS, TREES = WORDS["Cats"], WORDS["Trees"]


def taken(server, coder: str, limit: int = 50) -> list[str]:
    found = server.get(f"queue/next?coder={coder}&limit={limit}")["documents"]
    return [one["id"] for one in found]


def decide(server, coder: str, ids: list[str]) -> None:
    verdicts = [
        {
            "key": f"{coder} {id_}",
            "document": id_,
            "coder": coder,
            "kind": "replace",
            "labels": ["Cats"],
            "seconds": 4.0,
        }
        for id_ in ids
    ]
    server.post("verdicts", {"verdicts": verdicts})


def test_documents_are_assigned_by_share_and_each_coder_gets_only_their_own(desk) -> None:
    server = desk()
    server.add({f"d{i}": CATS for i in range(40)})
    rules = [{"coder": "anna", "share": 0.5}, {"coder": "ben", "share": 0.25}]
    assert server.post("desk/assignments", {"rules": rules, "coder": "boss"})["assigned"] == {"anna": 20, "ben": 10}
    listed = server.get("documents?limit=100")["documents"]
    own = {name: {one["id"] for one in listed if one["assigned"] == name} for name in ("anna", "ben", None)}
    assert {name: len(ids) for name, ids in own.items()} == {"anna": 20, "ben": 10, None: 10}
    assert set(taken(server, "ben")) == own["ben"] | own[None]
    assert set(taken(server, "anna")) == own["anna"]  # ben has the others
    decide(server, "anna", sorted(own["anna"])[:5])
    assert server.get("desk/assignments")["coders"] == [
        {"coder": "anna", "assigned": 20, "left": 15, "seconds_left": 60.0},
        {"coder": "ben", "assigned": 10, "left": 10, "seconds_left": None},
    ]
    server.post("desk/assignments", {"rules": [], "coder": "boss"})
    assert sum(one["assigned"] is not None for one in server.get("documents?limit=100")["documents"]) == 5


def test_documents_are_assigned_by_subtree(desk) -> None:
    server = desk()
    server.add({f"{name}{i}": text for i in range(10) for name, text in (("cat", CATS), ("tree", TREES))})
    rules = [{"coder": "anna", "subtree": "Animals"}, {"coder": "ben", "share": 0.5}]
    assert server.post("desk/assignments", {"rules": rules, "coder": "boss"})["assigned"] == {"anna": 10, "ben": 5}
    listed = server.get("documents?limit=100")["documents"]
    assert {one["id"][:3] for one in listed if one["assigned"] == "anna"} == {"cat"}
    assert {one["id"][:3] for one in listed if one["assigned"] == "ben"} == {"tre"}
    with pytest.raises(urllib.error.HTTPError, match="422"):
        server.post("desk/assignments", {"rules": [rules[1]] * 3, "coder": "boss"})


def test_a_double_document_that_is_assigned_is_also_coded_by_one_other_coder(desk) -> None:
    server = desk(double=1.0)
    server.add({"d1": CATS})
    server.post("desk/assignments", {"rules": [{"coder": "anna"}], "coder": "boss"})
    assert taken(server, "ben") == ["d1"]
    assert taken(server, "carl") == []  # the second place is for anna
    decide(server, "ben", ["d1"])
    assert taken(server, "carl") == []
    assert taken(server, "anna") == ["d1"]
    decide(server, "anna", ["d1"])
    assert server.get("documents/one?id=d1")["document"]["state"] == "done"


@pytest.mark.parametrize(("control", "blind", "double"), [(0.05, 0.02, 0.05), (0.2, 0.1, 0.3), (0.0, 0.0, 0.0)])
def test_control_blind_and_double_shares_are_as_configured(control, blind, double) -> None:
    shares, n = Shares(control, blind, double), 20_000
    drawn = [shares.draw("queue", f"d{i}")[1:] for i in range(n)]
    for found, wanted in zip(zip(*drawn, strict=True), (control, blind, double), strict=True):
        assert abs(sum(found) / n - wanted) <= 3.3 * (wanted * (1 - wanted) / n) ** 0.5
    assert all(is_control for is_control, is_blind, _ in drawn if is_blind)


def test_documents_of_each_share_are_handed_out_as_configured(desk) -> None:
    server = desk(control=0.3, blind=0.15, double=0.4)
    server.add({f"d{i}": CATS for i in range(60)})
    listed = {one["id"]: one for one in server.get("documents?limit=100")["documents"]}
    shares = server.get("progress")["shares"]
    for name in ("control", "blind", "double"):
        assert shares[name] == sum(one[name] for one in listed.values()) > 0
    first, second = (taken(server, coder) + taken(server, coder) for coder in ("anna", "ben"))
    for coder, ids in (("anna", first), ("ben", second)):
        decide(server, coder, list(dict.fromkeys(ids)))
    counts = {id_: (id_ in first) + (id_ in second) for id_ in listed}
    assert all(counts[id_] <= 1 + one["double"] for id_, one in listed.items())
    assert sum(counts[id_] == 2 for id_, one in listed.items() if one["double"]) > 0
    handed = [one for one in server.get("queue/next?coder=carl&limit=50")["documents"] if one["blind"]]
    assert all(one["suggestions"] is None for one in handed)
