"""The problem that all models of a shoot-out are given: the same documents and split.

    part      X, Y (n_docs x n_nodes) to learn from, X_test, Y_test to be evaluated on

A given split or a held-out quarter is one part; k folds are k parts, and measures are computed on the test documents
of all parts together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus.data.splits import kfold, train_test_split
from linnaeus.errors import DataError, ParameterError
from linnaeus.features.documents import take_documents
from linnaeus.models.checkpoint import digest
from linnaeus.pipeline import Transformer
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, IntArray, Matrix

__all__ = ["HELD_OUT", "Experiment", "Part", "make_parts"]

HELD_OUT = 0.25
MOST_SHOWN = 5_000  # nodes that a report lists
_SEARCH = "tuned"  # runs that chose C alone are not kept


@dataclass(frozen=True, eq=False)
class Part:
    """Training and test documents.

    Parameters
    ----------
    X : csr_array or ndarray of shape (n_docs, n_features)
        Training documents.
    Y : csr_array of shape (n_docs, n_nodes)
        Their labels.
    X_test : csr_array or ndarray of shape (n_test, n_features)
        Test documents.
    Y_test : csr_array of shape (n_test, n_nodes)
        Their labels.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> Y = Taxonomy.flat(["A", "B"]).indicator([["A"], ["B"]] * 10)
    >>> X = np.eye(20)
    >>> Part.of(X[:12], Y[:12], X[12:], Y[12:]).X_test.shape
    (8, 20)
    """

    X: Matrix
    Y: CSR
    X_test: Matrix
    Y_test: CSR

    @classmethod
    def of(cls, X: Matrix, Y: CSR, X_test: Matrix, Y_test: CSR) -> Part:
        """A part with enough documents on both sides."""
        if Y.shape[0] < 4 or not Y_test.shape[0]:
            raise DataError(
                "A shoot-out needs at least 4 training documents and 1 test document; got "
                f"{Y.shape[0]} and {Y_test.shape[0]}."
            )
        return cls(X, Y, X_test, Y_test)


@dataclass(frozen=True, eq=False)
class Experiment:
    """A problem, the same for all models.

    Parameters
    ----------
    name : str
        Name of the problem, for the report.
    taxonomy : Taxonomy
        The taxonomy of the labels.
    parts : tuple of Part
        Training and test documents; several parts are folds.
    split : str
        How the documents were split, for the report.
    features : str, default="as given"
        How documents became vectors, for the report.
    measure : {"hierarchical_f1", "micro_f1", "macro_f1", "example_f1", "au_prc"}, default="hierarchical_f1"
        The measure by which parameters are chosen and models are compared.
    settings : mapping of str to mapping, default={}
        Fixed parameters of single models, by the name of the model.
    exclude : tuple of str, default=()
        Nodes that are left out of AU(PRC), as some benchmarks prescribe.
    curves : bool, default=False
        Whether models are also trained on an eighth, a quarter and a half of the documents.
    seed : int, default=0
        Seed of everything that is random.
    vectors : transformer, default=None
        Features that the search of every model begins with, such as `DenseFeatures` of values that are only filled in;
        None: the matrices as they are.
    tune_features : bool, default=True
        Whether the search of every model chooses among features; not where features were given by name.

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
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    curves: bool = False
    seed: int = 0
    vectors: Transformer | None = None
    tune_features: bool = True

    @property
    def n_train(self) -> int:
        """Number of training documents of the first part."""
        return int(self.parts[0].Y.shape[0])

    @property
    def n_test(self) -> int:
        """Number of test documents of all parts."""
        return sum(int(part.Y_test.shape[0]) for part in self.parts)

    @property
    def n_features(self) -> int:
        """Number of features of the first part."""
        return int(self.parts[0].X.shape[1])

    @cached_property
    def gold(self) -> CSR:
        """Labels of the test documents of all parts, one part after the other."""
        return sparse.csr_array(sparse.vstack([part.Y_test for part in self.parts]))

    @cached_property
    def label_nodes(self) -> IntArray:
        """Nodes that are labels of training documents, as given; these are ranked."""
        return np.unique(np.concatenate([part.Y.indices for part in self.parts])).astype(np.int64)

    @cached_property
    def n_documents(self) -> IntArray:
        """Number of training documents of the first part at or below every node."""
        closed = self.taxonomy.close(self.parts[0].Y, keep_root=False)
        return np.bincount(closed.indices, minlength=self.taxonomy.n_nodes)

    @cached_property
    def shown(self) -> IntArray:
        """Nodes with training or test documents at or below them, at most the 5,000 most frequent."""
        closed = self.taxonomy.close(self.gold, keep_root=False)
        n_docs = self.n_documents + np.bincount(closed.indices, minlength=self.taxonomy.n_nodes)
        if self.taxonomy.root is not None:
            n_docs[self.taxonomy.root] = n_docs.sum() + 1
        some = np.flatnonzero(n_docs)
        if len(some) > MOST_SHOWN:  # ancestors of a frequent node are at least as frequent, so paths stay complete
            some = np.sort(some[np.argsort(-n_docs[some], kind="stable")[:MOST_SHOWN]])
        return some

    @cached_property
    def one_label(self) -> bool:
        """Whether every training document has exactly one label."""
        return all(bool((np.diff(part.Y.indptr) == 1).all()) for part in self.parts)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of everything that a result depends on, apart from the model and its time budget."""
        from linnaeus import __version__

        inputs: list[object] = [__version__, self.taxonomy.fingerprint, self.measure, list(self.exclude), self.curves]
        inputs += [self.seed, _SEARCH, repr(self.vectors), self.tune_features]
        for part in self.parts:
            inputs += [digest(part.X), digest(part.Y), digest(part.X_test), digest(part.Y_test)]
        return hashlib.blake2b(json.dumps(inputs).encode(), digest_size=16).hexdigest()


def make_parts(
    documents: Any,
    Y: CSR,
    features: Transformer | None = None,
    *,
    test: tuple[Any, CSR] | None = None,
    folds: int | None = None,
    test_size: float | None = None,
    seed: int = 0,
    choose: Callable[[Any, CSR], Transformer | None] | None = None,
) -> tuple[tuple[Part, ...], str]:
    """Split documents into the parts of an experiment.

    Parameters
    ----------
    documents : matrix or list
        Documents as they were read, as ``features`` takes them.
    Y : csr_array of shape (n_docs, n_nodes)
        Labels.
    features : transformer, default=None
        An unfitted transformer, fitted on the training documents of each part; None for matrices.
    test : tuple of (documents, csr_array), default=None
        Test documents and labels of a given split.
    folds : int, default=None
        Number of folds, where ``test`` is not given.
    test_size : float, default=None
        Share of the documents to hold out, where neither ``test`` nor ``folds`` is given; None is a quarter.
    seed : int, default=0
        Seed of the splits.
    choose : callable, default=None
        Makes the unfitted features of a part from its training documents and their labels, instead of ``features``.

    Returns
    -------
    parts : tuple of Part
        One part, or one for each fold.
    split : str
        How the documents were split, for the report.

    Examples
    --------
    >>> Y = Taxonomy.flat(["a", "b"]).indicator(["a", "b"] * 6)
    >>> parts, split = make_parts(np.eye(12, dtype=np.float32), Y, folds=3)
    >>> len(parts), split, parts[0].Y_test.shape[0]
    (3, '3 folds', 4)
    """
    if test is not None:
        whole = np.arange(Y.shape[0])
        features = features if choose is None else choose(documents, Y)
        X, X_test = _matrices(features, documents, whole, test[0], np.arange(test[1].shape[0]))
        return (Part.of(X, Y, X_test, test[1]),), "given split"
    if folds is not None and not 2 <= folds <= Y.shape[0]:
        raise ParameterError(f"folds={folds}; expected at least 2 and at most the number of documents, {Y.shape[0]}.")
    share = HELD_OUT if test_size is None else test_size
    splits: Iterable[tuple[IntArray, IntArray]] = (
        kfold(Y, folds, random_state=seed) if folds else [train_test_split(Y, share, random_state=seed)]
    )
    parts = []
    for train, held in splits:
        features = features if choose is None else choose(take_documents(documents, train), Y[train])
        X, X_test = _matrices(features, documents, train, documents, held)
        parts.append(Part.of(X, Y[train], X_test, Y[held]))
    split = f"{folds} folds" if folds else "held-out quarter" if share == HELD_OUT else f"held-out {share:.0%}"
    return tuple(parts), split


def _matrices(
    features: Transformer | None, documents: Any, train: IntArray, others: Any, held: IntArray
) -> tuple[Matrix, Matrix]:
    """Matrices of training and test documents, with features fitted on the training documents."""
    from sklearn.base import clone

    rows, rest = take_documents(documents, train), take_documents(others, held)
    if features is None:
        return rows, rest
    made = clone(features)
    return made.fit_transform(rows), made.transform(rest)
