"""Solver of the hierarchical multi-label SVM: passes of block coordinate ascent, then a certificate.

    min_w  1/2 |w|^2 + sum_i c_i xi_i      w_y - w_z separates every pair by 1 - xi_i / D(y, z), y in Y_i, z not

A whole pass looks at all classes of a document, adds its worst pair to the pairs that it has and solves these exactly;
passes in between look only at the pairs that documents have. It is finished when the certified relative gap
(P - D) / P is at most ``tol``, or, with ``epsilon``, when no document violates its optimality by more than that
(Prop. 3 of the thesis: then P - D <= epsilon sum_i c_i). With one slack per pair, every pair is moved alone.

Documents are rows of features, or rows of the Gram matrix of all documents (``gram``): then w is kept as coefficients
of nodes per document. Certificates are of w as it is stored, in double precision.
"""

from __future__ import annotations

from typing import Any

from linnaeus.models.ranking.example_slacks import ExampleSlacks
from linnaeus.models.ranking.pair_slacks import PairSlacks
from linnaeus.models.ranking.problem import RankingProblem, RankingSolution
from linnaeus.models.ranking.run import Run

__all__ = ["solve_ranking"]


def solve_ranking(
    problem: RankingProblem, *, tol: float, epsilon: float | None, max_iter: int, seed: Any, clock: Any = None
) -> RankingSolution:
    """Solve to a relative gap ``tol``, or to ``epsilon`` where it is given; at most ``max_iter`` passes."""
    run: Run = PairSlacks(problem, seed) if problem.per_pair else ExampleSlacks(problem, seed)
    return run.solve(tol, epsilon, max_iter, clock)
