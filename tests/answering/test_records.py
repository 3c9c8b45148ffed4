"""Records of answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from linnaeus import OneVsRestSVM, Pipeline, calibrate
from linnaeus.answering.records import Answering
from linnaeus.data import Dataset
from linnaeus.features import EmbeddedText, KernelMap, SpectrumFeatures, TextFeatures


def test_a_text_in_other_letters_is_left_for_review_by_a_model_of_proteins() -> None:
    sequences = ["MKTAYIAKQR" + "MK" * (i % 7) if i % 2 else "GGTTKLAAMM" + "GT" * (i % 5) for i in range(200)]
    labels = ["kinase" if i % 2 else "channel" for i in range(200)]
    model = Pipeline(OneVsRestSVM(random_state=0), SpectrumFeatures(p=3, q=1)).fit(sequences[:100], labels[:100])
    calibrate(model, sequences[100:], labels[100:], cv=None)
    documents = Dataset(sequences=["Лечение рака", "MKTAYIAKQRMK"])
    assert [record["status"] for record in Answering(model).records(documents)] == ["unknown", "answered"]
    promise = {"risk": 0.2, "risk_of": "all", "confidence": None, "rules": None}
    prose, protein = Answering(model, promise=promise).records(documents)
    assert (prose["status"], prose["reason"], prose["labels"]) == ("review", "no known word", [])
    assert protein["status"] == "coded"


@pytest.mark.parametrize(
    "vectors", [TextFeatures, lambda: EmbeddedText(weight=0.5, dimension=2)], ids=["terms", "embedding"]
)
def test_terms_are_known_before_a_kernel_map_and_not_behind_it(vectors: Callable[[], Any]) -> None:
    """Every column of a map is filled, so that documents without a known word were answered."""
    texts = ["cats purr and sleep", "dogs bark at night", "cats sleep and purr", "dogs run and bark"] * 5
    model = Pipeline(OneVsRestSVM(random_state=0), KernelMap(vectors(), 8, gamma=0.5)).fit(texts, ["cat", "dog"] * 10)
    documents = Dataset(fields={"text": ["cats purr", "zzz qqq xyzzy"]})
    records = list(Answering(model).records(documents))
    assert [record["known_terms"] for record in records] == [2, 0]
    assert [record["status"] for record in records] == ["answered", "unknown"]
