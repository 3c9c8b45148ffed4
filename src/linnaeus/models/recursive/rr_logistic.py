"""RR-LR: logistic regressions of all nodes, each node's weights pulled towards those of its parents.

min  1/2 sum over links |w_u - w_v|^2  +  C sum over leaves n and documents i of log(1 + exp(-y_in w_n'x_i))
"""

from __future__ import annotations

from typing import Any

from linnaeus.models.recursive.joint import RecursiveModel
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray

__all__ = ["RRLogistic"]


class RRLogistic(RecursiveModel):
    """Recursively regularised logistic regressions: all nodes are learned together.

    Parameters and attributes are those of `RRSVM`, without ``loss``.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import RRLogistic, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.1]])
    >>> model = RRLogistic(taxonomy=tax, C=10.0, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'AA']
    """

    _losses = ("logistic",)
    loss = "logistic"

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        learn: str = "given",
        spawn: str = "inner",
        root: float = 1.0,
        class_weight: Any = None,
        schedule: str = "exact",
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        engine: Any = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        checkpoint: Any = None,
        max_time: Any = None,
        max_memory: Any = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.fit_intercept = fit_intercept
        self.learn = learn
        self.spawn = spawn
        self.root = root
        self.class_weight = class_weight
        self.schedule = schedule
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.max_time = max_time
        self.max_memory = max_memory

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every label, n_docs x len(classes_); rows sum to 1 where every document has one label."""
        return self._logistic_probabilities(X)
