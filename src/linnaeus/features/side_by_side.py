"""Several features of the same dense vectors side by side, in one matrix.

    x -> (s_1 f_1(x), s_2 f_2(x), ...)     s_i = 1 / root mean squared length of f_i(x) over the training documents

so that every part counts the same. The product of two documents is the sum of those of the parts: a linear model of
two maps side by side has the sum of their kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from linnaeus.errors import DataError, ParameterError
from linnaeus.features.dense import DenseFeatures
from linnaeus.features.kernel_map import KernelMap
from linnaeus.typing import FloatArray, ObjectArray

__all__ = ["SideBySide", "joined", "scales_of"]


def scales_of(blocks: Sequence[FloatArray]) -> list[float]:
    """Factors that bring blocks of columns to the same mean squared length, 1; 1 for a block of zeros.

    Examples
    --------
    >>> scales_of([np.full((2, 4), 3.0), np.zeros((2, 1))])
    [0.16666666666666666, 1.0]
    """
    lengths = [float(np.einsum("ij,ij->", block, block, dtype=np.float64)) / max(1, len(block)) for block in blocks]
    return [float(1.0 / np.sqrt(length)) if np.isfinite(length) and length > 0 else 1.0 for length in lengths]


def joined(blocks: Sequence[FloatArray], scales: Sequence[float]) -> FloatArray:
    """Blocks of columns times their scales, in one matrix of single precision."""
    made = np.empty((len(blocks[0]), sum(block.shape[1] for block in blocks)), dtype=np.float32)
    first = 0
    for block, scale in zip(blocks, scales, strict=True):
        last = first + block.shape[1]
        np.multiply(block, scale, out=made[:, first:last], casting="same_kind")
        first = last
    return made


def _values_of(part: DenseFeatures | KernelMap) -> DenseFeatures | None:
    """What makes the values of a part; None for a map of vectors as they are."""
    values: DenseFeatures | None = part.features if isinstance(part, KernelMap) else part
    return values


class SideBySide(TransformerMixin, BaseEstimator):
    """Features of dense vectors side by side, each part with the same weight.

    Parameters
    ----------
    parts : sequence of transformer
        What is made of the vectors: at least two of `DenseFeatures` and `KernelMap`, which fill missing values in the
        same way.

    Attributes
    ----------
    parts_ : list of transformer
        The fitted parts.
    scales_ : list of float
        What the columns of each part are multiplied by.

    Examples
    --------
    >>> from linnaeus.features import KernelMap
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> both = SideBySide([DenseFeatures(profiles=True), KernelMap(DenseFeatures(), 20)])
    >>> both.fit_transform(X).shape
    (50, 23)
    """

    uses_labels = True  # maps choose their width by them
    columns_are_terms = False  # columns of a map are filled in every document

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def fit(self, X: Any, y: Any = None) -> SideBySide:
        """Learn every part, and how much its columns are scaled; y are labels of any kind, or None."""
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **unused: Any) -> FloatArray:
        """As `fit`, then `transform`, with every part made once."""
        return joined(self._fit(X, y), self.scales_)

    def _fit(self, X: Any, y: Any) -> list[FloatArray]:
        self._check_parameters()
        self.values_ = DenseFeatures(next(iter(self._ways_to_fill()), "mean")).fit(X)
        self.n_features_in_ = len(self.values_.mean_)
        self.parts_ = [clone(part) for part in self.parts]
        blocks = [np.asarray(part.fit_transform(X, y)) for part in self.parts_]
        self.scales_ = scales_of(blocks)
        return blocks

    def _check_parameters(self) -> None:
        if not isinstance(self.parts, list | tuple) or len(self.parts) < 2:
            raise ParameterError(f"parts={self.parts!r}; expected a list of at least two features of dense vectors.")
        for part in self.parts:
            known = isinstance(part, DenseFeatures | KernelMap) and isinstance(_values_of(part), DenseFeatures | None)
            if not known:
                raise ParameterError(f"parts has {part!r}; expected DenseFeatures, or a KernelMap of them.")
        if len(ways := self._ways_to_fill()) > 1:
            raise ParameterError(f"parts fill missing values by {' and by '.join(ways)}; expected one way.")

    def _ways_to_fill(self) -> list[str]:
        """How the parts fill missing values."""
        values = [_values_of(part) for part in self.parts]
        return sorted({one.missing for one in values if one is not None})

    def transform(self, X: Any) -> FloatArray:
        """All parts of documents, n_docs x columns in single precision; every document on its own."""
        check_is_fitted(self, "scales_")
        if np.ndim(X) != 2 or np.shape(X)[1] != self.n_features_in_:
            raise DataError(f"{self.n_features_in_} columns were learned; got an array of shape {np.shape(X)}.")
        return joined([np.asarray(part.transform(X)) for part in self.parts_], self.scales_)

    # -- explanations leave out one value at a time --------------------------------------------------------------------

    def vectors(self, X: Any) -> FloatArray:
        """The values that explanations are about: filled, as deviations from their means in training."""
        check_is_fitted(self, "scales_")
        return self.values_.transform(X)

    def map(self, vectors: FloatArray) -> FloatArray:
        """All parts of documents given by `vectors`."""
        return self.transform(np.asarray(vectors) * self.values_.deviation_ + self.values_.mean_)

    def input_names(self) -> None:
        """None: columns of vectors have no names of their own."""

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """Names of the columns: the number of the part, and the number of the column in it."""
        check_is_fitted(self, "scales_")
        zero = np.zeros((1, self.n_features_in_))
        widths = [np.shape(part.transform(zero))[1] for part in self.parts_]
        return np.asarray([f"part{i}_{j}" for i, width in enumerate(widths) for j in range(width)], dtype=object)

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What `transform` needs as (values, arrays)."""
        check_is_fitted(self, "scales_")
        return {"parts": self.parts_, "scales": self.scales_, "values": self.values_}, {}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> SideBySide:
        """The inverse of `state`."""
        made = cls(values["parts"])
        made.parts_, made.scales_, made.values_ = values["parts"], values["scales"], values["values"]
        made.n_features_in_ = len(made.values_.mean_)
        return made
