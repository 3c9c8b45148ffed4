"""As deep as the risk allows: conformal risk control over a taxonomy (Angelopoulos et al. 2024).

With coherent probabilities P the answer at caution lambda is S = {v : P_v > lambda}: consistent, and it only shrinks as
lambda grows. On n documents that neither the model nor its probabilities were fitted on, let L_i(lambda) in [0, 1] be

    any_wrong    1 if S holds a node that is not true, else 0
    wrong_share  the share of all nodes that S holds wrongly

Both never grow with lambda. Then with  lambda = inf{ l : (sum_i L_i(l) + 1) / (n + 1) <= risk }  the expected loss of
a new document of the same kind is at most the risk, whatever the model is worth: on trees and DAGs, with one label or
several. The expectation is over these n documents and the new one; it does not hold for every class alone, nor when
documents change.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from linnaeus.decoding.cut import check_choice
from linnaeus.decoding.threshold import members
from linnaeus.errors import ParameterError
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["LOSSES", "RiskControl", "fit_risk"]

LOSSES = ("any_wrong", "wrong_share")


@dataclass(frozen=True)
class RiskControl:
    """The summed loss of n documents as a curve: it is ``total[i]`` where lambda is just below ``level[i]``, falling.

    Examples
    --------
    >>> wrong = [0.62, 0.35, 0.80, 0.0, 0.20, 0.55, 0.10, 0.45, 0.0]     # highest wrong node of nine documents
    >>> control = RiskControl.of_highest_wrong(np.array(wrong))
    >>> [control.caution(risk) for risk in (0.1, 0.2, 0.3)]
    [0.8, 0.62, 0.55]
    """

    level: FloatArray
    total: FloatArray
    n: int
    loss: str
    exact: bool = True

    @classmethod
    def of_highest_wrong(cls, highest: FloatArray, *, exact: bool = True) -> RiskControl:
        """For ``any_wrong``: the largest probability of a wrong node, of every document; 0 where none is wrong."""
        level = np.sort(np.asarray(highest, dtype=np.float64))[::-1]
        level = level[level > 0]
        return cls(level, np.arange(1.0, len(level) + 1), len(highest), "any_wrong", exact)

    def caution(self, risk: float) -> float:
        """The lambda of a risk; an error where no answer could be promised."""
        if not isinstance(risk, (int, float, np.floating)) or not 0 < risk < 1:
            raise ParameterError(f"risk={risk!r}; expected a number between 0 and 1.")
        room = risk * (self.n + 1) - 1.0
        if room < 0:
            raise ParameterError(
                f"risk={risk} cannot be promised from {self.n} documents: at least {int(np.ceil(1 / risk)) - 1:,} are "
                "needed."
            )
        over = np.flatnonzero(self.total > room + 1e-9)
        return float(self.level[over[0]]) if len(over) else 0.0

    def answers(self, P: FloatArray, risk: float, taxonomy: Taxonomy, nodes: IntArray) -> CSR:
        """The nodes of probability above the caution (n_docs x n_nodes); closed, as P is coherent."""
        caution = self.caution(risk)
        return members(P, lambda rows: P[rows] > caution, nodes, taxonomy)

    def to_dict(self) -> dict[str, Any]:
        """Its fields, for the store."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def fit_risk(P: FloatArray, gold: CSR, nodes: IntArray, loss: str = "any_wrong", *, exact: bool = True) -> RiskControl:
    """The loss curve of documents with coherent probabilities P of ``nodes`` and closed labels (n_docs x n_nodes).

    ``exact=False`` says that the documents were used to fit the model after all, so that the promise is approximate.

    Examples
    --------
    >>> tax = Taxonomy.flat("AB")
    >>> P = np.array([[0.9, 0.3], [0.2, 0.6]])
    >>> fit_risk(P, tax.indicator([["A"], ["A"]]), np.arange(2)).level.tolist()
    [0.6, 0.3]
    """
    check_choice("loss", loss, LOSSES)
    true = gold[:, nodes].toarray() > 0
    wrong = np.where(true, 0.0, P)
    if loss == "any_wrong":
        return RiskControl.of_highest_wrong(wrong.max(axis=1, initial=0.0), exact=exact)
    flat = np.sort(wrong[wrong > 0])[::-1]
    share = np.arange(1.0, len(flat) + 1) / max(P.shape[1], 1)
    keep = np.append(flat[1:] != flat[:-1], True) if len(flat) else np.zeros(0, dtype=bool)  # all that tie at once
    return RiskControl(flat[keep], share[keep], len(P), "wrong_share", exact)
