"""Dense vectors made ready for a linear model: missing values filled, every feature to mean 0 and deviation 1.

What is learned comes from the training documents only: x -> (fill(x) - mean) / deviation, column by column. A NaN
becomes a number learned from its column. A feature that never varies is only centred.

A profile is the other way round: x -> (fill(x) - m) / |fill(x) - m|, m the mean of the values of this document, so that
the product of two documents is the correlation of their values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from linnaeus.errors import DataError, check_choice
from linnaeus.typing import Array, FloatArray

__all__ = ["DenseFeatures", "FillMissing"]


class FillMissing(TransformerMixin, BaseEstimator):
    """Replace NaN by the mean or median of the column in the training documents, or by zero.

    A column that is missing everywhere in training is filled with zero, so that the number of columns stays.
    scikit-learn's SimpleImputer does the same with more options; this one survives saving as one array.

    Parameters
    ----------
    how : str, default="mean"
        "mean", "median" or "zero".

    Examples
    --------
    >>> FillMissing().fit([[1.0], [3.0]]).transform(np.array([[np.nan], [5.0]])).tolist()
    [[2.0], [5.0]]
    """

    def __init__(self, how: str = "mean") -> None:
        self.how = how

    def fit(self, X: npt.ArrayLike, y: object = None) -> FillMissing:
        """Learn one value per column."""
        check_choice("how", self.how, ("mean", "median", "zero"))
        X = np.asarray(X)
        if self.how == "zero":
            self.values_ = np.zeros(X.shape[1])
            return self
        present = ~np.isnan(X).all(axis=0)  # the mean of nothing would be NaN, with a warning
        self.values_ = np.zeros(X.shape[1])
        middle = np.nanmean if self.how == "mean" else np.nanmedian
        self.values_[present] = middle(X[:, present].astype(np.float64), axis=0)
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """A copy of X without NaN."""
        check_is_fitted(self, "values_")
        X = np.array(X, copy=True)
        if X.ndim != 2 or X.shape[1] != len(self.values_):
            raise DataError(f"{len(self.values_)} columns were learned; got an array of shape {X.shape}.")
        rows, columns = np.nonzero(np.isnan(X))
        X[rows, columns] = self.values_[columns]
        return X

    def state(self) -> tuple[dict[str, object], dict[str, Array]]:
        """What `transform` needs as (values, arrays)."""
        return {"how": self.how}, {"values": self.values_}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> FillMissing:
        """The inverse of `state`."""
        model = cls(values["how"])
        model.values_ = np.asarray(arrays["values"])
        return model


class DenseFeatures(TransformerMixin, BaseEstimator):
    """Fill missing values, then standardise, or take profiles.

    Parameters
    ----------
    missing : str, default="mean"
        "mean", "median" or "zero", see `FillMissing`.
    scale : bool, default=True
        Bring every feature to mean 0 and standard deviation 1.
    profiles : bool, default=False
        Bring every document to mean 0 and length 1 instead, for features of one kind such as counts of words,
        histograms, or measurements of the same quantity: documents are alike if their values rise and fall together.

    Examples
    --------
    >>> DenseFeatures().fit_transform([[1.0], [np.nan], [3.0]]).ravel().round(3).tolist()
    [-1.225, 0.0, 1.225]
    >>> DenseFeatures(profiles=True).fit_transform([[1.0, 3.0], [10.0, 30.0]]).round(3).tolist()
    [[-0.707, 0.707], [-0.707, 0.707]]
    """

    keeps_columns = True  # column j is that of feature j

    def __init__(self, missing: str = "mean", scale: bool = True, profiles: bool = False) -> None:
        self.missing = missing
        self.scale = scale
        self.profiles = profiles

    def fit(self, X: npt.ArrayLike, y: object = None) -> DenseFeatures:
        """Learn fillings, means and deviations."""
        self.filler_ = FillMissing(self.missing).fit(X)
        filled = self.filler_.transform(X).astype(np.float64)
        width, scale = filled.shape[1], self.scale and not self.profiles
        self.mean_ = filled.mean(axis=0) if scale else np.zeros(width)
        deviation = filled.std(axis=0) if scale else np.ones(width)
        self.deviation_ = np.where(deviation > 1e-12 * np.maximum(1, np.abs(self.mean_)), deviation, 1.0)
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """X as float64 without NaN, standardised, or as profiles."""
        check_is_fitted(self, "mean_")
        filled = self.filler_.transform(X).astype(np.float64)
        if self.profiles:
            return _profiles(filled)
        filled -= self.mean_
        filled /= self.deviation_
        return filled

    def filling_only(self) -> DenseFeatures:
        """Unfitted features that fill missing values as these do, and leave everything else."""
        return DenseFeatures(self.missing, scale=False)

    def state(self) -> tuple[dict[str, object], dict[str, Array]]:
        """What `transform` needs as (values, arrays)."""
        arrays = {"fill": self.filler_.values_, "mean": self.mean_, "deviation": self.deviation_}
        return {"missing": self.missing, "scale": self.scale, "profiles": self.profiles}, arrays

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> DenseFeatures:
        """The inverse of `state`."""
        made = cls(values["missing"], values["scale"], values.get("profiles", False))  # older folders do not have it
        made.filler_ = FillMissing.from_state({"how": values["missing"]}, {"values": arrays["fill"]})
        made.mean_, made.deviation_ = np.asarray(arrays["mean"]), np.asarray(arrays["deviation"])
        return made


def _profiles(X: FloatArray) -> FloatArray:
    """Rows with mean 0 and length 1; rows of equal values become 0."""
    X = np.ascontiguousarray(X)  # so that sums of a row do not depend on the other rows
    size = np.abs(X).max(axis=1, keepdims=True, initial=0.0)
    X = X / np.where(size > 0, size, 1.0)  # squares of large values stay finite
    X -= X.mean(axis=1, keepdims=True)
    length = np.sqrt(np.square(X).sum(axis=1, keepdims=True))
    return np.asarray(np.where(length > 1e-12, X / np.where(length > 1e-12, length, 1.0), 0.0))
