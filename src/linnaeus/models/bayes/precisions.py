"""How strongly weights are held to their parent's: Gamma precisions, who owns them, their priors, and their picture.

    M1   one for all children of a vertex                  owners: inner vertices
    M2   one per feature for all children of a vertex      owners: inner vertices, each feature its own
    M3   every vertex its own                              owners: all vertices but the root

With q_n = Psi_n + Psi_pi(n) + (mu_n - mu_pi(n))^2 by feature (Psi the posterior variances), the posterior of the
precision of owner o, Gamma(tau, nu), is

    tau = a + 1/2 (number of terms),      nu = b + 1/2 sum of q over the vertices (and features) that o holds

Where most features say nothing, nu creeps: what is unknown about w_n is itself the prior's variance. Solving for it,

    prec = (2a + gamma) / (2b + sum [Psi_pi + (mu_n - mu_pi)^2]),      gamma = sum (1 - prec Psi_n)

has the same fixed points and is there in some ten steps (`well_determined`).

This takes vertices for independent. A feature of which documents say nothing then lowers a precision all the same, by
Psi_pi, although nothing is known about w_n - w_pi but its prior. With more features than documents can determine,
precisions fall by orders of magnitude with every level of the tree, to 1e-19 and less, and labels lose their priors.
With the posterior of all vertices together (of every feature by itself) the expected square is that of the link,

    E (w_n - w_pi)^2 = (mu_n - mu_pi)^2 + Var(w_n - w_pi),      gamma = sum (1 - prec Var(w_n - w_pi))
    prec = (2a + gamma) / (2b + sum (mu_n - mu_pi)^2)

Features of which nobody knows anything have gamma 0 and no difference: they do not matter. 2a > 0 and b > 0 keep every
precision away from 0 and from infinity. For fixed means this is the maximum of a concave function of theta = log prec,

    sum over owners  a theta - b prec  -  1/2 sum over links  prec |mu_n - mu_pi|^2  +  1/2 (terms theta - log det A)

(A the precision matrix of all weights), and `newton_step` a step of Newton's method to it, one for every owner. The
second derivative by theta is about -(2a + gamma) / 2, which is how steps are weighted in their length.

Priors come from the observed Fisher information: as wide as the data alone would leave the weights.

    leaf       I(n)_i = sum_x p_n(x) (1 - p_n(x)) x_i^2,      (a_n, b_n) = (1, 1 / I(n)_i)
    vertex     (a_n, b_n) = sums over its children

p_n is the share of the label, the same for all documents, or the probability that a one-vs-rest logistic model gives
each document. Models with one precision for all features take one b_n: the inverse of the mean information over the
features that occur (the mean of the inverses would be ruled by the rarest).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from linnaeus.errors import LinnaeusError
from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "MODELS",
    "LearnedPrecision",
    "Owners",
    "Precisions",
    "draw",
    "gamma_priors",
    "widths_at_probabilities",
    "widths_at_shares",
]

MODELS = ("M1", "M2", "M3")


@dataclass(frozen=True)
class Owners:
    """Who holds which vertex: ``vertices`` own, ``of[v]`` is the row of the owner of v's link to its parent."""

    model: str
    tree: LabelTree
    n_features: int

    @property
    def vertices(self) -> IntArray:
        return np.arange(1, self.tree.n_vertices) if self.model == "M3" else self.tree.inner

    @property
    def of(self) -> IntArray:
        """The owner of every vertex but the root."""
        if self.model == "M3":
            return np.arange(self.tree.n_vertices - 1)
        row = np.full(self.tree.n_vertices, -1, np.int64)
        row[self.tree.inner] = np.arange(len(self.tree.inner))
        return row[self.tree.parent[1:]]

    @property
    def per_feature(self) -> bool:
        return self.model == "M2"

    def collect(self, q: FloatArray) -> FloatArray:
        """q (vertices but the root x features) summed over what each owner holds: n_owners x 1, or x features."""
        held = q if self.per_feature else q.sum(axis=1, keepdims=True)
        found = np.zeros((len(self.vertices), held.shape[1]))
        np.add.at(found, self.of, held)
        return found

    def counts(self) -> FloatArray:
        """How many terms each owner holds, n_owners x 1."""
        n = np.bincount(self.of, minlength=len(self.vertices)).astype(float)[:, None]
        return n if self.per_feature else n * self.n_features

    def spread(self, precision: FloatArray) -> FloatArray:
        """What is owned, at every vertex: n_vertices x 1 or x features; the root's is 1."""
        return np.concatenate([np.ones((1, precision.shape[1])), precision[self.of]])


@dataclass(frozen=True)
class Precisions:
    """Prior Gamma(a, b) and posterior Gamma(tau, nu) of every owner; n_owners x 1, or x features."""

    owners: Owners
    a: FloatArray
    b: FloatArray
    tau: FloatArray
    nu: FloatArray

    @classmethod
    def start(cls, owners: Owners, a: FloatArray, b: FloatArray) -> Precisions:
        return cls(owners, a, b, a.copy(), b.copy())

    @property
    def mean(self) -> FloatArray:
        return self.tau / self.nu

    def at_vertices(self) -> FloatArray:
        """The expected precision of the link above every vertex, n_vertices x 1 or x features."""
        return self.owners.spread(self.mean)

    def moved_to(self, mean: FloatArray) -> Precisions:
        """The same with expected precisions ``mean``."""
        return Precisions(self.owners, self.a, self.b, self.tau, self.tau / mean)

    def updated(self, q: FloatArray) -> Precisions:
        """The exact posterior for q (see the module)."""
        tau = self.a + 0.5 * self.owners.counts()
        return Precisions(self.owners, self.a, self.b, tau, self.b + 0.5 * self.owners.collect(q))

    def well_determined(self, q: FloatArray, own: FloatArray) -> Precisions:
        """One step of the quick iteration; ``own`` (vertices but the root x features) is Psi_n, a part of q."""
        tau = self.a + 0.5 * self.owners.counts()
        variance = self.owners.collect(own)
        gamma = np.maximum(self.owners.counts() - self.mean * variance, 0)
        rest = np.maximum(self.owners.collect(q) - variance, 0)
        return Precisions(self.owners, self.a, self.b, tau, tau * (2 * self.b + rest) / (2 * self.a + gamma))

    def newton_step(self, differences: FloatArray, gamma: FloatArray, bend: FloatArray) -> tuple[Precisions, float]:
        """A step of Newton's method to prec = (2a + gamma) / (2b + differences), for fixed differences, and its length.

        All arrays are n_vertices x n_features, or x 1: sums over the features. ``bend`` is minus the derivative of
        gamma by log prec. The length is the root of the mean square of the changes of log prec, weighted by 2a + gamma.
        """
        tau = self.a + 0.5 * self.owners.counts()
        away, known, falls = (self.owners.collect(array[1:]) for array in (differences, gamma, bend))
        terms = 2 * self.a + known
        step = np.log(terms / (2 * self.b + away) / self.mean) / (1 + falls / terms)
        length = float(np.sqrt((terms * step**2).sum() / terms.sum()))
        return Precisions(self.owners, self.a, self.b, tau, tau / (self.mean * np.exp(step))), length


_FLOOR = 1e-6  # of the largest information: a feature that never occurs has none
_LEAST = 1e-30  # information where no feature occurs at all


def widths_at_shares(X: Matrix, Y: CSR, c: FloatArray, *, per_feature: bool) -> FloatArray:
    """b_n of every leaf (n_leaves x 1, or x n_features), all documents as probable as the label's share.

    Y is n_docs x n_leaves, sparse. The information is p (1 - p) times what all labels have in common: no matrix of
    labels and features is made where one b_n is enough.
    """
    n = c.sum()
    least = 0.5 / max(n, 1.0)  # half a document; weights may sum to less than one
    share = np.clip(np.asarray(Y.T @ c) / n, least, 1 - least)
    return _widths((_squares(X).T @ c)[None], per_feature) / (share * (1 - share))[:, None]


def widths_at_probabilities(X: Matrix, P: FloatArray, c: FloatArray, *, per_feature: bool) -> FloatArray:
    """The same for probabilities P (n_docs x n_leaves)."""
    return _widths(np.asarray(_squares(X).T @ (c[:, None] * P * (1 - P))).T, per_feature)


def _widths(information: FloatArray, per_feature: bool) -> FloatArray:
    kept = np.maximum(information, _FLOOR * information.max(axis=1, keepdims=True).clip(_LEAST))
    occurs = information.max(axis=0) > 0
    return 1 / kept if per_feature or not occurs.any() else 1 / kept[:, occurs].mean(axis=1, keepdims=True)


def gamma_priors(widths: FloatArray, owners: Owners, *, scale: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """(a, b) of every owner, n_owners x 1 or x features; ``scale`` multiplies the variances b / a."""
    tree = owners.tree
    a = np.zeros((tree.n_vertices, 1))
    b = np.zeros((tree.n_vertices, widths.shape[1]))
    a[tree.leaves], b[tree.leaves] = 1.0, widths
    for v in range(tree.n_vertices - 1, 0, -1):  # spawned leaves come last, children after their parents
        a[tree.parent[v]] += a[v]
        b[tree.parent[v]] += b[v]
    a = np.broadcast_to(a, b.shape)
    return a[owners.vertices].copy(), scale * b[owners.vertices]


def _squares(X: Matrix) -> Matrix:
    return X**2 if isinstance(X, np.ndarray) else X.multiply(X)


_NAMED = 40  # nodes up to which every dot has its name


@dataclass(frozen=True)
class LearnedPrecision:
    """How strongly a node (or the leaf of a label with children) is held to its parent: 1 / variance of the weights."""

    node: str
    parent: str
    precision: float
    n_children: int


def draw(rows: Sequence[LearnedPrecision], target: str | Path | IO[bytes] | Axes, *, title: str | None = None) -> None:
    """Draw rows (node, parent, precision) to a file (its ending says the format) or to matplotlib axes.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> draw([LearnedPrecision("A", "R", 2.0, 0), LearnedPrecision("B", "R", 40.0, 0)], file)
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise LinnaeusError("A picture needs matplotlib: pip install linnaeus[plots]") from None
    families: dict[str, list[LearnedPrecision]] = {}
    for row in rows:
        families.setdefault(row.parent, []).append(row)
    if hasattr(target, "plot"):
        _on(families, cast("Axes", target), title)
        return
    figure = Figure(figsize=(8, max(2.0, 0.8 + 0.28 * len(families))), layout="constrained")
    _on(families, figure.add_subplot(), title)
    figure.savefig(target, dpi=150)


def _on(families: dict[str, list[LearnedPrecision]], axes: Axes, title: str | None) -> None:
    named = sum(map(len, families.values())) <= _NAMED
    for y, members in enumerate(families.values()):
        leaves = [row.precision for row in members if not row.n_children]
        inner = [row.precision for row in members if row.n_children]
        axes.plot(leaves, [y] * len(leaves), "o", color="C0", alpha=0.7)
        axes.plot(inner, [y] * len(inner), "s", color="C1", alpha=0.7)
        for row in members if named else ():
            axes.annotate(row.node, (row.precision, y), (0, 5), textcoords="offset points", fontsize="x-small")
    axes.set_xscale("log")
    axes.set_yticks(range(len(families)), [name or "(root)" for name in families], fontsize="small")
    axes.set_ylim(len(families) - 0.5, -0.5)
    axes.set_xlabel("precision: far from the parent ... close to it (squares: inner nodes)")
    if title:
        axes.set_title(title)
