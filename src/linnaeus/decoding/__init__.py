"""Decoders: from the scores of a model to label sets; written once, used by every model.

A decoder is called with scores S (n_docs x n_scored), a taxonomy and the node numbers of the columns of S, and answers
with a CSR array Y (n_docs x n_nodes) of int8 ones.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable

from linnaeus.decoding.base import Decoder, TopScores
from linnaeus.decoding.cutoffs.by_document import InstanceCut, SetSize
from linnaeus.decoding.cutoffs.cut_off import CutOff
from linnaeus.decoding.cutoffs.expected import ExpectedCut
from linnaeus.decoding.cutoffs.pcut import PCut
from linnaeus.decoding.cutoffs.rcut import RCut
from linnaeus.decoding.cutoffs.scut import SCut
from linnaeus.decoding.probability.coherence import smoothed
from linnaeus.decoding.probability.expected_cost import LeastCost, LeastHLoss, least_risk
from linnaeus.decoding.rules import Rules
from linnaeus.decoding.sets.best_sets import BestBranching, RankedSets, best_sets, branching_counts, branching_table
from linnaeus.decoding.sets.closures import (
    BestClosure,
    BestNonEmpty,
    BestSubtree,
    BestTree,
    best_closures,
    closure_weights,
    max_edge_labelling,
)
from linnaeus.decoding.sets.path_classifier import PathClassifier
from linnaeus.decoding.sets.search import ExactSearch, LocalSearch
from linnaeus.decoding.simple.threshold import BestLabel, BestLeaf, Threshold, suppress
from linnaeus.decoding.simple.top_down import TopDown
from linnaeus.errors import ParameterError, nearest

__all__ = [
    "DECODERS",
    "BestBranching",
    "BestClosure",
    "BestLabel",
    "BestLeaf",
    "BestNonEmpty",
    "BestSubtree",
    "BestTree",
    "CutOff",
    "Decoder",
    "ExactSearch",
    "ExpectedCut",
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
    "cut_off",
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
        BestTree,
        BestNonEmpty,
        LeastCost,
        LeastHLoss,
        RCut,
        SCut,
        PCut,
        InstanceCut,
        SetSize,
        ExpectedCut,
    )
}

_WORDS = {"true": True, "false": False, "none": None}


def decoder(name: str, **parameters: object) -> Decoder:
    """A decoder by name; ``decoder(**d.to_dict()) == d``.

    Parameters
    ----------
    name : str
        A name from `DECODERS`, with parameters after commas if there are any: ``"scut,average=micro"``. Values are
        read as numbers, lists of numbers, ``true``, ``false`` or ``none``; everything else is text.
    **parameters : object
        Parameters of the decoder; they may not be in ``name`` too.

    Returns
    -------
    Decoder
        The decoder with these parameters.

    Examples
    --------
    >>> decoder("threshold", theta=0.5)
    Threshold(theta=0.5, repair='closure', at_least_one=True)
    >>> decoder("threshold,theta=[0.5,1],at_least_one=false")
    Threshold(theta=(0.5, 1.0), repair='closure', at_least_one=False)
    >>> decoder(**decoder("best_leaf", path_sum=True).to_dict())
    BestLeaf(path_sum=True, close=True)
    """
    name, *given = re.split(r",(?![^\[\]]*\])", str(name))  # commas inside a list separate its numbers
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
    kind: Callable[..., Decoder] = DECODERS[name]
    return kind(**parameters)


def cut_off(given: Decoder | str) -> CutOff:
    """A cut-off by name, or the one that is given; other decoders are refused.

    Parameters
    ----------
    given : CutOff or str
        A cut-off or its name.

    Returns
    -------
    CutOff
        The cut-off, not yet fitted if it was given by name.

    Examples
    --------
    >>> cut_off("rcut,r=2")
    RCut(repair=None, r=2, per='document', path_sum=False, theta=None)
    """
    cut = decoder(given) if isinstance(given, str) else given
    if not isinstance(cut, CutOff):
        names = ", ".join(name for name, kind in DECODERS.items() if issubclass(kind, CutOff))
        raise ParameterError(f"decoder={given!r} learns nothing from held-out scores; those that do are {names}.")
    return cut


def _value(text: str) -> object:
    """The value that is written in the text of a decoder."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for read in (int, float, json.loads):
        try:
            value: object = read(text)
        except ValueError:
            continue
        return value
    return text
