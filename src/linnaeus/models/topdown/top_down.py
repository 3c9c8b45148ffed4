"""A classifier for every child at every inner node, followed from the top: the baseline TD (pachinko machine).

For each inner node n and each child c, one binary support vector machine on the documents under n:

    min_w  1/2 |w|^2 + C sum_{i under n} loss(y_i w'x_i)        y_i = +1 where document i is under c, else -1

A document that carries n itself is under no child: the leaf ``n/self`` is a child of n then, with a classifier of its
own, and is answered as n. On a DAG a node has one classifier, on the documents under any of its parents, and can be
reached through any of them; the root is a parent of a node only where the node has no other. A child that all or none
of these documents belong to has no classifier and adds nothing to the objective. Documents of weight 0 are left out.

`NodeSVM` has a classifier for every node, trained on the documents that belong to its parents: the baseline H-SVM.

For each node v, over the documents that carry all parents of v (at the top: all documents), labels closed upwards,

    min_w  1/2 |w|^2 + C sum_i loss(y_i w'x_i)        y_i = +1 where document i is under v, else -1

and v is answered where its score is above 0 and all its parents are answered (Cesa-Bianchi, Gentile and Zaniboni 2006;
Rousu et al. 2006). Paths may stop anywhere: no child need be above 0.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from linnaeus.decoding import Decoder
from linnaeus.decoding.base import hierarchy, positions
from linnaeus.models.topdown.base import Descent, LocalClassifiers, intersection, union
from linnaeus.typing import FloatArray, IntArray, Matrix

__all__ = ["NodeSVM", "TopDownSVM"]


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
    max_time : float or str, default=None
        Seconds, or "10m": blocks of families that are not finished then stop, each after one pass at least.
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
    time_limit_reached_ : bool
        Whether ``max_time`` stopped the fit.

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


class NodeSVM(LocalClassifiers):
    """A linear support vector machine for every node, trained where its ancestors hold, asked where they hold (H-SVM).

    Labels are learned with all their ancestors. With label sets the answer is every node that is above 0 together with
    all its ancestors; at least the best node of the top, unless some training documents had no label. Where every
    document has one label, the answer is found by going to the best child; it ends at a leaf, or at a node that was a
    label in training and has no child above 0.

    The two baselines differ where a document may stop and on DAGs:
    `TopDownSVM` learns when to stop and trains a node on the documents of any parent, `NodeSVM` stops where nothing
    below is likely and trains a node on the documents of all its parents.

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
    max_time : float or str, default=None
        Seconds, or "10m": blocks of families that are not finished then stop, each after one pass at least.
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
    weights_ : ndarray or CSR of shape (n_features, n_classes)
        Local scores: those of a node against its siblings.
    intercept_ : ndarray of shape (n_classes,)
        Intercepts.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import NodeSVM, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1.0, 0, 1.0]])
    >>> model = NodeSVM(taxonomy=tax, C=10.0, random_state=0).fit(X, [["AA"], ["AB"], ["B"], ["AA", "B"]])
    >>> model.predict(X)
    [['AA'], ['AB'], ['B'], ['B', 'AA']]
    >>> model.predict(X[:1], closed=True)
    [['A', 'AA']]
    """

    def _reach(self, sets: Iterable[IntArray]) -> IntArray:
        return intersection(sets)

    def _stops(self, labels: IntArray) -> tuple[IntArray, bool]:
        """Stopping has no classifier: it scores 0, so that it wins where no child is above 0."""
        one = self.one_label_ or self.codec_.single_label
        return (labels if one else labels[:0]), False

    def _end_scores(self, X: Matrix, S: FloatArray) -> tuple[IntArray, FloatArray]:
        """A document stops at a node where no child passes: minus the largest score of the children."""
        edges, place = hierarchy(self.taxonomy_), positions(self.taxonomy_, self.nodes_, with_root=True)
        columns, ends = [], []
        for v in self.ranked_nodes.tolist():
            below = place[edges.child_indices[edges.child_indptr[v] : edges.child_indptr[v + 1]]]
            if (below >= 0).any():
                columns.append(place[v])
                ends.append(-S[:, below[below >= 0]].max(axis=1))
        return np.array(columns, dtype=np.intp), np.array(ends, dtype=S.dtype).reshape(len(columns), len(S)).T

    def _decoder(self, given: Decoder | str | None) -> Decoder:
        if given is not None:
            return super()._decoder(given)
        if self.one_label_ or self.codec_.single_label:
            return Descent(theta=np.inf, leaf_mandatory=True, parents="any")
        return Descent(theta=0.0, leaf_mandatory=False, parents="all")
