"""A small problem on which all models run in moments."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.experiments.experiment import Experiment, Part
from tests.contracts.configurations import documents, taxonomy


def toy(kind: str = "tree", *, one_label: bool = False, n_parts: int = 1, n_docs: int = 160, **how: Any) -> Experiment:
    """Documents of the contract tests, three quarters of them to learn from."""
    tax = taxonomy(kind)
    X, labels = documents(tax, n_docs, seed=1)
    Y = tax.indicator([row[:1] for row in labels] if one_label else labels)
    place = np.arange(n_docs) % (4 if n_parts == 1 else n_parts)
    parts = tuple(Part.of(X[place != k], Y[place != k], X[place == k], Y[place == k]) for k in range(n_parts))
    return Experiment("toy", tax, parts, "given split", **how)
