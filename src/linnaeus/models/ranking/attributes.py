"""Class attributes: what classes share. Row y of L (n_classes x n_attributes) describes class y, and

    F(x, y) = sum_v L[y, v] w_v'x,        F = X w L',       w (n_features x n_attributes)

so that classes with common attributes learn from each other. Of a taxonomy the attributes are the nodes: L[y, v] = t
for v above or at class y, else 0, with t by preset:

    flat       each class has one attribute of its own; nothing is shared
    one        t = 1
    depth      t = 1 / sqrt(places of the deepest class)
    perclass   t = 1 / sqrt(places of y): every row has length 1, as in flat, so that C means the same
    paper      t = 1 / sqrt(places of the deepest class and the root)
    taxonomy+text   perclass, and the words of the labels and alternative labels of y; half of the squared length each

A class above another class has a place of its own (`taxonomy.terminals`). Places that all classes have, the root among
them, distinguish no classes: their optimal weight is 0, and they are left out. After Cai and Hofmann (2007).
"""

from __future__ import annotations

import re

import numpy as np
from scipy import sparse

from linnaeus.errors import ParameterError, nearest
from linnaeus.models.label_priors import node_texts
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pointers
from linnaeus.taxonomy.terminals import terminals
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = ["PRESETS", "check_attributes", "class_attributes", "kernel_attributes", "keyed_attributes"]

_WORD = re.compile(r"\w\w+")
PRESETS = ("flat", "one", "depth", "perclass", "paper", "taxonomy+text")


def check_attributes(attributes: object) -> None:
    """Validate that attributes are a preset or a matrix."""
    if isinstance(attributes, str):
        if attributes not in PRESETS:
            hint = nearest(attributes, PRESETS)
            raise ParameterError(f"attributes={attributes!r}; expected one of {', '.join(PRESETS)}, or a matrix{hint}")
    elif not hasattr(attributes, "shape") or len(attributes.shape) != 2:
        given = type(attributes).__name__
        raise ParameterError(f"attributes is a {given}; expected one of {', '.join(PRESETS)}, or a matrix.")


def class_attributes(taxonomy: Taxonomy, classes: IntArray, attributes: str | Matrix = "perclass") -> CSR:
    """L (n_classes x n_attributes, CSR float64, sorted rows) of classes given by node numbers.

    ``attributes`` is a preset, or a matrix with one row for every node of the taxonomy (dense or sparse).

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    >>> classes = np.array([tax.index(name) for name in ("AA", "AB", "B")])
    >>> class_attributes(tax, classes, "one").toarray().astype(int).tolist()
    [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0]]
    >>> class_attributes(tax, classes, "perclass").power(2).sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    return keyed_attributes(taxonomy, classes, attributes)[0]


def keyed_attributes(
    taxonomy: Taxonomy, classes: IntArray, attributes: str | Matrix = "perclass"
) -> tuple[CSR, IntArray]:
    """L and the key of each column, by which the columns for another list of classes can be found.

    A key is twice the number of a node, and one more for the own place of a class above others; after these come the
    words of the labels of all nodes in alphabetical order. Of a matrix it is the number of the column.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    >>> keyed_attributes(tax, np.array([1, 3]), "one")[1].tolist()
    [6, 3]
    """
    check_attributes(attributes)
    if not isinstance(attributes, str):
        return _given(taxonomy, classes, attributes), np.arange(attributes.shape[1])
    n_classes = len(classes)
    if attributes == "taxonomy+text":
        return _with_words(taxonomy, classes)
    if attributes == "flat":
        return sparse.csr_array(sparse.identity(n_classes, format="csr")), 2 * np.asarray(classes, dtype=np.int64)
    found = terminals(taxonomy, classes)
    kept = ~found.shared if n_classes > 1 else np.ones(len(found.nodes), dtype=bool)
    L = sparse.csr_array(found.pattern[:, np.flatnonzero(kept)])
    sizes = np.maximum(np.diff(L.indptr), 1)
    if attributes == "depth":
        scale = np.full(n_classes, sizes.max() ** -0.5)
    elif attributes == "perclass":
        scale = sizes**-0.5
    elif attributes == "paper":
        scale = np.full(n_classes, (found.sizes.max() + (taxonomy.root is not None)) ** -0.5)
    else:
        scale = np.ones(n_classes)
    L.data = L.data * np.repeat(scale, np.diff(L.indptr))
    L.sort_indices()
    return L, 2 * found.nodes[kept].astype(np.int64) + found.own[kept]


def _with_words(taxonomy: Taxonomy, classes: IntArray) -> tuple[CSR, IntArray]:
    """Attributes of the taxonomy, and words that several classes have in their labels; a word of one class is its own.

    Rows keep the length 1: half of its square is that of the places in the taxonomy, where there are words.
    """
    L, keys = keyed_attributes(taxonomy, classes, "perclass")
    words = _label_words(taxonomy)
    T = sparse.csr_array(words[np.asarray(classes)])
    shared = np.flatnonzero(np.bincount(T.indices, minlength=T.shape[1]) > 1)
    T = sparse.csr_array(T[:, shared])
    if not T.nnz:
        return L, keys
    counts = np.diff(T.indptr)
    T.data = np.repeat((2.0 * np.maximum(counts, 1)) ** -0.5, counts)
    scale = np.where(counts > 0, 0.5**0.5, 1.0)
    L.data = L.data * np.repeat(scale, np.diff(L.indptr))
    both = sparse.csr_array(sparse.hstack([L, T], format="csr"))
    both.sort_indices()
    return both, np.concatenate([keys, 2 * taxonomy.n_nodes + shared])


def _label_words(taxonomy: Taxonomy) -> CSR:
    """Which words the labels of the nodes have, n_nodes x words of all labels in alphabetical order."""
    found = [set[str]() for _ in range(taxonomy.n_nodes)]
    for node, weight, text in node_texts(taxonomy):
        if weight == 1.0:  # definitions have words that say little about a class
            found[node].update(_WORD.findall(text.casefold()))
    number = {word: i for i, word in enumerate(sorted(set().union(*found)))}
    indices = [number[word] for words in found for word in sorted(words)]
    indptr = pointers(list(map(len, found)))
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(found), max(1, len(number))))


def _given(taxonomy: Taxonomy, classes: IntArray, matrix: Matrix) -> CSR:
    if matrix.shape[0] != taxonomy.n_nodes:
        raise ParameterError(
            f"The matrix of attributes has {matrix.shape[0]} rows; expected {taxonomy.n_nodes}, one for each node."
        )
    L = sparse.csr_array(sparse.csr_array(matrix, dtype=np.float64)[np.asarray(classes)])
    if not np.isfinite(L.data).all():
        raise ParameterError("The matrix of attributes holds NaN or infinity.")
    L.sum_duplicates()
    L.eliminate_zeros()
    return L


def kernel_attributes(kernel: FloatArray, classes: IntArray) -> FloatArray:
    """Attributes L with L L' = a kernel between nodes, restricted to the classes (n_classes x rank, dense).

    Examples
    --------
    >>> L = kernel_attributes(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([0, 1]))
    >>> (L @ L.T).round(12).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    K = np.asarray(kernel, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.isfinite(K).all() or not np.allclose(K, K.T):
        raise ParameterError(f"A kernel between classes is a symmetric matrix of finite numbers; got shape {K.shape}.")
    values, vectors = np.linalg.eigh(K[np.ix_(classes, classes)])
    top = max(float(np.abs(values).max(initial=0.0)), np.finfo(np.float64).tiny)
    if values.min(initial=0.0) < -1e-8 * top:
        raise ParameterError(
            f"The kernel between classes has the eigenvalue {values.min():.3g}; expected none below 0."
        )
    kept = values > 1e-12 * top
    return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))
