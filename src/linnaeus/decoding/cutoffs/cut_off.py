"""What all cut-offs share: decoders that learn from held-out scores where to cut, and repair what they cut.

A cut-off is a frozen value like every decoder. What it learns are fields, None as long as nothing is learned: `fit`
returns the same cut-off with these fields filled in. Fit it on scores of documents that the model has not seen
(`linnaeus.tuning.fit_decoder` makes them by cross-validation); scores of training documents are too good to learn from.

The taxonomy comes in through ``repair``: None leaves the bare labels, "closure" adds what is above them, "suppress"
drops those that lack something above. What is tuned is tuned after the repair, with the labels closed likewise.

Scores and labels are a `HeldOut`. Of scores that are the k best of each document (`TopScores`), labels that are not
among the best count as not answered.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import Decoder, HeldOut, SetWeights, TopScores, held_out, hierarchy, positions
from linnaeus.decoding.simple.threshold import REPAIRS, best_nodes, repaired_weights
from linnaeus.engine import single_blas_thread
from linnaeus.errors import ParameterError, check_choice
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["CutOff", "Metric", "best_of", "micro_f1", "path_minima"]


Metric: TypeAlias = Callable[[CSR, CSR, Taxonomy], float]
Cut = TypeVar("Cut", bound="CutOff")


@dataclass(frozen=True)
class CutOff(Decoder):
    """A decoder that is fitted on held-out scores before it decides.

    Parameters
    ----------
    repair : {"closure", "suppress"} or None, default=None
        None leaves the bare labels. With "suppress", cut-offs that compare the scores of different nodes (all but
        `SCut`) take for each node the least score on its way to the top, so that what they cut is closed.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.decoding import RCut
    >>> tax = Taxonomy.flat(["A", "B"])
    >>> cut = RCut().fit(np.array([[0.9, 0.1], [0.2, 0.8]]), tax.indicator([["A"], ["B"]]), tax, tax.leaves)
    >>> isinstance(cut, CutOff), cut.r
    (True, 1)
    """

    repair: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_choice("repair", self.repair, REPAIRS)

    @property
    def closed(self) -> bool:
        return self.repair is not None

    @property
    def along_paths(self) -> bool:
        """Whether a node counts with the least score on its way to the top."""
        return self.repair == "suppress"

    @property
    def may_be_empty(self) -> bool:
        return not getattr(self, "at_least_one", False)

    def allowing_empty(self: Cut) -> Cut:
        """The same cut-off with answers that may be empty, where it has this choice."""
        change: Callable[..., Cut] = replace
        return change(self, at_least_one=False) if hasattr(self, "at_least_one") else self

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        self._check_fitted()
        return repaired_weights(self, self.repair, S, taxonomy, columns)

    @property
    @abstractmethod
    def fitted(self) -> bool:
        """Whether it can decide."""

    def fit(
        self: Cut,
        S: npt.ArrayLike | TopScores,
        Y: object,
        taxonomy: Taxonomy,
        columns: npt.ArrayLike | None = None,
        *,
        metric: Metric | None = None,
    ) -> Cut:
        """The same cut-off with what it learned; this one stays as it is.

        Parameters
        ----------
        S : object
            Scores of documents that the model has not seen, n_docs x n_scored, or the `TopScores` of each document.
        Y : object
            Their labels, of any kind.
        columns : object, default=None
            Node numbers of the columns of S; all nodes in order if None.
        metric : Metric, default=None
            What is maximised where there is a choice, called with (gold, answers, taxonomy), as the functions of
            `linnaeus.metrics` are; micro-averaged F1 if None. Answers are repaired, and gold is closed likewise.
        """
        held = held_out(S, Y, taxonomy, columns, close=self.closed)
        if self.along_paths and not isinstance(held.S, TopScores):
            held = replace(held, S=self._minima(held.S, taxonomy, held.columns))
        with single_blas_thread():  # the matrices are small: threads would only wait for each other
            return self._fit(held, metric or micro_f1)

    @abstractmethod
    def _fit(self: Cut, held: HeldOut, metric: Metric) -> Cut: ...

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        self._check_fitted()
        if self.closed and (columns == taxonomy.root).any():  # a bare set may hold the root, as labels may
            S, columns = S[:, columns != taxonomy.root], columns[columns != taxonomy.root]
        if self.along_paths:
            S = self._minima(S, taxonomy, columns)
        return self._cut(S, taxonomy, columns)

    def _minima(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        return path_minima(S, taxonomy, columns)

    def _check_fitted(self) -> None:
        if not self.fitted:
            given = [f for f in fields(self) if f.repr and getattr(self, f.name) != f.default]
            settings = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in given)
            raise ParameterError(
                f"{type(self).__name__}({settings}) has not learned where to cut; Pipeline(..., decoder={self.name!r}) "
                f"and `linnaeus train --decoder {self.name}` fit it with the model, fit_decoder afterwards."
            )

    def _best(self, S: FloatArray, columns: IntArray) -> Callable[[IntArray], IntArray] | None:
        """The best node of documents, where answers may not be empty."""
        return best_nodes(S, columns) if getattr(self, "at_least_one", False) and len(columns) else None

    @abstractmethod
    def _cut(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        """As `_decode`, of a fitted cut-off; a closed one sees no root."""


def path_minima(S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
    """The least score of every node and all that is above it; minus infinity under a node without a score.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> path_minima(np.array([[-1.0, 0.5, 2.0]]), tax, np.arange(3)).tolist()      # A, B, AA
    [[-1.0, 0.5, -1.0]]
    """
    edges, place = hierarchy(taxonomy), positions(taxonomy, columns, with_root=True)
    least = np.array(S)
    for v in columns.tolist():  # parents come before their children
        parents = place[edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]]
        if (parents < 0).any():
            least[:, place[v]] = -np.inf
        elif len(parents):
            least[:, place[v]] = np.minimum(least[:, place[v]], least[:, parents].min(axis=1))
    return least


def micro_f1(gold: CSR, answers: CSR, taxonomy: Taxonomy) -> float:
    """F1 of all documents and labels pooled: 2 #(gold & answers) / (#gold + #answers), 1 if both are empty.

    Examples
    --------
    >>> tax = Taxonomy.flat("AB")
    >>> micro_f1(tax.indicator([["A"], ["B"]]), tax.indicator([["A"], ["A", "B"]]), tax)
    0.8
    """
    size = gold.nnz + answers.nnz
    return 2.0 * float(gold.multiply(answers).nnz) / size if size else 1.0


def best_of(cuts: Iterable[Cut], held: HeldOut, metric: Metric) -> tuple[Cut, float]:
    """The first of the cut-offs with the largest metric on held-out documents, and that value."""
    scored = [(cut, float(metric(held.gold, held.answers(cut), held.taxonomy))) for cut in cuts]
    return scored[int(np.argmax([value for _, value in scored]))]
