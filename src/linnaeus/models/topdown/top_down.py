"""A classifier for every child at every inner node, followed from the top: the baseline TD (pachinko machine).

For each inner node n and each child c, one binary support vector machine on the documents under n:

    min_w  1/2 |w|^2 + C sum_{i under n} loss(y_i w'x_i)        y_i = +1 where document i is under c, else -1

A document that carries n itself is under no child: the leaf ``n/self`` is a child of n then, with a classifier of its
own, and is answered as n. On a DAG a node has one classifier, on the documents under any of its parents, and can be
reached through any of them; the root is a parent of a node only where the node has no other. A child that all or none
of these documents belong to has no classifier and adds nothing to the objective. Documents of weight 0 are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from linnaeus.decoding import Decoder
from linnaeus.models.topdown.base import Descent, LocalClassifiers, union
from linnaeus.typing import IntArray

__all__ = ["TopDownSVM"]


class TopDownSVM(LocalClassifiers):
    """Linear support vector machines at every inner node, one for each child; answers from the top downwards (TD).

    Where every document has one label, the answer is found by going to the best child until a leaf; with label sets,
    by following every child with a score above 0, and at least the best one.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the loss against 1/2 |w|^2, the same at all nodes.
    loss : str, default="squared_hinge"
        "squared_hinge" or "hinge".
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.
    tol : float, default=1e-3
        Relative duality gap at which a block of families is finished.
    max_iter : int, default=1000
        Maximum number of passes over the documents of a block.
    n_jobs : int, default=None
        Number of threads; None is 1, -1 all cores. The weights do not depend on it.
    engine : str or Engine, default=None
        "serial", "threads", "ray" or an engine; default: by ``n_jobs``.
    random_state : int or RandomState, default=None
        Seed of the order in which documents are visited.
    verbose : int, default=0
        Show a progress bar if above 0.

    Attributes
    ----------
    weights_ : ndarray or csr_array of shape (n_features, n_classes)
        Weights of the nodes; sparse if most are 0. Scores are local: those of a node against its siblings.
    intercept_ : ndarray of shape (n_classes,)
        Weights of the constant feature.
    stop_nodes_ : ndarray of int
        Inner nodes where a document may stop; ``stop_weights_`` and ``stop_intercept_`` are their classifiers.
    objective_, duality_gap_ : float
        Sums over the binary problems that have positive and negative documents, each document with its
        ``sample_weight``; the optimum is at least ``objective_ - duality_gap_``.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import Taxonomy, TopDownSVM
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.7, 0.7, 0]])
    >>> model = TopDownSVM(taxonomy=tax, C=10.0, random_state=0).fit(X, ["AA", "AB", "B", "A"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'A']
    >>> [step.node for step in model.explain(X[0])]
    ['A', 'AA']
    """

    def _reach(self, sets: Iterable[IntArray]) -> IntArray:
        return union(sets)

    def _stops(self, labels: IntArray) -> tuple[IntArray, bool]:
        return labels, True

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        if given is not None:
            return super()._decoder(given)
        one = self.one_label_ or self.codec_.single_label
        return Descent(theta=np.inf if one else 0.0, leaf_mandatory=True, parents="any")
