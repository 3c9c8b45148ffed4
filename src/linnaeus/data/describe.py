"""Counts of a data set: documents, features, labels before and after closure, missing values and duplicates."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np

from linnaeus.data.dataset import Dataset
from linnaeus.data.matrices import is_sparse
from linnaeus.data.splits import first_occurrence
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import IntArray, Matrix

__all__ = ["describe"]


def describe(data: Dataset, taxonomy: Taxonomy | None = None) -> dict[str, Any]:
    """Counts of a data set as a dictionary of plain values.

    Parameters
    ----------
    data : Dataset
        Documents with or without labels.
    taxonomy : Taxonomy, default=None
        By default that of the data set; without one the counts do not include nodes and closed label sets.

    Returns
    -------
    dict
        Plain values, for JSON.

    Examples
    --------
    >>> data = Dataset(fields={"text": ["a goal", "a vote"]}, labels=[["Football"], []])
    >>> counts = describe(data, Taxonomy.from_edges([("Sports", "Football")], root=None))
    >>> counts["labels"]["per_doc"], counts["labels"]["per_doc_closed"], counts["labels"]["docs_without"]
    (0.5, 1.0, 1)
    """
    taxonomy = taxonomy if taxonomy is not None else data.taxonomy
    counts: dict[str, Any] = {"source": data.source, "kind": data.kind, "n_docs": len(data)}
    if data.columns:
        counts["columns"] = {role: list(names) for role, names in data.columns.items()}
    counts |= data.notes
    counts |= _documents(data)
    counts["n_duplicates"] = int((first_occurrence(data) != np.arange(len(data))).sum())
    if data.split is not None:
        counts["split"] = _parts(data)
    if data.labels is not None:
        counts["labels"] = _labels(data.labels) | ({} if taxonomy is None else _labels_on(data, taxonomy))
    if taxonomy is not None:
        counts["taxonomy"] = _taxonomy(taxonomy)
    return counts


def _documents(data: Dataset) -> dict[str, object]:
    if data.X is not None:
        return _matrix(data.X, data.feature_names or [])
    if data.sequences is not None:
        return {"mean_length": _mean([len(s) for s in data.sequences])}
    fields = {}
    for name, texts in (data.fields or {}).items():
        fields[name] = {"n_docs": sum(bool(t) for t in texts), "mean_words": _mean([len(t.split()) for t in texts])}
    return {"fields": fields}


def _matrix(X: Matrix, names: list[str]) -> dict[str, object]:
    counts: dict[str, object] = {"n_features": int(X.shape[1])}
    if any("=" in name for name in names):  # nominal attributes take one column per value
        counts["n_attributes"] = len(dict.fromkeys(name.split("=", 1)[0] for name in names))
    if is_sparse(X):
        counts["nnz_per_doc"] = X.nnz / max(X.shape[0], 1)
        return counts
    missing = np.isnan(X)
    counts["missing"] = {"n_values": int(missing.sum()), "n_docs": int(missing.any(axis=1).sum())}
    return counts


def _parts(data: Dataset) -> dict[str, dict[str, int]]:
    """Number of documents of each part, and of those with a label."""
    parts = Counter(data.split or [])
    labels = data.labels or [[]] * len(data)
    labelled = Counter(part for part, given in zip(data.split or [], labels, strict=True) if given)
    return {name: {"n_docs": n, "n_docs_with_label": labelled[name]} for name, n in sorted(parts.items())}


def _labels(labels: list[list[str]]) -> dict[str, object]:
    frequency = Counter(label for row in labels for label in set(row))
    return {
        "n_labels": len(frequency),
        "per_doc": _mean([len(row) for row in labels]),
        "docs_without": sum(not row for row in labels),
        "docs_per_label": _quantiles(np.array(list(frequency.values()), dtype=np.int64)),
        "n_labels_once": sum(n == 1 for n in frequency.values()),
    }


def _labels_on(data: Dataset, taxonomy: Taxonomy) -> dict[str, object]:
    """Positions of the labels in the taxonomy."""
    unknown = data.unknown_labels(taxonomy)
    with warnings.catch_warnings():  # unknown labels are counted here, so the warning is not needed
        warnings.simplefilter("ignore")
        Y = data.indicator(taxonomy, unknown="drop")
    closed = taxonomy.close(Y, keep_root=False)
    used = np.bincount(Y.indices, minlength=taxonomy.n_nodes) > 0
    reached = np.bincount(closed.indices, minlength=taxonomy.n_nodes) > 0
    nodes = np.arange(taxonomy.n_nodes) != (-1 if taxonomy.root is None else taxonomy.root)
    return {
        "per_doc_closed": closed.nnz / max(len(data), 1),
        "n_leaf_labels": int((used & taxonomy.is_leaf).sum()),
        "n_internal_labels": int((used & ~taxonomy.is_leaf).sum()),
        "share_at_internal_nodes": float((~taxonomy.is_leaf[Y.indices]).mean()) if Y.nnz else 0.0,
        "n_nodes_without_data": int((nodes & ~reached).sum()),
        "n_unknown": len(unknown),
        "n_unknown_occurrences": unknown.total(),
        "unknown": dict(unknown.most_common(10)),
    }


def _taxonomy(taxonomy: Taxonomy) -> dict[str, object]:
    return {
        "kind": taxonomy.kind,
        "n_nodes": taxonomy.n_nodes,
        "n_edges": taxonomy.n_edges,
        "n_leaves": len(taxonomy.leaves),
        "nodes_per_level": [len(level) for level in taxonomy.levels[1:]],
    }


def _mean(values: list[int]) -> float:
    return float(np.mean(values)) if values else 0.0


def _quantiles(values: IntArray) -> dict[str, float]:
    if not len(values):
        return {}
    names = ("min", "25%", "median", "75%", "max")
    return {name: float(q) for name, q in zip(names, np.quantile(values, [0, 0.25, 0.5, 0.75, 1]), strict=True)}
