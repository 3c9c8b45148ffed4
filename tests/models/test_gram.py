from __future__ import annotations

import numpy as np
import pytest

from linnaeus.errors import DataError
from linnaeus.models import kernels as gram
from linnaeus.models.kernels import GramRows, check_gram

BENT = np.array([[1.0, 1.2], [1.2, 1.0]])  # eigenvalues -0.2 and 2.2


def test_a_good_matrix_is_taken_as_it_is() -> None:
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert check_gram(K) is K
    assert check_gram(np.zeros((2, 2))).tolist() == [[0, 0], [0, 0]]
    assert check_gram(np.ones((3, 3))).sum() == 9  # of rank 1


def test_rounding_is_forgiven_and_the_input_left_alone() -> None:
    K = np.array([[1.0, 0.5 + 1e-9], [0.5, 1.0]])
    mended = check_gram(K)
    assert mended[0, 1] == mended[1, 0]
    assert K[0, 1] != K[1, 0]


def test_a_matrix_that_is_no_kernel_is_refused_with_its_eigenvalue() -> None:
    with pytest.raises(DataError, match=r"eigenvalue is -0\.2"):
        check_gram(BENT)
    with pytest.raises(DataError, match="not symmetric.*0.5"):
        check_gram(np.array([[1.0, 0.5], [0.0, 1.0]]))
    with pytest.raises(DataError, match="2 x 3, expected square"):
        check_gram(np.zeros((2, 3)))


@pytest.mark.parametrize("psd", ["clip", "shift"])
def test_mending_leaves_no_negative_eigenvalue(psd) -> None:
    mended = check_gram(BENT, psd)
    assert np.linalg.eigvalsh(mended)[0] >= -1e-12
    if psd == "clip":
        assert np.linalg.eigvalsh(mended)[1] == pytest.approx(2.2)
    assert BENT[0, 0] == 1.0


def test_large_matrices_are_checked_by_lanczos_method(monkeypatch) -> None:
    monkeypatch.setattr(gram, "_WHOLE", 1)
    A = np.random.default_rng(0).normal(size=(20, 5))
    check_gram(A @ A.T)
    with pytest.raises(DataError, match="eigenvalue"):
        check_gram(A @ A.T - 3 * np.eye(20))


def test_rows_are_stored_as_numbers() -> None:
    rows = GramRows(np.eye(3), np.arange(3))[np.array([2, 0])]
    again = GramRows.from_state(*rows.state())
    assert (len(rows), rows.shape) == (2, (2, 3))
    assert again.numbers.tolist() == [2, 0]
