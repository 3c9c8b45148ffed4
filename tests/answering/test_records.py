"""Records of answers."""

from __future__ import annotations

from linnaeus import OneVsRestSVM, Pipeline, calibrate
from linnaeus.answering.records import Answering
from linnaeus.data import Dataset
from linnaeus.features import SpectrumFeatures


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
