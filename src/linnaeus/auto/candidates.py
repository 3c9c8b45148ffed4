"""What a search may choose, in a fixed order; what was measured of it; and the report of what was chosen.

A candidate is a model with a value of C, what it learns (labels as given, closed sets, or the most specific labels),
the pull of inner nodes towards zero where the model has one, and a variant of the features; or a mixture of such. C is
relative to the mean squared length of the vectors. The first six models are of five families (flat, local, joint,
structured, online), so that a search that goes through them in this order has seen every family early.

An `Outcome` is what a candidate reached, `Kept` are outcomes in a folder, from which the same search continues, and an
`AutoReport` says what was chosen and why, in plain values and in sentences.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np
from sklearn.base import clone

from linnaeus import registry
from linnaeus.data.matrices import is_sparse
from linnaeus.engine import format_seconds
from linnaeus.errors import CheckpointError
from linnaeus.features import DenseFeatures, EmbeddedText, KernelMap, SideBySide, TextFeatures
from linnaeus.features.analysis import parse_analyser
from linnaeus.features.named import profiles_of
from linnaeus.files import replace_file
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.checkpoint import digest
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.names import has_words
from linnaeus.typing import CSR, FloatArray, Matrix

if TYPE_CHECKING:
    from linnaeus.pipeline import Transformer
    from linnaeus.tuning.held_out import HeldOutScores

__all__ = [
    "BESIDE",
    "CHARS",
    "COMMON",
    "EMBEDDED",
    "EMBEDDED_CHARS",
    "FAMILIES",
    "FLAT",
    "FLAT_ENDS",
    "GRID",
    "LEARN",
    "LOG2",
    "MAP",
    "MIXTURE",
    "PLAIN",
    "PROFILES",
    "PROFILE_MAP",
    "PULLS",
    "RARE",
    "READ",
    "TEXTS",
    "UP_TO_4",
    "UP_TO_5",
    "VALUES",
    "AutoReport",
    "Candidate",
    "FeatureVariants",
    "Kept",
    "Outcome",
    "Place",
    "Row",
    "applies",
    "at_flat_end",
    "cut_words",
    "document_models",
    "feature_variants",
    "fingerprint",
    "first_candidate",
    "is_later",
    "larger_map",
    "make_model",
    "map_kind",
    "map_width",
    "models_for",
    "other_widths",
    "parameters_of",
    "parts_of",
    "side_by_side",
]

FLAT = "OneVsRestSVM"  # the baseline
GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
PULLS = (0.0, 1.0, 10.0, float("inf"))  # from the joint model to one classifier for each label alone
LEARN = ("given", "closed", "frontier")
PLAIN, LOG2, CHARS, MAP = "as they are", "log2 weighting", "characters", "rbf map"
PROFILES, PROFILE_MAP = "profiles", "profile rbf map"  # of dense vectors relative to their own mean and length
BESIDE = "side by side"  # the kind of several variants for dense vectors in one matrix
UP_TO_4, UP_TO_5 = "substrings of up to 4", "substrings of up to 5"  # of sequences, usually of up to 3
RARE, COMMON = "all terms", "all terms, idf"  # those of one document too; and words of nearly all documents fade out
EMBEDDED, EMBEDDED_CHARS = "words and wordllama", "words, characters and wordllama"
TEXTS = "texts"  # no features: documents as they were read, for models that take them, or make features themselves
VALUES = "values"  # the same for dense vectors: only missing values are filled
READ = TEXTS, VALUES  # documents as they were read, for models that make features themselves
MIXTURE = "Mixture"
# Models of each family in the order in which they are tried; a search takes the first of each family first.
FAMILIES: dict[str, tuple[str, ...]] = {
    "flat": ("OneVsRestSVM", "OneVsRestLogistic", "MulticlassSVM", "SoftmaxRegression"),
    "local": ("NodeSVM", "TopDownSVM", "EdgePA"),
    "joint": ("RRSVM", "RRLogistic"),
    "structured": ("GlobalTreeModel",),
    "online": ("OneVsRestPA", "Hieron"),
}
# Joint models at the flat end of their pull are these, with the same weights.
FLAT_ENDS = {"RRSVM": "OneVsRestSVM", "RRLogistic": "OneVsRestLogistic"}
# The logistic loss bends an eighth as much as the squared hinge: the same C regularises it far more.
_USUAL_C = {"OneVsRestLogistic": 10.0, "RRLogistic": 10.0, "SoftmaxRegression": 10.0}
_STRUCTURED_NODES = 2_000  # above, the first pass of a structured model, which is always made, may outlast a search
_SHORT = 50  # mean number of characters of texts up to which n-grams of characters are tried,
_SHORTER, _CHARACTERS = 200, 3_000_000  # or up to which they are where all texts together have no more characters
_LETTERS = 20_000_000  # of all sequences together up to which longer substrings are tried: 80 bytes each in a matrix
_NARROW = 2_000  # features of sparse vectors up to which a map is tried
_FEW_PER_LABEL, _FEW_FOR_VECTORS = 100, 20_000  # documents of a label, and in all, up to which an embedding is tried
_USUAL_DF, _FEW_FOR_TERMS = 2, 20_000  # documents of a usual term, and in all, up to which terms of one are tried
_FEW_FOR_CHARS, _CHARS_BESIDE = 5_000, 0.7  # documents up to which characters are tried beside it, and their weight
_LANDMARKS = (600, 2_000)  # of a map, and of a larger one at most
_ENOUGH = 800  # documents from which on a larger map is tried
_BESIDE = " beside "  # between the names of variants side by side
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
        flat = " (the flat model)" if self.pull == float("inf") else ""
        said += [] if not self.pull else [f"pull {self.pull:g}{flat}"]
        said += {"closed": ["learns closed sets"], "frontier": ["learns the most specific labels"]}.get(
            self.learn or "", []
        )
        said += [] if self.features in (PLAIN, *READ) else [f"features: {self.features}"]
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


class FeatureVariants(Mapping[str, "Transformer | None"]):
    """Unfitted features by name, each made when it is looked up: most searches try only some of them.

    Variants for dense vectors can also be looked up side by side, see `side_by_side`; these are not listed.
    """

    def __init__(self, makers: dict[str, Callable[[], Transformer | None]]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> Transformer | None:
        parts = parts_of(name)
        return self._makers[name]() if len(parts) == 1 else SideBySide([self._makers[part]() for part in parts])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and all(part in self._makers for part in parts_of(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def feature_variants(
    features: Transformer | None,
    X: Matrix,
    seed: int,
    n_docs: int = 0,
    n_labels: int = 0,
    *,
    length: float = float("inf"),
) -> FeatureVariants:
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
    FeatureVariants
        The usual features first.
    """
    variants: dict[str, Callable[[], Transformer | None]] = {PLAIN: lambda: features}
    narrow = not is_sparse(X) or X.shape[1] <= _NARROW
    if isinstance(features, TextFeatures):
        if getattr(features, "weighting", None) != "log2":
            variants[LOG2] = lambda: clone(features).set_params(weighting="log2", sublinear_tf=False)
        every = features
        if features.min_df == _USUAL_DF and n_docs <= _FEW_FOR_TERMS:
            every = clone(features).set_params(min_df=1)
            variants[RARE] = lambda: every
            if features.weighting == "tfidf":
                variants[COMMON] = lambda: clone(every).set_params(weighting="idf")
        if n_docs <= min(_FEW_PER_LABEL * n_labels, _FEW_FOR_VECTORS) and _can_embed(features):
            variants[EMBEDDED] = lambda: EmbeddedText(clone(every), "wordllama", random_state=seed)
            if n_docs <= _FEW_FOR_CHARS:
                beside = partial(EmbeddedText, characters=_CHARS_BESIDE, random_state=seed)
                variants[EMBEDDED_CHARS] = lambda: beside(clone(every), "wordllama")
        of_sequences = (features.analyzer, features.ngram_range, features.lowercase) == ("char", (1, 3), False)
        if of_sequences and n_docs * length <= _LETTERS:
            fewer = 3 if features.min_df == _USUAL_DF else features.min_df  # a third of the substrings is left out
            variants[UP_TO_4] = lambda: clone(features).set_params(ngram_range=(1, 4))
            variants[UP_TO_5] = lambda: clone(features).set_params(ngram_range=(1, 5), min_df=fewer)
        short = length <= _SHORT or (length <= _SHORTER and n_docs * length <= _CHARACTERS)
        if short and features.analyzer == "word" and features.stop_words is None:
            variants[CHARS] = lambda: clone(features).set_params(**parse_analyser("chars:2-5"))
        variants[TEXTS] = lambda: None  # for mixtures of models that see different ones
    elif narrow and (features is None or isinstance(features, DenseFeatures)) and X.shape[1] > 1:
        small, most = _LANDMARKS
        sizes = {"": small} | ({f" of {large:,} landmarks": large} if (large := min(most, n_docs)) >= _ENOUGH else {})
        kinds: dict[str, Transformer | None] = {MAP: features}
        if not is_sparse(X) and X.shape[1] > 2 and not (features and features.profiles):
            profiles = profiles_of(features)
            values = None if features is None else features.filling_only()
            variants |= {PROFILES: lambda: profiles, VALUES: lambda: values}
            kinds[PROFILE_MAP] = profiles
        variants |= {
            f"{width}{kind}{size}": partial(KernelMap, vectors, n_landmarks, random_state=seed)
            for kind, vectors in kinds.items()
            for size, n_landmarks in sizes.items()
            for width in _WIDTHS
        }
    return FeatureVariants(variants)


def _can_embed(features: TextFeatures) -> bool:
    installed = all(importlib.util.find_spec(name) is not None for name in ("wordllama", "tokenizers"))
    return installed and features.analyser().kind not in ("char", "char_wb")


def side_by_side(*variants: str) -> str:
    """The name of several variants for dense vectors in one matrix.

    Examples
    --------
    >>> side_by_side("rbf map", "profiles")
    'rbf map beside profiles'
    """
    return _BESIDE.join(variants)


def parts_of(features: str) -> list[str]:
    """The variants that are side by side; most are alone.

    Examples
    --------
    >>> parts_of("rbf map beside profiles"), parts_of("rbf map")
    (['rbf map', 'profiles'], ['rbf map'])
    """
    return features.split(_BESIDE)


def map_width(features: str) -> float:
    """Times the usual gamma that the map of a variant has.

    Examples
    --------
    >>> map_width("wider rbf map"), map_width("rbf map of 2,000 landmarks"), map_width("as they are")
    (0.5, 1.0, 1.0)
    """
    return _WIDTHS.get(features.partition(map_kind(features))[0], 1.0)


def map_kind(features: str) -> str:
    """The map that a variant has some width or size of.

    Examples
    --------
    >>> map_kind("wider profile rbf map of 2,000 landmarks"), map_kind("narrower rbf map")
    ('profile rbf map', 'rbf map')
    """
    return PROFILE_MAP if PROFILE_MAP in features else MAP


def is_later(features: str) -> bool:
    """Whether a variant is tried at the end only: a larger map, or one of another width."""
    return MAP in features and features != map_kind(features)


def other_widths(features: str, variants: Collection[str]) -> list[str]:
    """The variants with the same map in other widths.

    Examples
    --------
    >>> other_widths("rbf map", ["as they are", "rbf map", "wider rbf map"])
    ['wider rbf map']
    """
    width, name, size = features.partition(map_kind(features))
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


# -- what was measured, and what was chosen ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What a candidate reached.

    Attributes
    ----------
    candidate : Candidate
        The candidate.
    n_docs : int
        Documents it learned from.
    value : float
        The measure with the best cut; ``own`` with the model's own decoder.
    cut : str
        The best cut, "own" for the model's own decoder.
    seconds : float
        Of the fit and everything after it.
    answers : CSR or None
        Answers to the held-out documents with the best cut; None where they are not kept.
    held : HeldOutScores or None
        Scores of the held-out documents.
    P : ndarray or None
        Probabilities of all nodes, where the measure is of rankings.
    way : str
        How probabilities are made coherent.
    sources : tuple of Outcome
        Those of the sources of a mixture.
    stopped : bool
        Whether the clock ended the fit before it had converged.
    fitting : float
        Seconds of the fit alone.
    allowance : float
        What a cut is better than this, beside other cuts, on new documents; ``rank``, which candidates are compared
        by, is the value with it.
    """

    candidate: Candidate
    n_docs: int
    value: float
    own: float
    cut: str
    seconds: float
    answers: CSR | None = field(default=None, repr=False, compare=False)
    held: HeldOutScores | None = field(default=None, repr=False, compare=False)
    P: FloatArray | None = field(default=None, repr=False, compare=False)
    way: str = field(default="project", repr=False, compare=False)
    sources: tuple[Outcome, ...] = field(default=(), repr=False, compare=False)
    stopped: bool = field(default=False, repr=False, compare=False)
    fitting: float = field(default=0.0, repr=False, compare=False)
    allowance: float = field(default=0.0, repr=False, compare=False)

    @property
    def rank(self) -> float:
        """The value with the allowance of the cut."""
        return self.value + self.allowance

    def without_scores(self) -> Outcome:
        """The same without what takes memory."""
        return replace(self, answers=None, held=None, P=None)


def at_flat_end(outcome: Outcome, joint: str) -> Outcome:
    """The outcome of a flat model as that of the joint model whose flat end it is.

    Examples
    --------
    >>> flat = Outcome(first_candidate("OneVsRestSVM"), 90, 0.5, 0.4, "expected", 1.0)
    >>> print(at_flat_end(flat, "RRSVM").candidate)
    RRSVM (C 1, pull inf (the flat model))
    """
    return replace(outcome, candidate=replace(outcome.candidate, model=joint, pull=PULLS[-1]))


class Row(TypedDict):
    """One measured candidate; ``value`` is None where the model refused the documents.

    ``fitting`` are the seconds of the fit alone, ``seconds`` also those of measuring, ``whole`` also those of features
    that were made for it.
    """

    value: float | None
    own: float
    cut: str
    seconds: float
    whole: float
    stopped: NotRequired[bool]  # whether the clock ended the fit
    fitting: NotRequired[float]


@dataclass
class Kept:
    """Rows by candidate and number of documents, written to ``folder`` as they come, where there is one."""

    folder: Path | None = None
    rows: dict[str, Row] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, about: str) -> Kept:
        """What an earlier run of the same search has measured.

        Raises
        ------
        CheckpointError
            If the folder holds another search.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for part in folder.glob(".*.part"):  # of a write that was killed
            part.unlink(missing_ok=True)
        description, rows = folder / "about.json", folder / "search.json"
        if (earlier := _loaded(description)) is not None:
            if earlier != about:
                raise CheckpointError(
                    f"{folder} holds the checkpoint of another search, with other {_difference(earlier, about)}; "
                    "choose another folder, or delete this one to start again."
                )
            if isinstance(kept := _loaded(rows), dict):
                return cls(folder, kept)
        rows.unlink(missing_ok=True)
        replace_file(description, (json.dumps(about) + "\n").encode())
        return cls(folder)

    def put(self, key: str, row: Row) -> None:
        """Keep a row."""
        self.rows[key] = row
        if self.folder is not None:
            replace_file(self.folder / "search.json", (json.dumps(self.rows, indent=1) + "\n").encode())


def _loaded(path: Path) -> Any:
    """What a JSON file holds; None where there is none, or not a whole one."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _difference(earlier: object, about: str) -> str:
    """The first part of the fingerprints that differs, of options with the names of those that differ."""
    parts = ("versions of linnaeus", "documents", "labels", "taxonomy", "features")
    try:
        (*before, old), (*now, new) = json.loads(str(earlier)), json.loads(about)
        found = next((part for part, one, other in zip(parts, before, now, strict=True) if one != other), None)
    except (TypeError, ValueError):
        return "documents"
    if found is not None or not isinstance(old, dict):
        return found or "options"
    return f"options ({', '.join(name for name in new if old.get(name) != new[name])})"


def fingerprint(documents: object, Y: CSR, taxonomy: Taxonomy, features: object, **options: object) -> str:
    """What a search depends on, as text."""
    from linnaeus import __version__

    if is_sparse(documents) or isinstance(documents, np.ndarray):
        seen = digest(documents)
    else:
        seen = hashlib.blake2b(repr(documents).encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return json.dumps(
        [__version__, seen, digest(Y), taxonomy.fingerprint, repr(features), {k: repr(v) for k, v in options.items()}]
    )


@dataclass
class AutoReport:
    """What a search has chosen, and why.

    Parameters
    ----------
    measure : str
        The measure that was maximised.
    chosen : Outcome
        The best candidate.
    baseline : Outcome
        The flat model with its usual parameters; ``baseline.own`` is its value with the usual decoder.
    value : float
        Held-out value of the chosen candidate.
    interval : tuple of float
        Its 95% bootstrap interval over documents.
    budget : float
        The budget in seconds.
    seconds : float
        What the search has taken.
    n_held_out : int
        Number of held-out documents.
    runner_up : Outcome, default=None
        The best candidate of another model or with other features; None if there is none.
    tried : list of Outcome
        Everything that was measured, in this order.
    notes : list of str
        What a user should know.
    refined : Outcome, default=None
        The chosen candidate with every document held out once, which the cut, the probabilities and the weights of a
        mixture are learned from; None where there was no time for it.
    cut_short : bool, default=False
        Whether the budget ended the search.

    Examples
    --------
    >>> from linnaeus import AutoClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0]] * 20, ["a", "b"] * 20
    >>> report = AutoClassifier(budget="1h").fit(X, y, models=["OneVsRestSVM"]).report_
    >>> report.chosen.candidate.model, report.value
    ('OneVsRestSVM', 1.0)
    """

    measure: str
    chosen: Outcome
    baseline: Outcome
    value: float
    interval: tuple[float, float]
    budget: float
    seconds: float
    n_held_out: int
    runner_up: Outcome | None = None
    tried: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refined: Outcome | None = field(default=None, repr=False)
    cut_short: bool = False

    @property
    def learned_from(self) -> Outcome:
        """What the cut, the probabilities and the weights of a mixture are learned from."""
        return self.chosen if self.refined is None else self.refined

    def to_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "measure": self.measure,
            "chosen": {**_plain(self.chosen), "cut": self.learned_from.cut},
            "runner_up": None if self.runner_up is None else _plain(self.runner_up),
            "baseline": _plain(self.baseline),
            "value": self.value,
            "interval": list(self.interval),
            "held_out_documents": self.n_held_out,
            "budget": round(self.budget, 3),
            "seconds": round(self.seconds, 3),
            "tried": [_plain(one) for one in self.tried],
            "cut_short": self.cut_short,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        name, (low, high) = self.measure.replace("_", " "), self.interval
        lines = [
            f"chosen: {self.chosen.candidate}, {cut_words(self.learned_from)}",
            f"held-out {name} {self.value:.4f} (95% interval {low:.4f} to {high:.4f}, {self.n_held_out:,} documents)",
        ]
        if self.runner_up is not None:
            said = f"{self.runner_up.candidate}, {cut_words(self.runner_up)}: {self.runner_up.value:.4f}"
            lines.append(f"runner-up of another model or other features: {said}")
        first = self.baseline.candidate
        baseline = "flat baseline" if first.model == FLAT else "not tuned"
        lines.append(f"{baseline}: {first}, decoder own: {self.baseline.own:.4f}")
        lines.append(
            f"{len(self.tried)} fit{'s' * (len(self.tried) != 1)} in {format_seconds(max(1.0, round(self.seconds)))} "
            f"(budget {format_seconds(self.budget)})"
        )
        return "\n".join([*lines, *self.notes])


def cut_words(outcome: Outcome) -> str:
    """The decoder of an outcome, as the command line names it."""
    return f"decoder {outcome.cut}"


def _plain(outcome: Outcome) -> dict[str, object]:
    value = outcome.value if np.isfinite(outcome.value) else None
    said = {"value": value, "own": outcome.own, "cut": outcome.cut, "n_docs": outcome.n_docs}
    return {**_values(outcome.candidate), **said, "seconds": round(outcome.seconds, 3)}


def _values(candidate: Candidate) -> dict[str, object]:
    values = asdict(candidate)
    if candidate.pull is not None and not np.isfinite(candidate.pull):
        values["pull"] = "inf"
    values["sources"] = [_values(source) for source in candidate.sources]
    return values
