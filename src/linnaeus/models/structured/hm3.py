"""H-M3: a Markov tree over the taxonomy, trained to a maximum margin between the true labelling and all others.

    min_w  1/2 |w|^2 + C sum_i max_y [ loss(y_i, y) - (score(x_i, y_i) - score(x_i, y)) ],
    score(x, y) = sum over edges e of <w_{e, u_e(y)}, phi(x)>,        u_e(y): labels of the two ends of e

(J. Rousu, C. Saunders, S. Szedmak and J. Shawe-Taylor, JMLR 7, 2006). Labels are sets of partial paths: closed under
ancestors, ending anywhere. The loss is the symmetric difference, or the hierarchical loss, which counts a mistake only
where the parent is right. Training is block-coordinate ascent on the dual (`solvers.frank_wolfe`) with a certified gap;
documents are seen through a kernel, or for sparse or dense vectors through weights.
"""

from __future__ import annotations

from typing import Any

from linnaeus.models.structured.margin_model import MaxMarginModel
from linnaeus.taxonomy import Taxonomy

__all__ = ["HM3"]


class HM3(MaxMarginModel):
    """Maximum-margin Markov tree over the taxonomy, with kernels (H-M3).

    Label sets are learned with all their ancestors; the answer is the consistent labelling of largest score, at least
    the best node unless some training documents had no label. Where every document has one label, the answer is the
    best path among those to labels of the training documents. Nodes without training documents are never answered.

    Parameters
    ----------
    taxonomy : the taxonomy of the labels, a tree, forest or DAG; None makes a flat one (or, for paths, a tree) from y.
    C : weight of the loss against 1/2 |w|^2.
    cost : what a wrong labelling costs in training: "symmetric" difference; "hierarchical", where a mistake counts only
        if the parent is right; or "zero_one", which is 1 for every wrong labelling.
    scaling : weights of nodes in it: "uniform", "sibling" or "subtree" (see `linnaeus.losses.cost.node_weights`).
    slack : "example", one for every document; "free", which may be negative: the true labelling does not compete, and a
        document that is better than asked for is rewarded; "edge", one for every edge of a document.
    features : "edges", weights for each labelling of each edge; "paths", for each node that is on; "additive", one set
        of weights for all edges, which differ by their ``local_features``.
    local_features : names of nodes to lists of columns of X that only the edge above the node sees.
    kernel : "linear", "rbf", "poly", "precomputed", or a kernel object (`linnaeus.models.kernels`, or any with the same
        methods, such as those on sequences).
    root : "super" gives every top node an edge from a root that is always on; "paper" leaves the only top node, or the
        root, free and scores it through the edges below.
    train_labelings : competitors in training: "all" labellings, or "consistent" ones only. DAGs take consistent ones.
    fit_intercept : add a constant feature, regularised like the others; the model of the paper has none.
    algorithm : "moves" of mass within subtrees; or, for comparison, the paper's "conditional-gradient".
    class_weight : None, "balanced", or a dict; a document weighs the mean of its labels' weights.
    tol : relative duality gap at which the fit ends.
    max_iter : passes over the documents, at most.
    max_time : seconds, or "10m": stop then, with a certified model.
    n_jobs : threads; None is 1, -1 all cores. The model does not depend on it.
    warm_start : begin at the solution of the last fit, for another C and the same documents.

    Attributes
    ----------
    weights_ : n_features x scores, with a linear kernel; else ``documents_`` and ``coefficients_`` of those that count.
    objective_ : of the model; the optimum is at least ``objective_ - duality_gap_``. Both are computed in double
        precision from the model as it is stored, also where training is in single precision (``tol`` of 1e-4 or more).
        A fit whose gap is above ``tol`` ends with a ConvergenceWarning.
    history_ : certificates on the way: passes, seconds, primal value, dual value, multiple of the weights.
    n_iter_ : passes over the documents.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import HM3, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1.0, 0, 1.0]])
    >>> model = HM3(taxonomy=tax, C=10.0, random_state=0).fit(X, [["AA"], ["AB"], ["B"], ["AA", "B"]])
    >>> model.predict(X)
    [['AA'], ['AB'], ['B'], ['B', 'AA']]
    >>> model.predict(X[:1], closed=True)
    [['A', 'AA']]
    >>> bool(model.duality_gap_ <= 1e-3 * model.objective_)
    True
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        C: float = 1.0,
        *,
        cost: str = "symmetric",
        scaling: str = "uniform",
        slack: str = "example",
        features: str = "edges",
        local_features: Any = None,
        kernel: Any = "linear",
        root: str = "super",
        train_labelings: str = "all",
        fit_intercept: bool = True,
        algorithm: str = "moves",
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.cost = cost
        self.scaling = scaling
        self.slack = slack
        self.features = features
        self.local_features = local_features
        self.kernel = kernel
        self.root = root
        self.train_labelings = train_labelings
        self.fit_intercept = fit_intercept
        self.algorithm = algorithm
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
