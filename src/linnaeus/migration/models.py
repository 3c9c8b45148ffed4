"""A trained linear model, carried over to a new version of its taxonomy.

    kept      the weights of the old node
    merged    the mean of the old nodes, by their documents where these are known
    part      the old node, plus the words in which the label texts of the part differ from those of the other parts
    new       the mean of what stands below the same parent, plus the words of its label texts

Label texts count as much, per unit of weight, as they do in the weights of the old nodes. Where documents with new
labels are given, all labels but the kept ones are solved again, and only these: pulled towards the weights that the
taxonomy gives them (RR models) or towards zero, with the weights of all other labels as they are. That is one sweep
over the changed leaves instead of many over all of them; it is not certified for the whole problem. With ``certify``
RR models are then solved for all labels until the gap of the whole problem is certified, which takes about as long as a
fit.

Calibration and learned cut-offs belong to the old version, and are dropped.
"""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from linnaeus.data.check import LabelCodec, Problem, check_labels
from linnaeus.data.matrices import is_sparse
from linnaeus.decoding import CutOff
from linnaeus.errors import DataError, ParameterError
from linnaeus.models.classifier import Classifier
from linnaeus.models.flat.one_vs_rest import OneVsRestLogistic, OneVsRestSVM
from linnaeus.models.label_priors import label_features
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.models.recursive.network import links_of, shares_of_nodes
from linnaeus.models.recursive.rr import RRSVM, RecursiveModel, RRLogistic
from linnaeus.models.recursive.update import StartWeights, relatives
from linnaeus.pipeline import Pipeline
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.revisions import Diff

__all__ = ["ORIGINS", "MigratedModel", "NodeOrigin", "migrate_model"]

ORIGINS = ("kept", "merged", "part", "new")
MODELS = (
    "OneVsRestSVM",
    "OneVsRestLogistic",
    "MulticlassSVM",
    "SoftmaxRegression",
    "OneVsRestPA",
    "RRSVM",
    "RRLogistic",
)
_FIGURES = ("objective_", "duality_gap_", "n_iter_", "n_touched_")  # of the fit of the old version
_HELD_OUT = 3  # one document in three measures nodes before and after
_WORSE = 0.05
_SMALL_SHARE = 1e-4  # of a label in the weights of an inner node: smaller ones are left out


@dataclass(frozen=True)
class NodeOrigin:
    """Where the weights of a new label come from.

    ``before`` and ``after`` are F1 of the old and of the new model on documents that were held out; ``before`` is known
    of kept nodes only.
    """

    node: str
    kind: str
    sources: tuple[str, ...]
    refitted: bool = False
    before: float | None = None
    after: float | None = None
    documents: int = 0


@dataclass(frozen=True)
class MigratedModel:
    """The result of `migrate_model`.

    Attributes
    ----------
    model : Pipeline or TaxonomyClassifier
        The model over the new version.
    origins : list of NodeOrigin
        Where the weights of each label come from, in the order of the taxonomy.
    lost : list of str
        Old labels without a new node.
    notes : list of str
        What was dropped or could not be done.
    versions : dict of str to str
        Fingerprints of the old and of the new taxonomy, and of the table.
    """

    model: Classifier
    origins: list[NodeOrigin]
    lost: list[str]
    notes: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def certificate(self) -> dict[str, float | str] | None:
        """Both versions, with objective and duality gap if the whole problem was solved; None otherwise."""
        inner = self.model.estimator
        gap = getattr(inner, "duality_gap_", None)
        if gap is None or not isinstance(inner, RecursiveModel):
            return None
        return {**self.versions, "objective": float(inner.objective_), "duality_gap": float(gap)}

    @property
    def counts(self) -> dict[str, int]:
        """Number of labels by the origin of their weights."""
        found = Counter(origin.kind for origin in self.origins)
        return {kind: found[kind] for kind in ORIGINS if found[kind]}

    @property
    def worse(self) -> list[NodeOrigin]:
        """Kept labels whose F1 fell by more than 5 points, on held-out documents, the largest fall first."""
        fallen = [
            (origin.after - origin.before, origin)
            for origin in self.origins
            if origin.before is not None and origin.after is not None
        ]
        return [origin for change, origin in sorted(fallen, key=lambda pair: pair[0]) if change < -_WORSE]


def migrate_model(
    model: Classifier,
    revision: Diff,
    documents: object = None,
    labels: object = None,
    *,
    evaluate: bool = True,
    certify: bool = False,
    random_state: int = 0,
) -> MigratedModel:
    """Carry a trained linear model over to a new version of its taxonomy.

    Parameters
    ----------
    model : Pipeline or TaxonomyClassifier
        A fitted model with weights for each label: OneVsRestSVM, OneVsRestLogistic, MulticlassSVM, SoftmaxRegression,
        OneVsRestPA, RRSVM or RRLogistic, or a pipeline with one. It is not changed.
    revision : Diff
        The two versions and their correspondence, of `linnaeus.revisions.compare`.
    documents : documents as the model takes them, default=None
        Documents to solve changed labels again; for RRSVM, RRLogistic, OneVsRestSVM and OneVsRestLogistic.
    labels : labels of the new version, default=None
        Labels of these documents.
    evaluate : bool, default=True
        Whether a third of the documents measures the labels before and after; the model learns from all of them.
    certify : bool, default=False
        Whether an RR model is solved for all labels, from the migrated weights, until the duality gap of the whole
        problem is below its ``tol``; labels without documents are then left out.
    random_state : int, default=0
        Seed of the choice of these documents.

    Returns
    -------
    MigratedModel
        The new model, and where the weights of its labels come from.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM
    >>> from linnaeus.revisions import Correspondence, compare
    >>> old, new = Taxonomy.flat(["a", "b", "c"]), Taxonomy.flat(["ab", "c"])
    >>> fitted = OneVsRestSVM(old, random_state=0).fit(np.eye(3), ["a", "b", "c"])
    >>> table = Correspondence.from_pairs([("a", "ab"), ("b", "ab")])
    >>> found = migrate_model(fitted, compare(old, new, table, propose=False))
    >>> found.counts, found.model.predict(np.eye(3)).tolist()
    ({'kept': 1, 'merged': 1}, ['ab', 'ab', 'c'])
    """
    inner = model.estimator
    _check_migration(inner, documents, labels, certify=certify)
    notes: list[str] = list(revision.assumptions)
    X = Y = None
    if documents is not None:
        X = model.matrix(documents)
        Y = check_labels(labels, revision.new, X.shape[0])[0]
    origins, lost = _origins(inner, revision, Y, _texts_of(model, revision.new, []))
    if not origins:
        raise DataError("No label of the model has a node in the new version.")
    start = _carried(model, inner, revision, origins, notes)
    if X is not None and Y is not None:
        if evaluate:
            test = np.random.default_rng(random_state).permutation(X.shape[0])[: X.shape[0] // _HELD_OUT]
            origins = _evaluated(inner, revision.new, origins, start, X, Y, test)
        start = _refitted(inner, revision.new, origins, start, X, Y)
        counts = np.bincount(Y.indices, minlength=revision.new.n_nodes)
        origins = [_marked(origin, counts, Y.shape[0], revision.new) for origin in origins]
    migrated = _with_weights(inner, revision.new, origins, *start)
    if certify and X is not None and Y is not None:
        numbers = np.array([revision.new.index(origin.node) for origin in origins])
        _certified(migrated, X, Y, StartWeights(numbers, *start))
        learned = set(migrated.nodes_.tolist())
        if len(learned) < len(origins):
            notes.append(f"{len(origins) - len(learned):,} labels without documents were left out.")
        origins = [origin for origin in origins if revision.new.index(origin.node) in learned]
    return MigratedModel(_as_given(model, migrated, notes), origins, lost, notes, revision.versions)


def _check_migration(inner: object, documents: object, labels: object, *, certify: bool) -> None:
    """Refuse models without weights of single labels, and documents or a certificate where they cannot be used."""
    if type(inner).__name__ not in MODELS or not isinstance(inner, LinearTaxonomyClassifier):
        raise ParameterError(
            f"{type(inner).__name__} has no weights of single labels to carry over; train it on migrated documents. "
            f"Models that can be migrated: {', '.join(MODELS)}."
        )
    if (documents is None) != (labels is None):
        raise ParameterError("Give documents with their labels, or neither.")
    if certify and (documents is None or not isinstance(inner, RecursiveModel)):
        raise ParameterError("certify needs documents in the new labels and RRSVM or RRLogistic.")
    if documents is not None and not isinstance(inner, (RecursiveModel, OneVsRestSVM, OneVsRestLogistic)):
        raise ParameterError(
            f"{type(inner).__name__} cannot be solved again for some labels only; leave out the documents, or "
            "train it on them."
        )


def _evaluated(
    inner: LinearTaxonomyClassifier,
    new: Taxonomy,
    origins: list[NodeOrigin],
    start: tuple[FloatArray, FloatArray],
    X: Matrix,
    Y: CSR,
    test: IntArray,
) -> list[NodeOrigin]:
    """The origins with the F1 of their labels on ``test`` documents before, and after learning from the others."""
    rest = np.setdiff1d(np.arange(X.shape[0]), test)
    weights = _refitted(inner, new, origins, (start[0].copy(), start[1].copy()), X[rest], Y[rest])
    trial = _with_weights(inner, new, origins, *weights)
    before, after = inner.answers(X[test]), trial.answers(X[test])
    return _measured(origins, inner.taxonomy_, new, before, after, Y[test])


def _certified(migrated: RecursiveModel, X: Matrix, Y: CSR, start: StartWeights) -> None:
    """Solve the whole problem from the migrated weights; `objective_` and `duality_gap_` are its certificate."""
    problem = Problem(X, Y, migrated.taxonomy_, None, migrated.codec_)
    migrated._fit_joint(problem, start=start, on_trial=True)
    migrated.forget_documents()


# -- where weights come from -------------------------------------------------------------------------------------------


def _origins(
    inner: LinearTaxonomyClassifier, revision: Diff, Y: CSR | None, texts: CSR | None
) -> tuple[list[NodeOrigin], list[str]]:
    """Origins of the new labels, and old labels that have none."""
    old_labels = [str(name) for name in inner.taxonomy_.names[inner.nodes_]]
    targets = revision.correspondence.targets
    sources: dict[str, list[str]] = {}
    for name in old_labels:
        for target in targets.get(name, ()):
            sources.setdefault(target, []).append(name)
    if Y is not None:
        for node in np.unique(Y.indices).tolist():
            sources.setdefault(str(revision.new.names[node]), [])
    if texts is not None:  # nodes that are new can be answered by their texts
        for name in map(str, revision.new.names):
            known = revision.new.index(name)
            named = texts.indptr[known] < texts.indptr[known + 1]
            if named and revision.new.is_leaf[known] and name not in revision.correspondence.sources:
                sources.setdefault(name, [])
    found = []
    for name in sorted(sources, key=revision.new.index):
        own = tuple(sources[name])
        several = any(len(targets[source]) > 1 for source in own)
        kind = "new" if not own else "merged" if len(own) > 1 else "part" if several else "kept"
        found.append(NodeOrigin(name, kind, own))
    return found, [name for name in old_labels if not targets.get(name)]


def _texts_of(model: Classifier, taxonomy: Taxonomy, notes: list[str]) -> CSR | None:
    """Texts of nodes in the features of the model, where it has features of texts."""
    features = getattr(model, "features_", None)
    if features is None or not hasattr(features, "weights_") or not hasattr(features, "kinds_"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return label_features(features, taxonomy)
    except DataError as error:
        notes.append(f"Label texts are not used: {error}")
        return None


def _carried(
    model: Classifier, inner: LinearTaxonomyClassifier, revision: Diff, origins: list[NodeOrigin], notes: list[str]
) -> tuple[FloatArray, FloatArray]:
    """Weights (n_features x n_labels) and intercepts before any document of the new version is seen."""
    W_old = inner.coef_  # n_labels x n_features, a view of the weights
    place = {str(name): i for i, name in enumerate(inner.taxonomy_.names[inner.nodes_])}
    counts = getattr(inner, "n_documents_", None)
    size = np.ones(len(place)) if counts is None else np.maximum(np.asarray(counts, dtype=np.float64), 1.0)
    numbers = np.array([revision.new.index(origin.node) for origin in origins])
    known = [i for i, origin in enumerate(origins) if origin.sources]
    first = np.array([place[origin.sources[0]] if origin.sources else 0 for origin in origins])
    W, b = _columns(W_old, first), inner.intercept_[first]
    for i, origin in enumerate(origins):
        if len(origin.sources) == 1:
            continue
        near = [i] if origin.sources else relatives(revision.new, int(numbers[i]), numbers, known)
        share = np.zeros(len(place))  # how much of every old label the new one has
        for j in near:
            rows = [place[name] for name in origins[j].sources]
            share[rows] += size[rows] / (size[rows].sum() * len(near))
        used = np.flatnonzero(share)
        part = share[used].astype(b.dtype)
        W[:, i], b[i] = _columns(W_old, used) @ part, inner.intercept_[used] @ part
    T = _texts_of(model, revision.new, notes)
    gain = 0.0 if T is None else _gain(W_old, _texts_of(model, inner.taxonomy_, notes), inner.nodes_)
    if T is not None and gain > 0:
        for i, origin in enumerate(origins):
            if origin.kind in ("part", "new"):
                own = T[[numbers[i]]].toarray()[0]
                if origin.kind == "part":
                    parts = [revision.new.index(name) for name in revision.correspondence.targets[origin.sources[0]]]
                    own = own - np.asarray(T[parts].mean(axis=0)).ravel()
                W[:, i] += gain * own
    return W, b


def _columns(coef: Matrix, labels: IntArray) -> FloatArray:
    """Weights of some labels, n_features x n_labels, in memory of their own."""
    if is_sparse(coef):
        return np.ascontiguousarray(coef[labels].T.toarray())
    return np.take(coef.T, labels, axis=1)


def _gain(W: Matrix, T: CSR | None, nodes: IntArray) -> float:
    """How much of their label texts the weights of nodes have, beyond the mean of all nodes."""
    if T is None:
        return 0.0
    own = T[nodes]
    total = float(own.multiply(own).sum())
    mean = np.asarray(W.mean(axis=0)).ravel()
    beyond = float(own.multiply(W).sum()) - float(np.asarray(own.sum(axis=0)).ravel() @ mean)
    return beyond / total if total else 0.0


# -- documents ---------------------------------------------------------------------------------------------------------


def _refitted(
    inner: LinearTaxonomyClassifier,
    taxonomy: Taxonomy,
    origins: list[NodeOrigin],
    start: tuple[FloatArray, FloatArray],
    X: Matrix,
    Y: CSR,
) -> tuple[FloatArray, FloatArray]:
    """The labels that were not kept and have documents, solved again."""
    nodes = np.array([taxonomy.index(origin.node) for origin in origins])
    counts = np.bincount(Y.indices, minlength=taxonomy.n_nodes)
    changed = [i for i, o in enumerate(origins) if o.kind != "kept" and 0 < counts[nodes[i]] < Y.shape[0]]
    W, b = start  # changed in place: the weights of all labels may be large
    if not changed:
        return W, b
    centres: FloatArray = np.zeros((len(changed), X.shape[1]), dtype=np.float32)
    if isinstance(inner, RecursiveModel):
        links = links_of(taxonomy, nodes.astype(np.int32), **inner._link_options)
        shares = shares_of_nodes(links, taxonomy, nodes[changed].tolist())
        shares[np.abs(shares) < _SMALL_SHARE] = 0
        used = np.flatnonzero(shares.any(axis=0))
        shares = shares[:, used] / np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
        centres = (W[:, used] @ shares.T.astype(W.dtype)).T
    solved = _solved(inner, X, Y[:, nodes[changed]], centres)
    W[:, changed], b[changed] = solved[0].T, solved[1]
    return W, b


def _solved(inner: Any, X: Matrix, Y: CSR, centres: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Every label alone, pulled towards its centre: min 1/2 |w - centre|^2 + C sum of losses."""
    n = Y.shape[1]
    flat = Taxonomy.flat([f"{i:09}" for i in range(n)])
    order = np.array([flat.index(f"{i:09}") for i in range(n)])
    given = {name: getattr(inner, name) for name in ("C", "fit_intercept", "tol", "max_iter", "n_jobs")}
    if getattr(inner, "class_weight", None) == "balanced":
        given["class_weight"] = "balanced"
    smooth = isinstance(inner, (RRLogistic, OneVsRestLogistic))
    kind: Any = RRLogistic if smooth else RRSVM
    if not smooth:
        given["loss"] = inner.loss
    alone = kind(flat, pull=float("inf"), random_state=0, **given)
    columns = np.empty(n, dtype=np.int64)
    columns[order] = np.arange(n)
    problem = Problem(X, sparse.csr_array(Y[:, columns]), flat, None, LabelCodec("sets"))
    alone.taxonomy_, alone.codec_, alone.closed_, alone.n_features_in_ = flat, problem.codec, False, X.shape[1]
    alone._fit_joint(problem, prior=sparse.csr_array(centres[columns]), on_trial=True)
    place = np.argsort(alone.nodes_)
    return alone.weights_[:, place[order]].T, alone.intercept_[place[order]]


def _marked(origin: NodeOrigin, counts: IntArray, n_docs: int, taxonomy: Taxonomy) -> NodeOrigin:
    n = int(counts[taxonomy.index(origin.node)])
    return NodeOrigin(
        origin.node, origin.kind, origin.sources, origin.kind != "kept" and 0 < n < n_docs,
        origin.before, origin.after, n,
    )  # fmt: skip


def _measured(
    origins: list[NodeOrigin], old: Taxonomy, new: Taxonomy, before: CSR, after: CSR, gold: CSR
) -> list[NodeOrigin]:
    """Origins with F1 before and after, of nodes that the held-out documents have."""
    first, second, truth = (M.tocsc() for M in (before, after, gold))

    def f1(found: CSR, column: int, node: int) -> float | None:
        answered = set(found.indices[found.indptr[column] : found.indptr[column + 1]].tolist())
        right = set(truth.indices[truth.indptr[node] : truth.indptr[node + 1]].tolist())
        return 2 * len(answered & right) / (len(answered) + len(right)) if right else None

    result = []
    for origin in origins:
        node = new.index(origin.node)
        known = f1(first, old.index(origin.sources[0]), node) if origin.kind == "kept" else None
        result.append(
            NodeOrigin(origin.node, origin.kind, origin.sources, False, known, f1(second, node, node), origin.documents)
        )
    return result


# -- the model ---------------------------------------------------------------------------------------------------------


def _with_weights(
    inner: LinearTaxonomyClassifier, taxonomy: Taxonomy, origins: Sequence[NodeOrigin], W: FloatArray, b: FloatArray
) -> Any:
    """A copy of the model over the new taxonomy, without what belongs to the old one."""
    of_documents = ("_joint", "_device_joint", "_alone", "_prior", "kept_")
    kept = {name: value for name, value in inner.__dict__.items() if name not in of_documents}
    result = copy.copy(inner)
    result.__dict__ = dict(kept)
    result.drop_calibration()
    for name in (
        "base_weights_",
        "subtrees_",
        "n_documents_",
        "label_weights_",
        "carried_nodes_",
        "_scorer",
        *_FIGURES,
    ):
        result.__dict__.pop(name, None)
    codec = inner.codec_
    kind = "labels" if codec.single_label else "sets"
    result.codec_ = LabelCodec(kind, "str" if kind == "sets" or codec.dtype != "object" else "object")
    numbers = np.array([taxonomy.index(origin.node) for origin in origins], dtype=np.int32)
    order = np.argsort([origin.node for origin in origins]) if kind == "labels" else np.argsort(numbers)
    result.taxonomy = result.taxonomy_ = taxonomy
    result.nodes_ = numbers[order]
    result.weights_ = W if (order == np.arange(len(order))).all() else np.take(W, order, axis=1)
    result.intercept_ = np.ascontiguousarray(b[order])
    if hasattr(result, "answer"):
        result.answer = "seen"
    return result


def _as_given(model: Classifier, migrated: LinearTaxonomyClassifier, notes: list[str]) -> Classifier:
    """The model alone, or the pipeline with it."""
    if model.estimator.calibrator_ is not None:
        notes.append("The calibration belongs to the old version and was removed; calibrate the model again.")
    if not isinstance(model, Pipeline):
        return migrated
    pipe = copy.copy(model)
    pipe.__dict__ = dict(model.__dict__)
    pipe.model_ = migrated
    if isinstance(model.decoder_, CutOff):
        notes.append("The learned cut-off belongs to the old version and was removed.")
        pipe.decoder, pipe.decoder_ = None, None
    pipe.decoder_comparison_ = None
    pipe.model = copy.copy(model.model)
    pipe.model.__dict__ = {**model.model.__dict__, "taxonomy": migrated.taxonomy_}
    return pipe
