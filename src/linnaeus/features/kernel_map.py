"""An RBF feature map, so that linear models learn functions that are not linear in the vectors.

    K(x, z) = exp(-gamma |x - z|^2) = phi(x)'phi(z) approximately, phi(x) of n_components numbers

Nystroem's method takes landmarks L (training documents, or centres of k-means):

    phi(x) = K(x, L) K(L, L)^(-1/2)

which is exact on the landmarks. Random Fourier features need no landmarks: phi(x) = sqrt(2 / m) cos(W'x + b) with
W ~ N(0, 2 gamma) and b uniform on 0..2 pi. Sparse vectors, such as text, are first projected on the leading right
singular vectors of the training matrix.

gamma="auto" tries multiples of 1 / (median squared distance) on held-out training documents: ridge regression of the
closed label sets on a small map, the least squared error wins. clip="auto" is chosen with it: values that are far from
the mean of their column are brought nearer, since a few of them would decide all distances.

Williams and Seeger (2001); Rahimi and Recht (2007).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import check_labels
from linnaeus.data.matrices import as_matrix, check_values, is_sparse
from linnaeus.engine import single_blas_thread
from linnaeus.errors import DataError, ParameterError, check_choice, check_number, warn_user
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix, ObjectArray

__all__ = ["KernelMap"]

METHODS, LANDMARKS = ("nystroem", "fourier"), ("kmeans", "uniform")
GAMMAS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)  # times 1 / median squared distance
_NARROWEST, _WIDEST = 20.0, 1e-3  # the same: with other values a map is of no use
CLIPS = (3.0, 1.5)  # deviations from the mean of a column
_CLIP_GAIN = 0.998  # times the error without clipping that clipped vectors have to have
_PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of ridge regression, times the number of documents
_DRAWN, _FEW = 2_000, 1_000  # documents that choose gamma, and up to which every quarter of them is held out
_SMALL, _SMALLER = 300, 200  # landmarks of the maps that gamma is chosen with; the same where every quarter is held out
_OFTEN = 5  # documents of a node that takes part in the choice
_WIDTH = 256  # dimensions that sparse vectors are projected to
_ROWS = 64  # rows of a product; always the same number, so that rounding does not depend on the batch
_LEAST = 1e-10  # eigenvalues of K(L, L) below this, relative to the largest, are left out


class KernelMap(TransformerMixin, BaseEstimator):
    """Vectors through an approximate RBF feature map.

    Parameters
    ----------
    features : transformer or None, default=None
        Makes vectors of the documents first, such as `DenseFeatures` or `TextFeatures`; None takes a matrix as it is.
    n_components : int, default=600
        Number of landmarks or random features; at most the number of documents for "nystroem".
    gamma : float or "auto", default="auto"
        Width of the kernel. "auto" is chosen on held-out documents where ``fit`` is given labels, and is otherwise
        1 / (median squared distance).
    method : {"nystroem", "fourier"}, default="nystroem"
        Nystroem's method on landmarks, or random Fourier features.
    landmarks : {"kmeans", "uniform"}, default="kmeans"
        Centres of k-means, or documents drawn at random.
    projection : int or None, default=None
        Number of singular vectors that vectors are projected on first; None projects sparse ones on 256.
    clip : float, "auto" or None, default="auto"
        Deviations from the mean of a column beyond which a value is put there; None leaves vectors as they are. "auto"
        is chosen together with ``gamma="auto"`` for vectors that are not projected, and is None otherwise.
    random_state : int, default=0
        Seed of everything that is drawn.

    Attributes
    ----------
    gamma_ : float
        The width that is used.
    clip_ : float or None
        The deviations that are used.
    gamma_errors_ : dict of float to float
        Held-out squared error for each gamma that was tried, relative to that of the means; empty if none was.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> phi = KernelMap(n_components=50, gamma=0.5).fit(X)
    >>> Z = phi.transform(X)
    >>> bool(np.allclose(Z[0] @ Z[1], np.exp(-0.5 * ((X[0] - X[1]) ** 2).sum()), atol=1e-5))
    True
    """

    uses_labels = True  # whether `fit` learns from labels; a `Pipeline` passes closed ones then
    columns_are_terms = False  # every column is filled; a `Pipeline` counts those of the features before the map

    def __init__(
        self,
        features: Any = None,
        n_components: int = 600,
        *,
        gamma: float | str = "auto",
        method: str = "nystroem",
        landmarks: str = "kmeans",
        projection: int | None = None,
        clip: float | str | None = "auto",
        random_state: int = 0,
    ) -> None:
        self.features = features
        self.n_components = n_components
        self.gamma = gamma
        self.method = method
        self.landmarks = landmarks
        self.projection = projection
        self.clip = clip
        self.random_state = random_state

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> KernelMap:
        """Choose gamma and landmarks; y are labels of any kind, or None."""
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **unused: Any) -> FloatArray:
        """As `fit`, then `transform`, with the vectors made once."""
        return self._mapped(self._fit(X, y))

    def _fit(self, X: Any, y: Any) -> FloatArray:
        self._check_parameters()
        self.features_: Any = None if self.features is None else clone(self.features)
        with single_blas_thread():
            vectors = X if self.features_ is None else self.features_.fit_transform(X)
            return self._learn_map(self._learn_projection(_checked(vectors)), y)

    def _check_parameters(self) -> None:
        check_number("n_components", self.n_components, least=1, whole=True)
        check_number("random_state", self.random_state, least=0, whole=True)
        if self.gamma != "auto":
            if isinstance(self.gamma, str):
                raise ParameterError(f"gamma={self.gamma!r}; expected a number above 0, or 'auto'.")
            check_number("gamma", self.gamma, above=0)
        if self.clip not in ("auto", None):
            if isinstance(self.clip, str):
                raise ParameterError(f"clip={self.clip!r}; expected a number above 0, 'auto' or None.")
            check_number("clip", self.clip, above=0)
        if self.projection is not None:
            check_number("projection", self.projection, least=1, whole=True)
        check_choice("method", self.method, METHODS)
        check_choice("landmarks", self.landmarks, LANDMARKS)

    def _learn_projection(self, X: Matrix) -> FloatArray:
        """Learn the singular vectors, where there is a projection; the projected X."""
        n_docs, n_features = X.shape
        self.n_features_in_ = n_features
        self.projection_: FloatArray | None = None
        self.limits_: FloatArray | None = None
        width = self.projection or (_WIDTH if is_sparse(X) else None)
        if n_docs == 0:
            raise DataError("A kernel map learns from documents; got none.")
        if width is not None and width < min(n_docs, n_features):
            from sklearn.utils.extmath import randomized_svd

            _, _, V = randomized_svd(X, width, n_iter=3, random_state=self.random_state)
            self.projection_ = np.ascontiguousarray(V.T, dtype=np.float32)
        return self._vectors(X)

    def _learn_map(self, Z: FloatArray, y: Any) -> FloatArray:
        """Learn widths and landmarks from vectors; the clipped vectors."""
        self.clip_ = None if isinstance(self.clip, str) else self.clip
        self.limits_ = _limits(Z, self.clip_)
        Z, whole = _clipped(Z, self.limits_), Z
        rng = np.random.default_rng(self.random_state)
        scale = 1.0 / _median_squared_distance(Z, rng)
        self.gamma_errors_: dict[float, float] = {}
        self.gamma_ = scale if self.gamma == "auto" else float(self.gamma)
        if not _NARROWEST > self.gamma_ / scale > _WIDEST:
            alike = "hardly any two documents are alike" if self.gamma_ > scale else "all documents are nearly alike"
            warn_user(
                f"gamma={self.gamma_:g} is {self.gamma_ / scale:.2g} times 1 / (median squared distance), which is "
                f"{scale:.2g}, so that {alike} in the map; gamma='auto' chooses from {GAMMAS[0] * scale:.2g} to "
                f"{GAMMAS[-1] * scale:.2g}."
            )
        if self.gamma == "auto" and y is not None:
            self.gamma_errors_ = _errors(Z, y, [factor * scale for factor in GAMMAS], rng)
            if self.gamma_errors_ and self.clip == "auto" and self.projection_ is None:
                Z = self._choose_clip(whole, y)
            if self.gamma_errors_:
                self.gamma_ = min(self.gamma_errors_, key=lambda gamma: self.gamma_errors_[gamma])
        if self.method == "fourier":
            self.landmarks_: FloatArray = rng.normal(size=(self.n_components, Z.shape[1])) * np.sqrt(2.0 * self.gamma_)
            self.coefficients_: FloatArray = rng.uniform(0.0, 2.0 * np.pi, size=(1, self.n_components))
            return Z
        m = min(self.n_components, len(Z))
        drawn = Z[np.sort(rng.permutation(len(Z))[:m])]
        self.landmarks_ = _centres(Z, drawn, rng) if self.landmarks == "kmeans" and m < len(Z) else drawn
        self.coefficients_ = _inverse_root(_rbf(self.landmarks_, self.landmarks_, self.gamma_))
        return Z

    def _choose_clip(self, Z: FloatArray, y: Any) -> FloatArray:
        """Clip vectors where they predict held-out labels better, with a gamma near the best one; the vectors."""
        least = _CLIP_GAIN * min(self.gamma_errors_.values())
        best = list(self.gamma_errors_.values()).index(min(self.gamma_errors_.values()))
        factors = GAMMAS[max(0, best - 1) : best + 2]
        for clip in CLIPS:
            limits, rng = _limits(Z, clip), np.random.default_rng(self.random_state)
            clipped = _clipped(Z, limits)
            scale = 1.0 / _median_squared_distance(clipped, rng)
            errors = _errors(clipped, y, [factor * scale for factor in factors], rng)
            if min(errors.values()) < least:
                least = min(errors.values())
                self.clip_, self.limits_, self.gamma_errors_ = clip, limits, errors
        return _clipped(Z, self.limits_)

    # -- applying ------------------------------------------------------------------------------------------------------

    @property
    def n_features_out(self) -> int:
        """Number of columns of the map."""
        return int(self.coefficients_.shape[1])

    def transform(self, X: Any) -> FloatArray:
        """The map of documents, n_docs x n_components in single precision; every document on its own."""
        return self.map(self.vectors(X))

    def vectors(self, X: Any) -> Matrix:
        """The vectors of documents before the map."""
        check_is_fitted(self, "coefficients_")
        vectors = _checked(X if self.features_ is None else self.features_.transform(X))
        if vectors.shape[1] != self.n_features_in_:
            raise DataError(f"X has {vectors.shape[1]} features, but KernelMap was fitted with {self.n_features_in_}.")
        return vectors

    def map(self, vectors: Matrix) -> FloatArray:
        """The map of `vectors`."""
        with single_blas_thread():
            return self._mapped(self._vectors(vectors))

    def _vectors(self, X: Matrix) -> FloatArray:
        V = self.projection_
        Z: FloatArray
        if V is None:
            Z = np.ascontiguousarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        elif is_sparse(X):  # row by row anyway
            Z = np.asarray(X @ V, dtype=np.float64)
        else:
            Z = _by_blocks(lambda rows: rows @ V, np.asarray(X, dtype=np.float64), V.shape[1], np.float64)
        return _clipped(Z, self.limits_)

    def _mapped(self, Z: FloatArray) -> FloatArray:
        L, W = self.landmarks_, self.coefficients_

        def nystroem(rows: FloatArray) -> FloatArray:
            return np.asarray(_rbf(rows, L, self.gamma_) @ W)

        def fourier(rows: FloatArray) -> FloatArray:
            return np.asarray(np.sqrt(2.0 / len(L)) * np.cos(rows @ L.T + W))

        return _by_blocks(fourier if self.method == "fourier" else nystroem, Z, W.shape[1], np.float32)

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """Names of the columns of the map."""
        return np.asarray([f"rbf{j}" for j in range(self.n_features_out)], dtype=object)

    def input_names(self) -> ObjectArray | None:
        """Names of the vectors before the map, which explanations are about, where the features know them."""
        named = hasattr(self.features_, "get_feature_names_out")
        return np.asarray(self.features_.get_feature_names_out(), dtype=object) if named else None

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What `transform` needs as (values, arrays)."""
        check_is_fitted(self, "coefficients_")
        given = {name: getattr(self, name) for name in (*_PARAMETERS, "clip")}
        fitted = {"features": self.features_, "gamma_": self.gamma_, "n_features_in_": self.n_features_in_}
        fitted["clip_"] = self.clip_
        arrays = {"landmarks_": self.landmarks_, "coefficients_": self.coefficients_}
        if self.projection_ is not None:
            arrays["projection_"] = self.projection_
        if self.limits_ is not None:
            arrays["limits_"] = self.limits_
        return {**given, **fitted}, arrays

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> KernelMap:
        """The inverse of `state`."""
        # Folders that were written before vectors were clipped do not have the last two.
        made = cls(values["features"], **{name: values[name] for name in _PARAMETERS}, clip=values.get("clip"))
        made.clip_ = values.get("clip_")
        made.features_, made.gamma_ = values["features"], values["gamma_"]
        made.n_features_in_, made.gamma_errors_ = values["n_features_in_"], {}
        made.landmarks_, made.coefficients_ = np.asarray(arrays["landmarks_"]), np.asarray(arrays["coefficients_"])
        projection = arrays.get("projection_")
        made.projection_ = None if projection is None else np.asarray(projection)
        limits = arrays.get("limits_")
        made.limits_ = None if limits is None else np.asarray(limits)
        return made


_PARAMETERS = ("n_components", "gamma", "method", "landmarks", "projection", "random_state")


def _checked(X: Any) -> Matrix:
    """A CSR array or a dense array of finite float64."""
    X = as_matrix(X)
    if is_sparse(X):
        return X.tocsr()
    try:
        X = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("A kernel map takes vectors of numbers; give it features that make them.") from None
    if X.ndim != 2:
        raise DataError(f"Documents have {X.ndim} dimension(s), expected 2: documents x features.")
    check_values(X)
    return X


def _rbf(A: FloatArray, B: FloatArray, gamma: float) -> FloatArray:
    K = A @ B.T
    K *= -2.0
    K += np.einsum("ij,ij->i", A, A)[:, None]
    K += np.einsum("ij,ij->i", B, B)
    np.maximum(K, 0.0, out=K)
    K *= -gamma
    return np.exp(K, out=K)


def _inverse_root(K: FloatArray) -> FloatArray:
    """W with W W' = K^(-1), without the directions that rounding alone has made."""
    values, U = np.linalg.eigh(K)
    kept = values > _LEAST * values[-1]
    return np.ascontiguousarray(U[:, kept] / np.sqrt(values[kept]))


def _by_blocks(
    function: Callable[[FloatArray], FloatArray], Z: FloatArray, width: int, dtype: npt.DTypeLike
) -> FloatArray:
    """The function of all rows, 64 at a time; the last block is filled with zeros.

    A product of matrices rounds by its shape: with blocks of one size a document has the same map in every batch.
    """
    out = np.empty((len(Z), width), dtype=dtype)
    for start in range(0, len(Z), _ROWS):
        rows = Z[start : start + _ROWS]
        if len(rows) < _ROWS:
            rows = np.concatenate([rows, np.zeros((_ROWS - len(rows), Z.shape[1]))])
        out[start : start + _ROWS] = function(rows)[: len(Z) - start]
    return out


def _limits(Z: FloatArray, clip: float | None) -> FloatArray | None:
    """Least and largest value of every column, 2 x n_columns; None where nothing is clipped."""
    if clip is None:
        return None
    mean, deviation = Z.mean(axis=0), Z.std(axis=0)
    return np.stack([mean - clip * deviation, mean + clip * deviation])


def _clipped(Z: FloatArray, limits: FloatArray | None) -> FloatArray:
    return Z if limits is None else np.clip(Z, limits[0], limits[1])


def _centres(Z: FloatArray, first: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Centres of k-means that begins at ``first``, on at most ten documents for each."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    drawn = Z[np.sort(rng.permutation(len(Z))[: 10 * len(first)])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal documents: equal centres do no harm
        means = KMeans(len(first), init=first, n_init=1, max_iter=5).fit(drawn)
    return np.ascontiguousarray(means.cluster_centers_)


def _median_squared_distance(Z: FloatArray, rng: np.random.Generator) -> float:
    some = Z[rng.permutation(len(Z))[:500]]
    squares = np.einsum("ij,ij->i", some, some)
    distances = (squares[:, None] + squares - 2.0 * some @ some.T)[np.triu_indices(len(some), 1)]
    distances = distances[distances > 1e-12]
    return float(np.median(distances)) if len(distances) else 1.0


def _errors(Z: FloatArray, y: Any, gammas: list[float], rng: np.random.Generator) -> dict[float, float]:
    """Held-out squared error of ridge regression by gamma, with the best penalty, over that of the means.

    A quarter of the documents is held out, of few documents every quarter in turn.
    """
    Y: CSR = check_labels(y, None, len(Z))[0]
    rows = rng.permutation(len(Z))[:_DRAWN]
    few = len(rows) <= _FEW
    quarters = np.array_split(rows, 4) if few else [rows[: len(rows) // 4]]
    errors, worst = np.zeros((len(gammas), len(_PENALTIES))), 0.0
    for held in quarters:
        learn = rows[~np.isin(rows, held)]
        targets = _frequent(Y, learn)
        if not len(held) or not len(targets):
            continue
        T, T_held = (Y[part][:, targets].toarray().astype(np.float64) for part in (learn, held))
        mean = T.mean(axis=0)
        worst += float(((T_held - mean) ** 2).sum())
        for g, gamma in enumerate(gammas):
            errors[g] += _ridge_errors(
                Z[learn], Z[held], Z[learn[: _SMALLER if few else _SMALL]], T - mean, T_held - mean, gamma
            )
    return {} if worst <= 0 else dict(zip(gammas, (errors.min(axis=1) / worst).tolist(), strict=True))


def _ridge_errors(
    Z: FloatArray, Z_held: FloatArray, landmarks: FloatArray, T: FloatArray, T_held: FloatArray, gamma: float
) -> list[float]:
    """Squared error of the held-out targets by every penalty, on a map of this width."""
    W = _inverse_root(_rbf(landmarks, landmarks, gamma))
    phi, phi_held = (_rbf(part, landmarks, gamma) @ W for part in (Z, Z_held))
    centre = phi.mean(axis=0)
    values, U = np.linalg.eigh((phi - centre).T @ (phi - centre))
    right, left = U.T @ ((phi - centre).T @ T), (phi_held - centre) @ U
    answers = (left @ (right / (np.maximum(values, 0.0) + penalty * len(Z))[:, None]) for penalty in _PENALTIES)
    return [float(((T_held - answer) ** 2).sum()) for answer in answers]


def _frequent(Y: CSR, rows: IntArray) -> IntArray:
    """The labels that vary among these documents, with several documents each."""
    count = np.bincount(Y[rows].indices, minlength=Y.shape[1])
    return np.flatnonzero((count >= min(_OFTEN, len(rows) / 4)) & (count < len(rows)))
