"""Two fits have the same fingerprint if and only if they compute the same model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus import OneVsRestSVM
from linnaeus.data.check import Problem
from linnaeus.models.checkpoint import differences, digest, fingerprint
from tests.contracts.configurations import documents, taxonomy


def problem(weights=None, X=None, labels=None) -> Problem:
    tax = taxonomy()
    first, given = documents(tax)
    return Problem(first if X is None else X, tax.indicator(labels or given), tax, weights)


def test_how_a_fit_runs_does_not_matter() -> None:
    one = fingerprint(OneVsRestSVM(n_jobs=1), problem())
    assert one == fingerprint(OneVsRestSVM(n_jobs=4, verbose=1, engine="threads"), problem())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"C": 2.0}, "C was 1.0 and is 2.0"),
        ({"learn": "closed"}, "learn was 'given' and is 'closed'"),
        ({"random_state": 1}, "random_state was 0 and is 1"),
        ({"random_state": None}, "random_state was 0 and is None"),
    ],
)
def test_every_parameter_that_matters_is_named(changed, message) -> None:
    before = fingerprint(OneVsRestSVM(random_state=0), problem())
    assert differences(before, fingerprint(OneVsRestSVM(**{"random_state": 0, **changed}), problem())) == [message]


def test_content_is_compared_and_not_shown() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    before = fingerprint(OneVsRestSVM(), problem())
    other = X.copy()
    other.data[7] += 1
    assert differences(before, fingerprint(OneVsRestSVM(), problem(X=other))) == ["the documents differ"]
    moved = [labels[1], labels[0], *labels[2:]]
    assert differences(before, fingerprint(OneVsRestSVM(), problem(labels=moved))) == ["the labels differ"]
    weighted = fingerprint(OneVsRestSVM(), problem(weights=np.ones(80)))
    assert differences(before, weighted) == ["the sample_weight differs"]


def test_the_digest_depends_on_values_only(tmp_path) -> None:
    X, _ = documents(taxonomy())
    wide = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    assert digest(X) == digest(wide)
    dense = X.toarray()
    np.save(tmp_path / "X.npy", dense)
    assert digest(dense) == digest(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert digest(dense) != digest(dense.astype(np.float64))
    assert digest(dense) != digest(dense.reshape(30, 80))


def test_seeds_count_as_numbers_only() -> None:
    rng = np.random.RandomState(0)
    one = fingerprint(OneVsRestSVM(random_state=rng), problem())
    rng.randint(5)
    assert one == fingerprint(OneVsRestSVM(random_state=rng), problem())
    assert fingerprint(OneVsRestSVM(random_state=np.int64(3)), problem())["random_state"] == 3
