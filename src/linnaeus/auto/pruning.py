"""Prune a large linear model where documents say that nothing is lost.

    largest threshold t:   measure(W) - measure(W_t) < 0.001   and   at most 0.5% of the answered labels change

W_t are the weights that stay at t, rounded to half precision (`linnaeus.models.pruning`). The threshold is found on at
most 5,000 training documents with half of the features of each: the model has memorised the whole ones. Documents that
the model has not seen, where there are any, do not choose a threshold; they confirm it (at most 1% of the answered
labels change there) or refuse it, in which case it is halved, twice at most, and then the model stays whole.

The cut and the probabilities of a model are part of what is compared, and they stay: they were learned from held-out
scores of copies that are not pruned, so that learning them again would give the same curves.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import sparse

from linnaeus.auto.evaluate import PRECISION_AT_1, RANKING, of_answers, of_ranking
from linnaeus.data.check import check_labels
from linnaeus.data.matrices import is_sparse
from linnaeus.engine import format_bytes
from linnaeus.features.documents import n_documents, take_documents
from linnaeus.models.pruning import LinearWeights, branching, half_of_each, largest_threshold
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.models.linear import LinearTaxonomyClassifier
    from linnaeus.pipeline import Pipeline

__all__ = ["PruneReport", "PruningComparison", "prune_where_equal", "stays_whole"]

_TOLERANCE = 0.001  # of the measure
_CHANGED, _CHANGED_UNSEEN = 0.005, 0.01  # share of answered labels; new documents are less certain than halves of old
_MOVED = 0.005  # mean change of the probability of the first suggestion
_MOST_DOCS = 5000  # documents that are compared
_MOST_PAIRS, _FEWEST = 10_000_000, 300  # of documents and nodes whose probabilities are compared; documents, at least
_MOST_KEPT = 8  # at most one weight in 8 stays: a sparse weight takes more room than a dense one
_NEAR = 1.5  # the search ends where a threshold this many times as large changes too much
_HALVINGS = 2


@dataclass(frozen=True)
class PruningComparison:
    """A model before and after pruning, on the same documents.

    Attributes
    ----------
    measure : str
        What was measured; see `linnaeus.auto.evaluate`.
    documents : int
        Number of documents.
    before, after : float
        The measure of the whole and of the pruned model.
    changed : float
        Share of the answered labels that differ, ``|A xor B| / (|A| + |B|)``: of documents with one label each, the
        share of documents whose answer changes.
    probability_moved : float or None
        Mean absolute change of the probability of the first suggestion, for calibrated models.
    """

    measure: str
    documents: int
    before: float
    after: float
    changed: float
    probability_moved: float | None = None

    def is_equal(self, most_changed: float) -> bool:
        """Whether nothing is lost."""
        lost, moved = self.before - self.after, self.probability_moved or 0.0
        return lost < _TOLERANCE and self.changed <= most_changed and moved <= _MOVED

    def __str__(self) -> str:
        name = self.measure.replace("_", " ")
        return f"{name} {self.before:.4f} -> {self.after:.4f}, {self.changed:.2%} of the answered labels changed"


@dataclass(frozen=True)
class PruneReport:
    """What was pruned, or why the model stays whole.

    Attributes
    ----------
    threshold : float or None
        The threshold; None for a model that stays whole.
    weights_before, weights_kept : int
        Weights that are not 0.
    bytes_before, bytes_after : int
        Weights in memory.
    training : PruningComparison or None
        On training documents with half of their features.
    unseen : PruningComparison or None
        On documents that the model has not seen.
    reason : str or None
        Why the model stays whole.
    """

    threshold: float | None
    weights_before: int
    weights_kept: int
    bytes_before: int
    bytes_after: int
    training: PruningComparison | None = None
    unseen: PruningComparison | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def __str__(self) -> str:
        if self.reason is not None:
            return f"the model stays whole ({format_bytes(self.bytes_before)} of weights): {self.reason}"
        share = self.weights_kept / max(1, self.weights_before)
        said = f"pruned at {self.threshold:g}: {self.weights_kept:,} weights kept ({share:.1%}), "
        said += f"{format_bytes(self.bytes_after)} instead of {format_bytes(self.bytes_before)}"
        if self.unseen is not None:
            said += f"; {self.unseen} on {self.unseen.documents:,} documents held out"
        elif self.training is not None:
            said += f"; {self.training} on {self.training.documents:,} training documents with half of their features"
        return f"{said}"


def stays_whole(pipe: Pipeline, reason: str) -> PruneReport:
    """The report of a linear model that is not pruned."""
    weights = LinearWeights.of(cast("LinearTaxonomyClassifier", pipe.model_))
    return PruneReport(None, weights.size, weights.size, weights.nbytes, weights.nbytes, reason=reason)


def prune_where_equal(
    pipe: Pipeline,
    documents: Any,
    y: object,
    *,
    measure: str = "hierarchical_f1",
    unseen: tuple[Any, object] | None = None,
    threshold: float | None = None,
) -> PruneReport:
    """Prune a fitted pipeline with a large linear model, decoder and probabilities as they are, if nothing is lost.

    Parameters
    ----------
    pipe : Pipeline
        A fitted pipeline; its model is changed.
    documents, y : documents and labels
        Training documents.
    measure : str, default="hierarchical_f1"
        What must not fall, one of `linnaeus.auto.evaluate.MEASURES`.
    unseen : tuple of (documents, labels), default=None
        Documents that the model has not seen; labels that the taxonomy does not have are left out.
    threshold : float, default=None
        A threshold that was found for a copy of the model and is only verified; None: it is found here.

    Returns
    -------
    PruneReport
        What was done.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM
    >>> from linnaeus.features.text import TextFeatures
    >>> from linnaeus.pipeline import Pipeline
    >>> words = [f"w{i}" for i in range(40)]
    >>> texts = [f"{word} {word}s common" for word in words for _ in range(3)]
    >>> labels = [word for word in words for _ in range(3)]
    >>> pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(texts, labels)
    >>> report = prune_where_equal(pipe, texts, labels)
    >>> report.weights_kept < report.weights_before / 8, pipe.predict(["w7"]).tolist()
    (True, ['w7'])
    """
    model = cast("LinearTaxonomyClassifier", pipe.model_)
    whole = LinearWeights.of(model)
    Y = check_labels(y, pipe.taxonomy_)[0]
    rows = _some(Y.shape[0])
    X = pipe.matrix(take_documents(documents, rows))
    if hasattr(model, "partial_fit"):
        return stays_whole(pipe, f"a pruned {type(model).__name__} could not learn from further documents")
    if not is_sparse(X):
        return stays_whole(pipe, "its features are dense, and sparse weights would be slower")
    training = _Judge(pipe, half_of_each(X), Y[rows], measure, _CHANGED)
    new = None if unseen is None else _Judge(pipe, *_known(pipe, *unseen), measure, _CHANGED_UNSEEN)
    most = int(np.prod(whole.weights.shape)) // _MOST_KEPT
    if threshold is None:
        threshold = largest_threshold(
            model, lambda: training.compare().is_equal(training.limit), half=True, most=most, near=_NEAR
        )
        if threshold is None:
            return stays_whole(pipe, f"more than one weight in {_MOST_KEPT} matters")
    refused: PruningComparison | None = None
    for t in (threshold / 2**n for n in range(_HALVINGS + 1)):
        if getattr(model, "prune_threshold_", None) != t:
            whole.pruned(t, branching(model.taxonomy_, model.nodes_), half=True).give(model)
            model.prune_threshold_ = t
        kept = LinearWeights.of(model)
        judges = [judge for judge in (training, new) if judge is not None]
        found = [judge.compare(probabilities=True) for judge in judges]
        refused = next((c for c, judge in zip(found, judges, strict=True) if not c.is_equal(judge.limit)), None)
        if refused is None and kept.size <= most:
            sizes = whole.size, kept.size, whole.nbytes, kept.nbytes
            return PruneReport(t, *sizes, training=found[0], unseen=found[1] if new else None)
    whole.give(model)
    del model.prune_threshold_
    why = f"more than one weight in {_MOST_KEPT} matters" if refused is None else f"pruning would cost {refused}"
    return stays_whole(pipe, why)


class _Judge:
    """Compares the answers of a pipeline with those that it gave when the judge was made."""

    def __init__(self, pipe: Pipeline, X: Matrix, Y: CSR, measure: str, limit: float) -> None:
        self.pipe, self.X, self.Y, self.measure, self.limit = pipe, X, Y, measure, limit
        model = pipe.model_
        if measure == RANKING and model.calibrator_ is None:
            self.measure = PRECISION_AT_1  # scores of different nodes do not compare
        self.few = slice(0, max(_FEWEST, _MOST_PAIRS // model.taxonomy_.n_nodes))
        self.answers, self.value = self._answered()
        self.best = self._best()

    def compare(self, *, probabilities: bool = False) -> PruningComparison:
        """The pipeline as it is now beside what it was."""
        answers, value = self._answered()
        total = self.answers.nnz + answers.nnz
        changed = (total - 2 * self.answers.multiply(answers).nnz) / max(1, total)
        moved = None
        if probabilities and self.best is not None:
            now = self._best()
            assert now is not None
            moved = float(np.abs(now - self.best).mean())
        return PruningComparison(self.measure, self.X.shape[0], self.value, value, float(changed), moved)

    def _answered(self) -> tuple[CSR, float]:
        model, taxonomy = self.pipe.model_, self.pipe.taxonomy_
        answers = model.answers(self.X, decoder=self.pipe.decoder_)
        if self.measure == RANKING:
            value = of_ranking(self.Y[self.few], model.node_probabilities(self.X[self.few]), taxonomy)
            return answers, float(value(np.ones((1, self.Y[self.few].shape[0])))[0])
        said = answers
        if self.measure == PRECISION_AT_1:
            first = model.top_nodes(self.X, 1)[0][:, 0]
            said = sparse.csr_array((np.ones(len(first)), first, np.arange(len(first) + 1)), shape=self.Y.shape)
        return answers, float(of_answers(self.measure, self.Y, said, taxonomy)(np.ones((1, self.Y.shape[0])))[0])

    def _best(self) -> FloatArray | None:
        """Calibrated probabilities of the first suggestions to some documents."""
        if self.pipe.model_.calibrator_ is None:
            return None
        return np.asarray(self.pipe.model_.top(self.X[self.few], 1, probabilities=True)[1][:, 0])


def _known(pipe: Pipeline, documents: Any, y: Any) -> tuple[Matrix, CSR]:
    """Some documents and those of their labels that the taxonomy has."""
    rows = _some(n_documents(documents))
    labels = [[y[i]] if isinstance(y[i], str) else y[i] for i in rows]
    known = [[label for label in row if label in pipe.taxonomy_] for row in labels]
    return pipe.matrix(take_documents(documents, rows)), pipe.taxonomy_.indicator(known)


def _some(n_docs: int) -> IntArray:
    """Numbers of at most `_MOST_DOCS` documents."""
    if n_docs <= _MOST_DOCS:
        return np.arange(n_docs)
    return np.sort(np.random.default_rng(0).choice(n_docs, _MOST_DOCS, replace=False))
