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

_WORDS = {"true": True, "false": False, "none": None}


def decoder(name: str, **parameters: Any) -> Decoder:
    """A decoder by name; ``decoder(**d.to_dict()) == d``.

    Parameters
    ----------
    name : str
        A name from `DECODERS`, with parameters after commas if there are any: ``"scut,average=micro"``. Values are
        read as numbers, ``true``, ``false``, ``none`` or, where they are none of these, as text.
    **parameters : Any
        Parameters of the decoder; they may not be in ``name`` too.

    Examples
    --------
    >>> decoder("threshold", theta=0.5)
    Threshold(theta=0.5, repair='closure', at_least_one=True)
    >>> decoder("threshold,theta=0.5,at_least_one=false")
    Threshold(theta=0.5, repair='closure', at_least_one=False)
    >>> decoder(**decoder("best_leaf", path_sum=True).to_dict())
    BestLeaf(path_sum=True, close=True)
    """
    name, *given = str(name).split(",")
    name = name.strip()
    if name not in DECODERS:
        raise ParameterError(f"Decoder {name!r} is not one of {', '.join(DECODERS)}{nearest(name, DECODERS)}")
    for part in given:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not value:
            raise ParameterError(
                f"Decoder {name!r}: {part.strip()!r} is not a parameter; expected name=value, as in "
                "'scut,average=micro'."
            )
        if key in parameters:
            raise ParameterError(f"Decoder {name!r}: the parameter {key!r} is given twice.")
        parameters[key] = _value(value)
    known = list(inspect.signature(DECODERS[name]).parameters)
    for key in parameters:
        if key not in known:
            hint = f"its parameters are {', '.join(known)}{nearest(key, known)}"
            raise ParameterError(f"Decoder {name!r} has no parameter {key!r}: {hint}")
    return DECODERS[name](**parameters)


def _value(text: str) -> Any:
    """A value as it is written in the text of a decoder."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
