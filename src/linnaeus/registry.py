"""Names of models and of other things that model files may hold, and the modules they live in; nothing is imported."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from linnaeus.errors import ParameterError, nearest

__all__ = ["ALL_MODELS", "COMPOSED", "DOCUMENT_MODELS", "MODELS", "STORABLE", "ModelEntry", "find_model", "resolve"]


@dataclass(frozen=True)
class ModelEntry:
    """A model: the module of its class, what it is in one line, and its names in the literature."""

    home: str
    summary: str
    aliases: tuple[str, ...] = ()


_ONE_VS_REST = "linnaeus.models.flat.one_vs_rest"
_MULTICLASS = "linnaeus.models.flat.multiclass"

MODELS: dict[str, ModelEntry] = {
    "OneVsRestSVM": ModelEntry(
        _ONE_VS_REST,
        "a linear SVM for every label alone (hinge, squared hinge); flat baseline",
        ("BSVM",),
    ),
    "OneVsRestLogistic": ModelEntry(
        _ONE_VS_REST, "a logistic regression for every label alone; flat baseline", ("BLR",)
    ),
    "MulticlassSVM": ModelEntry(
        _MULTICLASS, "all labels in one SVM (Crammer-Singer), one label per document", ("MSVM",)
    ),
    "SoftmaxRegression": ModelEntry(_MULTICLASS, "multinomial logistic regression, one label per document", ("MLR",)),
    "OneVsRestPA": ModelEntry(
        "linnaeus.models.flat.passive_aggressive",
        "a passive-aggressive classifier for every label alone; learns from streams; flat baseline",
        ("FLAT",),
    ),
    "TopDownSVM": ModelEntry(
        "linnaeus.models.topdown.top_down",
        "a linear SVM for every child at every inner node, followed from the top; greedy baseline",
        ("TD",),
    ),
    "DivideAndConquerSVM": ModelEntry(
        "linnaeus.models.topdown.divide_and_conquer",
        "a flat ranking SVM at every inner node, followed from the top; greedy baseline",
        ("DNC", "DNC-SVM"),
    ),
    "NodeSVM": ModelEntry(
        "linnaeus.models.topdown.top_down",
        "a linear SVM for every node on the documents of its parents; answers where all ancestors hold",
        ("H-SVM",),
    ),
    "EdgePA": ModelEntry(
        "linnaeus.models.topdown.edge_pa",
        "a passive-aggressive classifier for every edge, with local or exact search for label sets; baseline",
        ("LS-ALL", "LS-SIB", "DP-ALL", "DP-SIB"),
    ),
    "HierarchicalRLS": ModelEntry(
        "linnaeus.models.topdown.rls",
        "regularised least squares for every node on the documents of its parents; kernels; baseline",
        ("H-RLS",),
    ),
    "RRSVM": ModelEntry(
        "linnaeus.models.recursive.rr",
        "SVMs of all nodes learned together, each pulled towards its parents (tree, DAG, graph)",
        ("RR-SVM",),
    ),
    "RRLogistic": ModelEntry(
        "linnaeus.models.recursive.rr",
        "logistic regressions of all nodes learned together, each pulled towards its parents",
        ("RR-LR",),
    ),
    "HBLR": ModelEntry(
        "linnaeus.models.bayes.hblr",
        "Bayesian logistic regressions of all nodes; how much a node differs from its parent is learned (trees)",
    ),
    "HierarchicalSVM": ModelEntry(
        "linnaeus.models.ranking.hierarchical_svm",
        "one SVM that ranks all labels, which share weights through the nodes above them (linear, kernels)",
        ("HSVM",),
    ),
    "HierarchicalPerceptron": ModelEntry(
        "linnaeus.models.ranking.perceptron",
        "a perceptron that ranks classes, which share weights through the taxonomy; learns from streams",
        ("PERC", "HPERC"),
    ),
    "Hieron": ModelEntry(
        "linnaeus.models.ranking.hieron",
        "passive-aggressive ranking of classes, which share weights through the taxonomy; learns from streams",
    ),
    "HM3": ModelEntry(
        "linnaeus.models.structured.hm3",
        "a Markov tree over the taxonomy, trained to the largest margin between labellings; any kernel",
        ("H-M3",),
    ),
    "GlobalTreeModel": ModelEntry(
        "linnaeus.models.structured.global_tree",
        "label sets scored as a whole, with weights of branching; structured passive-aggressive; streams",
        ("DP-GT", "DP-GT-BF"),
    ),
    "CorrMNL": ModelEntry(
        "linnaeus.models.bayes.corr_mnl",
        "soft-max regression with coefficients summed along paths, sampled by MCMC; one label per document; small data",
        ("corrMNL",),
    ),
    "OrthogonalTransfer": ModelEntry(
        "linnaeus.models.structured.orthogonal_transfer",
        "classifiers of all nodes, pushed to look elsewhere than their ancestors; one label per document; baseline",
        ("OT",),
    ),
}

# Models that take documents as they were read, where all others take matrices.
DOCUMENT_MODELS: dict[str, ModelEntry] = {
    "LexicalModel": ModelEntry(
        "linnaeus.lexical.model",
        "labels whose texts occur in the document, weighed by how they do; with or without training documents",
    ),
}
ALL_MODELS: dict[str, ModelEntry] = {**MODELS, **DOCUMENT_MODELS}

# What `linnaeus train --model` takes besides models: they are made of them.
COMPOSED: dict[str, ModelEntry] = {
    "auto": ModelEntry(
        "linnaeus.auto",
        "the default of train: features, model, C and cut that are best on held-out documents, or a mixture",
        ("AutoClassifier",),
    ),
    "Mixture": ModelEntry(
        "linnaeus.mixture",
        "several models as one: their calibrated scores, with weights at every node, pulled towards its parents",
    ),
}

# What a model file may name besides models. Nothing else is ever imported on load.
STORABLE: dict[str, str] = {
    "Calibrator": "linnaeus.decoding.probability.curves",
    "DenseFeatures": "linnaeus.features.dense",
    "EmbeddedText": "linnaeus.features.embedding",
    "FillMissing": "linnaeus.features.dense",
    "GramRows": "linnaeus.models.kernels",
    "HashedText": "linnaeus.features.hashed",
    "KernelMap": "linnaeus.features.kernel_map",
    "KeptDocuments": "linnaeus.models.explaining",
    "LabelCodec": "linnaeus.data.check",
    "Linear": "linnaeus.models.kernels",
    "Mixture": "linnaeus.mixture",
    "MixtureWeights": "linnaeus.models.mixed_scores",
    "OwnVectors": "linnaeus.features.word_vectors",
    "Pipeline": "linnaeus.pipeline",
    "Polynomial": "linnaeus.models.kernels",
    "Precomputed": "linnaeus.models.kernels",
    "LabelTree": "linnaeus.models.label_tree",
    "RBF": "linnaeus.models.kernels",
    "RiskControl": "linnaeus.decoding.probability.risk",
    "Sequences": "linnaeus.features.sequences",
    "SideBySide": "linnaeus.features.side_by_side",
    "SpectrumFeatures": "linnaeus.features.spectrum",
    "SpectrumKernel": "linnaeus.features.spectrum",
    "SubsequenceKernel": "linnaeus.features.subsequence",
    "SuggestionModel": "linnaeus.models.suggestions",
    "Subtrees": "linnaeus.models.pruning",
    "TextEncoder": "linnaeus.features.text_encoder",
    "TextFeatures": "linnaeus.features.text",
    "TokenVectors": "linnaeus.features.word_vectors",
}


def find_model(name: str) -> str:
    """The registered name of a model given by name or alias, in any case.

    Examples
    --------
    >>> find_model("bsvm")
    'OneVsRestSVM'
    """
    known = {alias.lower(): key for key, entry in ALL_MODELS.items() for alias in (key, *entry.aliases)}
    composed = {alias.lower() for key, entry in COMPOSED.items() for alias in (key, *entry.aliases)}
    try:
        return known[name.lower()]
    except KeyError:
        if name.lower() in composed:
            raise ParameterError(
                f"{name!r} is made of several models, and one is expected here (see `linnaeus models {name}`)"
            ) from None
        raise ParameterError(
            f"{name!r} is not a model{nearest(name, [*ALL_MODELS, *COMPOSED])} (see `linnaeus models`)"
        ) from None


def resolve(name: str) -> Any:
    """The class behind a registered name."""
    home = ALL_MODELS[name].home if name in ALL_MODELS else STORABLE[name]
    return getattr(importlib.import_module(home), name)
