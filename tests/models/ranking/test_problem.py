"""Rows of the kernels as matrices."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from linnaeus.data.matrices import prepare_rows
from linnaeus.models.ranking.solver import matrix_of


def test_rows_are_the_documents_they_were_made_of() -> None:
    X = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(matrix_of(prepare_rows(X, 1.0)), X)
    assert sorted(matrix_of(prepare_rows(sparse.csr_array(X), 1.0)).sum(axis=0).tolist()) == [3.0, 5.0, 7.0]


def test_no_documents_still_have_features() -> None:
    assert matrix_of(prepare_rows(np.zeros((0, 3)), 1.0)).shape == (0, 3)
