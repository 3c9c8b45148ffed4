"""Decoders of models that score label sets as wholes (`GlobalTreeModel`).

`BestTree` takes a table of branching as it was learned, minus infinity where a set may not end; `BestNonEmpty` needs
none and works on DAGs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import Decoder, as_given, hierarchy
from linnaeus.decoding.rules import Rules
from linnaeus.decoding.set_weights import SetWeights
from linnaeus.decoding.sets.best_sets import best_sets, branching_scores
from linnaeus.decoding.sets.closures import BestClosure
from linnaeus.errors import ParameterError
from linnaeus.taxonomy.closure import pattern, pointers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["BestNonEmpty", "BestTree"]


@dataclass(frozen=True, eq=False)
class BestTree(Decoder):
    """The set of largest score under a table of branching.

    Parameters
    ----------
    scores : array-like of shape (n_nodes + 1, R + 2)
        Scores of no child, 1 .. R children and more, for every node and last for the tops; see `branching_table`.
    one : bool, default=False
        Whether answers are single labels.
    at_least_one : bool, default=True
        Whether answers have at least one label.

    Examples
    --------
    >>> from linnaeus.decoding import branching_table
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> tax.labels(BestTree(branching_table(tax, [-0.1, -0.6]))([[0.5, 0.2, 0.4, 0.3]], tax))  # A, B, AA, AB
    [['A', 'AA']]
    """

    name: ClassVar[str] = "best_tree"
    scores: npt.ArrayLike = field(default=(), repr=False)
    one: bool = False
    at_least_one: bool = True

    def __post_init__(self) -> None:
        table = np.asarray(self.scores, dtype=np.float64)
        if table.ndim != 2:
            raise ParameterError("best_tree needs scores, a table of branching for all nodes; see branching_table.")
        object.__setattr__(self, "scores", table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BestTree) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[bytes, tuple[int, ...], bool, bool]:
        table = np.asarray(self.scores)
        return table.tobytes(), table.shape, self.one, self.at_least_one

    def to_dict(self) -> dict[str, object]:
        """Name and parameters as plain values."""
        return super().to_dict() | {"scores": np.asarray(self.scores).tolist()}

    @property
    def single(self) -> bool:
        return self.one

    @property
    def may_be_empty(self) -> bool:
        return not self.at_least_one

    def table(self, taxonomy: Taxonomy) -> FloatArray:
        """The table of `best_sets`."""
        return np.asarray(self.scores)

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """The scores that are summed, without those of branching (`table`)."""
        return SetWeights(as_given(S, taxonomy, columns)[0])

    def label_scores(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> FloatArray:
        """Sums of the scores on the path to every node, and of its branching."""
        (S, nodes), table = as_given(S, taxonomy, columns), self.table(taxonomy)
        each = taxonomy.close(pattern(np.arange(len(nodes) + 1), nodes.astype(np.int32), taxonomy.n_nodes))
        above = branching_scores(taxonomy.close(each, keep_root=False), taxonomy, table)
        return np.asarray((each[:, nodes].astype(np.float64) @ S.T).T) + above

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        table = self.table(taxonomy)
        if self.one and not hierarchy(taxonomy).is_forest:
            scores = self.label_scores(S, taxonomy, columns)
            best = scores.argmax(axis=1)
            possible = np.isfinite(scores[np.arange(len(scores)), best])
            chosen = pattern(pointers(possible), columns[best[possible]].astype(np.int32), taxonomy.n_nodes)
            return taxonomy.close(chosen)
        if self.one:
            table = np.where(np.arange(table.shape[1]) < 2, table, -np.inf)
        return best_sets(S, taxonomy, columns, table=table).best


@dataclass(frozen=True)
class BestNonEmpty(BestClosure):
    """The closed set of largest score that ends at scored nodes, on any taxonomy.

    Parameters
    ----------
    theta : float or tuple of float, default=0.0
        One number, or one for each node of the taxonomy; a scored node weighs its score minus theta.
    at_least_one : bool, default=True
        Whether answers have at least one label.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> tax.labels(BestNonEmpty()([[-0.5, -0.2, 0.1]], tax))  # A, B, AA
    [['B']]
    """

    name: ClassVar[str] = "best_non_empty"
    at_least_one: bool = True

    @property
    def may_be_empty(self) -> bool:
        return not self.at_least_one

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        rules = Rules(at_least=int(self.at_least_one)).bind(taxonomy)
        scored = np.zeros(taxonomy.n_nodes, dtype=bool)
        scored[columns] = True
        rules = replace(rules, may_stop=rules.may_stop & scored)
        return best_sets(self.set_weights(S, taxonomy, columns).nodes, taxonomy, columns, rules=rules).best
