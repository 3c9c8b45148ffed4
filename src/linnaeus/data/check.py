"""Validation of training input: X, y and taxonomy become a `Problem`, or an error explains what is wrong.

Labels of any of the four kinds (see `kinds`) become 0/1 rows over the nodes of the taxonomy. Without a taxonomy, a flat
one is built from the labels, or a tree from the paths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from linnaeus.data.kinds import GivenLabels, LabelCodec, check_width, named_columns, recognise
from linnaeus.data.matrices import short_message
from linnaeus.errors import DataError, UnknownLabelError
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import is_closed
from linnaeus.typing import CSR, FloatArray, Matrix

__all__ = ["Problem", "check_labels", "check_weights", "with_weight"]

_WEIGHTS = 1e-30, 1e8  # smallest and largest weight; products with values and losses stay within single precision


@dataclass(frozen=True)
class Problem:
    """Validated training data: X (n_docs x n_features), Y as given (n_docs x n_nodes), taxonomy, document weights."""

    X: Matrix
    Y: CSR
    taxonomy: Taxonomy
    weights: FloatArray | None = None
    codec: LabelCodec = field(default_factory=lambda: LabelCodec("sets"))

    @property
    def n_docs(self) -> int:
        return int(self.Y.shape[0])

    @cached_property
    def closed(self) -> CSR:
        """Y with all ancestors."""
        return self.taxonomy.close(self.Y)

    @cached_property
    def frontier(self) -> CSR:
        """The most specific labels of Y."""
        return self.taxonomy.frontier(self.Y)

    @cached_property
    def is_closed(self) -> bool:
        """Whether every label set contains all its ancestors; False if the taxonomy has no edges."""
        return self.taxonomy.n_edges > 0 and is_closed(self.taxonomy, self.Y)


def check_labels(y: object, taxonomy: Taxonomy | None, n_docs: int | None = None) -> tuple[CSR, Taxonomy, LabelCodec]:
    """y of any kind as Y (n_docs x n_nodes); without a taxonomy one is built, flat or from the paths."""
    given = recognise(y, None if taxonomy is None else taxonomy.n_nodes)
    if given.paths is not None:
        _refuse_counts(y, given, taxonomy)
        if taxonomy is not None and given.codec.dtype not in ("str", "object") and "1" not in taxonomy:
            check_width(given.codec.width, taxonomy)  # numbers that are not names: an indicator of another width
        _check_paths(given.paths, taxonomy)
    taxonomy = taxonomy or _taxonomy_of(given)
    if given.codec.kind == "labels" and not all(given.rows or []):
        missing = next(i for i, row in enumerate(given.rows or []) if not row)
        raise DataError(f"Document {missing} has no label; leave it out, or use lists of labels, which may be empty.")
    Y = _over(given, taxonomy)
    if n_docs is not None and Y.shape[0] != n_docs:
        raise DataError(
            f"y has labels of {Y.shape[0]} documents, but X has {n_docs} rows: inconsistent numbers of samples."
        )
    return Y, taxonomy, given.codec


def _refuse_counts(y: object, given: GivenLabels, taxonomy: Taxonomy | None) -> None:
    """Raise an error for an indicator whose entries are not 0 and 1: numbers in columns that stand for nodes."""
    if taxonomy is None or given.codec.dtype in ("str", "object"):
        return
    columns = named_columns(y)
    named = columns is not None and all(name in taxonomy for name in columns)
    if named or (given.codec.width == taxonomy.n_nodes and "0" not in taxonomy):
        values = np.asarray(y)
        odd = values[~np.isin(values, (0, 1))][0]
        raise DataError(f"An indicator of labels has the entries 0 and 1; got {odd!s}.")


def _over(given: GivenLabels, taxonomy: Taxonomy) -> CSR:
    """Labels as 0/1 rows over the nodes of a taxonomy."""
    if given.indicator is not None:
        return given.over(taxonomy)
    try:
        return taxonomy.indicator(given.rows or [])
    except UnknownLabelError as error:
        if given.codec.kind == "labels" and given.codec.dtype.startswith(("int", "uint")):
            error.args = (
                f"{error.args[0]} The labels are integers: scikit-learn's voting, stacking and bagging replace labels "
                "by numbers before they fit, and so does cross_val_predict with any method except 'predict'; they work "
                "with linnaeus models only without a taxonomy. linnaeus.tuning.held_out_scores("
                "model, X, y) computes scores by cross-validation.",
            )
        raise


def _taxonomy_of(given: GivenLabels) -> Taxonomy:
    if given.indicator is not None:
        return Taxonomy.flat(given.columns or range(given.indicator.shape[1]))
    if given.paths is not None:
        return Taxonomy.from_paths(given.paths)
    names = sorted({label for row in given.rows or [] for label in row})
    if not names:
        raise DataError("y has no label at all: the label set of every document is empty.")
    values = given.codec.values(names)
    order = np.argsort(values, kind="stable") if values.dtype.kind in "iufb" else range(len(names))
    return Taxonomy.flat(names[i] for i in order)


def _check_paths(paths: list[list[str]], taxonomy: Taxonomy | None) -> None:
    """Raise an error if a path is empty or a step does not go down the taxonomy (levels may be skipped)."""
    empty = next((document for document, path in enumerate(paths) if not path), None)
    if empty is not None:
        raise DataError(f"The path of document {empty} is empty; expected at least one name.")
    if taxonomy is None:
        return
    seen: set[tuple[str, str]] = set()
    for document, path in enumerate(paths):
        for step in pairwise(path):
            if step not in seen and not _is_above(taxonomy, *map(taxonomy.index, step)):
                above, below = step
                raise DataError(f"Path {path} (document {document}): {above!r} is not above {below!r} in the taxonomy.")
            seen.add(step)


def _is_above(taxonomy: Taxonomy, above: int, below: int) -> bool:
    return above == taxonomy.root or above in taxonomy.ancestors(below)


def with_weight(X: Matrix, Y: CSR, weights: FloatArray | None) -> tuple[Matrix, CSR, FloatArray | None]:
    """Only the documents with a positive weight.

    Examples
    --------
    >>> X, Y, weights = with_weight(np.eye(3), np.eye(3), np.array([1.0, 0.0, 2.0]))
    >>> X.shape, weights.tolist()
    ((2, 3), [1.0, 2.0])
    """
    if weights is None or weights.all():
        return X, Y, weights
    return X[weights > 0], Y[weights > 0], weights[weights > 0]


def check_weights(sample_weight: object, n_docs: int) -> FloatArray | None:
    """Weights of the documents: None, one number, or one per document; finite and not negative."""
    if sample_weight is None:
        return None
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"values of type {given.dtype}")
        with np.errstate(over="ignore"):
            weights = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"sample_weight must be numbers, one per document; got {short_message(error)}.") from None
    weights = np.full(n_docs, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (n_docs,):
        raise DataError(f"sample_weight.shape == {weights.shape}, expected ({n_docs},)!")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must be finite and not negative.")
    odd = weights[(weights > _WEIGHTS[1]) | ((weights > 0) & (weights < _WEIGHTS[0]))]
    if len(odd):
        raise DataError(
            f"sample_weight contains {odd[0]:g}; expected 0, or a weight between {_WEIGHTS[0]:g} and {_WEIGHTS[1]:g}."
        )
    if len(weights) and not weights.any():
        raise DataError("All sample weights are zero; expected at least one positive weight.")
    return weights
