"""What all models of a shoot-out are given: the same documents, the same split, the same inner split.

    part      X, Y (n_docs x n_nodes) to learn from, X_test, Y_test to be measured on
    inner     rows of X to try parameters on: (learned from, held out); test documents have no say in any choice

A given split or a quarter held out is one part; k folds are k parts, and what is measured is measured on all of their
test documents together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus.data.splits import kfold, train_test_split
from linnaeus.errors import DataError, ParameterError
from linnaeus.models.checkpoint import digest
from linnaeus.taxonomy import Taxonomy
from linnaeus.tuning import take_documents
from linnaeus.typing import CSR, IntArray, Matrix, is_sparse

__all__ = ["HELD_OUT", "Experiment", "Part", "make_parts"]

HELD_OUT = 0.25
MOST_SHOWN = 5_000  # nodes that a report lists


@dataclass(frozen=True, eq=False)
class Part:
    """Documents to learn from and to be measured on; ``inner`` are rows to fit on and rows to choose parameters by."""

    X: Matrix
    Y: CSR
    X_test: Matrix
    Y_test: CSR
    inner: tuple[IntArray, IntArray]

    @classmethod
    def of(cls, X: Matrix, Y: CSR, X_test: Matrix, Y_test: CSR, seed: int = 0) -> Part:
        """With a stratified quarter of the training documents held out inside."""
        if Y.shape[0] < 4 or not Y_test.shape[0]:
            raise DataError(
                f"A shoot-out needs documents on both sides; got {Y.shape[0]} to learn and {Y_test.shape[0]}."
            )
        return cls(X, Y, X_test, Y_test, train_test_split(Y, HELD_OUT, random_state=seed))


@dataclass(frozen=True, eq=False)
class Experiment:
    """A problem as all models meet it.

    Parameters
    ----------
    split : how it was split, in words.
    measure : what parameters are chosen by, and models compared by: "hierarchical_f1", "micro_f1" or "au_prc".
    settings : parameters of single models that are fixed, by the name of the model.
    exclude : nodes that do not count in AU(PRC), as some benchmarks prescribe.
    curves : whether models also learn from an eighth, a quarter and a half of the documents.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    >>> X, Y = np.eye(8, dtype=np.float32), tax.indicator(["AA", "AB"] * 4)
    >>> made = Experiment("toy", tax, (Part.of(X, Y, X[:2], Y[:2]),), "given split")
    >>> made.n_train, made.n_test, made.measure
    (8, 2, 'hierarchical_f1')
    """

    name: str
    taxonomy: Taxonomy
    parts: tuple[Part, ...]
    split: str
    features: str = "as given"
    measure: str = "hierarchical_f1"
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    curves: bool = False
    seed: int = 0

    @property
    def n_train(self) -> int:
        """Documents to learn from, in the first part."""
        return int(self.parts[0].Y.shape[0])

    @property
    def n_test(self) -> int:
        return sum(int(part.Y_test.shape[0]) for part in self.parts)

    @property
    def n_features(self) -> int:
        return int(self.parts[0].X.shape[1])

    @property
    def is_dense(self) -> bool:
        return not sparse.issparse(self.parts[0].X)

    @cached_property
    def squared_length(self) -> float:
        """Mean squared length of the training documents, to one digit: what C has to be measured against."""
        X = self.parts[0].X
        values = X.data if is_sparse(X) else X
        mean = float(np.square(values, dtype=np.float64).sum()) / max(self.n_train, 1)
        return float(f"{mean:.0e}") if np.isfinite(mean) and mean > 0 else 1.0

    @cached_property
    def gold(self) -> CSR:
        """Labels of all test documents, part after part."""
        return sparse.csr_array(sparse.vstack([part.Y_test for part in self.parts]))

    @cached_property
    def label_nodes(self) -> IntArray:
        """Nodes that are labels of training documents, as given; the ones that are ranked."""
        return np.unique(np.concatenate([part.Y.indices for part in self.parts])).astype(np.int64)

    @cached_property
    def n_documents(self) -> IntArray:
        """Training documents at or below every node, of the first part."""
        closed = self.taxonomy.close(self.parts[0].Y, keep_root=False)
        return np.bincount(closed.indices, minlength=self.taxonomy.n_nodes)

    @cached_property
    def shown(self) -> IntArray:
        """Nodes with training or test documents at or below them; the most frequent 5,000 of more."""
        closed = self.taxonomy.close(self.gold, keep_root=False)
        n_docs = self.n_documents + np.bincount(closed.indices, minlength=self.taxonomy.n_nodes)
        if self.taxonomy.root is not None:
            n_docs[self.taxonomy.root] = n_docs.sum() + 1
        some = np.flatnonzero(n_docs)
        if len(some) > MOST_SHOWN:  # those above a frequent node are more frequent still, so that paths stay whole
            some = np.sort(some[np.argsort(-n_docs[some], kind="stable")[:MOST_SHOWN]])
        return some

    @cached_property
    def one_label(self) -> bool:
        """Whether every training document has exactly one label."""
        return all(bool((np.diff(part.Y.indptr) == 1).all()) for part in self.parts)

    @cached_property
    def fingerprint(self) -> str:
        """Of everything that a result depends on, apart from the model and the time it was given."""
        from linnaeus import __version__

        said: list[Any] = [__version__, self.taxonomy.fingerprint, self.measure, list(self.exclude), self.curves]
        said.append(self.seed)
        for part in self.parts:
            said += [digest(part.X), digest(part.Y), digest(part.X_test), digest(part.Y_test)]
        return hashlib.blake2b(json.dumps(said).encode(), digest_size=16).hexdigest()


def make_parts(
    documents: Any,
    Y: CSR,
    features: Any = None,
    *,
    test: tuple[Any, CSR] | None = None,
    folds: int | None = None,
    test_size: float | None = None,
    seed: int = 0,
) -> tuple[tuple[Part, ...], str]:
    """Parts of documents as they were read, and how they were split, in words.

    Parameters
    ----------
    documents : what ``features`` (an unfitted transformer, or None for matrices) takes: a matrix, or a list.
    test : (documents, labels) of a given split; else ``folds``, else a share to hold out, a quarter by default.

    Examples
    --------
    >>> Y = Taxonomy.flat(["a", "b"]).indicator(["a", "b"] * 6)
    >>> parts, said = make_parts(np.eye(12, dtype=np.float32), Y, folds=3)
    >>> len(parts), said, parts[0].Y_test.shape[0]
    (3, '3 folds', 4)
    """
    if test is not None:
        whole = np.arange(Y.shape[0])
        X, X_test = _matrices(features, documents, whole, test[0], np.arange(test[1].shape[0]))
        return (Part.of(X, Y, X_test, test[1], seed),), "given split"
    if folds is not None and not 2 <= folds <= Y.shape[0]:
        raise ParameterError(f"folds={folds}; expected at least 2 and at most the number of documents, {Y.shape[0]}.")
    share = HELD_OUT if test_size is None else test_size
    splits: Iterable[Any] = (
        kfold(Y, folds, random_state=seed) if folds else [train_test_split(Y, share, random_state=seed)]
    )
    parts = []
    for train, held in splits:
        X, X_test = _matrices(features, documents, train, documents, held)
        parts.append(Part.of(X, Y[train], X_test, Y[held], seed))
    said = f"{folds} folds" if folds else "held-out quarter" if share == HELD_OUT else f"held-out {share:.0%}"
    return tuple(parts), said


def _matrices(features: Any, documents: Any, train: IntArray, others: Any, held: IntArray) -> tuple[Matrix, Matrix]:
    """Features learned from the training documents, of both."""
    from sklearn.base import clone

    rows, rest = take_documents(documents, train), take_documents(others, held)
    if features is None:
        return rows, rest
    made = clone(features)
    return made.fit_transform(rows), made.transform(rest)
