"""MinOver: always learn the pair of classes that is ranked worst in all documents, until every margin is large enough.

    (i, y, z) = argmin F(x_i, y) - F(x_i, z)  over all documents, y in Y_i, z not        lowest numbers on ties
    stop where this margin exceeds the desired one; else alpha_iyz += D(y, z)

This is the perceptron with the best choice of what to learn next; it needs fewer documents in the end. The scores F of
all documents (n_docs x n_classes) are kept and moved by one column of the Gram matrix in each step, margins with them.
If the documents cannot be separated, it stops after a number of steps and returns the step whose least margin, over the
length of the weights, was the largest. After Krauth and Mezard (1987), Cai and Hofmann (2007).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from linnaeus._kernels import dispatch
from linnaeus.engine import Clock, available_memory, format_bytes
from linnaeus.errors import DataError, ParameterError, warn_user
from linnaeus.models.fitting import warn_not_converged
from linnaeus.models.ranking.online import RankerOutcome
from linnaeus.models.ranking.updates import AttributeWeights, DocumentSource, RankedClasses
from linnaeus.progress import progress
from linnaeus.taxonomy.closure import row_numbers
from linnaeus.typing import CSR, FloatArray, IntArray

if TYPE_CHECKING:
    from linnaeus.models.ranking.perceptron import HierarchicalPerceptron

__all__ = ["MinOverSteps", "contradictions", "minover", "train_minover"]


def train_minover(
    model: HierarchicalPerceptron, source: DocumentSource, clock: Clock
) -> tuple[AttributeWeights, RankerOutcome]:
    """Train `HierarchicalPerceptron(variant="minover")`; sets ``margin_``."""
    classes = model._classes()
    labels = _without_contradictions(source)
    n_docs, n_classes = labels.shape
    limit = model.max_iter * n_docs
    with progress("learning", limit, show=model.verbose > 0) as advance:
        steps = minover(
            source.column, source.diagonal, labels, classes, margin=model.margin, max_steps=limit, clock=clock,
            advance=advance,
        )  # fmt: skip
    out_of_time = not steps.converged and len(steps.size) < limit
    if not steps.converged and not out_of_time:
        missed = f"MinOver stopped after {limit:,} steps before all margins were above {model.margin:g}"
        warn_not_converged(missed, advice="increase max_iter, unless the documents cannot be separated")
    B = sparse.csr_array(steps.coefficients(n_docs, n_classes) @ classes.attributes)
    n_steps = len(steps.size)
    weights = AttributeWeights(source.gather(B), np.zeros((0, classes.n_attributes)), n_steps, averaged=False)
    model.margin_ = steps.margin
    passes = n_steps / max(1, n_docs) if out_of_time else max(1, -(-n_steps // max(1, n_docs)))
    return weights, RankerOutcome(passes, n_steps, steps.converged, steps.n_active(n_classes), out_of_time)


def _without_contradictions(source: DocumentSource) -> CSR:
    """Labels without those of documents that no ranking can learn together with an equal one."""
    labels = source.labels
    wrong = contradictions(source.key, labels)
    if not len(wrong):
        return labels
    warn_user(
        f"{len(wrong):,} documents equal an earlier one but have other labels, so no ranking is right for both; "
        "MinOver learns from the earlier one."
    )
    kept = labels.copy()
    kept.data[np.isin(row_numbers(labels.indptr), wrong)] = 0
    kept.eliminate_zeros()
    return kept


@dataclass(frozen=True)
class MinOverSteps:
    """The steps that were taken, in order: document, pair of classes, size; those after ``best`` are not used.

    ``margin`` is the least margin over the length of the weights at step ``best``.
    """

    document: IntArray
    right: IntArray
    wrong: IntArray
    size: FloatArray
    best: int
    margin: float
    converged: bool

    def coefficients(self, n_docs: int, n_classes: int) -> CSR:
        """B (n_docs x n_classes): the sizes of a document's pairs, added at the right and taken at the wrong class."""
        used = slice(self.best)
        rows = np.tile(self.document[used], 2)
        columns = np.concatenate([self.right[used], self.wrong[used]])
        values = np.concatenate([self.size[used], -self.size[used]])
        B = sparse.csr_array((values, (rows, columns)), shape=(n_docs, n_classes))
        B.sum_duplicates()
        return B

    def n_active(self, n_classes: int) -> int:
        """Different pairs of documents with a size above 0."""
        used = slice(self.best)
        pairs = self.right[used].astype(np.int64) * n_classes + self.wrong[used]
        return len(np.unique(self.document[used].astype(np.int64) * n_classes**2 + pairs))


def minover(
    gram_column: Callable[[int], FloatArray],
    diagonal: FloatArray,
    labels: CSR,
    classes: RankedClasses,
    *,
    margin: float = 0.0,
    max_steps: int,
    clock: Clock | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> MinOverSteps:
    """Learn; ``gram_column(i)`` is K(x, x_i) of all documents x, ``diagonal`` K(x, x)."""
    n_docs, n_classes = labels.shape
    _check_room(n_docs, n_classes)
    kernel = dispatch.best("perceptron")
    F = np.zeros((n_docs, n_classes))
    margins = np.zeros(n_docs)
    right, wrong = _first_pairs(labels, diagonal)
    label_arrays = labels.indptr.astype(np.int64), labels.indices.astype(np.int32)
    L = classes.attributes
    taken: list[tuple[int, int, int, float]] = []
    rows: dict[int, FloatArray] = {}
    best, best_margin, length, longest = 0, -math.inf, 0.0, 0.0
    i = int(np.argmax(right >= 0)) if (right >= 0).any() else -1
    while i >= 0 and margins[i] <= margin and len(taken) < max_steps:
        y, z = int(right[i]), int(wrong[i])
        if y not in rows:
            rows[y] = classes.cost.row(y)
        tau = float(rows[y][z])
        if tau <= 0:
            raise ParameterError(f"MinOver needs costs above 0 for every pair of classes; got {tau:g}.")
        difference = (L[[y]] - L[[z]]).toarray().ravel()
        length += 2 * tau * margins[i] + tau**2 * diagonal[i] * float(difference @ difference)
        taken.append((i, y, z, tau))
        i = kernel.shift_scores(F, gram_column(i), tau * (L @ difference), *label_arrays, margins, right, wrong)
        longest = max(longest, length)
        reached = margins[i] / math.sqrt(length) if length > 1e-12 * longest else -math.inf  # else back at 0
        if reached > best_margin:
            best, best_margin = len(taken), float(reached)
        advance(1)
        if clock is not None and clock.over:
            break
    converged = i < 0 or margins[i] > margin
    columns = list(zip(*taken, strict=True)) or [(), (), (), ()]
    documents, rights, wrongs = (np.array(column, dtype=np.int32) for column in columns[:3])
    best = len(taken) if converged else best
    return MinOverSteps(
        documents, rights, wrongs, np.array(columns[3], dtype=np.float64), best, best_margin, bool(converged)
    )


def contradictions(key: Callable[[int], bytes], labels: CSR) -> IntArray:
    """Documents with the key of an earlier one and classes such that neither set contains the other.

    Examples
    --------
    >>> labels = sparse.csr_array([[1, 0], [0, 1], [1, 1]])
    >>> contradictions(lambda i: b"the same", labels).tolist()
    [1]
    """
    seen: dict[bytes, list[set[int]]] = {}
    contradicting = []
    for i in range(labels.shape[0]):
        own = set(labels.indices[labels.indptr[i] : labels.indptr[i + 1]].tolist())
        earlier = seen.setdefault(hashlib.sha256(key(i)).digest(), [])
        if any(not (own <= other or other <= own) for other in earlier):
            contradicting.append(i)
        else:
            earlier.append(own)
    return np.array(contradicting, dtype=np.intp)


def _first_pairs(labels: CSR, diagonal: FloatArray) -> tuple[IntArray, IntArray]:
    """The pair of lowest numbers of every document, -1 where there is none or nothing to learn from."""
    n_docs, n_classes = labels.shape
    right, wrong = np.full(n_docs, -1, np.int32), np.full(n_docs, -1, np.int32)
    sizes = np.diff(labels.indptr)
    for i in np.flatnonzero((sizes > 0) & (sizes < n_classes) & (diagonal > 0)):
        own = labels.indices[labels.indptr[i] : labels.indptr[i + 1]]
        gap = np.flatnonzero(own != np.arange(len(own)))
        right[i], wrong[i] = own[0], gap[0] if len(gap) else len(own)
    return right, wrong


def _check_room(n_docs: int, n_classes: int) -> None:
    needed = 8 * n_docs * n_classes
    if needed > 0.8 * available_memory():
        raise DataError(
            f"MinOver keeps the scores of {n_docs:,} documents x {n_classes:,} classes, {format_bytes(needed)}, but "
            f"only {format_bytes(available_memory())} are available; use variant='averaged'."
        )
