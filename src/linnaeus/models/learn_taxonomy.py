"""A taxonomy learned from documents and their labels: classes whose documents are alike come under one node.

A class is described by the centroid of its documents, c_k = mean of x_i over documents i with label k; behind a kernel
only distances of centroids are needed, from G = M'KM with M = Y / (documents per class):

    d(k, l)^2 = G_kk + G_ll - 2 G_kl

How these become a tree is said in `taxonomy.learn`. Any model takes the result as ``taxonomy=``. Measure it on other
documents than it was learned from.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus.data.check import check_labels
from linnaeus.engine import blocks, rows_that_fit
from linnaeus.errors import DataError, check_choice, check_number, warn_user
from linnaeus.models.kernels import Linear, fitted, kernel_of
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.learn import Dendrogram, tree_of
from linnaeus.typing import CSR, FloatArray, Kernel, Matrix

__all__ = ["learn_dendrogram", "learn_taxonomy"]

METRICS = ("euclidean", "cosine")


def learn_taxonomy(X: Matrix, y: object, **options: Any) -> Taxonomy:
    """A tree over the labels of y, learned from documents X.

    Parameters
    ----------
    X : array-like or csr_array
        Documents, n_docs x n_features.
    y : labels
        Labels of any kind.
    **options : object
        Options of `learn_dendrogram`, such as ``kernel``, ``linkage`` and ``levels``.

    Returns
    -------
    Taxonomy
        A tree whose leaves are the labels.

    Examples
    --------
    >>> X = np.array([[9.0, 0, 1], [9, 1, 0], [1, 9, 0], [0, 9, 1], [5, 5, 9]])
    >>> tax = learn_taxonomy(X, ["tennis", "golf", "opera", "ballet", "chess"])
    >>> tax.names[tax.levels[1]].tolist()
    ['ballet + opera', 'chess (alone)', 'golf + tennis']
    """
    return learn_dendrogram(X, y, **options)[0]


def learn_dendrogram(
    X: Matrix,
    y: object,
    *,
    kernel: str | Kernel = "linear",
    metric: str = "euclidean",
    linkage: str = "average",
    levels: int | None = 2,
    branching: int = 10,
    classes: Iterable[str] | None = None,
) -> tuple[Taxonomy, Dendrogram]:
    """As `learn_taxonomy`, with the dendrogram that was cut (``dendrogram.picture("tree.png")`` draws it).

    Parameters
    ----------
    X : array-like or csr_array
        Documents, n_docs x n_features (CSR or dense); what ``kernel`` takes; a Gram matrix for "precomputed".
    y : labels
        Labels of any kind.
    kernel : str or Kernel, default="linear"
        Between documents: "linear", "rbf", "poly", "precomputed", or a `Kernel`.
    metric : str, default="euclidean"
        Distance of centroids, "euclidean" or "cosine" (of centroids brought to length 1).
    linkage : str, default="average"
        "average", "complete" or "ward".
    levels : int or None, default=2
        Below the root, that of the labels included; None makes as many as the data ask for, until a level has at most
        ``branching`` nodes.
    classes : iterable of str, default=None
        Labels that the tree must have, documents or not; those without are put in clusters of their own.
    """
    check_choice("metric", metric, METRICS)
    if levels is not None:
        check_number("levels", levels, least=1, whole=True)
    check_number("branching", branching, least=1, whole=True)
    Y, labels, _ = check_labels(y, None)
    names = [str(name) for name in labels.names]
    count = np.asarray(Y.sum(axis=0), dtype=np.float64).ravel()
    names, Y, count = [n for n, c in zip(names, count, strict=True) if c], Y[:, np.flatnonzero(count)], count[count > 0]
    G = _centroid_products(X, sparse.csr_array(Y.astype(np.float64)), count, kernel)
    if metric == "cosine":
        length = np.sqrt(np.maximum(np.diag(G), np.finfo(np.float64).tiny))
        G = G / length[:, None] / length
    tax, dendrogram = tree_of(G, names, levels=levels, linkage=linkage, branching=branching)
    missing = sorted({str(name) for name in classes or ()} - set(names))
    if missing:
        warn_user(f"{len(missing):,} labels have no document, {missing[0]!r} for one; each is put alone.")
        tax = _with_more(tax, missing)
    if len(names) > 1 and len(dendrogram.clusters) == 1:
        warn_user("No link between labels stands out from the others: the taxonomy is flat.")
    return tax, dendrogram


def _centroid_products(X: Matrix, Y: CSR, count: FloatArray, kernel: str | Kernel) -> FloatArray:
    """G = M'KM (n_classes x n_classes), documents some at a time where there is a kernel."""
    chosen = kernel_of(kernel)
    A = chosen.prepare(X)
    n_docs = A.shape[0] if hasattr(A, "shape") else len(A)
    if n_docs != Y.shape[0]:
        raise DataError(f"y has labels of {Y.shape[0]} documents, but X has {n_docs} rows.")
    if isinstance(chosen, Linear) and not chosen.normalise:
        C = sparse.csr_array(Y.T @ A) if sparse.issparse(A) else np.asarray(Y.T @ A)
        G = C @ C.T
        G = np.asarray(G.toarray() if sparse.issparse(G) else G, dtype=np.float64)
        return G / count[:, None] / count
    chosen = fitted(chosen, A)
    M = Y.multiply(1.0 / count).tocsr()
    G = np.zeros((Y.shape[1], Y.shape[1]))
    for part in blocks(n_docs, rows_that_fit(8 * n_docs)):
        rows = np.arange(part.start, part.stop)
        G += M[rows].T @ (chosen(A[rows], A) @ M)
    return (G + G.T) / 2


def _with_more(tax: Taxonomy, names: list[str]) -> Taxonomy:
    """The tree with more classes, each below a node of its own at the depth of the others."""
    root = str(tax.names[tax.root])
    edges = [(str(tax.names[p]), str(tax.names[v])) for p, v in zip(*tax.edges, strict=True)]
    depth = int(tax.depth.max())
    for name in names:
        chain = [name, *(f"{name} (alone{'' if k == 1 else f' {k}'})" for k in range(1, depth)), root]
        edges += list(zip(chain[1:], chain, strict=False))
    return Taxonomy.from_edges(edges, root=root)
