"""What a fitted model and a `Pipeline` have in common: the contract of calibration, cut-offs, reports and commands.

A `TaxonomyClassifier` takes matrices, a `Pipeline` takes documents as they were read; everything else is the same.
Whoever needs the model itself, such as its parameters, takes ``estimator``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy.typing as npt

from linnaeus.decoding import Decoder, RankedSets, Rules
from linnaeus.decoding.probability.curves import Calibrator
from linnaeus.decoding.probability.risk import RiskControl
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.explaining import KeptDocuments
from linnaeus.models.promises import Decisions
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = ["Classifier"]


class Classifier(Protocol):
    """A model, or a pipeline of features and a model; attributes that end in ``_`` exist once it is fitted."""

    @property
    def estimator(self) -> TaxonomyClassifier:
        """The model itself: that of a pipeline, which is fitted if the pipeline is."""
        ...

    @property
    def taxonomy_(self) -> Taxonomy:
        """The taxonomy of the answers."""
        ...

    @property
    def nodes_(self) -> IntArray:
        """Numbers of the nodes that have scores, in the order of the columns."""
        ...

    @property
    def closed_(self) -> bool:
        """Whether all training sets held all ancestors of their labels."""
        ...

    @property
    def nested_(self) -> bool:
        """Whether ancestors were added to the training sets."""
        ...

    @property
    def single_label(self) -> bool:
        """Whether every training document had one label."""
        ...

    @property
    def label_nodes(self) -> IntArray:
        """Numbers of the nodes that training documents carried as labels."""
        ...

    @property
    def conditional_scores(self) -> bool:
        """Whether a score compares a node with its siblings only."""
        ...

    @property
    def calibrator_(self) -> Calibrator | None:
        """The curves of `linnaeus.calibrate`, if it is calibrated."""
        ...

    @property
    def risk_control_(self) -> RiskControl | None:
        """What promised risks are derived from, if it is calibrated."""
        ...

    @property
    def kept_(self) -> KeptDocuments | None:
        """The documents that are kept with it."""
        ...

    def fit(self, X: object, y: object, sample_weight: npt.ArrayLike | None = None, /) -> Classifier:
        """Learn from documents and labels."""
        ...

    def set_params(self, **parameters: object) -> Classifier:
        """Set parameters of the constructor."""
        ...

    def matrix(self, X: object, /) -> Matrix:
        """Documents as the matrix that the model sees."""
        ...

    def default_decoder(self) -> Decoder:
        """The decoder that answers where none is given."""
        ...

    def score_blocks(self, X: object, /) -> Iterator[FloatArray]:
        """Scores of some documents at a time, n_docs_of_block x len(nodes_)."""
        ...

    def node_probabilities(self, X: object, /) -> FloatArray:
        """Coherent probabilities of all nodes of the taxonomy."""
        ...

    def predict_proba(self, X: object, /) -> FloatArray:
        """Probabilities of ``nodes_``; only models that have probabilities have this method."""
        ...

    def answers(
        self,
        X: object,
        /,
        *,
        decoder: Decoder | str | None = None,
        closed: bool | None = None,
        rules: Rules | Mapping[str, Any] | None = None,
        risk: float | None = None,
        risk_of: str = "all",
        confidence: float | None = None,
    ) -> CSR:
        """The answers of ``predict`` as 0/1 rows, n_docs x n_nodes."""
        ...

    def ranked_sets(
        self,
        X: object,
        k: int = 1,
        /,
        *,
        rules: Rules | Mapping[str, Any] | None = None,
        decoder: Decoder | str | None = None,
    ) -> RankedSets:
        """The k best closed label sets of every document."""
        ...

    def decisions(
        self,
        X: object,
        risk: float,
        /,
        *,
        risk_of: str = "all",
        confidence: float | None = None,
        rules: Rules | Mapping[str, Any] | None = None,
        k: int = 3,
    ) -> Decisions:
        """Answers under a promised risk, and candidates for the documents that are left for review."""
        ...

    def top_nodes(
        self,
        X: object,
        k: int = 5,
        /,
        *,
        probabilities: bool = False,
        ancestors: bool = False,
        rules: Rules | Mapping[str, Any] | None = None,
    ) -> tuple[IntArray, FloatArray]:
        """Numbers and scores of the k best nodes of each document."""
        ...
