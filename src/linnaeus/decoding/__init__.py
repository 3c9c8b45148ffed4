"""Decoders: from the scores of a model to label sets; written once, used by every model.

A decoder is called with scores S (n_docs x n_scored), a taxonomy and the node numbers of the columns of S, and answers
with a CSR array Y (n_docs x n_nodes) of int8 ones.
"""

from __future__ import annotations

import inspect
from typing import Any

from linnaeus.decoding.argmax import BestLabel, BestLeaf
from linnaeus.decoding.base import Decoder
from linnaeus.decoding.best_sets import RankedSets, best_sets
from linnaeus.decoding.branching import BestBranching, branching_counts, branching_table
from linnaeus.decoding.closure_cut import BestClosure, best_closures, closure_weights
from linnaeus.decoding.cut import CutOff
from linnaeus.decoding.expected_cost import LeastCost, LeastHLoss, least_risk
from linnaeus.decoding.held_out import TopScores
from linnaeus.decoding.instance_cut import InstanceCut
from linnaeus.decoding.path_classifier import PathClassifier
from linnaeus.decoding.pcut import PCut
from linnaeus.decoding.rcut import RCut
from linnaeus.decoding.rules import Rules
from linnaeus.decoding.scut import SCut
from linnaeus.decoding.search import ExactSearch, LocalSearch
from linnaeus.decoding.set_size import SetSize
from linnaeus.decoding.smoothing import smoothed
from linnaeus.decoding.subtree import BestSubtree, max_edge_labelling
from linnaeus.decoding.threshold import Threshold, suppress
from linnaeus.decoding.topdown import TopDown
from linnaeus.errors import ParameterError, nearest

__all__ = [
    "DECODERS",
    "BestBranching",
    "BestClosure",
    "BestLabel",
    "BestLeaf",
    "BestSubtree",
    "CutOff",
    "Decoder",
    "ExactSearch",
    "InstanceCut",
    "LeastCost",
    "LeastHLoss",
    "LocalSearch",
    "PCut",
    "PathClassifier",
    "RCut",
    "RankedSets",
    "Rules",
    "SCut",
    "SetSize",
    "Threshold",
    "TopDown",
    "TopScores",
    "best_closures",
    "best_sets",
    "branching_counts",
    "branching_table",
    "closure_weights",
    "decoder",
    "least_risk",
    "max_edge_labelling",
    "smoothed",
    "suppress",
]

DECODERS: dict[str, type[Decoder]] = {
    kind.name: kind
    for kind in (
        BestLabel,
        BestLeaf,
        Threshold,
        TopDown,
        LocalSearch,
        PathClassifier,
        ExactSearch,
        BestSubtree,
        BestClosure,
        BestBranching,
        LeastCost,
        LeastHLoss,
        RCut,
        SCut,
        PCut,
        InstanceCut,
        SetSize,
    )
}


def decoder(name: str, **parameters: Any) -> Decoder:
    """A decoder by name; ``decoder(**d.to_dict()) == d``.

    Examples
    --------
    >>> decoder("threshold", theta=0.5)
    Threshold(theta=0.5, repair='closure', at_least_one=True)
    >>> decoder(**decoder("best_leaf", path_sum=True).to_dict())
    BestLeaf(path_sum=True, close=True)
    """
    if name not in DECODERS:
        raise ParameterError(f"Decoder {name!r} is not one of {', '.join(DECODERS)}{nearest(str(name), DECODERS)}")
    known = list(inspect.signature(DECODERS[name]).parameters)
    for given in parameters:
        if given not in known:
            hint = f"its parameters are {', '.join(known)}{nearest(given, known)}"
            raise ParameterError(f"Decoder {name!r} has no parameter {given!r}: {hint}")
    return DECODERS[name](**parameters)
