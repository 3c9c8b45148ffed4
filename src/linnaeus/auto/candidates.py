"""What a search may choose: candidates in a fixed order, and the features that they see.

A candidate is a model with a value of C, what it learns (labels as given, closed sets, or the most specific labels),
the pull of inner nodes towards zero where the model has one, and a variant of the features; or a mixture of such. C is
relative to the mean squared length of the vectors. The first six models are of five families (flat, local, joint,
structured, online), so that a search that goes through them in this order has seen every family early.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from linnaeus import registry
from linnaeus.data.matrices import is_sparse
from linnaeus.features import DenseFeatures, EmbeddedText, KernelMap, TextFeatures
from linnaeus.features.analysis import parse_analyser
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.names import has_words
from linnaeus.typing import CSR, Matrix

if TYPE_CHECKING:
    from linnaeus.pipeline import Transformer

__all__ = [
    "CHARS",
    "COMMON",
    "EMBEDDED",
    "EMBEDDED_CHARS",
    "FAMILIES",
    "GRID",
    "LEARN",
    "LOG2",
    "MAP",
    "MIXTURE",
    "PLAIN",
    "PULLS",
    "RARE",
    "TEXTS",
    "Candidate",
    "Place",
    "applies",
    "document_models",
    "feature_variants",
    "first_candidate",
    "is_later",
    "larger_map",
    "make_model",
    "map_width",
    "models_for",
    "other_widths",
    "parameters_of",
]

GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
PULLS = (0.0, 1.0, 10.0, float("inf"))  # from the joint model to one classifier for each label alone
LEARN = ("given", "closed", "frontier")
PLAIN, LOG2, CHARS, MAP = "as they are", "log2 weighting", "characters", "rbf map"
RARE, COMMON = "all terms", "all terms, idf"  # those of one document too; and words of nearly all documents fade out
EMBEDDED, EMBEDDED_CHARS = "words and wordllama", "words, characters and wordllama"
TEXTS = "texts"  # no features: documents as they were read, for models that take them, or make features themselves
MIXTURE = "Mixture"
# Models of each family in the order in which they are tried; a search takes the first of each family first.
FAMILIES: dict[str, tuple[str, ...]] = {
    "flat": ("OneVsRestSVM", "OneVsRestLogistic", "MulticlassSVM", "SoftmaxRegression"),
    "local": ("NodeSVM", "TopDownSVM", "EdgePA"),
    "joint": ("RRSVM", "RRLogistic"),
    "structured": ("GlobalTreeModel",),
    "online": ("OneVsRestPA", "Hieron"),
}
# The logistic loss bends an eighth as much as the squared hinge: the same C regularises it far more.
_USUAL_C = {"OneVsRestLogistic": 10.0, "RRLogistic": 10.0, "SoftmaxRegression": 10.0}
_STRUCTURED_NODES = 2_000  # above, the first pass of a structured model, which is always made, may outlast a search
_SHORT = 50  # mean number of characters of texts up to which n-grams of characters are tried,
_SHORTER, _CHARACTERS = 200, 3_000_000  # or up to which they are where all texts together have no more characters
_NARROW = 2_000  # features of sparse vectors up to which a map is tried
_FEW_PER_LABEL, _FEW_FOR_VECTORS = 100, 20_000  # documents of a label, and in all, up to which an embedding is tried
_USUAL_DF, _FEW_FOR_TERMS = 2, 20_000  # documents of a usual term, and in all, up to which terms of one are tried
_FEW_FOR_CHARS, _CHARS_BESIDE = 5_000, 0.7  # documents up to which characters are tried beside it, and their weight
_LANDMARKS = (600, 2_000)  # of a map, and of a larger one at most
_ENOUGH = 800  # documents from which on a larger map is tried
_WIDTHS = {"": 1.0, "wider ": 0.5, "narrower ": 2.0}  # of maps: times the gamma that the first of them has chosen

Place = tuple[str, str, str | None, tuple["Candidate", ...]]


@dataclass(frozen=True)
class Candidate:
    """A point of the search.

    Parameters
    ----------
    model : str
        A registered model, or "Mixture".
    features : str
        The variant of the features, one of `feature_variants`; of a mixture those in front of all its sources.
    C : float or None
        Relative to the mean squared length of the vectors; of a mixture that of its weights. None: the model has none.
    learn : {"given", "closed", "frontier", "first"} or None
        What the model learns; None for models without the choice. "first" is for mixtures only.
    pull : float or None
        Pull of inner nodes towards zero; None for models without it.
    sources : tuple of Candidate
        What a mixture is of.
    """

    model: str
    features: str = PLAIN
    C: float | None = None
    learn: str | None = None
    pull: float | None = None
    sources: tuple[Candidate, ...] = ()

    @property
    def place(self) -> Place:
        """All but C and pull."""
        return self.model, self.features, self.learn, self.sources

    def stepped(self, axis: str, step: int) -> Candidate | None:
        """The neighbour on the grid of "C" or "pull"; None at its end, or where the model does not have it."""
        value = self.C if axis == "C" else self.pull
        grid = GRID if axis == "C" else PULLS
        if value is None or value not in grid or not 0 <= grid.index(value) + step < len(grid):
            return None
        new = grid[grid.index(value) + step]
        return replace(self, C=new) if axis == "C" else replace(self, pull=new)

    def __str__(self) -> str:
        if self.sources:
            *before, last = (str(source) for source in self.sources)
            return f"mixture of {', '.join(before)} and {last}"
        said = [] if self.C is None else [f"C {self.C:g}"]
        said += [] if not self.pull else [f"pull {self.pull:g}"]
        said += {"closed": ["learns closed sets"], "frontier": ["learns the most specific labels"]}.get(
            self.learn or "", []
        )
        said += [] if self.features in (PLAIN, TEXTS) else [f"features: {self.features}"]
        return f"{self.model} ({', '.join(said)})" if said else self.model


def parameters_of(name: str) -> Mapping[str, object]:
    """Parameters of a model with their defaults."""
    return {key: p.default for key, p in inspect.signature(registry.resolve(name)).parameters.items()}


def models_for(Y: CSR, taxonomy: Taxonomy) -> list[str]:
    """Models that fit the labels and the taxonomy.

    Two flat ones, which are the cheapest; the first of every other family, then the second of each, and so on.
    """
    rounds = max(len(names) for names in FAMILIES.values())
    order = [names[i] for i in range(rounds) for names in FAMILIES.values() if i < len(names)]
    order = [*FAMILIES["flat"][:2], *(name for name in order if name not in FAMILIES["flat"][:2])]
    return [name for name in order if applies(name, Y, taxonomy)]


def applies(name: str, Y: CSR, taxonomy: Taxonomy) -> bool:
    """Whether a model can learn these labels, in a time that a search has.

    Examples
    --------
    >>> tax = Taxonomy.flat(["a", "b"])
    >>> Y = tax.indicator([["a"], ["a", "b"]])
    >>> applies("MulticlassSVM", Y, tax), applies("OneVsRestSVM", Y, tax)
    (False, True)
    """
    one_label = bool((np.diff(taxonomy.frontier(Y).indptr) == 1).all())  # models of one label learn the most specific
    if not one_label and not registry.resolve(name)().__sklearn_tags__().classifier_tags.multi_label:
        return False
    hierarchical = name not in FAMILIES["flat"] and name != "OneVsRestPA"
    if hierarchical and not taxonomy.n_edges:  # the same as a flat model, or nearly
        return False
    if name in FAMILIES["structured"] and taxonomy.n_nodes > _STRUCTURED_NODES:
        return False
    return taxonomy.kind == "tree" or parameters_of(name).get("parents") != "only"


def first_candidate(
    model: str, features: str = PLAIN, learn: str | None = None, fixed: Collection[str] = ()
) -> Candidate:
    """A model with its usual parameters; those of ``fixed`` are not part of the candidate.

    Examples
    --------
    >>> first_candidate("OneVsRestSVM")
    Candidate(model='OneVsRestSVM', features='as they are', C=1.0, learn='given', pull=None, sources=())
    """
    known = parameters_of(model)
    features = TEXTS if model in registry.DOCUMENT_MODELS else features
    open_ = {name for name in ("C", "learn", "pull") if name in known and name not in fixed}
    learn = (learn or str(known["learn"])) if "learn" in open_ and known["learn"] in LEARN else None
    # Models of documents as they were read have few weights for all nodes, which C hardly changes.
    C = _USUAL_C.get(model, 1.0) if "C" in open_ and features != TEXTS else None
    return Candidate(model, features, C, learn, 0.0 if "pull" in open_ else None)


def document_models(features: Transformer | None, taxonomy: Taxonomy) -> list[str]:
    """Models that take documents as they were read.

    They are for texts, where the taxonomy has texts, or names of words, to find in them.

    Examples
    --------
    >>> document_models(TextFeatures(), Taxonomy.flat(["a", "b"]))
    []
    """
    words = isinstance(features, TextFeatures) and features.analyser().kind not in ("char", "char_wb")
    return list(registry.DOCUMENT_MODELS) if words and (len(taxonomy.texts) or has_words(taxonomy)) else []


def make_model(candidate: Candidate, taxonomy: Taxonomy | None, scale: float, **usual: object) -> TaxonomyClassifier:
    """The unfitted model of a candidate; ``scale`` is the mean squared length of the vectors.

    ``usual`` are parameters for models that have them; they override those of the candidate.
    """
    known = parameters_of(candidate.model)
    given: dict[str, object] = {"taxonomy": taxonomy}
    if candidate.C is not None:
        given["C"] = float(f"{candidate.C / scale:.3g}")
    if candidate.learn is not None:
        given["learn"] = candidate.learn
    if candidate.pull is not None:
        given["pull"] = candidate.pull
    given.update(usual)
    model: TaxonomyClassifier = registry.resolve(candidate.model)(
        **{key: value for key, value in given.items() if key in known}
    )
    return model


def feature_variants(
    features: Transformer | None,
    X: Matrix,
    seed: int,
    n_docs: int = 0,
    n_labels: int = 0,
    *,
    length: float = float("inf"),
) -> dict[str, Transformer | None]:
    """Unfitted features by name, None for a matrix as it is.

    Parameters
    ----------
    features : transformer or None
        The usual features.
    X : matrix
        What ``features`` make of some documents.
    seed : int
        Of maps.
    n_docs : int, default=0
        Number of documents to learn from.
    n_labels : int, default=0
        Number of labels. Where these have few documents and the package wordllama is installed, its vectors of words
        are tried beside the terms of texts, with few documents also together with n-grams of characters.
    length : float, default=inf
        Mean number of characters of the texts.

    Returns
    -------
    dict of str to transformer or None
        The usual features first.
    """
    variants: dict[str, Transformer | None] = {PLAIN: features}
    narrow = not is_sparse(X) or X.shape[1] <= _NARROW
    if isinstance(features, TextFeatures):
        if getattr(features, "weighting", None) != "log2":
            variants[LOG2] = clone(features).set_params(weighting="log2", sublinear_tf=False)
        every = features
        if features.min_df == _USUAL_DF and n_docs <= _FEW_FOR_TERMS:
            variants[RARE] = every = clone(features).set_params(min_df=1)
            if features.weighting == "tfidf":
                variants[COMMON] = clone(every).set_params(weighting="idf")
        if n_docs <= min(_FEW_PER_LABEL * n_labels, _FEW_FOR_VECTORS) and _can_embed(features):
            variants[EMBEDDED] = EmbeddedText(clone(every), "wordllama", random_state=seed)
            if n_docs <= _FEW_FOR_CHARS:
                beside = EmbeddedText(clone(every), "wordllama", characters=_CHARS_BESIDE, random_state=seed)
                variants[EMBEDDED_CHARS] = beside
        short = length <= _SHORT or (length <= _SHORTER and n_docs * length <= _CHARACTERS)
        if short and features.analyzer == "word" and features.stop_words is None:
            variants[CHARS] = clone(features).set_params(**parse_analyser("chars:2-5"))
        variants[TEXTS] = None  # for mixtures of models that see different ones
    elif narrow and (features is None or isinstance(features, DenseFeatures)) and X.shape[1] > 1:
        small, most = _LANDMARKS
        sizes = {"": small} | ({f" of {large:,} landmarks": large} if (large := min(most, n_docs)) >= _ENOUGH else {})
        variants |= {
            f"{width}{MAP}{size}": KernelMap(features, n_landmarks, random_state=seed)
            for size, n_landmarks in sizes.items()
            for width in _WIDTHS
        }
    return variants


def _can_embed(features: TextFeatures) -> bool:
    installed = all(importlib.util.find_spec(name) is not None for name in ("wordllama", "tokenizers"))
    return installed and features.analyser().kind not in ("char", "char_wb")


def map_width(features: str) -> float:
    """Times the usual gamma that the map of a variant has.

    Examples
    --------
    >>> map_width("wider rbf map"), map_width("rbf map of 2,000 landmarks")
    (0.5, 1.0)
    """
    return _WIDTHS.get(features.partition(MAP)[0], 1.0)


def is_later(features: str) -> bool:
    """Whether a variant is tried at the end only: a larger map, or one of another width."""
    return MAP in features and features != MAP


def other_widths(features: str, variants: Collection[str]) -> list[str]:
    """The variants with the same map in other widths.

    Examples
    --------
    >>> other_widths("rbf map", ["as they are", "rbf map", "wider rbf map"])
    ['wider rbf map']
    """
    width, name, size = features.partition(MAP)
    others = [f"{other}{name}{size}" for other in _WIDTHS if other != width]
    return [one for one in others if name and one in variants]


def larger_map(features: str, variants: Collection[str]) -> str | None:
    """The variant with more landmarks; None where there is none.

    Examples
    --------
    >>> larger_map("rbf map", ["as they are", "rbf map", "rbf map of 2,000 landmarks"])
    'rbf map of 2,000 landmarks'
    """
    larger = [one for one in variants if one.startswith(f"{features} of ")]
    return larger[0] if features.endswith(MAP) and larger else None
