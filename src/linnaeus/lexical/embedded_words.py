"""Explanations by words where an embedding stands beside the terms of a document.

A linear score has a part for every column, x_j w_j. The columns of the embedding mean nothing to people, but their sum
is a sum over words: with p_t the part of word t in the embedding (`EmbeddedText.word_parts`),

    sum_j x_j w_j = c'w + sum_t p_t'w        over columns j of the embedding, c the same for every document

so that every word has a part of its own, exactly. It is shown with its neighbours: the words of largest weight for the
node (or against it, where the part is negative) whose vectors are nearest to that of the word.

By a neural model (`features.text_encoder`) the part of a word is how the embedding changes without it. What the parts
leave is part of the constant, and the explanation is marked as approximate; neighbours are not looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from linnaeus.errors import LinnaeusError
from linnaeus.features.analysis import shown
from linnaeus.features.embedding import EmbeddedText, WordParts
from linnaeus.models.explaining import EMBEDDING, WORD, Contrast, Explainable, NodeExplanation
from linnaeus.models.label_priors import LabelTextExplanation
from linnaeus.typing import CSR, FloatArray, IntArray, ObjectArray

__all__ = ["explain_by_word"]

_CONSTANT = "(mean document)"  # what is subtracted from every embedding
_HEAVY = 300  # words of a node that neighbours are looked for among
_NEIGHBOURS, _LEAST = 2, 0.3  # neighbours that are shown, and their smallest cosine

Found = TypeVar("Found", NodeExplanation, Contrast)


def explain_by_word(
    model: Explainable, features: EmbeddedText, documents: object, node: str | None, k: int | None
) -> list[NodeExplanation]:
    """Contributions of the words of one document to every scored node of a path.

    Parameters
    ----------
    model : Explainable
        A fitted model whose scores are sums over features.
    features : EmbeddedText
        The features in front of it.
    documents : documents as ``features`` take them
        One document.
    node, k : str or None, int or None
        As for ``explain`` of the model.

    Returns
    -------
    list of NodeExplanation
        With ``origins``: "word" for terms of the document ("label" and "parent" too, with ``answer="all"``),
        "embedding" for words through their vectors.
    """
    X: CSR = features.transform(documents)
    steps = model.explain(X, node, None)
    words = _Words(features, documents, X)
    heavy = _weights_of_terms(model, X, features.n_terms, steps[-1].node)
    return [_step(step, words, heavy.get(step.node), k) for step in steps]


def _step(step: Any, words: _Words, weights: FloatArray | None, k: int | None) -> Any:
    made = replace(words.explained(step, weights, k), approximate=step.approximate or words.parts.approximate)
    if isinstance(made, LabelTextExplanation):
        made = words.of_label(made)
    if step.against is not None:
        made = replace(made, against=words.explained(step.against, weights, k))
    if hasattr(step, "sources"):
        sources = tuple(
            replace(source, explanation=_step(source.explanation, words, weights, k))
            if source.explanation is not None and source.shares_features
            else source
            for source in step.sources
        )
        made = replace(made, sources=sources)
    return made


def _weights_of_terms(model: Explainable, X: CSR, n_terms: int, node: str) -> dict[str, FloatArray]:
    """Weights of all terms by node of the path: the explanation of a document that has every term once."""
    every = sparse.csr_array(
        (np.ones(n_terms, dtype=X.dtype), np.arange(n_terms, dtype=np.int32), np.array([0, n_terms], dtype=np.int32)),
        shape=X.shape,
    )
    found: dict[str, FloatArray] = {}
    try:
        steps = model.explain(every, node, None)
    except LinnaeusError:
        return {}
    for step in steps:
        weights = np.zeros(n_terms)
        mine = step.features < n_terms
        np.add.at(weights, step.features[mine], step.contributions[mine])  # a term may have several origins
        found[step.node] = weights
    return found


class _Words:
    """The words of one document, and names for their parts."""

    def __init__(self, features: EmbeddedText, documents: object, X: CSR) -> None:
        self.features, self.n_terms = features, features.n_terms
        self.names, self.n_words = features.features_.get_feature_names_out(), features.n_words
        self.pieces = None if features.characters_ is None else features.characters_.word_shares(documents)
        self.parts: WordParts = features.word_parts(documents)
        self.row = X.toarray()[0, self.n_terms :].astype(np.float64)
        self.vectors = None if self.parts.approximate else _unit(features.vectors_.vectors(self.parts.words))
        self.terms = _single_words(features)

    def explained(self, found: Found, weights: FloatArray | None, k: int | None) -> Found:
        """The same with words instead of columns."""
        of_terms = found.features < self.n_terms
        through, rest = self._through(found.features[~of_terms], found.contributions[~of_terms])
        origin = np.full(len(found.features), WORD, dtype=object) if found.origins is None else found.origins
        of_words: dict[tuple[str, str], float] = {}
        for name in dict.fromkeys(origin[of_terms].tolist()):
            mine = of_terms & (origin == name)
            words = self._of_words(found.features[mine], found.contributions[mine])
            of_words |= {(word, name): value for word, value in words.items()}
        values, n_own = np.concatenate([[*of_words.values()], through]), len(of_words)
        order = np.argsort(-np.abs(values), kind="stable")[:k]
        kept = (order[order >= n_own] - n_own).tolist()
        near = self._neighbours(weights, through, kept)
        names = np.empty(len(values), dtype=object)
        names[:n_own] = [word for word, _ in of_words]
        names[n_own:] = near
        origins = np.array([name for _, name in of_words] + [EMBEDDING] * len(through), dtype=object)
        return replace(
            found,
            intercept=found.intercept + rest,
            features=names[order],
            contributions=values[order],
            origins=origins[order],
        )

    def of_label(self, step: LabelTextExplanation) -> LabelTextExplanation:
        """The same with words instead of columns in what the text of the node gives"""
        of_terms = step.text_features < self.n_terms
        values = self._of_words(step.text_features[of_terms], step.text_contributions[of_terms])
        through, rest = self._through(step.text_features[~of_terms], step.text_contributions[~of_terms])
        for word, value in zip(self.parts.words, through.tolist(), strict=True):
            values[word] = values.get(word, 0.0) + value
        values[_CONSTANT] = rest
        kept = sorted(((word, value) for word, value in values.items() if value), key=lambda part: -abs(part[1]))
        names = np.empty(len(kept), dtype=object)
        names[:] = [word for word, _ in kept]
        return replace(step, text_features=names, text_contributions=np.array([value for _, value in kept]))

    def _through(self, features: IntArray, contributions: FloatArray) -> tuple[FloatArray, float]:
        """Contributions of columns of the embedding as those of words, and the same for every document, c'w."""
        column = np.zeros(len(self.row))
        columns = features - self.n_terms
        np.add.at(column, columns, contributions / self.row[columns])  # a column may have several origins
        through = self.parts.parts @ column
        return through, float(contributions.sum()) - float(through.sum())

    def _of_words(self, features: IntArray, values: FloatArray) -> dict[str, float]:
        """Contributions of terms by name, with those of n-grams of characters by the words that they are from."""
        own = features < self.n_words
        made = dict(zip(self.names[features[own]].tolist(), values[own].tolist(), strict=True))
        if self.pieces is not None:
            words, shares = self.pieces
            row = np.zeros(shares.shape[1])
            row[features[~own] - self.n_words] = values[~own]
            for word, value in zip(words.tolist(), (shares @ row).tolist(), strict=True):
                if value:
                    made[word] = made.get(word, 0.0) + value
        return made

    def _neighbours(self, weights: FloatArray | None, through: FloatArray, kept: Sequence[int]) -> ObjectArray:
        """Words of the document, those that are kept with the nearest words for or against the node."""
        names = np.empty(len(through), dtype=object)
        names[:] = self.parts.words
        if weights is None or self.vectors is None:
            return names
        for sign in (1.0, -1.0):
            mine = [int(t) for t in kept if sign * through[t] > 0]
            columns, words = self.terms
            speaking = sign * weights[columns] > 0
            order = np.argsort(-sign * weights[columns], kind="stable")
            chosen = [int(i) for i in order[:_HEAVY] if speaking[i]]
            if not mine or not chosen:
                continue
            others = [words[i] for i in chosen]
            cosine = self.vectors[mine] @ _unit(self.features.vectors_.vectors(others)).T
            for t, row in zip(mine, cosine, strict=True):
                own = self.parts.words[t]
                best = [int(j) for j in np.argsort(-row, kind="stable")[: _NEIGHBOURS + 1] if row[j] >= _LEAST]
                near = [others[j] for j in best if others[j] != own][:_NEIGHBOURS]
                if near:
                    names[t] = f"{own} ~ {', '.join(near)}"
        return names


def _single_words(features: EmbeddedText) -> tuple[np.ndarray, list[str]]:
    """Columns of terms that are one word, and these words; stems as words that stand in documents."""
    made = features.features_
    columns, words, first = [], [], 0
    for field in made.weights_:
        terms = made.vocabulary_[field].tolist()
        for j, term in enumerate(terms):
            if " " not in term:
                columns.append(first + j)
                words.append(shown(term, made.surfaces_) if made.surfaces_ else term)
        first += len(terms)
    return np.array(columns, dtype=np.int64), words


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
