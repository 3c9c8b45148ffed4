"""Documents on a device are what SciPy makes of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from linnaeus.data.matrices import with_constant
from linnaeus.models.gpu.documents import SparseRows, on_device, squares
from tests.models.gpu.worked import random_csr

X = random_csr(13, 9)


def dense(A: SparseRows) -> np.ndarray:
    found = np.zeros((A.n_rows, A.n_columns), np.float32)
    for i in range(A.n_rows):
        at = slice(int(A.indptr[i]), int(A.indptr[i + 1]))
        found[i, A.indices[at].numpy()] = A.values[at].numpy()
    return found


def test_transpose_rows_slices_and_squares() -> None:
    A = on_device(X, "cpu")
    np.testing.assert_array_equal(dense(A.T), X.toarray().T)
    assert A.T.T is A
    wanted = torch.tensor([7, 2, 6])
    np.testing.assert_array_equal(dense(A.rows(wanted)), X.toarray()[[7, 2, 6]])
    np.testing.assert_array_equal(dense(A.slice(slice(3, 9))), X.toarray()[3:9])
    assert A.slice(slice(0, 13)) is A
    np.testing.assert_allclose(dense(squares(A)), X.toarray().T ** 2)


def test_a_part_has_only_the_features_that_occur_in_it() -> None:
    wanted = [1, 5]
    part, features = on_device(X, "cpu").part(torch.tensor(wanted))
    np.testing.assert_array_equal(features, np.flatnonzero((X.toarray()[wanted] != 0).any(axis=0)))
    np.testing.assert_array_equal(dense(part), X.toarray()[wanted][:, features.numpy()])


@pytest.mark.parametrize("make", [lambda X: X, lambda X: X.toarray()])
def test_a_constant_feature_comes_last(make) -> None:
    found = with_constant(make(X), 2.0)
    np.testing.assert_array_equal(sparse.csr_array(found).toarray(), np.hstack([X.toarray(), np.full((13, 1), 2.0)]))
    assert with_constant(make(X), 0.0).shape == X.shape
