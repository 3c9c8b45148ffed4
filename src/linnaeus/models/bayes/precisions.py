"""How strongly weights are held to their parent's: Gamma precisions, and who owns them.

    M1   one for all children of a vertex                  owners: inner vertices
    M2   one per feature for all children of a vertex      owners: inner vertices, each feature its own
    M3   every vertex its own                              owners: all vertices but the root

With q_n = Psi_n + Psi_pi(n) + (mu_n - mu_pi(n))^2 by feature (Psi the posterior variances), the posterior of the
precision of owner o, Gamma(tau, nu), is

    tau = a + 1/2 (number of terms),      nu = b + 1/2 sum of q over the vertices (and features) that o holds

Where most features say nothing, nu creeps: what is unknown about w_n is itself the prior's variance. Solving for it,

    prec = (2a + gamma) / (2b + sum [Psi_pi + (mu_n - mu_pi)^2]),      gamma = sum (1 - prec Psi_n)

has the same fixed points and is there in some ten steps (`well_determined`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import FloatArray, IntArray

__all__ = ["MODELS", "Owners", "Precisions"]

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
