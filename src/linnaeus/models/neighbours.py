"""Training documents that a user chose to keep with a model, and which of them are nearest to a new one (cosine)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.errors import DataError
from linnaeus.order import best_columns
from linnaeus.typing import CSR, FloatArray, Matrix, is_sparse

__all__ = ["KeptDocuments", "Neighbour"]


@dataclass(frozen=True)
class Neighbour:
    """A kept document: its name, how similar it is (1: the same direction), and its labels."""

    name: str
    similarity: float
    labels: list[str]


@dataclass(frozen=True)
class KeptDocuments:
    """Rows of length 1 (sparse or dense), names, and closed labels Y (n_docs x n_nodes)."""

    X: Any
    names: Any
    Y: CSR

    @classmethod
    def of(cls, X: Matrix, Y: CSR, names: Any = None) -> KeptDocuments:
        """Documents as the model takes them; without names they are numbered from 0."""
        names = [str(i) for i in range(X.shape[0])] if names is None else [str(name) for name in names]
        if len(names) != X.shape[0] or Y.shape[0] != X.shape[0]:
            raise DataError(
                f"There are {X.shape[0]} documents to keep, {len(names)} names and {Y.shape[0]} label sets."
            )
        return cls(_normed(X), np.array(names, dtype=object), Y)

    def nearest(self, x: Matrix, k: int, taxonomy: Any, node: int | None = None) -> list[Neighbour]:
        """The k kept documents nearest to one row, at or below a node if given; at least something in common."""
        rows = np.arange(len(self.names)) if node is None else np.unique(self.Y[:, [node]].tocoo().row)
        if not len(rows):
            return []
        product = self.X[rows] @ _normed(x).T
        similarity = np.asarray(product.toarray() if hasattr(product, "toarray") else product, dtype=np.float64).ravel()
        best = best_columns(similarity[None], min(k, len(rows)))[0]
        chosen = [int(i) for i in best if similarity[i] > 0]
        labels = taxonomy.labels(taxonomy.frontier(self.Y[rows[chosen]])) if chosen else []
        return [
            Neighbour(str(self.names[rows[i]]), float(similarity[i]), own)
            for i, own in zip(chosen, labels, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Its fields, for the store."""
        return {"X": self.X, "names": self.names, "Y": self.Y}


def _normed(X: Matrix) -> Matrix:
    """Rows of length 1, in single precision."""
    if is_sparse(X):
        from scipy import sparse

        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64)).ravel()
        scale = np.repeat(1.0 / np.where(lengths > 0, lengths, 1.0), np.diff(X.indptr))
        return sparse.csr_array(((X.data * scale).astype(np.float32), X.indices, X.indptr), shape=X.shape)
    norm: FloatArray = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(norm > 0, norm, 1.0), dtype=np.float32)
