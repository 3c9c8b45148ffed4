"""Classify documents, vectors and sequences into a taxonomy, with models that learn all nodes together."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from linnaeus.registry import ALL_MODELS

if TYPE_CHECKING:
    from linnaeus import metrics as metrics
    from linnaeus.auto.classifier import AutoClassifier as AutoClassifier
    from linnaeus.data.dataset import SuggestedDocuments as SuggestedDocuments
    from linnaeus.lexical.model import LexicalModel as LexicalModel
    from linnaeus.mixture import Mixture as Mixture
    from linnaeus.mixture import mixed_held_out as mixed_held_out
    from linnaeus.models.bayes.corr_mnl import CorrMNL as CorrMNL
    from linnaeus.models.bayes.hblr import HBLR as HBLR
    from linnaeus.models.flat.multiclass import MulticlassSVM as MulticlassSVM
    from linnaeus.models.flat.multiclass import SoftmaxRegression as SoftmaxRegression
    from linnaeus.models.flat.one_vs_rest import OneVsRestLogistic as OneVsRestLogistic
    from linnaeus.models.flat.one_vs_rest import OneVsRestSVM as OneVsRestSVM
    from linnaeus.models.flat.passive_aggressive import OneVsRestPA as OneVsRestPA
    from linnaeus.models.learn_taxonomy import learn_taxonomy as learn_taxonomy
    from linnaeus.models.mixed_scores import SourceScores as SourceScores
    from linnaeus.models.mixed_scores import fit_mixture as fit_mixture
    from linnaeus.models.ranking.hierarchical_svm import HierarchicalSVM as HierarchicalSVM
    from linnaeus.models.ranking.hieron import Hieron as Hieron
    from linnaeus.models.ranking.perceptron import HierarchicalPerceptron as HierarchicalPerceptron
    from linnaeus.models.recursive.rr import RRSVM as RRSVM
    from linnaeus.models.recursive.rr import RRLogistic as RRLogistic
    from linnaeus.models.structured.global_tree import GlobalTreeModel as GlobalTreeModel
    from linnaeus.models.structured.hm3 import HM3 as HM3
    from linnaeus.models.structured.orthogonal_transfer import OrthogonalTransfer as OrthogonalTransfer
    from linnaeus.models.suggestions import SuggestionModel as SuggestionModel
    from linnaeus.models.topdown.divide_and_conquer import DivideAndConquerSVM as DivideAndConquerSVM
    from linnaeus.models.topdown.edge_pa import EdgePA as EdgePA
    from linnaeus.models.topdown.rls import HierarchicalRLS as HierarchicalRLS
    from linnaeus.models.topdown.top_down import NodeSVM as NodeSVM
    from linnaeus.models.topdown.top_down import TopDownSVM as TopDownSVM
    from linnaeus.pipeline import Pipeline as Pipeline
    from linnaeus.store import load as load
    from linnaeus.store import save as save
    from linnaeus.taxonomy import Taxonomy as Taxonomy
    from linnaeus.tuning import calibrate as calibrate
    from linnaeus.tuning import fit_decoder as fit_decoder

__version__ = "0.1.0"

# Public names and where they live; each is imported when first used, so that `import linnaeus` costs nothing.
_HOMES = {
    "Taxonomy": "linnaeus.taxonomy",
    **{name: entry.home for name, entry in ALL_MODELS.items()},
    "AutoClassifier": "linnaeus.auto.classifier",
    "Mixture": "linnaeus.mixture",
    "SourceScores": "linnaeus.models.mixed_scores",
    "SuggestedDocuments": "linnaeus.data.dataset",
    "SuggestionModel": "linnaeus.models.suggestions",
    "Pipeline": "linnaeus.pipeline",
    "calibrate": "linnaeus.tuning",
    "fit_decoder": "linnaeus.tuning",
    "fit_mixture": "linnaeus.models.mixed_scores",
    "learn_taxonomy": "linnaeus.models.learn_taxonomy",
    "load": "linnaeus.store",
    "mixed_held_out": "linnaeus.mixture",
    "save": "linnaeus.store",
}
_MODULES = ("metrics",)

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"linnaeus.{name}")
    raise AttributeError(f"module 'linnaeus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
