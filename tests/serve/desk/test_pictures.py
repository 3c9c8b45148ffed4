"""Charts of the progress view have the figures of the control documents."""

from __future__ import annotations

import json

from linnaeus.serve.desk.pictures import pictures
from tests.serve.conftest import taxonomy

from .test_views import CATS, DOGS


def decided(labels: str, answer: str, probability: object = 0.95) -> dict[str, object]:
    shown = [{"label": answer, "probability": probability}, {"score": 0.5}]
    return {"labels": [labels], "answer": [answer], "shown": json.dumps(shown)}


def test_charts_count_control_documents_and_leave_out_what_has_no_data() -> None:
    rows = [decided("Cats", "Cats")] * 9 + [decided("Cats", "Dogs", 0.35), decided("Dogs", "Dogs", "high")]
    found = {one["name"]: one for one in pictures(rows, taxonomy(), [{"documents": 20, "score": 0.5}])}
    assert set(found) == {"reliability", "confusion"}
    assert "probability 0.95, share right 1.00, 9 labels" in found["reliability"]["svg"]
    assert "probability 0.35, share right 0.00, 1 labels" in found["reliability"]["svg"]
    assert "Cats answered as Dogs: 1 of 10 documents" in found["confusion"]["svg"]
    curve = [{"documents": 20, "score": 0.5}, {"documents": 30, "score": None}, {"documents": 40, "score": 0.75}]
    (learning,) = pictures(rows[:5], taxonomy(), curve)
    assert "model: 0.750 (40)" in learning["svg"]


def test_the_progress_view_shows_them(desk, open_page) -> None:
    server = desk(control=1.0)
    server.add({f"d{i}": CATS if i % 2 else DOGS for i in range(12)})
    verdicts = [
        {"key": f"k{i}", "document": f"d{i}", "coder": "anna", "kind": "replace", "labels": ["Cats"]} for i in range(12)
    ]
    server.post("verdicts", {"verdicts": verdicts})
    page = open_page(server, "progress")
    page.wait_for_selector(".picture svg rect")
    assert page.inner_text(".picture h2") == "Which siblings are confused?"
    assert "6" in page.locator(".picture svg text").all_text_contents()
