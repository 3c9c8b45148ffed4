"""Models stored by earlier versions still load and answer the same.

Each folder ``format-N`` holds a model and ``expected.json`` with documents and the scores they had when it was stored.
`make_golden.py` beside this file made them; it is run once per format version and never again for an old one.
``format-3-labels`` was stored before `LexicalModel` found incomplete labels and `Mixture` raised nodes without
documents.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import linnaeus

FOLDERS = sorted(Path(__file__).parent.glob("format-*"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_stored_model_answers_as_it_did(folder) -> None:
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    model = linnaeus.load(folder / "model")
    np.testing.assert_allclose(model.decision_function(expected["documents"]), expected["scores"], rtol=1e-5, atol=1e-6)
    assert model.predict(expected["documents"]) == expected["answers"]
    assert model.taxonomy_.fingerprint == expected["fingerprint"]
    if "probabilities" in expected:
        found = model.predict_proba(expected["documents"])
        np.testing.assert_allclose(found, expected["probabilities"], rtol=1e-5, atol=1e-6)


def test_a_stored_model_of_whole_labels_is_saved_and_explained_without_incomplete_ones(tmp_path) -> None:
    model = linnaeus.load(Path(__file__).parent / "format-3-labels" / "model")
    linnaeus.save(model, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    lexical = again.sources_[0].estimator
    assert np.array_equal(again.decision_function(["foster care"]), model.decision_function(["foster care"]))
    assert not len(lexical.explain("foster care", "foster")[0].matches)
    (found,) = lexical.explain("foster home care", "foster")
    assert found.intercept + found.contributions.sum() == pytest.approx(found.score)


def test_there_is_a_stored_model_for_the_current_format() -> None:
    from linnaeus.store.folder import FORMAT_VERSION

    assert f"format-{FORMAT_VERSION}" in [folder.name for folder in FOLDERS]
