"""Which models fit a problem, and why the others do not, in words that finish "does not apply because ...".

Most of it follows from what models say of themselves: whether they learn label sets (their tags), whether they have a
parameter for nodes with several parents, whether they can keep weights on disk. What a model itself refuses when it is
tried on a few documents becomes such a reason, too.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from linnaeus import registry
from linnaeus.engine.memory import format_bytes
from linnaeus.experiments.children import memory_of_each
from linnaeus.experiments.experiment import Experiment

__all__ = ["flat_models", "parameters_of", "why_not"]

_COPIES = 2  # of the weights, while a model learns: what is learned, and what is averaged or changed


def flat_models() -> list[str]:
    """Names of the models that know nothing of the hierarchy.

    Examples
    --------
    >>> "OneVsRestSVM" in flat_models(), "RRSVM" in flat_models()
    (True, False)
    """
    return [name for name, entry in registry.MODELS.items() if ".models.flat." in entry.home]


def parameters_of(name: str) -> dict[str, Any]:
    """Parameters of a model with their defaults."""
    return {key: p.default for key, p in inspect.signature(registry.resolve(name)).parameters.items()}


def why_not(name: str, experiment: Experiment, *, jobs: int = 1) -> str | None:
    """Why a model does not apply to a problem, or None where nothing is known against it.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.experiments.experiment import Part
    >>> X, Y = np.eye(8, dtype=np.float32), Taxonomy.flat(["a", "b"]).indicator([["a"], ["a", "b"]] * 4)
    >>> sets = Experiment("toy", Taxonomy.flat(["a", "b"]), (Part.of(X, Y, X[:2], Y[:2]),), "given split")
    >>> why_not("MulticlassSVM", sets)
    'it learns exactly one label per document, and 4 of 8 documents have another number'
    >>> why_not("RRSVM", sets) is None
    True
    """
    return _label_sets(name, experiment) or _parents(name, experiment) or _memory(name, experiment, jobs)


def _label_sets(name: str, experiment: Experiment) -> str | None:
    if registry.resolve(name)().__sklearn_tags__().classifier_tags.multi_label or experiment.one_label:
        return None
    sizes = np.diff(experiment.parts[0].Y.indptr)
    return (
        f"it learns exactly one label per document, and {int((sizes != 1).sum()):,} of {len(sizes):,} documents have "
        "another number"
    )


def _parents(name: str, experiment: Experiment) -> str | None:
    kind = experiment.taxonomy.kind
    if kind == "tree" or parameters_of(name).get("parents") != "only":
        return None
    return f"it learns trees, and the taxonomy is a {kind.replace('dag', 'DAG')}, with nodes that have several parents"


def _memory(name: str, experiment: Experiment, jobs: int) -> str | None:
    if "max_memory" in parameters_of(name):  # keeps weights on disk where it must
        return None
    need = _COPIES * experiment.parts[0].X.dtype.itemsize * experiment.n_features * len(experiment.label_nodes)
    there = memory_of_each(jobs)
    if need <= there:
        return None
    return (
        f"weights of {experiment.n_features:,} features for {len(experiment.label_nodes):,} labels take "
        f"{format_bytes(need)} while it learns, and it may take {format_bytes(there)}"
    )
