"""LexicalModel: labels whose texts occur in a document, weighed by how and where they occur.

A node with a label in a document is a candidate, with the features f of `candidates`. Its score is a log-odds

    s_v = b + sum_j w_j f_j                                    for candidates,
    s_v = log-odds that v is a label although it is not found      for all other nodes,

and the larger of both for nodes of which a document has only some words of a label (`incomplete`).

w is one vector for all nodes, so that a node without training documents is answered like every other, and few documents
are enough to learn it: a regularised logistic regression over the candidates of the training documents, which starts
from fixed weights (one of its columns is their score, hardly regularised). Without documents these are used.

Features of a node that come from training documents (how often it is a candidate, a label, or both) are taken from four
fifths of the documents for the candidates of the other fifth, so that the regression trusts them as much as it may.

Related: O. Medelyan, Human-competitive automatic topic indexing (Maui, 2009), and MLLM of Annif.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import LabelCodec, Problem
from linnaeus.decoding import BestLabel, Decoder, Threshold
from linnaeus.decoding import decoder as make_decoder
from linnaeus.engine import blocks
from linnaeus.errors import DataError, ParameterError, check_number, warn_user
from linnaeus.features.analysis import Analyser
from linnaeus.lexical.candidates import (
    FEATURES,
    LEARNED,
    OF_WHOLE,
    Candidates,
    NodeCounts,
    find_candidates,
    first_nodes,
)
from linnaeus.lexical.labels import KINDS
from linnaeus.lexical.matcher import LabelMatcher, word_spans
from linnaeus.lexical.relations import Relations
from linnaeus.lexical.words import WordStream, as_documents, fields_of, one_document
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.explaining import LABEL, NodeExplanation
from linnaeus.models.flat.one_vs_rest import OneVsRestLogistic
from linnaeus.order import best_columns
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import listed
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix, ObjectArray

__all__ = ["LabelMatch", "LexicalExplanation", "LexicalModel"]

# Used without training documents, and the start of the regression with few.
FIXED: dict[str, float] = {  # rounded from a regression over 4,000 citations of MEDLINE with their subject headings
    "occurrences": 0.8,
    "early": 0.3,
    "spread": 0.2,
    "title": 0.9,
    "alternative": -0.2,
    "hidden": -0.5,
    "words": 1.3,
    "ambiguity": -0.6,
    "partial": -3.0,
    "scattered": -1.2,
    "candidates": -0.3,
    "above": 2.0,
    "beside": 0.7,
    "below": -1.2,
    "nearness": 0.2,
    "incomplete": -2.0,
    "missing": -2.3,
    "information": 0.1,
}
FIXED_INTERCEPT = -1.75
FIXED_CUT = -1.9
NOT_FOUND = -12.0  # the score of a node that is not found, without training documents

_GROUPS = 5
_MOST_ROWS = 500_000  # candidates that the regression learns from
_DESCRIBING = 5_000  # documents by which it is decided whether documents describe nodes
_LEAST_DESCRIBING = 20  # of these, documents that begin with the name of a node
_DESCRIBED = 2.0  # times as often as the node itself its parent has to be a label of these
_DOCUMENTS = 10_000  # whose candidates are found at a time
_TOGETHER = 64  # documents whose best nodes are found in one table
_FREE = 10.0  # scale of the column of fixed scores: its weight is regularised 100 times less than others


@dataclass(frozen=True)
class LabelMatch:
    """A label that was found in a document.

    Attributes
    ----------
    text : str
        The words as they stand in the document, where they stand first.
    label : str
        The label of the vocabulary.
    kind : str
        "preferred", "alternative" or "hidden".
    count : int
        Number of occurrences.
    in_title : bool
        Whether one is in the title: the first field, or the first 20 words of a document of one field.
    scattered : bool
        Whether the words only stand near each other.
    incomplete : bool
        Whether only some words of the label stand in the document, or other forms of them.
    """

    text: str
    label: str
    kind: str
    count: int
    in_title: bool
    scattered: bool = False
    incomplete: bool = False


@dataclass(frozen=True)
class LexicalExplanation(NodeExplanation):
    """Why a node scored as it did: its labels in the document, and the contributions of the features of these matches.

    Attributes
    ----------
    matches : tuple of LabelMatch
        The labels that were found, the most frequent first; none for a node that is not in the document.
    display : str
        The display label of the node.
    """

    matches: tuple[LabelMatch, ...] = field(default=())
    display: str = ""

    def named(self, names: ObjectArray) -> LexicalExplanation:
        """The same: features have names already."""
        return self

    @property
    def evidence(self) -> list[str]:
        """The matches in words."""
        return [_in_words(match, self.display) for match in self.matches]

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"  {line}" for line in self.evidence)])


def _in_words(match: LabelMatch, display: str) -> str:
    often = {1: "once", 2: "twice"}.get(match.count, f"{match.count} times")
    written = "" if match.label == display else f" ({match.label})"
    where = ", in the title" if match.in_title else ""
    what = f"words of the {match.kind} label" if match.incomplete else f"{match.kind} label"
    return f"'{match.text}' = {what} of {display}{written}, {often}{where}"


class LexicalModel(TaxonomyClassifier):
    """Answers nodes whose labels occur in the document, with or without training documents.

    It takes documents as they were read (strings, records with fields, data frames), not matrices. All nodes of the
    taxonomy that have a text can be answered.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy with its texts; None makes a flat one from y, whose labels are the texts.
    C : float, default=1.0
        Weight of the training documents against the regularisation of the weights.
    language : str, default=None
        Language of the labels to look for; None takes the labels of all languages.
    analyzer : str, default="stems"
        How words of labels and documents are compared: by their "stems", "lemmas", or "word" by word. The language is
        ``language``, or English unless it is named as in "stems:de".
    use_frequency : bool, default=True
        Whether nodes that are frequent labels are also answered where they are not found, such as a general heading
        that most documents have.
    describes_nodes : bool or "auto", default="auto"
        Whether documents are entries of the vocabulary itself, such as new terms with their definitions, that begin
        with the name of what they describe and have broader nodes as labels. The node that a document describes is not
        an answer then, and says nothing about its parents. "auto" decides by training documents: where the parent of
        a node that stands first is a label more often than the node.
    tol : float, default=1e-4
        The certified relative gap at which the weights are final.
    max_iter : int, default=1000
        The most iterations for the weights.

    Attributes
    ----------
    evidence_weights_ : ndarray of shape (n_features,)
        Weights of the features of a match, see `linnaeus.lexical.candidates.FEATURES`. Models saved before incomplete
        labels were found have none for the features of these, and answer without them.
    evidence_intercept_ : float
        The constant of the score of a candidate.
    cut_ : float
        The score from which a node is answered: the best for micro-F1 on the training documents.
    describes_nodes_ : bool
        Whether documents describe nodes.
    n_docs_ : int
        Number of training documents.

    Notes
    -----
    There is no ``random_state``, ``n_jobs`` or ``verbose``: nothing is drawn at random, and the only fit is one small
    regression that all nodes share.

    Examples
    --------
    >>> from linnaeus import LexicalModel, Taxonomy
    >>> tax = Taxonomy.from_edges([("R", "x1"), ("R", "x2")], display_labels={"x1": "Heart attack", "x2": "Lungs"})
    >>> model = LexicalModel(tax).fit()
    >>> model.predict(["Signs of a heart attack", "Smoking harms the lungs", "Gardening"])
    [['x1'], ['x2'], []]
    >>> model.explain("Signs of a heart attack", "x1")[0].evidence
    ["'heart attack' = preferred label of Heart attack, once, in the title"]
    """

    evidence_weights_: FloatArray
    evidence_intercept_: float
    node_evidence_: FloatArray
    unmatched_: FloatArray
    cut_: float
    describes_nodes_: bool = False  # of models saved before it was stored
    n_docs_: int

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        language: str | None = None,
        analyzer: str = "stems",
        use_frequency: bool = True,
        describes_nodes: bool | str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.language = language
        self.analyzer = analyzer
        self.use_frequency = use_frequency
        self.describes_nodes = describes_nodes
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("C", self.C, above=0)
        check_number("tol", self.tol, above=0)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        if self.language is not None and not isinstance(self.language, str):
            raise ParameterError(f"language={self.language!r}; expected a language tag such as 'en', or None.")
        if Analyser(self.analyzer).kind not in ("stems", "lemmas", "word"):
            raise ParameterError(f"analyzer={self.analyzer!r}; expected 'stems', 'lemmas' or 'word'.")
        if not isinstance(self.use_frequency, (bool, np.bool_)):
            raise ParameterError(f"use_frequency={self.use_frequency!r}; expected True or False.")
        if self.describes_nodes != "auto" and not isinstance(self.describes_nodes, (bool, np.bool_)):
            raise ParameterError(f"describes_nodes={self.describes_nodes!r}; expected True, False or 'auto'.")

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: object = None, y: object = None, sample_weight: object = None) -> LexicalModel:
        """Learn from documents and labels, or without both take the fixed weights.

        Parameters
        ----------
        X : list of str, list of dict, dict of lists or DataFrame, default=None
            Documents. The first of several fields counts as the title.
        y : labels, default=None
            Labels of any kind.
        sample_weight : array-like of shape (n_docs,), default=None
            Weights of the documents.

        Returns
        -------
        LexicalModel
            The model itself.
        """
        if (X is None) != (y is None):
            raise ParameterError("fit takes documents and labels, or neither of them.")
        if X is not None:
            super().fit(X, y, sample_weight)
            return self
        self._check_parameters()
        if self.taxonomy is None:
            raise ParameterError("A LexicalModel without documents needs a taxonomy.")
        self._forget()
        self.drop_calibration()
        for name in ("carried_nodes_", "one_path_"):
            self.__dict__.pop(name, None)
        self.taxonomy_, self.codec_ = self.taxonomy, LabelCodec("sets")
        self.closed_ = self.nested_ = self.one_label_ = False
        self.some_empty_ = True
        self.nodes_ = self._matching()[0].nodes.astype(np.int32)
        self.describes_nodes_ = self.describes_nodes is True
        self._check_found()
        self._use_fixed_weights()
        self.unmatched_ = np.full(len(self.nodes_), NOT_FOUND)
        self.cut_, self.n_docs_ = FIXED_CUT, 0
        return self

    def _forget(self) -> None:
        for name in ("_made", "kept_"):
            self.__dict__.pop(name, None)

    def _check_found(self) -> None:
        if not len(self.nodes_):
            raise DataError("No node of the taxonomy has a label text that could be found in documents.")

    def _use_fixed_weights(self) -> None:
        self.evidence_weights_ = np.array([FIXED.get(name, 0.0) for name in FEATURES])
        self.evidence_intercept_ = FIXED_INTERCEPT
        self.node_evidence_ = np.zeros((self.taxonomy_.n_nodes, len(LEARNED)))

    def _fit(self, problem: Problem) -> None:
        self._targets(problem, "given")
        matcher, relations = self._matching()
        answered = np.union1d(self.nodes_, matcher.nodes)
        if problem.codec.kind == "labels":  # scikit-learn's scorers take classes_ as sorted
            values = problem.codec.values(problem.taxonomy.names[answered])
            answered = answered[np.argsort(values, kind="stable")]
        self.nodes_ = answered.astype(np.int32)
        Y = problem.Y
        n_docs = Y.shape[0]
        n_groups = max(1, min(_GROUPS, n_docs))
        groups = np.arange(n_docs) % n_groups
        self.describes_nodes_ = self._describe_nodes(_documents(problem.X), Y)
        found = find_candidates(matcher, relations, _documents(problem.X), describe_nodes=self.describes_nodes_)
        if not len(found):
            said = listed(self.taxonomy_.texts.languages) if len(self.taxonomy_.texts) else "the labels are its names"
            warn_user(
                f"No label of the taxonomy stands in any of the {n_docs:,} documents; {said}. Labels in the language "
                "of the documents are needed to find nodes in them."
            )
        counts = NodeCounts.of(found.complete(), Y, groups, n_groups)
        hit = found.are_labels(Y)
        self._use_fixed_weights()
        seen = found.with_counts(counts, groups)
        if hit.any() and not hit.all():
            weights = None if problem.weights is None else problem.weights[found.documents]
            self._learn_weights(seen.matrix(), hit, weights)
            learned = counts.features(np.arange(problem.taxonomy.n_nodes))
            self.node_evidence_ = np.stack([learned[name] for name in LEARNED], axis=1)
        self.unmatched_ = counts.unmatched(self.nodes_) if self.use_frequency else np.full(len(self.nodes_), NOT_FOUND)
        self.cut_ = self._best_cut(self._evidence(seen), seen, hit, Y)
        self.n_docs_ = n_docs

    def _describe_nodes(self, documents: ObjectArray, Y: CSR) -> bool:
        """Whether documents describe nodes: parents of those that stand first are labels more often than these."""
        if self.describes_nodes != "auto":
            return bool(self.describes_nodes)
        tax = self.taxonomy_
        if tax.kind == "graph" or not tax.n_edges:
            return False
        rows = np.unique(np.linspace(0, len(documents) - 1, min(len(documents), _DESCRIBING)).astype(np.int64))
        document, node = first_nodes(self._matching()[0], documents[rows])
        gold = Y[rows]
        own, above = np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
        for d, v in zip(document.tolist(), node.tolist(), strict=True):
            labels = gold.indices[gold.indptr[d] : gold.indptr[d + 1]]
            own[d] |= v in labels
            above[d] |= bool(np.isin(tax.parents(v), labels).any())
        above &= ~own
        return len(np.unique(document)) >= _LEAST_DESCRIBING and above.sum() > _DESCRIBED * own.sum()

    def _learn_weights(self, F: FloatArray, hit: Any, weights: FloatArray | None) -> None:
        """Logistic regression over candidates, in units of the deviation of every feature."""
        fixed = self.evidence_weights_
        mean, deviation = F.mean(axis=0), F.std(axis=0)
        deviation[deviation < 1e-9] = np.inf  # a feature that is always the same has no weight
        start = F @ fixed
        columns = np.column_stack([(F - mean) / deviation, _FREE * (start - start.mean())])
        rows = slice(None, None, max(1, -(-len(columns) // _MOST_ROWS)))
        learner = OneVsRestLogistic(Taxonomy.flat(["label"]), C=self.C, tol=self.tol, max_iter=self.max_iter)
        y = hit[rows, None].astype(np.int8)
        learner.fit(np.ascontiguousarray(columns[rows]), y, None if weights is None else weights[rows])
        w = np.asarray(learner.weights_, dtype=np.float64)[:, 0]
        self.evidence_weights_ = w[:-1] / deviation + _FREE * w[-1] * fixed
        constant = float(np.asarray(learner.intercept_)[0])
        self.evidence_intercept_ = constant - float(w[:-1] @ (mean / deviation)) - _FREE * float(w[-1] * start.mean())
        self.duality_gap_, self.n_iter_ = learner.duality_gap_, learner.n_iter_

    def _best_cut(self, evidence: FloatArray, candidates: Candidates, hit: Any, Y: CSR) -> float:
        """The score from which on micro-F1 is largest, over candidates and the nodes that are not found."""
        n_docs, n_nodes = Y.shape
        scores = self._scores_of(evidence, candidates)
        counts = (candidates.nodes, Y.indices, candidates.nodes[hit])
        found, used, both = (np.bincount(nodes, minlength=n_nodes)[self.nodes_] for nodes in counts)
        value = np.concatenate([scores, self.unmatched_])
        answered = np.concatenate([np.ones(len(scores)), n_docs - found])
        right = np.concatenate([hit.astype(np.float64), used - both])
        order = np.argsort(-value, kind="stable")
        value, answered, right = value[order], np.cumsum(answered[order]), np.cumsum(right[order])
        f1 = 2 * right / (answered + Y.nnz)
        last = np.append(value[1:] != value[:-1], True)  # all of equal score are answered, or none
        best = int(np.argmax(np.where(last, f1, -1.0)))
        return float(value[best]) if best + 1 == len(value) else float((value[best] + value[best + 1]) / 2)

    # -- answering -----------------------------------------------------------------------------------------------------

    def _matching(self) -> tuple[LabelMatcher, Relations]:
        """The matcher and the relations of the taxonomy, made when first needed: they follow from the taxonomy."""
        if "_made" not in self.__dict__:
            matcher = LabelMatcher.of(self.taxonomy_, self.language, self.analyzer)
            self._made = matcher, Relations(self.taxonomy_)
        return self._made

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_made"}

    @property
    def takes_documents(self) -> bool:
        """Documents as they were read."""
        return True

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        documents = as_documents(X)
        if not len(documents):
            raise DataError("X has no documents; expected at least one.")
        return documents

    def _candidates(self, documents: ObjectArray) -> Candidates:
        """Candidates with all features."""
        found = self._find(documents)
        if self._features is OF_WHOLE:
            found = found.complete()
        found = found.only(self._columns()[found.nodes] >= 0)  # models saved before may answer fewer nodes
        learned = self.node_evidence_[found.nodes]
        return replace(found, values={**found.values, **dict(zip(LEARNED, learned.T, strict=True))})

    def _find(self, documents: ObjectArray) -> Candidates:
        return find_candidates(*self._matching(), documents, describe_nodes=self.describes_nodes_)

    @property
    def _features(self) -> tuple[str, ...]:
        """The features that the weights are of."""
        return OF_WHOLE if len(self.evidence_weights_) == len(OF_WHOLE) else FEATURES

    def _evidence(self, found: Candidates) -> FloatArray:
        """Scores of candidates, each a sum in the order of the features, whatever else is in the batch."""
        scores = np.full(len(found), self.evidence_intercept_)
        for name, weight in zip(self._features, self.evidence_weights_.tolist(), strict=True):
            scores += weight * found.values[name]
        return scores

    def _scores_of(self, evidence: FloatArray, found: Candidates) -> FloatArray:
        """Scores of candidates; some words of a label never say less than none."""
        unmatched = self.unmatched_[self._columns()[found.nodes]]
        return np.where(found.are_complete, evidence, np.maximum(evidence, unmatched))

    def _columns(self) -> IntArray:
        """The column of every node, -1 without one."""
        column: IntArray = np.full(self.taxonomy_.n_nodes, -1)
        column[self.nodes_] = np.arange(len(self.nodes_))
        return column

    def _scores(self, X: Matrix) -> FloatArray:
        found = self._candidates(_documents(X))
        S = np.tile(self.unmatched_.astype(np.float64), (found.n_docs, 1))
        S[found.documents, self._columns()[found.nodes]] = self._scores_of(self._evidence(found), found)
        return S

    def _best_of(self, X: Matrix, k: int) -> tuple[IntArray, FloatArray]:
        if self.ranks_by_probability:
            return super()._best_of(X, k)
        documents = _documents(X)
        parts = [self._best_of_some(documents[some], k) for some in blocks(len(documents), _DOCUMENTS)]
        columns, scores = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return columns, scores

    def _best_of_some(self, documents: ObjectArray, k: int) -> tuple[IntArray, FloatArray]:
        """Columns and scores of the k best nodes: candidates, and nodes that are best where they are not found."""
        found = self._candidates(documents)
        column, score = self._columns()[found.nodes], self._scores_of(self._evidence(found), found)
        usual = self.unmatched_.astype(np.float64)
        ranked = np.argsort(-usual, kind="stable")
        columns, scores = [], []
        for some in blocks(found.n_docs, _TOGETHER):
            here = slice(*found.indptr[[some.start, some.stop]])
            most = int(np.diff(found.indptr[some.start : some.stop + 1]).max())
            relevant = np.union1d(column[here], ranked[: k + most])  # at most ``most`` of the latter are candidates
            S = np.tile(usual[relevant], (some.stop - some.start, 1))
            S[found.documents[here] - some.start, np.searchsorted(relevant, column[here])] = score[here]
            best = best_columns(S, k)
            columns.append(relevant[best])
            scores.append(np.take_along_axis(S, best, axis=1))
        return np.concatenate(columns), np.concatenate(scores)

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        if given is not None:
            return make_decoder(given) if isinstance(given, str) else given
        if self.one_label_ or self.codec_.single_label:
            return BestLabel(close=False)
        return Threshold(self.cut_, repair=None, at_least_one=not self.some_empty_)

    def predict_proba(self, X: object) -> FloatArray:
        """Probabilities that nodes are labels, n_docs x len(classes_); those of `linnaeus.calibrate` if it was called.

        Parameters
        ----------
        X : list of str, list of dict, dict of lists or DataFrame
            Documents.

        Returns
        -------
        ndarray of shape (n_docs, n_classes)
            Every column for itself; rows of single labels sum to 1.
        """
        from scipy.special import expit

        if self.calibrator_ is not None:
            return self._calibrated(X)
        P = np.asarray(expit(np.concatenate(list(self.score_blocks(X)))))
        if self.one_label_ or self.codec_.single_label:
            P /= P.sum(axis=1, keepdims=True)
        return P

    def known_terms(self, documents: object) -> IntArray:
        """Number of nodes with a label in each document; where it is 0, the answer is the same for all documents."""
        found = self._find(as_documents(documents))
        return np.diff(found.complete().indptr)

    def keep_documents(self, X: object, y: object, names: Any = None) -> TaxonomyClassifier:
        """Refused: similar documents are found by their vectors, which this model does not have."""
        raise DataError("A LexicalModel has no vectors of documents to compare; documents cannot be kept with it.")

    # -- explaining ----------------------------------------------------------------------------------------------------

    def explain(self, x: object, node: str | None = None, k: int | None = None) -> list[LexicalExplanation]:
        """The labels that were found in one document, and what each of their features contributed.

        Parameters
        ----------
        x : str, dict, or a list of one of them
            One document.
        node : str, default=None
            The node to explain; None explains the best one.
        k : int, default=None
            Keep the k largest contributions; None keeps all.

        Returns
        -------
        list of LexicalExplanation
            One entry.
        """
        check_is_fitted(self, "nodes_")
        documents = one_document(x)
        S = self._scores(documents)
        target = int(self.nodes_[int(S[0].argmax())]) if node is None else self.taxonomy_.index(node)
        column = np.flatnonzero(self.nodes_ == target)
        name, display = str(self.taxonomy_.names[target]), self.taxonomy_.display(target)
        if not len(column):
            raise DataError(f"Node {name!r} has no score: it has no text and was not a label.")
        score = float(S[0, column[0]])
        found = self._candidates(documents)
        counts = found.are_complete | (self._evidence(found) >= self.unmatched_[self._columns()[found.nodes]])
        at = np.flatnonzero((found.nodes == target) & counts)
        if not len(at):
            none, names = np.zeros(0), np.zeros(0, dtype=object)
            return [LexicalExplanation(name, score, score, names, none, origins=names, display=display)]
        parts = found.matrix(self._features)[at[0]] * self.evidence_weights_
        order = [j for j in np.argsort(-np.abs(parts), kind="stable").tolist() if parts[j]][:k]
        features = np.array(self._features, dtype=object)[order]
        origins = np.full(len(order), LABEL, dtype=object)
        constant, matches = self.evidence_intercept_, self._label_matches(documents, target)
        return [
            LexicalExplanation(
                name, score, constant, features, parts[order], origins=origins, matches=matches, display=display
            )
        ]

    def _label_matches(self, documents: ObjectArray, node: int) -> tuple[LabelMatch, ...]:
        """The labels of a node in the only document."""
        matcher = self._matching()[0]
        stream = matcher.stream(documents)
        found, meanings = matcher.find(stream, scattered=True), matcher.meanings
        surfaces: list[str] = []  # the words of the stream as they stand
        for text in fields_of(documents):
            surfaces += [text[0][begin:end] for begin, end in word_spans(text[0])] + [""]
        groups: dict[tuple[int, bool], list[list[int]]] = {}
        for i, phrase in enumerate(found.phrase.tolist()):
            entries = np.arange(meanings.indptr[phrase], meanings.indptr[phrase + 1])
            for entry in entries[meanings.node[entries] == node].tolist():
                places = matcher.places(stream, found, i)
                groups.setdefault((entry, bool(found.scattered[i])), []).append(places)
        matches = []
        for (entry, scattered), all_places in sorted(groups.items(), key=lambda group: (-len(group[1]), group[1][0])):
            label = matcher.labels[int(meanings.label[entry])]
            kind, between = KINDS[int(meanings.kind[entry])], " ... " if scattered else " "
            shown = between.join(surfaces[place] for place in all_places[0])
            in_title = any(places[0] < stream.title_ends[0] for places in all_places)
            matches.append(LabelMatch(shown, label.text, kind, len(all_places), in_title, scattered))
        return tuple(matches) or self._incomplete_match(stream, surfaces, node)

    def _incomplete_match(self, stream: WordStream, surfaces: list[str], node: int) -> tuple[LabelMatch, ...]:
        """The label of a node of which the only document has some words."""
        matcher = self._matching()[0]
        found = matcher.incomplete.find(stream.roots, stream.bounds, stream.title_ends)
        at = int(np.flatnonzero(found.node == node)[0])
        number = int(found.label[at])
        roots = matcher.incomplete.roots_of(number)
        places = sorted(int(np.argmax(stream.roots == root)) for root in roots if root in stream.roots)
        shown, label = " ... ".join(surfaces[place] for place in places), matcher.labels[number]
        return (LabelMatch(shown, label.text, label.kind, 1, bool(found.in_title[at]), True, True),)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _documents(X: Any) -> ObjectArray:
    """What `_check_X` made of the documents."""
    documents: ObjectArray = X
    return documents
