"""Parts of a problem: nothing of the test documents is learned from, features included."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.errors import DataError, ParameterError
from linnaeus.experiments.experiment import Experiment, Part, make_parts
from linnaeus.features.text import TextFeatures
from tests.experiments.toy import toy


def test_features_are_learned_from_training_documents_only() -> None:
    texts = [f"word{i} common" for i in range(12)]
    Y = Taxonomy.flat(["a", "b"]).indicator(["a", "b"] * 6)
    parts, said = make_parts(texts, Y, TextFeatures(min_df=1), folds=3)
    assert said == "3 folds"
    for part in parts:
        assert part.X.shape == (8, 9), "eight words of its own documents and the common one"
        assert part.X_test.shape == (4, 9)


def test_folds_are_measured_together() -> None:
    assert toy(n_parts=3).gold.shape[0] == toy(n_parts=3).n_test == 160


def test_too_few_documents_and_too_many_folds_are_refused() -> None:
    Y = Taxonomy.flat(["a", "b"]).indicator(["a", "b"])
    with pytest.raises(DataError, match="at least 4 training documents"):
        Part.of(np.eye(2), Y, np.eye(2), Y)
    with pytest.raises(ParameterError, match="folds=5"):
        make_parts(np.eye(2), Y, folds=5)


def test_another_document_is_another_fingerprint() -> None:
    one, other = toy(), toy()
    assert one.fingerprint == other.fingerprint
    part = one.parts[0]
    X = part.X.copy()
    X.data[0] += 1
    changed = Experiment("toy", one.taxonomy, (Part(X, part.Y, part.X_test, part.Y_test),), one.split)
    assert changed.fingerprint != one.fingerprint


def test_nodes_without_documents_are_not_shown() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    Y = tax.indicator(["AA"] * 4)
    X = np.eye(4, dtype=np.float32)
    made = Experiment("x", tax, (Part.of(X, Y, X, Y),), "given split")
    assert tax.names[made.shown].tolist() == ["R", "A", "AA"]
