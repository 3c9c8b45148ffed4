"""What a search may choose: candidates in a fixed order, and the features that they see.

A candidate is a model with a value of C, what it learns (labels as given, or closed sets), and a variant of the
features. C is relative to the mean squared length of the vectors. The first five models are of five families (flat,
local, joint, structured, online), so that a search that goes through them in this order has seen every family early.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from linnaeus import registry
from linnaeus.features import DenseFeatures, KernelMap, TextFeatures
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Matrix, is_sparse

__all__ = ["FAMILIES", "GRID", "PLAIN", "Candidate", "applies", "feature_variants", "make_model", "models_for"]

GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
PLAIN = "as they are"
# Models of each family in the order in which they are tried; a search takes the first of each family first.
FAMILIES: dict[str, tuple[str, ...]] = {
    "flat": ("OneVsRestSVM", "OneVsRestLogistic", "MulticlassSVM", "SoftmaxRegression"),
    "local": ("NodeSVM", "TopDownSVM", "EdgePA"),
    "joint": ("RRSVM", "RRLogistic"),
    "structured": ("GlobalTreeModel",),
    "online": ("OneVsRestPA", "Hieron"),
}
_NARROW = 2_000  # features of sparse vectors up to which a map is tried


@dataclass(frozen=True)
class Candidate:
    """A point of the search.

    Parameters
    ----------
    model : str
        A registered model.
    features : str
        The variant of the features, one of `feature_variants`.
    C : float or None
        Relative to the mean squared length of the vectors; None for models without it.
    learn : {"given", "closed"} or None
        What the model learns; None for models without the choice.
    """

    model: str
    features: str = PLAIN
    C: float | None = None
    learn: str | None = None

    def at(self, C: float | None) -> Candidate:
        """The same with another C."""
        return replace(self, C=C)

    @property
    def place(self) -> tuple[str, str, str | None]:
        """All but C."""
        return self.model, self.features, self.learn

    def __str__(self) -> str:
        said = [] if self.C is None else [f"C {self.C:g}"]
        said += [f"learns {self.learn} sets"] if self.learn == "closed" else []
        said += [] if self.features == PLAIN else [f"features: {self.features}"]
        return f"{self.model} ({', '.join(said)})" if said else self.model


def parameters_of(name: str) -> dict[str, Any]:
    """Parameters of a model with their defaults."""
    return {key: p.default for key, p in inspect.signature(registry.resolve(name)).parameters.items()}


def models_for(Y: CSR, taxonomy: Taxonomy) -> list[str]:
    """Models that fit the labels and the taxonomy: the first of each family, then the second of each, and so on."""
    rounds = max(len(names) for names in FAMILIES.values())
    order = [names[i] for i in range(rounds) for names in FAMILIES.values() if i < len(names)]
    return [name for name in order if applies(name, Y, taxonomy)]


def applies(name: str, Y: CSR, taxonomy: Taxonomy) -> bool:
    """Whether a model can learn these labels.

    Examples
    --------
    >>> tax = Taxonomy.flat(["a", "b"])
    >>> Y = tax.indicator([["a"], ["a", "b"]])
    >>> applies("MulticlassSVM", Y, tax), applies("OneVsRestSVM", Y, tax)
    (False, True)
    """
    one_label = bool((np.diff(Y.indptr) == 1).all())
    if not one_label and not registry.resolve(name)().__sklearn_tags__().classifier_tags.multi_label:
        return False
    hierarchical = name not in FAMILIES["flat"] and name != "OneVsRestPA"
    if hierarchical and not taxonomy.n_edges:  # the same as a flat model, or nearly
        return False
    return taxonomy.kind == "tree" or parameters_of(name).get("parents") != "only"


def make_model(candidate: Candidate, taxonomy: Taxonomy | None, scale: float, **usual: Any) -> Any:
    """The unfitted model of a candidate; ``scale`` is the mean squared length of the vectors.

    ``usual`` are parameters for models that have them; they override those of the candidate.
    """
    known = parameters_of(candidate.model)
    given: dict[str, Any] = {"taxonomy": taxonomy}
    if candidate.C is not None:
        given["C"] = float(f"{candidate.C / scale:.3g}")
    if candidate.learn is not None:
        given["learn"] = candidate.learn
    given.update(usual)
    return registry.resolve(candidate.model)(**{key: value for key, value in given.items() if key in known})


def feature_variants(features: Any, X: Matrix, seed: int) -> dict[str, Any]:
    """Unfitted features by name, None for a matrix as it is; X is what ``features`` make of some documents."""
    variants: dict[str, Any] = {PLAIN: features}
    narrow = not is_sparse(X) or X.shape[1] <= _NARROW
    if isinstance(features, TextFeatures):
        if getattr(features, "weighting", None) != "log2":
            variants["log2 weighting"] = clone(features).set_params(weighting="log2", sublinear_tf=False)
    elif narrow and (features is None or isinstance(features, DenseFeatures)) and X.shape[1] > 1:
        variants["rbf map"] = KernelMap(features, random_state=seed)
    return variants
