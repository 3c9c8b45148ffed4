"""Models whose scores are linear: scoring, explaining and pruning, once for all of them.

    S = X W + 1 b'      W = w0 1' + U:  base weights w0 (n_features) of all nodes, and what each node adds to them and
                                        to what the subtrees above it add (`pruning`)

A `Scorer` holds W laid out for the kernel: rows of U in which many nodes have a weight are dense, the others sparse,
with 16-bit node numbers where these suffice. Documents are independent, so blocks of them run on threads; the best k
nodes are found without a docs x nodes array.

Weights that come block by block of columns and need not fit into memory: W (n_features x n_columns) from its blocks.

Three places for the blocks, with one interface, ``put(number, weights)`` and ``whole(numbers)``:

    InMemory      dense, written into one array
    InMemory      with ``prune_below``: every block sparse, stacked in the end
    OnDisk        blocks in a `Checkpoint`; the whole is a file, written some features at a time and memory-mapped

The file has the layout that scoring wants, rows of W one after the other (for a sparse W its CSR arrays): a document
touches the rows of its features and nothing else, so scoring needs no more memory than the rows it reads.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from linnaeus._kernels import dispatch
from linnaeus.data.check import check_labels
from linnaeus.data.matrices import is_sparse
from linnaeus.engine import blocks, get_engine, rows_that_fit
from linnaeus.engine.gpu import GPUEngine, gpu_if_any
from linnaeus.errors import ParameterError, check_number
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.models.explaining import NodeExplanation, best_answer, explain_path, one_row
from linnaeus.models.pruning import LinearWeights, Subtrees, branching, find_threshold
from linnaeus.taxonomy.closure import places, pointers
from linnaeus.typing import CSR, Array, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.models.gpu.top import DeviceScorer

__all__ = [
    "MERGE_BYTES",
    "MOST_BEST",
    "InMemory",
    "LinearTaxonomyClassifier",
    "NodeExplanation",
    "OnDisk",
    "Scorer",
    "block_arrays",
    "block_weights",
    "pruned",
]

_Write = Callable[[str, Array], None]
_Map = Callable[[str, npt.DTypeLike, tuple[int, ...]], Array]
MERGE_BYTES = 64 * 2**20  # what merging blocks on disk may hold at a time


def pruned(weights: FloatArray, below: float) -> Matrix:
    """A block as it is kept: dense, or CSR without the weights smaller than ``below`` in size.

    Examples
    --------
    >>> pruned(np.array([[0.5, 0.01], [0.0, -0.3]]), 0.1).toarray().tolist()
    [[0.5, 0.0], [0.0, -0.3]]
    """
    from scipy import sparse

    return sparse.csr_array(np.where(np.abs(weights) < below, 0, weights)) if below > 0 else weights


def block_arrays(weights: Matrix) -> dict[str, Array]:
    """A block, dense or CSR, as named arrays."""
    if not is_sparse(weights):
        return {"weights": weights}
    return {"data": weights.data, "indices": weights.indices, "indptr": weights.indptr}


def block_weights(arrays: Mapping[str, Array], n_columns: int) -> Matrix:
    """The inverse of `block_arrays`."""
    from scipy import sparse

    if "weights" in arrays:
        return arrays["weights"]
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    return sparse.csr_array(parts, shape=(len(arrays["indptr"]) - 1, n_columns))


class InMemory:
    """Blocks in memory, ``parts[number]`` being the columns of a block.

    Examples
    --------
    >>> W = InMemory(2, [slice(0, 2), slice(2, 3)], np.float32)
    >>> W.put(1, np.ones((2, 1)))
    >>> W.put(0, np.zeros((2, 2)))
    >>> W.whole([0, 1]).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    """

    def __init__(self, n_features: int, parts: Sequence[slice], dtype: npt.DTypeLike, *, sparse: bool = False) -> None:
        self.parts = parts
        self._sparse: dict[int, CSR] = {}
        n_columns = max((part.stop for part in parts), default=0)
        self._dense: FloatArray | None = None if sparse else np.zeros((n_features, n_columns), dtype)

    def put(self, number: int, weights: Matrix) -> None:
        if self._dense is not None:
            self._dense[:, self.parts[number]] = weights.toarray() if is_sparse(weights) else weights
        elif is_sparse(weights):
            self._sparse[number] = weights

    def whole(self, numbers: Sequence[int]) -> Matrix:
        """W of the blocks given, in their order."""
        if self._dense is None:
            from scipy import sparse

            return sparse.csr_array(sparse.hstack([self._sparse[i] for i in numbers], format="csr"))
        if list(numbers) == list(range(len(self.parts))):
            return self._dense
        return self._dense[:, np.concatenate([np.r_[self.parts[i]] for i in numbers])]


class OnDisk:
    """Blocks under the keys of a checkpoint, where they were put as `block_arrays`; ``key(number)`` names them.

    Examples
    --------
    >>> import tempfile
    >>> with Checkpoint(tempfile.mkdtemp(), {}) as store:
    ...     store.put("0", block_arrays(np.zeros((2, 2))))
    ...     store.put("1", block_arrays(np.ones((2, 1))))
    ...     W = OnDisk(store, str, [slice(0, 2), slice(2, 3)]).whole([0, 1])
    >>> W.tolist(), W.flags.writeable
    ([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]], False)
    """

    def __init__(
        self, store: Checkpoint, key: Callable[[int], str], parts: Sequence[slice], *, budget: int = MERGE_BYTES
    ) -> None:
        self.store, self.key, self.parts, self.budget = store, key, parts, budget

    def put(self, number: int, weights: Matrix) -> None:
        """Nothing: the block is in the store already."""

    def whole(self, numbers: Sequence[int]) -> Matrix:
        """W of the blocks given, memory-mapped from a file that vanishes with it."""
        found = [self.store.get(self.key(i), verify=False) for i in numbers]
        if "weights" in found[0]:
            return self._merge_dense([arrays["weights"] for arrays in found])
        widths = [self.parts[i].stop - self.parts[i].start for i in numbers]
        blocks = (block_weights(*pair) for pair in zip(found, widths, strict=True))
        return self._merge_sparse([block for block in blocks if is_sparse(block)])

    def _merge_dense(self, found: list[FloatArray]) -> FloatArray:
        n_features, dtype = found[0].shape[0], found[0].dtype
        n_columns = sum(block.shape[1] for block in found)
        rows = rows_that_fit(2 * dtype.itemsize * max(1, n_columns), self.budget)
        with _growing(self.store.folder) as (write, mapped):
            for a in range(0, n_features, rows):
                write("W", np.hstack([block[a : a + rows] for block in found]))
            return mapped("W", dtype, (n_features, n_columns))

    def _merge_sparse(self, found: list[CSR]) -> CSR:
        from scipy import sparse

        n_features, n_columns = found[0].shape[0], sum(block.shape[1] for block in found)
        counts = np.zeros(n_features, np.int64)
        for block in found:
            counts += np.diff(block.indptr)
        n_kept = int(counts.sum())
        # SciPy keeps both index arrays in one type and would copy the larger to change it.
        index = np.dtype(np.int32 if max(n_kept, n_columns) < 2**31 else np.int64)
        dtype = found[0].data.dtype
        with _growing(self.store.folder) as (write, mapped):
            for a, b in _row_ranges(counts, self.budget // (4 * (dtype.itemsize + index.itemsize))):
                rows = sparse.hstack([block[a:b] for block in found], format="csr")
                write("data", rows.data)
                write("indices", rows.indices.astype(index, copy=False))
            indptr = pointers(counts).astype(index)
            parts = mapped("data", dtype, (n_kept,)), mapped("indices", index, (n_kept,)), indptr
            return sparse.csr_array(parts, shape=(n_features, n_columns))


def _row_ranges(counts: IntArray, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with at most ``most`` entries each, or of one row."""
    ends = np.cumsum(counts)
    a, before = 0, 0
    while a < len(counts):
        b = max(a + 1, int(np.searchsorted(ends, before + max(1, most), side="right")))
        yield a, b
        a, before = b, int(ends[b - 1])


@contextlib.contextmanager
def _growing(folder: Path) -> Iterator[tuple[_Write, _Map]]:
    """``write(name, array)`` appends to a file; ``mapped(name, dtype, shape)`` maps it, and it has no name any more."""
    files: dict[str, BinaryIO] = {}
    paths: dict[str, Path] = {}

    def write(name: str, array: Array) -> None:
        if name not in files:
            paths[name] = folder / f".{secrets.token_hex(8)}.part"
            files[name] = open(paths[name], "xb")  # noqa: SIM115
        files[name].write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def mapped(name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Array:
        if 0 in shape or name not in files:
            empty = np.zeros(shape, dtype)
            empty.flags.writeable = False
            return empty
        files[name].flush()
        return np.asarray(np.memmap(paths[name], dtype, "r", shape=shape))

    try:
        yield write, mapped
    finally:
        for name, file in files.items():
            file.close()
            # A file without a name lives as long as its mapping, also through a kill. Where the system refuses that
            # (Windows), it stays in the folder until the next fit there tidies up.
            with contextlib.suppress(OSError):
                os.unlink(paths[name])


MOST_BEST = 128  # the kernel keeps the best in order by insertion; beyond this, a partition of all scores is quicker
_DENSE_SHARE = 4  # a row with more than one weight in 4 is quicker to add whole than entry by entry
_BLOCK = 256  # documents of a task
_MOST_COPIED = 2**27  # entries; more are used where they lie, which may be a file


class LinearTaxonomyClassifier(TaxonomyClassifier):
    """A model with ``weights_`` (n_features x len(classes_), dense or CSR) and ``intercept_``.

    A pruned model may have ``base_weights_`` (n_features), which count for every node: w_n = base + column n; and
    ``subtrees_``, which count for every node below them.
    """

    weights_: Any  # Matrix; None in models with a kernel, which have no feature weights
    intercept_: FloatArray
    base_weights_: FloatArray | None = None
    subtrees_: Subtrees | None = None
    prune_threshold_: float
    n_jobs: int | None = None
    _scorer: tuple[tuple[object, ...], Scorer] | None = None
    _on_device: tuple[tuple[object, ...], DeviceScorer] | None = None

    @property
    def coef_(self) -> Matrix:
        """Weights as scikit-learn has them, n_classes x n_features: a view, but dense and recomputed with a base."""
        if not hasattr(self, "weights_"):
            raise AttributeError(f"{type(self).__name__} has no coef_: this kernel has no feature weights.")
        if self.base_weights_ is None and self.subtrees_ is None:
            return self.weights_.T
        W = self.weights_.toarray()
        if self.base_weights_ is not None:
            W += self.base_weights_[:, None]
        if self.subtrees_ is not None:
            W += self.subtrees_.whole()
        return W.T

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in super().__getstate__().items() if key not in ("_scorer", "_on_device")}

    def _forget(self) -> None:
        self.base_weights_ = self.subtrees_ = None  # of pruning; weights are whole again
        if hasattr(self, "prune_threshold_"):
            del self.prune_threshold_

    def _scores(self, X: Matrix) -> FloatArray:
        if is_sparse(X):
            on_device = self._device_scorer()
            return self._linear_scorer().scores(X) if on_device is None else on_device.scores(X)
        # From the other side: a sparse matrix times a dense one is dense at once.
        S = (self.weights_.T @ X.T).T if is_sparse(self.weights_) else X @ self.weights_
        S = np.ascontiguousarray(S)
        S += self.intercept_
        if self.base_weights_ is not None:
            S += (X @ self.base_weights_)[:, None]
        if self.subtrees_ is not None:
            S += self.subtrees_.scores(X)
        return S

    def _best_of(self, X: Matrix, k: int) -> tuple[IntArray, FloatArray]:
        linear = type(self)._scores is LinearTaxonomyClassifier._scores
        if not linear or not is_sparse(X) or k > MOST_BEST or self.ranks_by_probability:
            return super()._best_of(X, k)
        on_device = self._device_scorer()
        return self._linear_scorer().top(X, k, self.n_jobs) if on_device is None else on_device.top(X, k)

    def _device_scorer(self) -> DeviceScorer | None:
        """Scoring on the GPU of the engine; None where there is none, so that a loaded model answers anywhere."""
        engine = getattr(self, "engine", None)
        if engine == "gpu":
            engine = gpu_if_any()
        if not isinstance(engine, GPUEngine) or engine.cluster is not None or self.subtrees_ is not None:
            return None
        arrays = (self.weights_, self.base_weights_, self.intercept_, engine.device, engine.storage)
        held = self._on_device
        if held is None or any(a is not b and not isinstance(a, str) for a, b in zip(held[0], arrays, strict=True)):
            from linnaeus.models.gpu.top import DeviceScorer

            self._on_device = held = arrays, DeviceScorer(*arrays[:3], engine)
        return held[1]

    def _linear_scorer(self) -> Scorer:
        """The weights laid out for scoring; made on first use and again when they have changed."""
        arrays = (self.weights_, self.base_weights_, self.intercept_, self.subtrees_)
        if self._scorer is None or any(a is not b for a, b in zip(self._scorer[0], arrays, strict=True)):
            self._scorer = arrays, Scorer(*arrays)
        return self._scorer[1]

    def _logistic_probabilities(self, X: object) -> FloatArray:
        """sigma(score) of every label; made to sum to 1 where every document has one label."""
        from scipy.special import expit

        if self.calibrator_ is not None:
            return self._calibrated(X)
        S = self._all_scores(X)
        if self._binary:  # agree with decision_function, which is the difference of the two scores
            P = expit(0.5 * (S[:, 1] - S[:, 0]))
            return np.column_stack([1 - P, P])
        P = expit(S)
        if self.one_label_:
            P /= np.maximum(P.sum(axis=1, keepdims=True), np.finfo(P.dtype).tiny)
        return P

    def explain(self, x: object, node: str | None = None, k: int | None = None) -> list[NodeExplanation]:
        """Exact contributions of the features of one document to every scored node of the path, and against rivals.

        ``x`` is one row; ``node`` the node to explain (default: the best of the most specific labels of the answer);
        ``k`` keeps the k largest contributions. Nodes of the path that the model does not score are left out. A flat
        model, which decides by the score of the label alone, explains only the label. Each step is also compared
        with its runner-up (``against``).
        """
        check_is_fitted(self, "nodes_")
        X = self._check_X(one_row(x), reset=False)
        if X.shape[0] != 1:
            raise ParameterError(f"explain takes one document; got {X.shape[0]}.")
        target = best_answer(self, X, self._scores(X)[0]) if node is None else self.taxonomy_.index(node)
        return explain_path(self, X, target, k, self._weights_of, self.intercept_)

    def _weights_of(self, features: IntArray, column: int) -> FloatArray:
        """Weights of some features for one label."""
        if hasattr(self.weights_, "toarray"):
            weights = self.weights_[features][:, [column]].toarray()[:, 0]
        else:
            weights = self.weights_[features, column]
        if self.base_weights_ is not None:
            weights = weights + self.base_weights_[features]
        if self.subtrees_ is not None:
            weights = weights + self.subtrees_.of_label(column, features)
        return np.asarray(weights)

    def prune(
        self,
        threshold: float | None = None,
        *,
        X: object = None,
        y: object = None,
        loss: float = 0.002,
        seen: bool = False,
        half: bool | None = None,
    ) -> LinearTaxonomyClassifier:
        """Keep only weights that matter, sparse; returns the model itself.

        Parameters
        ----------
        threshold : float, default=None
            Weights that differ by less from what all nodes share (``base_weights_``, mostly 0) are dropped; or, where
            this leaves fewer than half, from what the subtrees above share (``subtrees_``).
        X, y : object, default=None
            Documents on which to find the largest threshold instead, at which the precision of the best node falls by
            at most ``loss``. Best are documents that the model has not seen.
        seen : bool, default=False
            X and y are training documents. The model has memorised them, so half of the features of each are left out;
            this is harder than new documents mostly are, and keeps more weights than they would.
        half : bool, default=None
            Round weights to half precision, which halves the model file; by default where X and y are given.

        Examples
        --------
        >>> from linnaeus import OneVsRestSVM
        >>> X = np.vstack([np.eye(4), np.eye(4)]) + 0.01
        >>> model = OneVsRestSVM(random_state=0).fit(X, ["a", "b", "c", "d"] * 2)
        >>> model.prune(0.5).weights_.nnz, model.predict(X).tolist() == ["a", "b", "c", "d"] * 2
        (4, True)
        """
        check_is_fitted(self, "nodes_")
        if not hasattr(self, "weights_"):
            raise ParameterError(
                f"{type(self).__name__} has no feature weights to prune with this kernel; 'linear' has."
            )
        if (threshold is None) == (X is None or y is None):
            raise ParameterError("prune takes a threshold, or documents X and labels y to find one.")
        self.drop_calibration()
        if threshold is None:
            check_number("loss", loss, least=0)
            X = self._check_X(X, reset=False)
            Y = check_labels(y, self.taxonomy_, X.shape[0])[0]
            find_threshold(
                self, X, self.taxonomy_.close(Y) if self.nested_ else Y, loss, half=half is not False, seen=seen
            )
            return self
        if not threshold >= 0:
            raise ParameterError(f"threshold={threshold}; expected a number of at least 0.")
        kept = LinearWeights.of(self).pruned(threshold, branching(self.taxonomy_, self.nodes_), half=bool(half))
        kept.give(self)
        self.prune_threshold_ = float(threshold)
        return self


_Top = tuple["Scorer", tuple[IntArray, IntArray, Array], IntArray, FloatArray]  # scorer, documents, columns, scores


class Scorer:
    """W (n_features x n_nodes, dense or CSR), ``base`` (n_features) or None, ``intercept`` (n_nodes)."""

    def __init__(
        self, weights: Matrix, base: FloatArray | None, intercept: FloatArray, subtrees: Subtrees | None = None
    ) -> None:
        dtype = weights.dtype
        self.kernel = dispatch.best("sparse_top")
        self.n_nodes = weights.shape[1]
        self.dtype = dtype
        self.intercept = np.ascontiguousarray(intercept, dtype)
        self.base = np.zeros(weights.shape[0], dtype) if base is None else np.ascontiguousarray(base, dtype)
        self.parent = np.zeros(0, np.int32) if subtrees is None else np.ascontiguousarray(subtrees.parent, np.int32)
        self.levels = np.zeros(1, np.int32) if subtrees is None else subtrees.levels()
        if subtrees is not None and is_sparse(weights):
            weights = subtrees.with_nodes(weights)
        self.weights = _laid_out(weights)

    def scores(self, X: CSR) -> FloatArray:
        """Scores of checked CSR documents, n_docs x n_nodes."""
        S = np.empty((X.shape[0], self.n_nodes), self.dtype)
        if S.size:
            self.kernel.scores(*self._documents(X), *self._model(), S)
        return S

    def top(self, X: CSR, k: int, n_jobs: int | None = None) -> tuple[IntArray, FloatArray]:
        """Columns (int32) and scores of the k best nodes of every document, by score, then by column."""
        k = min(k, self.n_nodes)
        columns, values = np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), self.dtype)
        shared = (self, self._documents(X), columns, values)
        # Results are written in place: threads, whatever engine trained the model.
        for _ in get_engine(None, n_jobs).map(_top_of_block, blocks(X.shape[0], _BLOCK), shared):
            pass
        return columns, values

    def _model(self) -> tuple[Array, ...]:
        """What the kernel takes after the documents: weights, intercepts, and a row to sum in."""
        row = np.empty(max(self.n_nodes, len(self.parent)), self.dtype)
        return *self.weights, self.base, self.intercept, self.parent, self.levels, row

    def _documents(self, X: CSR) -> tuple[IntArray, IntArray, Array]:
        """X as the kernel takes it; arrays of the right types are passed on as they are, memory-mapped ones too."""
        if not X.nnz:  # the kernel wants a first element to point at
            return X.indptr.astype(np.int64), np.zeros(1, np.int32), np.zeros(1, self.dtype)
        indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
        return indptr, indices, X.data.astype(self.dtype, copy=False)


def _top_of_block(shared: _Top, part: slice) -> None:
    scorer, (indptr, indices, data), columns, values = shared
    part_indptr = indptr[part.start : part.stop + 1]
    scorer.kernel.top(part_indptr, indices, data, *scorer._model(), columns[part], values[part])


def _laid_out(weights: Matrix) -> tuple[Array, ...]:
    """(place, indptr, indices, data, dense) of the kernel."""

    n_features, n_nodes = weights.shape
    if not is_sparse(weights):
        all_dense, nothing = np.arange(n_features, dtype=np.int32), np.zeros(n_features + 1, np.int64)
        return all_dense, nothing, np.zeros(1, np.int32), np.zeros(1, weights.dtype), np.ascontiguousarray(weights)
    lengths = np.diff(weights.indptr)
    if weights.nnz > _MOST_COPIED:
        everywhere = np.full(n_features, -1, np.int32)
        parts = weights.indptr.astype(np.int64, copy=False), weights.indices.astype(np.int32, copy=False), weights.data
        return everywhere, *parts, np.zeros((1, n_nodes), weights.dtype)
    full = np.flatnonzero(lengths > max(1, n_nodes // _DENSE_SHARE))
    place = places(full, n_features)
    dense = weights[full].toarray() if len(full) else np.zeros((1, n_nodes), weights.dtype)
    kept = np.repeat(place < 0, lengths)
    indptr = pointers(np.where(place < 0, lengths, 0))
    indices = weights.indices[kept].astype(np.uint16 if n_nodes <= 2**16 else np.int32)
    data = weights.data[kept]
    if not len(data):
        indices, data = np.zeros(1, indices.dtype), np.zeros(1, data.dtype)
    return place, indptr, indices, data, np.ascontiguousarray(dense)
