"""What all models share: the scikit-learn contract, label kinds, scores by blocks, answers through decoders.

A model implements ``_fit(problem)``, which chooses its targets with `_targets` (this sets ``nodes_``, the numbers of
the nodes it can answer), and ``_scores(X)`` (n_docs x len(nodes_)). Everything else is here, the same for all models.

Methods that only some models have, which say why where they are missing.

scikit-learn asks with ``hasattr`` what an estimator can do, and its ``available_if`` answers with an AttributeError
that only names the method. `available_unless` answers ``hasattr`` in the same way; its AttributeError has the reason.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MethodType
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linnaeus.data.check import (
    LabelCodec,
    Problem,
    check_labels,
    check_weights,
    warn_of_order,
    with_index_of,
    with_weight,
)
from linnaeus.data.matrices import as_matrix, check_values, is_sound_csr, is_sparse, short_message
from linnaeus.decoding import BestLabel, Decoder, Threshold
from linnaeus.decoding import decoder as make_decoder
from linnaeus.decoding.base import SetWeights, positions
from linnaeus.decoding.probability.curves import Calibrator
from linnaeus.decoding.probability.risk import RiskControl
from linnaeus.decoding.rules import Rules
from linnaeus.decoding.sets.best_sets import RankedSets
from linnaeus.engine import blocks, rows_that_fit
from linnaeus.errors import DataError, DataTypeError, LinnaeusError, ParameterError, check_number
from linnaeus.models import promises
from linnaeus.models.explaining import KeptDocuments, Neighbour, one_row
from linnaeus.models.requests import best_nodes, check_feasible, ranked_sets
from linnaeus.order import best_columns
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix, ObjectArray

__all__ = ["TaxonomyClassifier", "available_unless"]

Method = TypeVar("Method", bound=Callable[..., Any])


class _Available:
    """A method that an object has where ``reason(object)`` is None."""

    def __init__(self, method: Callable[..., Any], reason: Callable[[Any], str | None]) -> None:
        self.method, self.reason = method, reason
        self.__doc__ = method.__doc__

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        if instance is None:
            return self.method
        missing = self.reason(instance)
        if missing is not None:
            raise AttributeError(missing, name=self.method.__name__, obj=instance)
        return MethodType(self.method, instance)


def available_unless(reason: Callable[[Any], str | None]) -> Callable[[Method], Method]:
    """Make a method available only to objects for which no reason is given against it.

    Parameters
    ----------
    reason : callable
        ``reason(object)`` is the message of the AttributeError, or None where the object has the method.

    Returns
    -------
    callable
        The decorator of the method.

    Examples
    --------
    >>> class Box:
    ...     content = None
    ...     @available_unless(lambda self: "The box is empty; fill it first." if self.content is None else None)
    ...     def open(self):
    ...         return self.content
    >>> hasattr(Box(), "open")
    False
    >>> Box().open()
    Traceback (most recent call last):
    AttributeError: The box is empty; fill it first.
    """

    def decorate(method: Method) -> Method:
        return cast(Method, _Available(method, reason))

    return decorate


class TaxonomyClassifier(ClassifierMixin, BaseEstimator):
    """Base of all models; see the module docstring for what a subclass adds."""

    taxonomy: Taxonomy | None
    taxonomy_: Taxonomy
    codec_: LabelCodec
    nodes_: IntArray
    closed_: bool
    one_label_: bool
    nested_: bool
    some_empty_: bool = False  # models stored before it was kept had no empty sets to learn from
    calibrator_: Calibrator | None = None  # of `linnaeus.calibrate`, as the next one
    risk_control_: RiskControl | None = None
    carried_nodes_: IntArray | None = None  # labels of the training documents, where ``nodes_`` holds more
    one_path_: bool = False  # whether all of these had one label, apart from its ancestors
    kept_: KeptDocuments | None = None  # of `keep_documents`
    conditional_scores: ClassVar[bool] = False  # whether a score compares a node with its siblings only

    @abstractmethod
    def _fit(self, problem: Problem) -> None:
        """Learn from checked data; set ``nodes_`` and what `_scores` needs."""

    @abstractmethod
    def _scores(self, X: Matrix) -> FloatArray:
        """Scores of checked X, n_docs x len(nodes_)."""

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: object, y: object, sample_weight: object = None) -> TaxonomyClassifier:
        """Learn from documents X (n_docs x n_features; CSR, dense or memory-mapped) and labels y of any kind."""
        self._check_parameters()
        warn_of_order(X, y)
        documents = self._check_X(X, reset=True)
        Y, taxonomy, codec = check_labels(y, self.taxonomy, documents.shape[0])
        documents, Y, weights = with_weight(documents, Y, check_weights(sample_weight, documents.shape[0]))
        problem = Problem(documents, Y, taxonomy, weights, codec)
        self.taxonomy_, self.codec_, self.closed_ = taxonomy, codec, problem.is_closed and not codec.single_label
        for name in ("kept_", "carried_nodes_", "one_path_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.drop_calibration()
        self._forget()
        self._fit(problem)
        if self.nested_ or self.closed_:
            self.carried_nodes_ = np.unique(problem.frontier.indices).astype(np.int32)
            self.one_path_ = bool((np.diff(problem.frontier.indptr) == 1).all())
        return self

    def drop_calibration(self) -> None:
        """Drop probabilities and promises of `linnaeus.calibrate`: they do not hold for a model that has changed."""
        for name in ("calibrator_", "risk_control_"):
            self.__dict__.pop(name, None)

    def _forget(self) -> None:
        """Drop what an earlier fit, or what came after it, has left and the next one does not set again."""

    def _check_parameters(self) -> None:
        """Validate the constructor's values, once per fit."""
        if self.taxonomy is not None and not isinstance(self.taxonomy, Taxonomy):
            given = type(self.taxonomy).__name__
            raise ParameterError(
                f"taxonomy is a {given}; expected a Taxonomy (Taxonomy.read, .from_edges, ...) or None."
            )

    def _check_X(self, X: Any, *, reset: bool) -> Matrix:
        if not reset and self._is_ready(X):
            return X
        X = as_matrix(X)
        dtype = np.float32 if is_sparse(X) else (np.float64, np.float32)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # numbers too large for the type are refused below
                X = validate_data(
                    self, X, reset=reset, accept_sparse="csr", dtype=dtype, order="C", ensure_all_finite=False
                )
        except LinnaeusError:
            raise
        except (ValueError, TypeError, OverflowError) as error:  # scikit-learn's words, as an error of ours
            kind = DataTypeError if isinstance(error, TypeError) else DataError
            raise kind(short_message(error)) from error
        checked: Matrix = X
        if not is_sparse(checked):
            check_values(checked)
        return checked

    def _is_ready(self, X: object) -> bool:
        """Whether X needs no conversion and is in order; for a single document the full check costs more than top."""
        if not is_sparse(X) or hasattr(self, "feature_names_in_"):
            return False
        return X.shape[0] > 0 and X.shape[1:] == (getattr(self, "n_features_in_", None),) and is_sound_csr(X)

    def _targets(self, problem: Problem, learn: str) -> CSR:
        """Y as given, closed or frontier.

        Sets ``nodes_`` (those that occur), ``one_label_`` (each row has one), ``some_empty_`` (a row has none) and
        ``nested_`` (ancestors were added).
        """
        Y = {"given": problem.Y, "closed": problem.closed, "frontier": problem.frontier}[learn]
        self.nodes_ = np.unique(Y.indices).astype(np.int32)
        if not len(self.nodes_):
            raise DataError("y has no label at all: every document has an empty set.")
        if problem.codec.kind == "labels":  # scikit-learn's scorers take classes_ as sorted
            values = problem.codec.values(problem.taxonomy.names[self.nodes_])
            self.nodes_ = self.nodes_[np.argsort(values, kind="stable")]
        sizes = np.diff(Y.indptr)
        self.one_label_, self.some_empty_ = bool((sizes == 1).all()), bool((sizes == 0).any())
        self.nested_ = learn == "closed" and problem.taxonomy.n_edges > 0
        return Y

    # -- answering -----------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> Any:
        """Names of the nodes that can be answered, the columns of the scores, in the type of the labels given."""
        if self.codec_.kind == "indicator" and self.taxonomy is None:
            return self.nodes_.copy()
        return self.codec_.values(self.taxonomy_.names[self.nodes_])

    @property
    def single_label(self) -> bool:
        """Whether every training document had one label, so that labels exclude each other."""
        return bool(self.one_label_ or self.codec_.single_label or self.one_path_)

    @property
    def label_nodes(self) -> IntArray:
        """Numbers of the nodes that training documents carried as labels, without those that only stand above them."""
        carried: IntArray | None = getattr(self, "label_nodes_", self.carried_nodes_)
        if carried is None:
            return self.nodes_[self.nodes_ != self.taxonomy_.root]
        met_later = self.nodes_[self.taxonomy_.is_leaf[self.nodes_]]
        found = np.union1d(carried, met_later)
        return found[found != self.taxonomy_.root].astype(np.int32)

    @property
    def _binary(self) -> bool:
        """Two plain labels and no taxonomy: scikit-learn expects one score per document then, for the second label."""
        return self.taxonomy is None and self.codec_.kind == "labels" and len(self.nodes_) == 2

    @property
    def takes_documents(self) -> bool:
        """Whether X are documents as they were read (texts, records of fields), not matrices."""
        return False

    @property
    def estimator(self) -> TaxonomyClassifier:
        """The model itself; of a pipeline, its model: see `linnaeus.models.classifier`."""
        return self

    def matrix(self, X: object) -> Matrix:
        """Documents as a validated matrix."""
        return self._check_X(X, reset=False)

    def known_terms(self, X: Any) -> IntArray:
        """Number of features of each document that are not zero; 0 where the model knows nothing about it."""
        return promises.nonzero_features(X)

    def score_blocks(self, X: object) -> Iterator[FloatArray]:
        """Scores of some documents at a time, n_docs_of_block x len(classes_): no docs x nodes array is ever whole."""
        check_is_fitted(self, "nodes_")
        return self._score_blocks(self._check_X(X, reset=False))

    def _score_blocks(self, X: Matrix) -> Iterator[FloatArray]:
        size = rows_that_fit(8 * max(1, len(self.nodes_)))
        return (self._scores(X[part]) for part in blocks(X.shape[0], size))

    def _all_scores(self, X: object) -> FloatArray:
        parts = list(self.score_blocks(X))
        return np.concatenate(parts) if len(parts) != 1 else parts[0]

    def decision_function(self, X: object) -> FloatArray:
        """Scores of all answerable nodes, n_docs x len(classes_); one each for two plain labels, as in scikit-learn."""
        S = self._all_scores(X)
        return S[:, 1] - S[:, 0] if self._binary else S

    def predict(
        self,
        X: object,
        *,
        decoder: Decoder | str | None = None,
        closed: bool | None = None,
        rules: Rules | Mapping[str, object] | None = None,
        risk: float | None = None,
        risk_of: str = "all",
        confidence: float | None = None,
    ) -> Any:
        """Answers in the kind of the labels that were learned from; lists of labels where one label cannot say it.

        Parameters
        ----------
        decoder : Decoder or str, default=None
            How scores become label sets, an object or a name (see `linnaeus.decoding`); default: the best label where
            every document was learned with one label, else all labels with a score above 0, and at least the best
            unless some training documents had none.
        closed : bool, default=None
            True adds all ancestors to the answers, False leaves only the most specific labels; default: ancestors if
            all training sets had them, labels as given otherwise.
        rules : Rules or mapping, default=None
            Which label sets may be answered, `Rules` or a dictionary of them; answers are then the best closed sets
            that obey (`ranked_sets` also says whether they are proved to be).
        risk : float, default=None
            Answer only as deep as can be promised: the probability of any wrong node is at most this (see
            `linnaeus.calibrate`, which has to be called first). Where every training document had one label, an answer
            is one node; it is right if it is the true label or stands above it.
        risk_of : str, default="all"
            "all" documents, of which those without an answer count as right, or only those that are "answered".
        confidence : float, default=None
            The probability with which the promise holds, over the draw of the calibration documents; default: an
            expectation for "all" documents, 0.9 for "answered" ones.
        """
        check_is_fitted(self, "nodes_")
        decoder = self._decoder(decoder)
        request: dict[str, Any] = {} if rules is None else {"rules": rules}
        if risk is not None:
            request |= {"risk": risk, "risk_of": risk_of, "confidence": confidence}
        Y = self.answers(X, decoder=decoder, closed=closed, **request)
        if risk is not None or (rules is not None and Rules.of(rules).at_least > 1):
            return with_index_of(X, self.codec_.decode(Y, self.taxonomy_, single=False))
        with_ancestors = self.closed_ if closed is None else closed
        return with_index_of(X, self.codec_.decode(Y, self.taxonomy_, single=decoder.single and not with_ancestors))

    def answers(
        self,
        X: object,
        *,
        decoder: Decoder | str | None = None,
        closed: bool | None = None,
        rules: Rules | Mapping[str, object] | None = None,
        risk: float | None = None,
        risk_of: str = "all",
        confidence: float | None = None,
    ) -> CSR:
        """The answers of `predict` as 0/1 rows, n_docs x n_nodes, whatever kind the labels were."""
        check_is_fitted(self, "nodes_")
        if rules is not None or risk is not None:
            Y = self._requested(X, decoder, rules, risk, risk_of, confidence)
            return Y if (self.closed_ if closed is None else closed) else self.taxonomy_.frontier(Y)
        decide = self._decoder(decoder)
        if decide.on_probabilities:
            Y = decide.over_blocks(*self._probability_blocks(X))
        else:
            Y = decide.over_blocks(self.score_blocks(X), self.taxonomy_, self.nodes_)
        if self.closed_ if closed is None else closed:
            return self.taxonomy_.close(Y)
        adds_ancestors = self.nested_ or decide.closed
        return self.taxonomy_.frontier(Y) if closed is False or adds_ancestors else Y

    def default_decoder(self) -> Decoder:
        """The decoder that answers where none is given."""
        return self._decoder(None)

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        if given is not None:
            return make_decoder(given) if isinstance(given, str) else given
        if self.one_label_ or self.codec_.single_label:
            return BestLabel(path_sum=self.nested_, close=False)
        return Threshold(0.0, repair=None, at_least_one=not self.some_empty_)

    def ranked_sets(
        self,
        X: object,
        k: int = 1,
        *,
        rules: Rules | Mapping[str, object] | None = None,
        decoder: Decoder | str | None = None,
    ) -> RankedSets:
        """The k best closed label sets of every document, exactly; see `RankedSets` for scores and proofs."""
        check_number("k", k, least=1, whole=True)
        check_is_fitted(self, "nodes_")
        return ranked_sets(self, self._check_X(X, reset=False), self._decoder(decoder), rules, int(k))

    def n_best(
        self,
        X: object,
        k: int = 5,
        *,
        rules: Rules | Mapping[str, object] | None = None,
        decoder: Decoder | str | None = None,
        closed: bool | None = None,
    ) -> list[list[tuple[list[str], float]]]:
        """The k best label sets of every document, each with its score, best first."""
        found = self.ranked_sets(X, k, rules=rules, decoder=decoder)
        return found.labels(self.taxonomy_, closed=self.closed_ if closed is None else closed)

    def _may_be_empty(self, decide: Decoder) -> bool:
        """Whether this decoder may answer with no label."""
        return decide.may_be_empty

    def _label_scores(self, X: Matrix, decide: Decoder) -> Iterator[tuple[FloatArray, CSR, IntArray]]:
        """Of a decoder that answers one label, block by block: scores of labels, closed answers, nodes of the columns.

        The label of largest score is the answer.
        """
        for S in self._score_blocks(X):
            Y = self.taxonomy_.close(decide(S, self.taxonomy_, self.nodes_))
            yield decide.label_scores(S, self.taxonomy_, self.nodes_), Y, self.nodes_

    def _set_weights(self, X: Matrix, decide: Decoder) -> Iterator[tuple[SetWeights, CSR, IntArray]]:
        """Weights of label sets, closed answers and nodes of the columns, block by block.

        The closed set of largest weight is the answer.
        """
        parts, taxonomy, nodes = self._score_blocks(X), self.taxonomy_, self.nodes_
        if decide.on_probabilities:
            parts, taxonomy, nodes = self._probability_blocks(X)
        for S in parts:
            yield decide.set_weights(S, taxonomy, nodes), taxonomy.close(decide(S, taxonomy, nodes)), nodes

    def _requested(
        self,
        X: object,
        decoder: Decoder | str | None,
        rules: Rules | Mapping[str, object] | None,
        risk: float | None,
        risk_of: str,
        confidence: float | None,
    ) -> CSR:
        if risk is not None:
            return self.decisions(X, risk, risk_of=risk_of, confidence=confidence, rules=rules).Y
        found = self.ranked_sets(X, rules=rules, decoder=decoder)
        check_feasible(found, rules, self.taxonomy_)
        return found.best

    def decisions(
        self,
        X: object,
        risk: float,
        *,
        risk_of: str = "all",
        confidence: float | None = None,
        rules: Rules | Mapping[str, object] | None = None,
        k: int = 3,
    ) -> promises.Decisions:
        """The answers of ``predict(X, risk=risk)``, with what a person needs who decides the documents without one.

        Parameters
        ----------
        X : array-like of shape (n_docs, n_features)
            Documents.
        risk, risk_of, confidence, rules : as for `predict`
            The promise.
        k : int, default=3
            The number of candidates for each document.

        Returns
        -------
        Decisions
            Answers, candidates with probabilities, margins and reasons.
        """
        check_number("k", k, least=1, whole=True)
        check_is_fitted(self, "nodes_")
        X = self._check_X(X, reset=False)
        return promises.decide(self, X, risk, of=risk_of, confidence=confidence, rules=rules, k=int(k))

    def _probability_blocks(self, X: object) -> tuple[Iterator[FloatArray], Taxonomy, IntArray]:
        """Coherent probabilities some documents at a time, the taxonomy, and the nodes of their columns."""
        curve, taxonomy = self.calibrator_, self.taxonomy_
        if curve is not None:
            return (curve(S, taxonomy, self.nodes_) for S in self.score_blocks(X)), taxonomy, curve.nodes
        missing = self.why_no_probabilities()
        if missing is not None:
            raise ParameterError(missing)
        return iter([self.predict_proba(X)]), taxonomy, self.nodes_

    def node_probabilities(self, X: object) -> FloatArray:
        """Coherent probabilities of all nodes of the taxonomy, for calibrated models and those with probabilities.

        Parameters
        ----------
        X : array-like of shape (n_docs, n_features)
            Documents.

        Returns
        -------
        ndarray of shape (n_docs, n_nodes)
            Probability that a node, or something below it, is a label; 0 for nodes that cannot be answered.
        """
        parts, taxonomy, nodes = self._probability_blocks(X)
        found = np.concatenate(list(parts))
        P = np.zeros((len(found), taxonomy.n_nodes), dtype=np.float32)
        P[:, nodes] = found
        return P

    def _why_not_calibrated(self) -> str | None:
        """The message about missing probabilities of a model that has them only after calibration, or None."""
        if self.calibrator_ is not None:
            return None
        name = type(self).__name__
        return (
            f"{name} has scores but no probabilities; call linnaeus.calibrate(model, X, y) on the fitted model first."
        )

    def why_no_probabilities(self) -> str | None:
        """The reason why there is no `predict_proba`, in a sentence; None where there is one."""
        return None if hasattr(self, "predict_proba") else self._why_not_calibrated()

    @available_unless(_why_not_calibrated)
    def predict_proba(self, X: object) -> FloatArray:
        """Calibrated, coherent probabilities of all answerable nodes, n_docs x len(classes_)."""
        return self._calibrated(X)

    @available_unless(why_no_probabilities)
    def predict_log_proba(self, X: object) -> FloatArray:
        """Logarithms of `predict_proba`, n_docs x len(classes_); minus infinity where a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _calibrated(self, X: object) -> FloatArray:
        curve, taxonomy = self.calibrator_, self.taxonomy_
        if curve is not None and curve.single and curve.labels is not None and not self.nested_:
            labels, blocks_of_labels = curve.labels, self.score_blocks(X)
            P = np.concatenate([curve.label_probabilities(S, taxonomy, self.nodes_) for S in blocks_of_labels])
            return self._in_columns(P, labels)
        parts, _, nodes = self._probability_blocks(X)
        P = self._in_columns(np.concatenate(list(parts)), nodes)
        if self.one_label_ and not taxonomy.n_edges:  # as scikit-learn expects
            P /= np.maximum(P.sum(axis=1, keepdims=True), np.finfo(P.dtype).tiny)
        return P

    def _in_columns(self, P: FloatArray, nodes: IntArray) -> FloatArray:
        """Probabilities of ``nodes`` in the order of ``nodes_``; 1 for a root that is a label, 0 for nodes without."""
        place = positions(self.taxonomy_, nodes, with_root=True)
        missing = (self.nodes_ == self.taxonomy_.root).astype(P.dtype)
        return np.where(place[self.nodes_] >= 0, P[:, place[self.nodes_]], missing)

    def top(
        self,
        X: object,
        k: int = 5,
        *,
        probabilities: bool = False,
        ancestors: bool = False,
        rules: Rules | Mapping[str, object] | None = None,
    ) -> tuple[ObjectArray, FloatArray]:
        """The k best nodes of each document: labels and scores (n_docs x k each), best first, ties by node number.

        Calibrated models that learned closed sets, or whose training documents had ancestors among their labels, rank
        the labels of their training documents by probability, with or without ``probabilities``; the scores are then
        the logarithms of the odds. Models that go down the taxonomy (``conditional_scores``) and were not calibrated
        rank labels by the smallest score on the path to them: scores of single nodes compare siblings only.

        Parameters
        ----------
        X : array-like of shape (n_docs, n_features)
            Documents.
        k : int, default=5
            The number of nodes for each document.
        probabilities : bool, default=False
            Rank only nodes that training documents carried as labels, and give the probability that they are labels
            instead of scores; for models that have probabilities, such as those that were calibrated.
        ancestors : bool, default=False
            With ``probabilities``: rank all nodes by the probability that they, or something below them, are labels.
        rules : Rules or mapping, default=None
            Which labels are ranked: ``only_under``, ``exclude``, ``candidates``, depths and ``leaves_only``.

        Returns
        -------
        labels : ndarray of shape (n_docs, k)
            Names of the nodes, in the type of the labels given; None where a document has fewer candidates.
        values : ndarray of shape (n_docs, k)
            Their scores or probabilities; minus infinity, or 0 as probability, where there is no label.
        """
        if probabilities or ancestors or rules is not None:
            nodes, values = self.top_nodes(X, k, probabilities=probabilities, ancestors=ancestors, rules=rules)
            labels = self._names(np.maximum(nodes, 0))
            labels[nodes < 0] = None
            return labels, values
        columns, scores = self._best(X, k)
        if columns.size < len(self.nodes_):  # not all for a document
            return self._names(self.nodes_[columns]), scores
        return np.asarray(self.classes_, dtype=object)[columns], scores

    def _names(self, nodes: IntArray) -> ObjectArray:
        if self.codec_.kind == "indicator" and self.taxonomy is None:
            return np.asarray(nodes, dtype=object)
        names = self.codec_.values(self.taxonomy_.names[nodes.ravel()])
        return np.asarray(names, dtype=object).reshape(nodes.shape)

    def top_nodes(
        self,
        X: object,
        k: int = 5,
        *,
        probabilities: bool = False,
        ancestors: bool = False,
        rules: Rules | Mapping[str, object] | None = None,
    ) -> tuple[IntArray, FloatArray]:
        """As `top`, with the numbers of the nodes in the taxonomy instead of labels; -1 where there is none."""
        if probabilities or ancestors:
            check_number("k", k, least=1, whole=True)
            check_is_fitted(self, "nodes_")
            if not probabilities or not hasattr(self, "predict_proba"):
                need = "probabilities=True" if not probabilities else "a model with probabilities; see calibrate"
                raise ParameterError(f"{'probabilities' if probabilities else 'ancestors'}=True needs {need}.")
        if rules is not None:
            check_number("k", k, least=1, whole=True)
            check_is_fitted(self, "nodes_")
            return best_nodes(self, self._check_X(X, reset=False), int(k), rules, probabilities=probabilities)
        if probabilities:
            return promises.most_probable(self, self._check_X(X, reset=False), int(k), ancestors=ancestors)
        columns, scores = self._best(X, k)
        return self.nodes_[columns], scores

    @property
    def ranked_nodes(self) -> IntArray:
        """Numbers of the nodes that `top` ranks: all that have scores, or labels only if ranked by probability."""
        if self.closed_ or not self.ranks_by_probability:
            return self.nodes_
        return np.intersect1d(self.nodes_, self.label_nodes).astype(np.int32)

    @property
    def ranks_by_probability(self) -> bool:
        """Whether `top` ranks by probability: scores of closed sets do not compare labels with their ancestors."""
        curve = self.calibrator_
        return (self.nested_ or self.closed_) and curve is not None and curve.labels is not None

    def ranking_blocks(self, X: object) -> Iterator[FloatArray]:
        """What `top` ranks nodes by, some documents at a time; minus infinity for nodes that are not ranked."""
        check_is_fitted(self, "nodes_")
        return self._ranking_blocks(self._check_X(X, reset=False))

    def _ranking_blocks(self, X: Matrix) -> Iterator[FloatArray]:
        """`ranking_blocks` of checked X: the scores, unless these do not compare labels across levels."""
        return promises.log_odds(self, X) if self.ranks_by_probability else self._score_blocks(X)

    def _best(self, X: object, k: int) -> tuple[IntArray, FloatArray]:
        """Columns and scores of the k best nodes of each document (n_docs x min(k, len(ranked_nodes)) each)."""
        check_number("k", k, least=1, whole=True)
        check_is_fitted(self, "nodes_")
        return self._best_of(self._check_X(X, reset=False), min(int(k), len(self.ranked_nodes)))

    def _best_of(self, X: Matrix, k: int) -> tuple[IntArray, FloatArray]:
        """`_best` of checked X; a model that need not compute all scores for it overrides this."""
        columns, scores = [], []
        for S in self._ranking_blocks(X):
            columns.append(best_columns(S, k))
            scores.append(np.take_along_axis(S, columns[-1], axis=1))
        return np.concatenate(columns), np.concatenate(scores)

    def keep_documents(self, X: object, y: object, names: Iterable[object] | None = None) -> TaxonomyClassifier:
        """Keep documents with the model, which are saved with it.

        Answers can then be shown next to similar documents, and RR models can `update` after they were loaded, if these
        are the documents of the fit.
        """
        check_is_fitted(self, "nodes_")
        X = self._check_X(X, reset=False)
        Y = check_labels(y, self.taxonomy_, X.shape[0])[0]
        self.kept_ = KeptDocuments.of(X, self.taxonomy_.close(Y), names, Y)
        return self

    def nearest(self, x: object, k: int = 5, node: str | None = None) -> list[Neighbour]:
        """The kept documents most similar to one document, at or below a node if given."""
        check_number("k", k, least=1, whole=True)
        if self.kept_ is None:
            raise DataError("No documents were kept with the model; keep_documents(X, y), `train --keep-documents` do.")
        X = self._check_X(one_row(x), reset=False)
        below = None if node is None else self.taxonomy_.index(node)
        return self.kept_.nearest(X[:1], int(k), self.taxonomy_, below)

    def score(self, X: object, y: object, sample_weight: npt.ArrayLike | None = None) -> float:
        """Hierarchical F1 (micro, closures without the root); plain micro-F1 where the taxonomy has no edges."""
        from linnaeus.metrics import hierarchical_f1

        H = self.answers(X)
        Y = check_labels(y, self.taxonomy_, H.shape[0])[0]
        return float(hierarchical_f1(Y, H, self.taxonomy_, sample_weight=sample_weight))

    # -- scikit-learn --------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
