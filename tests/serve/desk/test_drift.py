"""Drift of inputs and answers: the last weeks beside the training documents or earlier ones of the queue."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.serve.desk import drift
from tests.serve.conftest import WORDS, taxonomy


def texts(share_of_cats: float, n: int, more: str = "") -> list[str]:
    """Documents about cats or dogs."""
    return [f"{WORDS['Cats' if i < share_of_cats * n else 'Dogs']} thing {more}" for i in range(n)]


def aged(server, prefix: str, days: float) -> None:
    """Let documents be added some days earlier."""
    with server.app.state.service.review.change() as transaction:
        transaction.rows("UPDATE documents SET added = added - ? WHERE id LIKE ?", (days * 24 * 3600.0, f"{prefix}%"))


@pytest.fixture
def changed(desk):
    """A desk whose documents of the last week are about dogs and have new words; those of ten weeks ago are mixed."""
    server = desk()
    server.add({f"old{i}": text for i, text in enumerate(texts(0.5, 40))})
    aged(server, "old", 70)
    server.add({f"new{i}": text for i, text in enumerate(texts(0.1, 40, "walkies"))})
    return server


def test_new_words_and_a_shift_of_answers_are_found_against_earlier_documents(changed) -> None:
    found = changed.get("desk/drift?weeks=4&against=earlier")
    assert (found["documents"], found["reference_documents"]) == (40, 40)
    assert found["new_words"][0] == {"word": "walkies", "documents": 40}
    unknown = found["unknown_words"]
    assert 0 < unknown["low"] <= unknown["difference"] <= unknown["high"]
    answers = found["answers"]
    assert answers["distance"] == pytest.approx(0.4, abs=0.1)
    assert answers["chance"] < answers["distance"]
    assert answers["p_value"] < 0.01
    assert found["gaining"][0]["node"] == "Dogs"
    assert found["losing"][0]["node"] == "Cats"
    assert found["gaining"][0]["low"] > 0 > found["losing"][0]["high"]
    assert [week["weeks_ago"] for week in found["over_time"]] == [10, 0]
    assert found["over_time"][0]["unknown_words"] < found["over_time"][1]["unknown_words"]


def test_the_last_weeks_are_compared_with_documents_that_are_kept_with_the_model(changed) -> None:
    found = changed.get("desk/drift")
    assert found["possible"] == ["training", "earlier"]
    assert (found["against"], found["reference_documents"]) == ("training", 48)
    assert found["losing"][0]["node"] in ("Plants", "Trees", "Flowers", "Cats")
    nearest = found["nearest_training"]
    assert 0 < nearest["now"] <= 1
    assert nearest["low"] <= nearest["difference"] <= nearest["high"]


def test_without_anything_to_compare_with_only_the_present_is_described(desk) -> None:
    server = desk("flat")
    server.add({f"d{i}": text for i, text in enumerate(texts(0.5, 25))})
    found = server.get("desk/drift")
    assert (found["possible"], found["against"], found["answers"]) == ([], None, None)
    assert found["unknown_words"]["difference"] is None


def test_models_of_vectors_have_drift_of_answers_only(desk) -> None:
    server = desk("vectors")
    vectors = np.random.default_rng(1).normal(size=(50, 3)).tolist()
    server.post("documents", {"documents": [{"id": f"v{i}", "vector": row} for i, row in enumerate(vectors)]})
    with server.app.state.service.review.change() as transaction:
        transaction.rows("UPDATE documents SET added = added - 9e6 WHERE number <= 25")
    found = server.get("desk/drift")
    assert found["unknown_words"] is None
    assert found["against"] == "earlier"
    assert 0 <= found["answers"]["distance"] <= 1


def test_chance_alone_rarely_looks_like_drift() -> None:
    rng = np.random.default_rng(0)
    tax = taxonomy()
    found, moving = [], 0
    for _ in range(60):
        drawn = [sparse.csr_array(np.eye(tax.n_nodes)[rng.integers(0, tax.n_nodes, 60)]) for _ in range(2)]
        found.append(drift._distance(*drawn)["p_value"])
        moving += any(drift._moving_nodes(tax, *drawn))
    assert np.mean(np.array(found) <= 0.1) <= 0.2
    assert moving <= 12
