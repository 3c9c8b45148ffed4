"""Names of models and of other things that model files may hold -> "module:Class"; strings, nothing is imported."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from linnaeus.errors import ParameterError, nearest

__all__ = ["MODELS", "STORABLE", "ModelEntry", "find_model", "resolve"]


@dataclass(frozen=True)
class ModelEntry:
    """A model: where it lives, what it is in one line, and its names in the literature."""

    home: str
    summary: str
    aliases: tuple[str, ...] = ()


_ONE_VS_REST = "linnaeus.models.flat.one_vs_rest"
_MULTICLASS = "linnaeus.models.flat.multiclass"

MODELS: dict[str, ModelEntry] = {
    "OneVsRestSVM": ModelEntry(
        f"{_ONE_VS_REST}:OneVsRestSVM",
        "a linear SVM for every label alone (hinge, squared hinge); flat baseline",
        ("BSVM",),
    ),
    "OneVsRestLogistic": ModelEntry(
        f"{_ONE_VS_REST}:OneVsRestLogistic", "a logistic regression for every label alone; flat baseline", ("BLR",)
    ),
    "MulticlassSVM": ModelEntry(
        f"{_MULTICLASS}:MulticlassSVM", "all labels in one SVM (Crammer-Singer), one label per document", ("MSVM",)
    ),
    "SoftmaxRegression": ModelEntry(
        f"{_MULTICLASS}:SoftmaxRegression", "multinomial logistic regression, one label per document", ("MLR",)
    ),
    "OneVsRestPA": ModelEntry(
        "linnaeus.models.flat.passive_aggressive:OneVsRestPA",
        "a passive-aggressive classifier for every label alone; learns from streams; flat baseline",
        ("FLAT",),
    ),
    "TopDownSVM": ModelEntry(
        "linnaeus.models.topdown.top_down:TopDownSVM",
        "a linear SVM for every child at every inner node, followed from the top; greedy baseline",
        ("TD",),
    ),
    "DivideAndConquerSVM": ModelEntry(
        "linnaeus.models.topdown.divide_and_conquer:DivideAndConquerSVM",
        "a flat ranking SVM at every inner node, followed from the top; greedy baseline",
        ("DNC", "DNC-SVM"),
    ),
    "NodeSVM": ModelEntry(
        "linnaeus.models.topdown.node_svm:NodeSVM",
        "a linear SVM for every node on the documents of its parents; answers where all ancestors hold",
        ("H-SVM",),
    ),
    "EdgePA": ModelEntry(
        "linnaeus.models.topdown.edge_pa:EdgePA",
        "a passive-aggressive classifier for every edge, with local or exact search for label sets; baseline",
        ("LS-ALL", "LS-SIB", "DP-ALL", "DP-SIB"),
    ),
    "HierarchicalRLS": ModelEntry(
        "linnaeus.models.topdown.rls:HierarchicalRLS",
        "regularised least squares for every node on the documents of its parents; kernels; baseline",
        ("H-RLS",),
    ),
    "RRSVM": ModelEntry(
        "linnaeus.models.recursive.rr:RRSVM",
        "SVMs of all nodes learned together, each pulled towards its parents (tree, DAG, graph)",
        ("RR-SVM",),
    ),
    "RRLogistic": ModelEntry(
        "linnaeus.models.recursive.rr:RRLogistic",
        "logistic regressions of all nodes learned together, each pulled towards its parents",
        ("RR-LR",),
    ),
    "HBLR": ModelEntry(
        "linnaeus.models.bayes.hblr:HBLR",
        "Bayesian logistic regressions of all nodes; how much a node differs from its parent is learned (trees)",
    ),
    "HierarchicalSVM": ModelEntry(
        "linnaeus.models.ranking.hierarchical_svm:HierarchicalSVM",
        "one SVM that ranks all labels, which share weights through the nodes above them (linear, kernels)",
        ("HSVM",),
    ),
    "HierarchicalPerceptron": ModelEntry(
        "linnaeus.models.ranking.perceptron:HierarchicalPerceptron",
        "a perceptron that ranks classes, which share weights through the taxonomy; learns from streams",
        ("PERC", "HPERC"),
    ),
    "Hieron": ModelEntry(
        "linnaeus.models.ranking.hieron:Hieron",
        "passive-aggressive ranking of classes, which share weights through the taxonomy; learns from streams",
    ),
    "HM3": ModelEntry(
        "linnaeus.models.structured.hm3:HM3",
        "a Markov tree over the taxonomy, trained to the largest margin between labellings; any kernel",
        ("H-M3",),
    ),
    "GlobalTreeModel": ModelEntry(
        "linnaeus.models.structured.global_tree:GlobalTreeModel",
        "label sets scored as a whole, with weights of branching; structured passive-aggressive; streams",
        ("DP-GT", "DP-GT-BF"),
    ),
    "CorrMNL": ModelEntry(
        "linnaeus.models.bayes.corr_mnl:CorrMNL",
        "soft-max regression with coefficients summed along paths, sampled by MCMC; one label per document; small data",
        ("corrMNL",),
    ),
    "OrthogonalTransfer": ModelEntry(
        "linnaeus.models.structured.orthogonal_transfer:OrthogonalTransfer",
        "classifiers of all nodes, pushed to look elsewhere than their ancestors; one label per document; baseline",
        ("OT",),
    ),
}

# What a model file may name besides models. Nothing else is ever imported on load.
STORABLE: dict[str, str] = {
    "Calibrator": "linnaeus.decoding.probability.curves:Calibrator",
    "DenseFeatures": "linnaeus.features.dense:DenseFeatures",
    "FillMissing": "linnaeus.features.dense:FillMissing",
    "GramRows": "linnaeus.models.gram:GramRows",
    "KernelMap": "linnaeus.features.kernel_map:KernelMap",
    "KeptDocuments": "linnaeus.models.neighbours:KeptDocuments",
    "LabelCodec": "linnaeus.data.kinds:LabelCodec",
    "Linear": "linnaeus.models.kernels:Linear",
    "Pipeline": "linnaeus.pipeline:Pipeline",
    "Polynomial": "linnaeus.models.kernels:Polynomial",
    "Precomputed": "linnaeus.models.kernels:Precomputed",
    "LabelTree": "linnaeus.models.label_tree:LabelTree",
    "RBF": "linnaeus.models.kernels:RBF",
    "RiskControl": "linnaeus.decoding.probability.risk:RiskControl",
    "Sequences": "linnaeus.features.sequences:Sequences",
    "SpectrumFeatures": "linnaeus.features.spectrum:SpectrumFeatures",
    "SpectrumKernel": "linnaeus.features.spectrum:SpectrumKernel",
    "SubsequenceKernel": "linnaeus.features.subsequence:SubsequenceKernel",
    "Subtrees": "linnaeus.models.subtrees:Subtrees",
    "TextFeatures": "linnaeus.features.text:TextFeatures",
}


def find_model(name: str) -> str:
    """The registered name of a model given by name or alias, in any case.

    Examples
    --------
    >>> find_model("bsvm")
    'OneVsRestSVM'
    """
    known = {alias.lower(): key for key, entry in MODELS.items() for alias in (key, *entry.aliases)}
    try:
        return known[name.lower()]
    except KeyError:
        raise ParameterError(f"{name!r} is not a model{nearest(name, MODELS)} (see `linnaeus models`)") from None


def resolve(name: str) -> Any:
    """The class behind a registered name."""
    home = MODELS[name].home if name in MODELS else STORABLE[name]
    module, _, attribute = home.partition(":")
    return getattr(importlib.import_module(module), attribute)
