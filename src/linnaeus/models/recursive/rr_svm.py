"""RR-SVM: support vector machines of all nodes, each node's weights pulled towards those of its parents.

    min  1/2 sum over links |w_u - w_v|^2  +  C sum over leaves n and documents i of loss(y_in w_n'x_i)

with the hinge or its square (S. Gopal and Y. Yang, ACM TKDD 9(3), 2015). Nodes with few documents borrow from their
relatives, which is where most of a large taxonomy's labels are.
"""

from __future__ import annotations

from typing import Any

from linnaeus.models.recursive.joint import RecursiveModel
from linnaeus.taxonomy import Taxonomy

__all__ = ["RRSVM"]


class RRSVM(RecursiveModel):
    """Recursively regularised support vector machines: all nodes are learned together.

    Parameters
    ----------
    taxonomy : tree, DAG or graph of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : weight of the loss against the pull between neighbours.
    loss : "squared_hinge" or "hinge".
    fit_intercept : add a constant feature, regularised like the others.
    learn : labels as "given", "closed" (with all ancestors) or "frontier" (only the most specific).
    spawn : "inner" gives labels with children a leaf of their own below them, "all" gives one to every label.
    root : weight of the pull of the root's weights towards zero; a small number leaves the root nearly free.
    class_weight : None, "balanced", or a dict: how much more the positive documents of a label count.
    schedule : "exact" solves all inner nodes together between visits of the leaves, accelerated. For comparison, in
        plain turns: "levels" (odd and even levels, trees only), "colours" (any taxonomy) or "all" (all nodes at once).
        All lead to the same model, "exact" soonest.
    tol : relative duality gap of the whole problem at which the fit ends.
    max_iter : sweeps over all leaves, at most.
    n_jobs : threads; None is 1, -1 all cores. The weights do not depend on it.
    engine : "threads", "ray" or an engine object; see `linnaeus.engine`.
    warm_start : begin at the solution of the last fit, for another C or changed documents of the same shape.
    checkpoint : folder for what is finished; the same fit with it goes on after a kill, to the same model.
    max_time : seconds, or "10m": stop then, with the best certified model so far.
    max_memory : bytes, or "4GB": weights go to disk where the forecast is above it.

    Attributes
    ----------
    weights_ : n_features x n_classes; ``intercept_`` n_classes.
    objective_ : the joint objective; the optimum is at least ``objective_ - duality_gap_``.
    n_iter_ : sweeps.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import RRSVM, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.1]])
    >>> model = RRSVM(taxonomy=tax, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'AA']
    >>> bool(model.duality_gap_ <= 1e-3 * model.objective_)
    True
    """

    _losses = ("squared_hinge", "hinge")

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
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
        self.loss = loss
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
