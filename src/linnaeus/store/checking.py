"""Validation of a loaded model: its tables, its rules, and the classification of one empty document.

The document is classified so that values that fit the tables but not each other are found here, and not by the first
user. What is prepared for it (the weights in the layout of the kernels) is used by all later documents.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from linnaeus.data.kinds import LabelCodec
from linnaeus.decoding import Decoder
from linnaeus.decoding import decoder as make_decoder
from linnaeus.errors import LinnaeusError, StoreError
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.pipeline import Pipeline
from linnaeus.store.rules import RULES, check_features, check_names, is_strings
from linnaeus.store.tables import (
    KERNELS,
    ON_SEQUENCES,
    TABLES,
    Declared,
    Sizes,
    check_array,
    check_plain,
    check_table,
    described,
    tables_of,
    within,
)
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import IntArray

__all__ = ["check_model"]


def check_model(model: object, *, deep: bool = False) -> None:
    """Raise an error if the values of a loaded model or pipeline are inconsistent; ``deep`` also reads large arrays."""
    try:
        if isinstance(model, Pipeline):
            _check_pipeline(model, deep)
        elif isinstance(model, TaxonomyClassifier):
            _check_classifier(model, deep)
        else:
            raise StoreError(f"expected a model, found {described(model)}")
    except StoreError:
        raise
    except LinnaeusError as error:
        raise StoreError(str(error)) from error


def _check_pipeline(pipe: Pipeline, deep: bool) -> None:
    if not isinstance(pipe.model_, TaxonomyClassifier):
        raise StoreError(f"the model of the pipeline is {described(pipe.model_)}")
    _check_classifier(pipe.model_, deep)
    width = check_features(pipe.features_, deep)
    expected = getattr(pipe.model_, "n_features_in_", None)
    if width is not None and width != expected:
        raise StoreError(f"the features have {width} columns, but the model expects {expected}")
    names = pipe.feature_names_
    if hasattr(pipe.features_, "vectors"):  # names are of the vectors before the map
        expected = getattr(pipe.features_, "n_features_in_", None)
    if names is not None and not (is_strings(names) and (expected is None or len(names) == expected)):
        raise StoreError(f"feature_names are not {expected} names")
    check_names(dict(pipe.about_), "about")
    if pipe.decoder_ is not None:
        _try_decoder(pipe.decoder_, pipe.model_)


def _check_classifier(model: TaxonomyClassifier, deep: bool) -> None:
    name = type(model).__name__
    model._check_parameters()
    if not isinstance(model.taxonomy, (Taxonomy, type(None))):
        raise StoreError(f"taxonomy is {described(model.taxonomy)}")
    learned = {key: value for key, value in vars(model).items() if key.endswith("_")}
    taxonomy, nodes = learned.get("taxonomy_"), learned.get("nodes_")
    if not isinstance(taxonomy, Taxonomy) or not isinstance(nodes, np.ndarray):
        raise StoreError("the model has no taxonomy_ or no nodes_")
    sizes: Sizes = {"nodes": taxonomy.n_nodes, "labels": len(nodes), "states": 3}
    features = learned.get("n_features_in_")
    if features is not None:
        check_plain(Declared.of("n_features_in_ int"), features, "n_features_in_")
        sizes["features"] = features
        sizes["inputs"] = features + bool(getattr(model, "fit_intercept", False))
    elif type(learned.get("kernel_")).__name__ not in ON_SEQUENCES and not model.takes_documents:
        raise StoreError(f"{name}.n_features_in_ is missing")
    tables = tables_of(model)
    known = {line.name for line in tables}
    strange = sorted(set(learned) - known)
    if strange:
        raise StoreError(f"{name} does not learn {strange[0]!r}")
    check_table(
        tables,
        learned,
        sizes,
        name,
        deep=deep,
        check_object=lambda kind, value, where: _check_object(kind, value, where, sizes, learned, deep),
    )
    if not len(nodes):
        raise StoreError(f"{name}.nodes_ is empty")
    check_codec(model.codec_, taxonomy, nodes)
    if name in RULES:
        RULES[name](model, sizes)
    if learned.get("set_size_") is not None:
        _try_decoder(make_decoder(**learned["set_size_"]), model)
    _try(model)


def _check_object(kind: str, value: Any, where: str, sizes: Sizes, beside: Mapping[str, object], deep: bool) -> None:
    """An object with a table of its own, or one of the kinds that several classes are."""
    name = type(value).__name__
    if kind == "Decoder":
        check_names(value, where)
        make_decoder(**value)
        return
    if kind == "Models":
        _check_sources(value, sizes, where, deep)
        return
    if kind == "Documents":
        _check_documents(value, beside.get("kernel_"), sizes, where, deep)
        return
    if name not in (KERNELS if kind == "Kernel" else (kind,)):
        raise StoreError(f"{where} is {described(value)}; expected a {kind}")
    if kind == "Taxonomy":
        return
    own = {key: size for key, size in sizes.items() if key in ("nodes", "labels", "features", "inputs")}
    if kind == "MixtureWeights" and not np.array_equal(value.nodes, np.asarray(beside["nodes_"])):
        raise StoreError(f"{where}.nodes are not those of the mixture")
    check_table(TABLES.get(name, []), vars(value), own, where, deep=deep)
    if name in RULES:
        RULES[name](value, own)
    if name == "LabelTree":
        sizes["vertices"] = own["vertices"]


def _check_sources(value: object, sizes: Sizes, where: str, deep: bool) -> None:
    """The sources of a mixture: models or pipelines for its documents."""
    if not isinstance(value, list) or not value:
        raise StoreError(f"{where} is {described(value)}; expected a list of models")
    for source in value:
        check_model(source, deep=deep)
        model = source.model_ if isinstance(source, Pipeline) and source.features_ is None else source
        if isinstance(model, TaxonomyClassifier) and getattr(model, "n_features_in_", None) != sizes.get("features"):
            raise StoreError(f"{where}: a source takes other features than the mixture")


def _check_documents(value: Any, kernel: object, sizes: Sizes, where: str, deep: bool) -> None:
    """Documents kept for a kernel: sequences, columns of a Gram matrix, or rows of X, one for each coefficient."""
    wanted = {"Precomputed": "GramRows", **dict.fromkeys(ON_SEQUENCES, "Sequences")}
    expected, given = wanted.get(type(kernel).__name__, "rows of X"), type(value).__name__
    if expected == "rows of X":
        check_array(Declared.of("documents float[support, features] sparse"), value, sizes, where, deep)
        return
    if given != expected:
        raise StoreError(f"{where} is {described(value)}; expected {expected}")
    if expected == "Sequences":
        RULES["Sequences"](value, sizes)
    elif not isinstance(n_docs := getattr(kernel, "n_docs", None), int) or not within(value.numbers, 0, n_docs):
        raise StoreError(f"{where} numbers documents outside the Gram matrix")
    if sizes.setdefault("support", len(value)) != len(value):
        raise StoreError(f"{where} has {len(value)} documents; expected {sizes['support']}")


def check_codec(codec: LabelCodec, taxonomy: Taxonomy, nodes: IntArray) -> None:
    """Raise an error for kinds and types of labels that predictions cannot be converted to."""
    if codec.kind not in ("labels", "sets", "paths", "indicator"):
        raise StoreError(f"codec_.kind is {codec.kind!r}; expected labels, sets, paths or indicator")
    numeric = codec.dtype not in ("str", "bytes", "object")
    if numeric and np.dtype(codec.dtype).kind not in ("biuf" if codec.kind == "indicator" else "biu"):
        raise StoreError(f"codec_.dtype is {codec.dtype!r}; expected the type of a label")
    if codec.kind == "indicator" and not numeric:
        raise StoreError(f"codec_.dtype is {codec.dtype!r}; expected the type of a number")
    if codec.columns is not None and codec.kind == "labels":
        if len(codec.columns) != 1 or not isinstance(codec.columns[0], str):
            raise StoreError(f"codec_.columns is {codec.columns!r}; expected the name of the column of labels")
    elif codec.columns is not None:
        unknown = [name for name in codec.columns if not isinstance(name, str) or name not in taxonomy]
        if codec.kind != "indicator" or unknown:
            raise StoreError(f"codec_.columns has {unknown[:1]}; expected names of nodes, for an indicator")
    if codec.width > 2**31:
        raise StoreError(f"codec_.width is {codec.width}")
    codec.values(taxonomy.names)


def _try(model: TaxonomyClassifier) -> None:
    """Classify one empty document; what is prepared for it is used by all later ones."""
    from scipy import sparse

    if not hasattr(model, "n_features_in_") and (not model.takes_documents or hasattr(model, "sources_")):
        return  # which fields the documents of a mixture have is known to its sources only, which were tried
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        X: Any = [""] if model.takes_documents else sparse.csr_array((1, model.n_features_in_), dtype=np.float32)
        S = model._scores(model._check_X(X, reset=False))
        if S.shape != (1, len(model.nodes_)) or not np.isfinite(S).all():
            raise StoreError(f"the scores of an empty document are not {len(model.nodes_)} finite numbers")
        model.answers(X)


def _try_decoder(decoder: Decoder, model: TaxonomyClassifier) -> None:
    """Decide on scores of 0, and of 1."""
    if getattr(decoder, "fitted", True) is not True:
        raise StoreError(f"the decoder {decoder.name} is not fitted")
    for score in (0.0, 1.0):
        decoder(np.full((2, len(model.nodes_)), score), model.taxonomy_, model.nodes_)
