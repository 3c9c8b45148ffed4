"""Cut-offs for any model: scores of documents that the model has not seen, by cross-validation, and what they teach.

The documents are split into folds that keep the share of every label. A model learns from all folds but one and scores
that one; together these are scores of all documents by models that have not seen them. A label that is missing from the
training part of a fold has no score there. Scores are kept whole while they fit, otherwise the best of each document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from linnaeus import metrics
from linnaeus.data.check import check_labels
from linnaeus.data.splits import kfold, train_test_split
from linnaeus.decoding import CutOff, ExpectedCut, SCut, TopScores, cut_off
from linnaeus.decoding.base import HeldOut, stacked
from linnaeus.decoding.cutoffs.cut_off import Metric, path_minima
from linnaeus.engine import parse_seconds
from linnaeus.errors import DataError, ParameterError, check_choice
from linnaeus.features.documents import n_documents, take_documents
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.classifier import Classifier
from linnaeus.progress import progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import is_closed
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = [
    "FOLDS",
    "DecoderComparison",
    "HeldOutScores",
    "fold_rows",
    "held_out_scores",
    "joined_scores",
    "kept_scores",
    "metric_function",
    "share_time",
]

Part: TypeAlias = tuple[FloatArray | TopScores, IntArray]  # scores of a fold and the nodes of their columns

Folds: TypeAlias = int | float | Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]  # as for `fit_decoder`

FOLDS = 5
_WHOLE = 50_000_000  # documents x nodes up to which all scores are kept (0.2 GB)
_TOP = 100
_METRICS = ("micro_f1", "macro_f1", "example_f1", "hierarchical_f1", "jaccard", "subset_accuracy", "lca_f1")
_PARTS = 3  # of the held-out documents, where a cut-off is compared with the model's own decoder
# What a model of a fold does not share with the model that is kept.
_ITS_OWN = {"verbose": 0, "checkpoint": None, "warm_start": False}


@dataclass(frozen=True)
class HeldOutScores:
    """Scores S of documents that the model had not seen, over ``nodes``, and their labels Y (n_docs x n_nodes).

    Parameters
    ----------
    S : ndarray or TopScores
        Scores, n_docs x n_scored.
    Y : csr_array
        Labels, n_docs x n_nodes.
    taxonomy : Taxonomy
        The taxonomy.
    nodes : ndarray of int
        Node numbers of the columns of S.
    documents : ndarray of int
        Row numbers of the documents.
    closed : bool
        Whether all training sets were closed, so that answers are compared so.
    conditional : bool, default=False
        Whether a score compares a node with its siblings only, so that scores are cut along paths, with suppression.
    own : csr_array, default=None
        Answers of the models' own decoder, n_docs x n_nodes.
    nested : bool, default=False
        Whether the model was taught closed sets.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM
    >>> held = held_out_scores(OneVsRestSVM(random_state=0), [[0.0, 1.0], [1.0, 0.0]] * 10, [["a"], ["b"]] * 10)
    >>> type(held).__name__, held.Y.shape
    ('HeldOutScores', (20, 2))
    """

    S: FloatArray | TopScores
    Y: CSR
    taxonomy: Taxonomy
    nodes: IntArray
    documents: IntArray
    closed: bool
    conditional: bool = False
    own: CSR | None = None
    nested: bool = False

    def fit(self, decoder: CutOff | str, metric: Metric | str = "micro_f1") -> CutOff:
        """A cut-off fitted on these scores."""
        cut = self._prepared(decoder)
        return cut.fit(self.S, self.Y, self.taxonomy, self.nodes, metric=metric_function(metric))

    def compare(self, decoder: CutOff | str, metric: Metric | str = "micro_f1") -> DecoderComparison:
        """A cut-off next to the model's own decoder, both on documents that neither has seen.

        The held-out documents are split into three parts; the cut-off answers each part as fitted on the other two.

        Examples
        --------
        >>> from linnaeus import OneVsRestSVM
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10, [["a"], ["b"], ["a", "b"]] * 10
        >>> held = held_out_scores(OneVsRestSVM(random_state=0), X, y, with_answers=True)
        >>> held.compare("scut").better
        True
        """
        cut, measure = self._prepared(decoder), metric_function(metric)
        if self.own is None:
            raise DataError("compare needs the answers of the model's own decoder: held_out_scores(with_answers=True).")
        gold, own = self.Y, self.own
        if cut.closed:
            gold, own = (self.taxonomy.close(Y, keep_root=False) for Y in (gold, own))
        fold = np.arange(len(self.documents)) % _PARTS
        rows, parts = [], []
        for part in range(_PARTS if len(fold) >= 2 * _PARTS else 1):
            train, test = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
            if len(fold) < 2 * _PARTS:  # too few to leave any out
                train = test = np.arange(len(fold))
            fitted = cut.fit(self.S[train], self.Y[train], self.taxonomy, self.nodes, metric=measure)
            held = HeldOut(self.S[test], self.nodes, gold[test], gold[test], self.taxonomy)
            parts.append(held.answers(fitted))
            rows.append(test)
        answers = stacked(parts, self.taxonomy)[np.argsort(np.concatenate(rows))]
        values = (float(measure(gold, Y, self.taxonomy)) for Y in (answers, own))
        return DecoderComparison(cut.name, getattr(measure, "__name__", str(measure)), *values)

    def fit_if_better(
        self, decoder: CutOff | str, metric: Metric | str = "micro_f1"
    ) -> tuple[CutOff | None, DecoderComparison]:
        """The fitted cut-off, or None where it is worse than the model's own decoder, and the comparison."""
        comparison = self.compare(decoder, metric)
        return self.fit(decoder, metric) if comparison.better else None, comparison

    def _prepared(self, decoder: CutOff | str) -> CutOff:
        """The cut-off with what follows from the documents: empty answers, and how answers are closed."""
        cut = cut_off(decoder)
        if isinstance(decoder, str) and (np.diff(self.Y.indptr) == 0).any():
            cut = cut.allowing_empty()  # as models do: some documents have no label
        if self.conditional and cut.repair == "closure":
            raise ParameterError(
                f"{type(cut).__name__}(repair='closure') does not fit a model that goes down the taxonomy: its scores "
                "compare siblings only, and a node counts only under its parents; take repair='suppress' or None."
            )
        if self.conditional and isinstance(cut, SCut) and isinstance(self.S, TopScores):
            raise DataError(
                "SCut needs the scores of all nodes of a model that goes down the taxonomy; got the best of each "
                "document. Take another cut-off, or top=None."
            )
        open_ = not cut.closed or (isinstance(cut, ExpectedCut) and cut.repair is None)
        if (self.closed or self.conditional) and open_:  # tune the answers as they will be
            cut = replace(cut, repair="suppress" if self.conditional else "closure")
        return cut


@dataclass(frozen=True)
class DecoderComparison:
    """What a cut-off and the model's own decoder reached on held-out documents.

    Parameters
    ----------
    decoder : str
        Name of the cut-off.
    metric : str
        Name of the measure.
    cut_off : float
        Its value with the cut-off.
    own : float
        Its value with the model's own decoder.

    Examples
    --------
    >>> print(DecoderComparison("scut", "micro_f1", 0.72, 0.70))
    The cut-off 'scut' reaches micro_f1 0.7200 on held-out documents, the model's own decoder 0.7000: it is used.
    """

    decoder: str
    metric: str
    cut_off: float
    own: float

    @property
    def better(self) -> bool:
        """Whether the cut-off is at least as good as the model's own decoder."""
        return self.cut_off >= self.own

    def __str__(self) -> str:
        end = "it is used" if self.better else "it is not used"
        return (
            f"The cut-off {self.decoder!r} reaches {self.metric} {self.cut_off:.4f} on held-out documents, the model's "
            f"own decoder {self.own:.4f}: {end}."
        )


def held_out_scores(
    model: Classifier,
    X: object,
    y: object,
    *,
    cv: Folds = FOLDS,
    top: int | None = None,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int | None = 0,
    verbose: int = 0,
    with_answers: bool = False,
) -> HeldOutScores:
    """Scores of documents by models that have not seen them, for several cut-offs at once; see `fit_decoder`.

    Parameters
    ----------
    model : TaxonomyClassifier or Pipeline
        A model; copies of it are trained on parts of the documents.
    X : array-like, csr_array or documents
        What the model takes.
    y : labels
        Labels of any kind.
    cv : int, float or iterable, default=5
        Number of folds, share of documents that is held out, or pairs of rows to train on and to score.
    top : int, default=None
        Number of best scores that are kept for each document; None keeps all where they are small.
    sample_weight : array-like, default=None
        Weights of documents.
    random_state : int, default=0
        Seed of the split.
    verbose : int, default=0
        Whether to show progress.
    with_answers : bool, default=False
        Whether to keep the answers of the models' own decoder for `HeldOutScores.compare`.

    Returns
    -------
    HeldOutScores
        Scores and labels of all documents that were held out.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM
    >>> held = held_out_scores(OneVsRestSVM(random_state=0), [[0.0, 1.0], [1.0, 0.0]] * 10, [["a"], ["b"]] * 10)
    >>> held.S.shape, held.fit("rcut").r
    ((20, 2), 1)
    """
    estimator = model.estimator
    if isinstance(estimator, MixedFromSources):
        how = {"cv": cv, "top": top, "random_state": random_state, "verbose": verbose}
        return estimator.held_out_scores(_in_place_of(model), X, y, sample_weight=sample_weight, **how)
    Y, taxonomy, codec = check_labels(y, getattr(estimator, "taxonomy_", estimator.taxonomy), n_documents(X))
    folds = fold_rows(Y, cv, random_state)
    documents = np.concatenate([test for _, test in folds])
    weights = None if sample_weight is None else np.asarray(sample_weight)
    parts, own, nested, conditional = [], [], False, False
    with progress("held-out scores", len(folds), show=verbose > 0) as advance:
        for train, test in folds:
            if Y[train].nnz:  # else there is nothing to learn from, and no score
                fitted = _for_fold(model, taxonomy)
                fitted.fit(take_documents(X, train), Y[train], None if weights is None else weights[train])
                unseen = take_documents(X, test)
                parts.append(_scores(fitted, unseen, len(documents), top))
                if with_answers:
                    own.append(fitted.answers(unseen))
                nested, conditional = fitted.nested_, fitted.conditional_scores
            else:
                own += [taxonomy.indicator([[]] * len(test))] * with_answers
                parts.append((np.empty((len(test), 0), dtype=np.float32), np.empty(0, dtype=np.int32)))
            advance(1)
    nodes = np.unique(np.concatenate([columns for _, columns in parts])).astype(np.int32)
    if not len(nodes):
        raise DataError("No label occurs in the training part of a fold; cross-validation needs labels in two folds.")
    closed = nested or (taxonomy.n_edges > 0 and not codec.single_label and is_closed(taxonomy, Y))
    Y = taxonomy.close(Y, keep_root=False) if nested else Y  # the model was taught that all above a label holds, too
    S = _joined(parts, nodes)
    answers = stacked(own, taxonomy) if with_answers else None
    return HeldOutScores(S, Y[documents], taxonomy, nodes, documents, closed, conditional, answers, nested)


@runtime_checkable
class MixedFromSources(Protocol):
    """A model of several sources, which are trained once for each fold; its own scores are made of theirs."""

    def held_out_scores(
        self,
        in_place: Callable[[Classifier], Classifier],
        X: object,
        y: object,
        *,
        sample_weight: npt.ArrayLike | None = None,
        **how: object,
    ) -> HeldOutScores:
        """Held-out scores; ``in_place(source)`` takes the documents X."""
        ...


def _in_place_of(model: Classifier) -> Callable[[Classifier], Classifier]:
    """From a source to the source itself, or to a copy of the pipeline ``model`` with the source as its model."""
    if model.estimator is model:
        return lambda source: source
    return lambda source: clone(model).set_params(model=source, decoder=None)


# -- scores of folds ---------------------------------------------------------------------------------------------------


def _scores(fitted: Classifier, X: object, n_docs: int, top: int | None) -> Part:
    """Scores of one fold: whole, or the best of each document where they are asked for or all would be too large."""
    nodes = fitted.nodes_
    top = _n_kept(n_docs, len(nodes)) if top is None else top
    if top >= len(nodes):
        return np.concatenate([np.asarray(S, dtype=np.float32) for S in fitted.score_blocks(X)]), nodes
    if fitted.conditional_scores:
        order = np.argsort(nodes, kind="stable")
        minima = (path_minima(S[:, order], fitted.taxonomy_, nodes[order]) for S in fitted.score_blocks(X))
        ranked = [TopScores.of(np.ascontiguousarray(S, dtype=np.float32), top) for S in minima]
        return _stacked(ranked), nodes[order]
    best, scores = fitted.top_nodes(X, top)
    order = np.argsort(nodes)
    positions = order[np.searchsorted(nodes, best, sorter=order)].astype(np.int32)
    return TopScores(positions, scores.astype(np.float32, copy=False), len(nodes)), nodes


def _n_kept(n_docs: int, n_nodes: int) -> int:
    """Number of scores of each document that are kept."""
    return n_nodes if n_docs * n_nodes <= _WHOLE else _TOP


def kept_scores(S: FloatArray, n_docs: int) -> FloatArray | TopScores:
    """Scores of some of ``n_docs`` documents in single precision: whole, or the best of each document."""
    S = np.ascontiguousarray(S, dtype=np.float32)
    return S if _n_kept(n_docs, S.shape[1]) >= S.shape[1] else TopScores.of(S, _TOP)


def joined_scores(parts: list[FloatArray | TopScores]) -> FloatArray | TopScores:
    """Scores of all documents from those of some at a time, which are all whole or all the best."""
    ranked = [part for part in parts if isinstance(part, TopScores)]
    return _stacked(ranked) if ranked else np.concatenate([part for part in parts if not isinstance(part, TopScores)])


def _joined(parts: list[Part], nodes: IntArray) -> FloatArray | TopScores:
    """Scores of all folds over all nodes; minus infinity where a fold did not know the node."""
    most = max((S.k for S, _ in parts if isinstance(S, TopScores)), default=0)
    if not most:
        return np.concatenate([_over(S, columns, nodes) for S, columns in parts if not isinstance(S, TopScores)])
    ranked = []
    for S, columns in parts:
        if isinstance(S, TopScores) and S.k == most:
            at = np.searchsorted(nodes, columns).astype(np.int32)
            ranked.append(TopScores(at[S.positions], S.scores, len(nodes)))
        else:  # a fold that knew few nodes
            dense = S.dense() if isinstance(S, TopScores) else S
            ranked.append(TopScores.of(_over(dense, columns, nodes), most))
    return _stacked(ranked)


def _over(S: FloatArray, columns: IntArray, nodes: IntArray) -> FloatArray:
    """Scores of ``columns`` as scores of ``nodes``."""
    if np.array_equal(columns, nodes):
        return S
    whole = np.full((len(S), len(nodes)), -np.inf, dtype=S.dtype)
    whole[:, np.searchsorted(nodes, columns)] = S
    return whole


def _stacked(parts: list[TopScores]) -> TopScores:
    return TopScores(
        np.concatenate([part.positions for part in parts]),
        np.concatenate([part.scores for part in parts]),
        parts[0].n_columns,
    )


# -- models and documents of folds -------------------------------------------------------------------------------------


def _for_fold(model: Classifier, taxonomy: Taxonomy) -> Classifier:
    """An unfitted copy with the taxonomy of all folds, that displays and writes nothing."""
    copy: Classifier = clone(model)
    estimator = copy.estimator
    if estimator is not copy:
        copy.set_params(decoder=None)
    known = estimator.get_params(deep=False)
    estimator.set_params(taxonomy=taxonomy, **{name: value for name, value in _ITS_OWN.items() if name in known})
    return copy


def share_time(model: TaxonomyClassifier, n_trainings: int) -> None:
    """Give a model its part of ``max_time``, where several trainings are to end within it.

    Parameters
    ----------
    model : TaxonomyClassifier
        The model; its ``max_time`` is changed.
    n_trainings : int
        Number of trainings that share the time.

    Examples
    --------
    >>> from linnaeus import RRSVM
    >>> model = RRSVM(max_time="1m")
    >>> share_time(model, 4)
    >>> model.max_time
    15.0
    """
    max_time = getattr(model, "max_time", None)
    if max_time is not None:
        model.set_params(max_time=parse_seconds(max_time) / n_trainings)


def fold_rows(Y: CSR, cv: Folds, random_state: int | None) -> list[tuple[IntArray, IntArray]]:
    """Rows to train on and rows that are held out, for every fold."""
    if isinstance(cv, Iterable):
        return [(np.asarray(train), np.asarray(test)) for train, test in cv]
    if isinstance(cv, float) and 0 < cv < 1:
        train, test = train_test_split(Y, cv, random_state=random_state)
        return [(train, test)]
    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or cv < 2:
        raise ParameterError(f"cv={cv!r}; expected a number of folds from 2, a share below 1, or pairs of rows.")
    return list(kfold(Y, min(int(cv), Y.shape[0]), random_state=random_state))


def metric_function(metric: Metric | str) -> Metric:
    """A function of `linnaeus.metrics` by name, or the function that is given.

    Examples
    --------
    >>> metric_function("micro_f1").__name__
    'micro_f1'
    """
    if not isinstance(metric, str):
        return metric
    check_choice("metric", metric, _METRICS)
    function: Metric = getattr(metrics, metric)
    return function
