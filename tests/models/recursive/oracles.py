"""What the joint models are measured against: the regulariser as one dense matrix, and a generic convex solver.

With vertices v (nodes, spawned leaves, dummies) and A = Laplacian + anchors,

    P(W) = 1/2 tr(W'AW) + sum over labels n and documents i of c_in loss(y_in w_n'x_i)

and K = (A^-1) restricted to the labels. In increments Z, with K = R'R and w = Z R, that is one ordinary machine with
the regulariser 1/2 |Z|^2. On a tree R has a row for every node and a 1 where it is on the label's path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from linnaeus import RRSVM, RRLogistic, Taxonomy
from linnaeus.data.matrices import aligned_zeros, prepare_rows
from linnaeus.engine import get_engine
from linnaeus.models.recursive.leaves import DenseLeaves, ScreenedLeaves, leaf_blocks
from linnaeus.models.recursive.network import Links, Network, leaf_order, links_of, make_network, reduce_links
from linnaeus.models.recursive.solver import InnerWeights, JointSolver

LOSSES = ("hinge", "squared_hinge", "logistic")

# The five-node tree of the worked example: root 0 with children 1 and leaf 4; leaves 2, 3 under 1.
FIVE = Taxonomy.from_edges([("0", "1"), ("1", "2"), ("1", "3"), ("0", "4")])
ROWS = np.array([[1, 0], [0.8, 0.6], [0, 1], [-1, 0]])
FIVE_LABELS = ["2", "2", "3", "4"]


def make_model(loss: str, **settings: Any) -> Any:
    settings = {"random_state": 0, "max_iter": 20000, **settings}
    return RRLogistic(**settings) if loss == "logistic" else RRSVM(loss=loss, **settings)


# -- the regulariser ---------------------------------------------------------------------------------------------------


@dataclass
class Vertices:
    """Named vertices, weighted links between them, and their pulls to zero."""

    links: dict[tuple[Any, Any], float] = field(default_factory=dict)
    anchors: dict[Any, float] = field(default_factory=dict)
    names: list[Any] = field(default_factory=list)

    def add(self, name: Any) -> None:
        if name not in self.names:
            self.names.append(name)

    def join(self, u: Any, v: Any) -> None:
        self.add(u)
        self.add(v)
        self.links[u, v] = 1.0

    def matrix(self) -> np.ndarray:
        at = {name: i for i, name in enumerate(self.names)}
        A = np.zeros((len(at), len(at)))
        for (u, v), weight in self.links.items():
            i, j = at[u], at[v]
            A[[i, j], [i, j]] += weight
            A[[i, j], [j, i]] -= weight
        for u, weight in self.anchors.items():
            A[at[u], at[u]] += weight
        return A


def vertices(
    tax: Taxonomy, labels: Any, *, spawn: str = "inner", root: float = 1.0, pull: float = 0.0
) -> tuple[Vertices, list[Any]]:
    """All vertices as the definition has them, nothing simplified, and which of them carry the labels."""
    labels = [int(v) for v in labels]
    graph = tax.kind == "graph"
    found, carriers = _graph_vertices(tax, labels, root) if graph else _tree_vertices(tax, labels, spawn, root)
    linked = {u for link in found.links for u in link}
    for name in found.names:
        has_children = graph or not isinstance(name, int) or not tax.is_leaf[name] or name in labels
        if name not in carriers and has_children and (name in linked or not graph):
            found.anchors[name] = found.anchors.get(name, 0.0) + pull
    return found, carriers


def _tree_vertices(tax: Taxonomy, labels: list[int], spawn: str, root: float) -> tuple[Vertices, list[Any]]:
    found, top = Vertices(), "top" if tax.root is None else int(tax.root)
    found.add(top)
    found.anchors[top] = root
    for v in range(tax.n_nodes):
        if v != top:
            for p in tax.parents(v).tolist() or [top]:
                found.join(p, v)
    carriers: list[Any] = []
    for v in labels:
        if spawn == "all" or not tax.is_leaf[v]:
            found.join(v, ("leaf", v))
            carriers.append(("leaf", v))
        else:
            carriers.append(v)
    return found, carriers


def _graph_vertices(tax: Taxonomy, labels: list[int], root: float) -> tuple[Vertices, list[Any]]:
    found = Vertices()
    for v in range(tax.n_nodes):
        found.add(v)
    for u in range(tax.n_nodes):
        for v in tax.parents(u).tolist():
            if u < v and u in labels and v in labels:
                found.join(u, ("dummy", u, v))
                found.join(v, ("dummy", u, v))
            elif u < v:
                found.join(u, v)
    near: dict[Any, set[Any]] = {name: set() for name in found.names}
    for u, v in found.links:
        near[u].add(v)
        near[v].add(u)
    left = list(found.names)
    while left:
        component, todo = set(), [left[0]]
        while todo:
            u = todo.pop()
            if u not in component:
                component.add(u)
                todo += near[u]
        left = [u for u in left if u not in component]
        inner = [u for u in found.names if u in component and u not in labels]
        if inner:
            found.anchors[max(inner, key=lambda u: len(near[u]))] = root  # the first of them, where they tie
        else:
            found.anchors[next(iter(component))] = 1.0  # a label linked to nothing
    return found, list(labels)


def kernel(tax: Taxonomy, labels: Any, **options: Any) -> np.ndarray:
    """K over the labels."""
    found, carriers = vertices(tax, labels, **options)
    at = [found.names.index(name) for name in carriers]
    return np.linalg.inv(found.matrix())[np.ix_(at, at)]


def path_features(tax: Taxonomy, labels: Any, *, root: float = 1.0) -> np.ndarray:
    """R of a tree with a root, labels on leaves: 1 / sqrt(rho) where a node (row) is on a label's path (column)."""
    R = np.zeros((tax.n_nodes, len(labels)))
    for column, v in enumerate(labels):
        u = int(v)
        while u != tax.root:
            R[u, column] = 1
            u = int(tax.parents(u)[0])
    R[tax.root] = 1 / np.sqrt(root)
    return R


# -- the optimum -------------------------------------------------------------------------------------------------------


def losses(T: np.ndarray, loss: str) -> np.ndarray:
    Z = np.maximum(0, 1 - T)
    return {"hinge": Z, "squared_hinge": Z**2, "logistic": np.logaddexp(0, -T)}[loss]


def objective(W: np.ndarray, K: np.ndarray, X: Any, Y: Any, c: Any, loss: str) -> float:
    """P of weights W (features x labels) with all other vertices where they are best."""
    return float(0.5 * np.einsum("ij,ij->", W @ np.linalg.inv(K), W) + (c * losses(Y * (X @ W), loss)).sum())


def optimum(K: np.ndarray, X: Any, Y: Any, c: Any, loss: str, R: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """(P*, weights) for signs Y and bounds c (n_docs x n_labels)."""
    X, Y = np.asarray(X, float), np.asarray(Y, float)
    c = np.broadcast_to(c, Y.shape)
    return (
        _hinge(K, X, Y, c) if loss == "hinge" else _smooth(np.linalg.cholesky(K).T if R is None else R, X, Y, c, loss)
    )


def _smooth(R: np.ndarray, X: Any, Y: Any, c: Any, loss: str) -> tuple[float, np.ndarray]:
    """The primal, in increments: documents are rows of features x nodes, one for every label."""
    shape = (X.shape[1], len(R))
    B = np.einsum("if,vn->infv", X, R).reshape(Y.size, -1)
    y, c = Y.ravel(), c.ravel()

    def value(z: np.ndarray) -> tuple[float, np.ndarray]:
        t = y * (B @ z)
        slope = -2 * np.maximum(0, 1 - t) if loss == "squared_hinge" else -expit(-t)
        return 0.5 * z @ z + float(c @ losses(t, loss)), z + B.T @ (c * y * slope)

    def curvature(z: np.ndarray) -> np.ndarray:
        t = y * (B @ z)
        curve = 2.0 * (t < 1) if loss == "squared_hinge" else expit(t) * expit(-t)
        return np.eye(len(z)) + B.T @ ((c * curve)[:, None] * B)

    found = minimize(
        value, np.zeros(np.prod(shape)), jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-9}
    )
    return float(found.fun), found.x.reshape(shape) @ R


def _hinge(K: np.ndarray, X: Any, Y: Any, c: Any) -> tuple[float, np.ndarray]:
    """The dual, 1/2 a'Ga - sum a in a box, by a barrier method (scipy's bounded solvers stop too far from it).

    Two pairs of document and label have the kernel K_mn x_i'x_j y_im y_jn.
    """
    y, c = Y.ravel(), c.ravel()
    G = np.kron(X @ X.T, K) * np.outer(y, y)
    a, sharp = 0.5 * c, 1.0
    while 2 * len(a) / sharp > 1e-11:
        sharp *= 8
        for _ in range(60):
            slope = sharp * (G @ a - 1) - 1 / a + 1 / (c - a)
            step = np.linalg.solve(sharp * G + np.diag(1 / a**2 + 1 / (c - a) ** 2), -slope)
            room = np.where(step > 0, (c - a) / np.maximum(step, 1e-300), a / np.maximum(-step, 1e-300))
            a = a + min(1.0, 0.95 * room.min()) * step
            if -slope @ step < 1e-9:
                break
    return float(a.sum() - 0.5 * a @ G @ a), X.T @ (a.reshape(Y.shape) * Y) @ K


# -- random problems ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A small random problem with several labels per document, labels with children among them."""

    taxonomy: Taxonomy
    X: np.ndarray
    labels: list[list[str]]

    @property
    def nodes(self) -> np.ndarray:
        return np.flatnonzero(np.asarray(self.taxonomy.indicator(self.labels).sum(axis=0)).ravel())

    @property
    def signs(self) -> np.ndarray:
        return 2.0 * self.taxonomy.indicator(self.labels).toarray()[:, self.nodes] - 1


def random_taxonomy(rng: np.random.Generator, kind: str, n: int) -> Taxonomy:
    """A rooted tree or DAG, a forest, or a graph of several components."""
    edges = []
    for v in range(1, n):
        most = {"tree": 1, "forest": 1, "dag": 3, "graph": 2}[kind]
        least = 1 if kind in ("tree", "dag") else 0
        for p in rng.choice(v, size=min(v, int(rng.integers(least, most + 1))), replace=False):
            edges.append((f"n{p}", f"n{v}"))
    names = [f"n{v}" for v in range(n)]
    if kind == "graph":
        return Taxonomy.from_edges(edges, nodes=names, kind="graph")
    return Taxonomy.from_edges(edges, nodes=names, root=None if kind == "forest" else "n0")


def random_case(seed: int, kind: str, n_nodes: int = 7, n_docs: int = 9, n_features: int = 4) -> Case:
    """Rows of about unit length, some entries zero, one row empty; one to three labels each."""
    rng = np.random.default_rng(seed)
    tax = random_taxonomy(rng, kind, n_nodes)
    X = rng.normal(size=(n_docs, n_features)) * (rng.random((n_docs, n_features)) < 0.7)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 0.5)
    X[0] = 0
    labels = [
        [str(tax.names[v]) for v in rng.choice(n_nodes, size=min(n_nodes, int(rng.integers(1, 4))), replace=False)]
        for _ in range(n_docs)
    ]
    return Case(tax, X, labels)


KINDS = ("tree", "forest", "dag", "graph")
cases = st.builds(random_case, st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(2, 8))


# -- what the code makes of it -----------------------------------------------------------------------------------------


def links_matrix(links: Links) -> np.ndarray:
    """A over inner vertices, then leaves."""
    n = len(links.inner)
    A = np.zeros((n + len(links.leaves),) * 2)
    A[range(n), range(n)] = links.anchor
    pairs = [(u, v, weight) for u in range(n) for v, weight in links.inner[u].items() if u < v]
    pairs += [(n + leaf, u, weight) for leaf, near in enumerate(links.leaves) for u, weight in near.items()]
    for u, v, weight in pairs:
        A[[u, v], [u, v]] += weight
        A[[u, v], [v, u]] -= weight
    for leaf, near in enumerate(links.leaves):
        if not near:
            A[n + leaf, n + leaf] = 1
    return A


def links_kernel(links: Links) -> np.ndarray:
    """K over the leaves; vertices that nothing holds are no part of the problem."""
    A, n = links_matrix(links), len(links.inner)
    held = np.flatnonzero((np.diag(A) > 0) | (np.arange(len(A)) >= n))
    K = np.linalg.inv(A[np.ix_(held, held)])
    return K[held >= n][:, held >= n]


@dataclass
class Setup:
    """The parts of a joint problem before they are put to work."""

    links: Links
    network: Network
    leaves: Any
    solver: JointSolver
    signs: np.ndarray  # in the order of the leaves
    X: np.ndarray


def set_up(case: Case, loss: str, *, C: float = 1.0, sparse_rows: bool = True, dtype: Any = np.float64) -> Setup:
    """A solver for a case as the models make one, without a constant feature, n_jobs or a start."""
    Y = sparse.csc_array(case.taxonomy.indicator(case.labels))
    links = reduce_links(links_of(case.taxonomy, case.nodes))
    order = leaf_order(links)
    links = reduce_links(links_of(case.taxonomy, case.nodes[order]))
    network = make_network(links, dtype)
    bound = np.full(len(case.X), C, dtype)
    X = case.X.astype(dtype)
    leaves: Any
    if sparse_rows or loss == "hinge":
        rows = prepare_rows(sparse.csr_array(X) if sparse_rows else X, 0.0)
        leaves = ScreenedLeaves(rows, bound, loss, 0)
        X = X if rows.rank is None else X[:, np.argsort(rows.rank)]
    else:
        leaves = DenseLeaves(X, bound, loss, 0.0)
    shape = InnerWeights.shape(network, leaves.n_features)
    inner = InnerWeights(network, aligned_zeros(shape, dtype), aligned_zeros(shape, dtype))
    engine = get_engine(None, 1)
    solver = JointSolver(leaves, [], inner, engine, engine)
    weight = np.ones(len(order), dtype)
    solver.blocks = [leaves.begin(b) for b in leaf_blocks(Y[:, case.nodes[order]], network.leaf_total, weight)]
    return Setup(links, network, leaves, solver, case.signs[:, order], X)
