"""A classifier that chooses its features, model, C and cut by itself, on held-out training documents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from linnaeus.auto.candidates import Candidate, Outcome, make_model, parameters_of
from linnaeus.auto.evaluate import OWN, Evaluator, check_measure, cut_measure
from linnaeus.auto.search import FLAT, LAST_FIT, TUNED, AutoReport, search
from linnaeus.data.check import Problem, check_labels, check_weights
from linnaeus.decoding import Decoder
from linnaeus.engine import parse_seconds
from linnaeus.errors import CheckpointError, LinnaeusError, check_number, warn_user
from linnaeus.features.documents import n_documents
from linnaeus.models.base import TaxonomyClassifier, available_unless
from linnaeus.models.explaining import PathExplanation
from linnaeus.models.fitting import require_two_classes
from linnaeus.pipeline import Pipeline, Transformer
from linnaeus.registry import resolve
from linnaeus.taxonomy import Taxonomy
from linnaeus.tuning.calibration import calibrate
from linnaeus.typing import CSR, FloatArray, IntArray, ObjectArray

__all__ = ["LAST_FIT_FOLDER", "AutoClassifier"]

LAST_FIT_FOLDER = "fit-"  # beginning of the names of checkpoints of last fits
_LONGEST_LAST = 4.0  # times its forecast that the last fit may take

_STEPS, _MANY = 500, 2_000  # nodes up to which, and held-out documents from which, curves are isotonic


class _Fixed(NamedTuple):
    """What a search does not choose, and the model that is taken where nothing can be searched."""

    model: str
    parameters: Mapping[str, object]
    decoder: Decoder | str | None


class AutoClassifier(ClassifierMixin, BaseEstimator):
    """The features, model, C and cut that are best on held-out training documents, refitted on all of them.

    Parameters
    ----------
    taxonomy : Taxonomy or None, default=None
        The taxonomy; None: the labels are a flat one.
    measure : str, default="hierarchical_f1"
        What is maximised: "hierarchical_f1", "micro_f1", "macro_f1", "example_f1", "average_precision" for rankings, or
        "precision_at_1" for the first suggestion.
    budget : float, str or None, default=None
        Time for everything, as 90, "10m" or "1h"; None: ten times a fit of a flat model, at least 30 seconds.
    features : transformer or None, default=None
        Makes vectors of the documents, such as `TextFeatures` or `DenseFeatures`; None takes matrices.
    random_state : int, default=0
        Seed of splits, orders and models.
    n_jobs : int or None, default=None
        Threads of a fit.
    checkpoint : str or None, default=None
        Folder for what was measured; the same call continues from there.

    Attributes
    ----------
    pipeline_ : Pipeline
        The fitted features, model and decoder; ``linnaeus.save`` saves it.
    report_ : AutoReport or None
        What was chosen, the runner-up, held-out values, and the flat baseline; None where there were too few documents
        to hold any out, so that the flat model was taken.
    classes_ : ndarray
        Labels that can be answered.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 2))
    >>> y = np.where((X**2).sum(axis=1) < 1.4, "near", "far")     # a ring: no linear model can do this
    >>> model = AutoClassifier(budget="1h").fit(X[:90], y[:90], models=["OneVsRestSVM"])
    >>> "rbf map" in model.report_.chosen.candidate.features, model.score(X[90:], y[90:]) > 0.8
    (True, True)
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        measure: str = "hierarchical_f1",
        budget: float | str | None = None,
        features: Transformer | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        checkpoint: str | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.measure = measure
        self.budget = budget
        self.features = features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        feature_names: Iterable[object] | None = None,
        models: list[str] | None = None,
        tuned: tuple[str, ...] = TUNED,
        parameters: Mapping[str, object] = MappingProxyType({}),
        decoder: Decoder | str | None = None,
        spent: float = 0.0,
        known: Iterable[Outcome] = (),
        verbose: int = 0,
        say: Callable[[str], None] = lambda message: None,
    ) -> AutoClassifier:
        """Search, then learn from all documents.

        Parameters
        ----------
        X, y : documents and labels
            As for a `Pipeline` with these features.
        sample_weight : array-like of shape (n_docs,), default=None
            Weights of the documents, in fits and in the measure; cuts and probabilities are fitted without them.
        feature_names : iterable or None, default=None
            Names of the columns of vectors, for explanations.
        models : list of str or None, default=None
            Only these models; None: all that fit the labels.
        tuned : tuple of {"features", "learn", "C"}
            What is searched over, next to the models and the cut.
        parameters : mapping
            Parameters of models that are fixed, such as ``{"C": 1.0}``; only models that have them are tried.
        decoder : Decoder, "own" or None, default=None
            The decoder of the answers, "own" for the model's own; None: the best cut.
        spent : float, default=0.0
            Seconds of the budget that are over, such as those of reading the documents.
        known : iterable of Outcome
            What another search has measured with the same documents, measure and parameters; it is not measured again.
        verbose : int, default=0
            As the parameter of models: whether the last fit shows its progress.
        say : callable
            Called with a line for every candidate and for the last fit.

        Returns
        -------
        AutoClassifier
            The classifier itself.
        """
        check_measure(self.measure)
        check_number("random_state", self.random_state, least=0, whole=True)
        budget = None if self.budget is None else parse_seconds(self.budget, "budget")
        probe = self._probe()
        probe._check_parameters()
        if self.features is None:
            X = probe._check_X(X, reset=True)
            self.n_features_in_ = probe.n_features_in_
            if hasattr(probe, "feature_names_in_"):
                self.feature_names_in_ = probe.feature_names_in_
        Y, taxonomy, codec = check_labels(y, self.taxonomy, n_documents(X))
        require_two_classes(Problem(X, Y, taxonomy, codec=codec), np.unique(Y.indices))  # a search learns label sets
        fixed = _Fixed(FLAT if models is None else models[0], parameters, decoder)
        weights = check_weights(sample_weight, Y.shape[0])
        found = self._search(X, Y, taxonomy, budget, models, tuned, fixed, weights, spent, known, say)
        self.report_: AutoReport | None = None if found is None else found[0]
        pipe = self._pipeline(found, fixed, verbose)
        if found is not None:
            say(f"training {found[0].chosen.candidate} on all {Y.shape[0]:,} documents ...")
        sources = () if found is None else found[0].learned_from.sources
        ready = {"held_out": [source.held for source in sources]} if sources else {}
        self.pipeline_ = pipe.fit(X, y, sample_weight, feature_names=feature_names, **ready)
        if found is not None:
            say("fitting its probabilities ...")
            self._calibrate(X, y, found[0])
            if getattr(self.pipeline_.estimator, "time_limit_reached_", False):
                found[0].notes.append(
                    "The last training was stopped before it had converged, so that the model may be worse than its "
                    "held-out figure; a larger budget lets it finish."
                )
        return self

    def _search(
        self,
        X: object,
        Y: CSR,
        taxonomy: Taxonomy,
        budget: float | None,
        models: list[str] | None,
        tuned: tuple[str, ...],
        fixed: _Fixed,
        weights: FloatArray | None,
        spent: float,
        known: Iterable[Outcome],
        say: Callable[[str], None],
    ) -> tuple[AutoReport, Evaluator] | None:
        try:
            found = search(
                X,
                Y,
                taxonomy,
                self.features,
                measure=self.measure,
                budget=budget,
                seed=self.random_state,
                n_jobs=self.n_jobs,
                models=models,
                tuned=tuned,
                parameters=fixed.parameters,
                decoder=fixed.decoder,
                weights=weights,
                checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
                spent=spent,
                known=known,
                say=say,
            )
        except CheckpointError:
            raise
        except LinnaeusError as error:
            # The model that was asked for refuses the documents, or the flat one does not have what was asked for.
            if models is not None or not set(fixed.parameters) <= set(parameters_of(fixed.model)):
                raise
            warn_user(f"Nothing was searched: {error} {fixed.model} is taken.")
            return None
        if found is None:
            warn_user(f"There are {Y.shape[0]} documents, too few to hold any out: {fixed.model} is taken as it is.")
        return found

    def _last_checkpoint(self, *chosen: object) -> str | None:
        """The folder of the last fit: one for each problem and choice."""
        if self.checkpoint is None:
            return None
        about = Path(self.checkpoint, "about.json").read_text("utf-8")
        name = hashlib.blake2b(f"{about} {chosen!r}".encode(), digest_size=6).hexdigest()
        return str(Path(self.checkpoint, f"{LAST_FIT_FOLDER}{name}"))

    def _pipeline(self, found: tuple[AutoReport, Evaluator] | None, fixed: _Fixed, verbose: int) -> Pipeline:
        if found is None:
            own = {"random_state": self.random_state, "n_jobs": self.n_jobs, "verbose": verbose, **fixed.parameters}
            model = make_model(Candidate(fixed.model), self.taxonomy, 1.0, **own)
            return Pipeline(model, self.features, decoder=None if fixed.decoder == OWN else fixed.decoder)
        report, evaluator = found
        # The search has kept time for the last fit; the limit is for one that takes far longer than was forecast. One
        # that was stopped in the search, too, gets what is left of the budget, and not less than it had there.
        seconds = report.chosen.seconds * evaluator.n_learn / report.chosen.n_docs
        times = 1.0 if report.chosen.stopped else _LONGEST_LAST
        limit = max(1e-6, times * LAST_FIT * seconds, report.budget - report.seconds)
        folder = self._last_checkpoint(report.chosen.candidate, dict(fixed.parameters))
        model = evaluator.model(report.chosen.candidate, max_time=limit, checkpoint=folder, verbose=verbose)
        model.set_params(taxonomy=self.taxonomy)
        features = evaluator.features(report.chosen.candidate.features)
        return Pipeline(model, features, decoder=evaluator.fitted_cut(report.learned_from))

    def _calibrate(self, X: object, y: object, report: AutoReport) -> None:
        """Probabilities from the held-out scores of the search."""
        source = report.learned_from
        if source.held is None:
            return
        # Steps of few documents have many ties, which cost rankings more than curves of the wrong shape do.
        steps = len(source.held.documents) >= _MANY and len(source.held.nodes) <= _STEPS
        steps &= report.measure == cut_measure(report.measure)
        method = "isotonic" if steps else "platt"
        try:
            calibrate(self.pipeline_, X, y, cv=source.held, method=method, coherent=source.way)
        except LinnaeusError as error:
            report.notes.append(f"The model has no calibrated probabilities: {error}")

    # -- answering -----------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> ObjectArray | IntArray:
        """Names of the nodes that can be answered; where every document had one label, the labels."""
        columns = self._columns
        return self.pipeline_.classes_ if columns is None else self.pipeline_.classes_[columns]

    @property
    def _columns(self) -> IntArray | None:
        """Columns of the scores that are classes; None for all.

        Models that also score ancestors of labels are as likely to be chosen as those that do not.
        """
        nodes, fitted = self.pipeline_.nodes_, self.pipeline_.estimator
        if not fitted.codec_.single_label:
            return None
        found = np.flatnonzero(np.isin(nodes, fitted.label_nodes))
        return None if len(found) in (0, len(nodes)) else found

    @property
    def taxonomy_(self) -> Taxonomy:
        """The taxonomy of the answers."""
        check_is_fitted(self, "pipeline_")
        return self.pipeline_.taxonomy_

    def _probe(self) -> TaxonomyClassifier:
        """A flat model that validates documents in the name of this class."""
        probe: TaxonomyClassifier = type(type(self).__name__, (resolve(FLAT),), {})(self.taxonomy)
        return probe

    def _documents(self, X: Any) -> Any:
        """Documents as the pipeline takes them; vectors must have the columns of the training vectors."""
        check_is_fitted(self, "pipeline_")
        if self.features is not None:
            return X
        probe = self._probe()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(probe, name, getattr(self, name))
        return probe._check_X(X, reset=False)

    def predict(self, X: object, **request: Any) -> Any:
        """Answers in the kind of the labels; see `Pipeline.predict`."""
        documents = self._documents(X)
        return self.pipeline_.predict(documents, **request)

    def decision_function(self, X: object) -> FloatArray:
        """Scores of ``classes_``."""
        documents = self._documents(X)
        S = self.pipeline_.decision_function(documents)
        return S if self._columns is None else S[:, self._columns]

    @available_unless(
        lambda self: self.pipeline_.estimator.why_no_probabilities() if hasattr(self, "pipeline_") else None
    )
    def predict_proba(self, X: object) -> FloatArray:
        """Calibrated, coherent probabilities of ``classes_``; rows sum to 1 where every document had one label."""
        documents = self._documents(X)
        P = self.pipeline_.predict_proba(documents)
        if self._columns is None:
            return P
        P = P[:, self._columns]
        return np.asarray(P / np.maximum(P.sum(axis=1, keepdims=True), np.finfo(P.dtype).tiny))

    @available_unless(
        lambda self: self.pipeline_.estimator.why_no_probabilities() if hasattr(self, "pipeline_") else None
    )
    def predict_log_proba(self, X: object) -> FloatArray:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def top(self, X: object, k: int = 5, **request: Any) -> tuple[ObjectArray, FloatArray]:
        """The k best nodes of each document: labels and scores, or ``probabilities``; see `Pipeline.top`."""
        documents = self._documents(X)
        return self.pipeline_.top(documents, k, **request)

    def explain(self, document: object, node: str | None = None, k: int | None = None) -> PathExplanation:
        """Contributions of the words or features of one document; see `Pipeline.explain`."""
        check_is_fitted(self, "pipeline_")
        return self.pipeline_.explain(document, node, k)

    def score(self, X: object, y: object, sample_weight: npt.ArrayLike | None = None) -> float:
        """Hierarchical F1 of the answers."""
        documents = self._documents(X)
        return self.pipeline_.score(documents, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
