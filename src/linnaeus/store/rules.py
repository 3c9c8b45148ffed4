"""What a loaded model must be: its tables, rules that tables cannot express, and the classification of one document.

`RULES` has a check for every class that needs one, such as the order of parents in trees or of row ends; it is called
with an object that fits its table, and the sizes. `check_model` applies tables and rules, and classifies an empty
document, so that values that fit the tables but not each other are found here, and not by the first user. What is
prepared for it (the weights in the layout of the kernels) is used by all later documents.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from linnaeus.data.check import LabelCodec
from linnaeus.data.matrices import is_sparse
from linnaeus.decoding import Decoder
from linnaeus.decoding import decoder as make_decoder
from linnaeus.decoding.probability.curves import COHERENT, Calibrator
from linnaeus.decoding.probability.risk import LOSSES, RiskControl
from linnaeus.errors import LinnaeusError, StoreError, check_number
from linnaeus.features.sequences import Sequences
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.label_tree import LabelTree
from linnaeus.models.pruning import Subtrees
from linnaeus.pipeline import Pipeline
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
    lines,
    tables_of,
    within,
)
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import IntArray

if TYPE_CHECKING:
    from linnaeus.features.embedding import EmbeddedText
    from linnaeus.features.hashed import HashedText
    from linnaeus.features.kernel_map import KernelMap
    from linnaeus.features.side_by_side import SideBySide
    from linnaeus.features.spectrum import SpectrumFeatures
    from linnaeus.features.text import TextFeatures
    from linnaeus.lexical.model import LexicalModel
    from linnaeus.models.bayes.hblr import HBLR
    from linnaeus.models.mixed_scores import MixtureWeights
    from linnaeus.models.ranking.online import OnlineRanker
    from linnaeus.models.structured.global_tree import GlobalTreeModel
    from linnaeus.models.structured.hm3 import HM3
    from linnaeus.models.topdown.divide_and_conquer import DivideAndConquerSVM
    from linnaeus.models.topdown.rls import HierarchicalRLS

__all__ = ["RULES", "check_features", "check_model", "check_names", "check_taxonomy", "is_strings"]


def check_taxonomy(taxonomy: Taxonomy) -> None:
    """Raise an error unless arrays form a taxonomy: parents before children, nodes in the order of levels."""
    n, indptr, indices = taxonomy.n_nodes, taxonomy.parent_indptr, taxonomy.parent_indices
    if not n or len(set(taxonomy.names.tolist())) != n:
        raise StoreError("the names of the taxonomy are not unique")
    if taxonomy.display_labels is not None and len(taxonomy.display_labels) != n:
        raise StoreError(f"the taxonomy has {n} nodes and {len(taxonomy.display_labels)} display labels")
    if taxonomy.kind not in ("tree", "dag", "graph"):
        raise StoreError(f"the taxonomy is a {taxonomy.kind!r}; expected tree, dag or graph")
    check_pointers(indptr, n, len(indices), "the parents of the taxonomy")
    child, root = np.repeat(np.arange(n, dtype=np.int64), np.diff(indptr)), taxonomy.root
    keys = child * n + indices
    good = within(indices, 0, n) and bool((np.diff(keys) > 0).all())
    if taxonomy.kind == "graph":
        good = good and np.array_equal(np.sort(indices.astype(np.int64) * n + child), keys)
    else:
        good = good and bool((indices < child).all()) and (taxonomy.kind == "dag" or bool((np.diff(indptr) <= 1).all()))
        good = good and bool((np.diff(taxonomy.depth) >= 0).all())
    if not good:
        raise StoreError("the parents of the taxonomy are not in the order of its levels")
    if root is not None:
        top = isinstance(root, int) and not isinstance(root, bool) and 0 <= root < n and taxonomy.kind != "graph"
        if not top or np.flatnonzero(np.diff(indptr) == 0).tolist() != [root]:
            raise StoreError(f"root is {described(root)}; expected the only node without parents, or null")


def check_pointers(indptr: IntArray, n_rows: int, n_entries: int, what: str) -> None:
    good = len(indptr) == n_rows + 1 and int(indptr[0]) == 0 and int(indptr[-1]) == n_entries
    if not good or (np.diff(indptr.astype(np.int64)) < 0).any():
        raise StoreError(f"{what}: row ends do not rise from 0 to {n_entries}")


def _check_sequences(made: Sequences, sizes: Sizes) -> None:
    check_pointers(made.offsets, len(made.offsets) - 1, len(made.codes), "Sequences.offsets")
    if not all(isinstance(name, str) for name in made.names.values()):
        raise StoreError("Sequences.names are not strings")


def _check_calibrator(curve: Calibrator, sizes: Sizes) -> None:
    check_pointers(curve.indptr, len(curve.nodes), len(curve.x), "Calibrator.indptr")
    if curve.coherent not in COHERENT:
        raise StoreError(f"Calibrator.coherent is {curve.coherent!r}; expected one of {', '.join(COHERENT)}")
    if not (np.diff(curve.nodes) > 0).all():
        raise StoreError("Calibrator.nodes do not rise")
    if curve.coherent == "softmax" and (curve.labels is None or not curve.single):
        raise StoreError("Calibrator.coherent is 'softmax', but its labels are missing")
    if curve.labels is not None and not (np.diff(curve.labels) > 0).all():
        raise StoreError("Calibrator.labels do not rise")
    if curve.label_x is not None and not (len(curve.label_x) and (np.diff(curve.label_x) >= 0).all()):
        raise StoreError("Calibrator.label_x does not rise")


def _check_risk(control: RiskControl, sizes: Sizes) -> None:
    if control.loss not in LOSSES:
        raise StoreError(f"RiskControl.loss is {control.loss!r}; expected one of {', '.join(LOSSES)}")
    if not (is_sparse(control.P) and is_sparse(control.gold)):
        raise StoreError("RiskControl.P and RiskControl.gold are not sparse")
    if control.P.nnz and not (float(control.P.data.min()) >= 0 and float(control.P.data.max()) <= 1):
        raise StoreError("RiskControl.P holds numbers outside 0 .. 1")
    if not within(control.ordering, 0, 2):
        raise StoreError("RiskControl.ordering holds numbers other than 0 and 1")


def _check_label_tree(tree: LabelTree, sizes: Sizes) -> None:
    if not len(tree.parent) or tree.parent[0] != -1 or not (tree.parent[1:] >= 0).all():
        raise StoreError("LabelTree.parent: vertex 0 is not the only root")
    if not (tree.parent < np.arange(len(tree.parent))).all():
        raise StoreError("LabelTree.parent: a parent comes after its child")


def _check_subtrees(subtrees: Subtrees, sizes: Sizes) -> None:
    n, parent = sizes["vertices"], subtrees.parent
    if len(parent) != n + sizes["labels"] or not n or parent[0] != -1 or not (parent[1:] >= 0).all():
        raise StoreError("Subtrees.parent does not have one parent for every vertex and label")
    if not (parent[:n] < np.arange(n)).all():
        raise StoreError("Subtrees.parent: a parent comes after its child")


def _check_branching(model: GlobalTreeModel, sizes: Sizes) -> None:
    if model.branching_.shape != (sizes["labels"] + 1, int(model.R) + 2):
        raise StoreError(f"GlobalTreeModel.branching_ has the shape {model.branching_.shape}")


def _check_places(model: DivideAndConquerSVM, sizes: Sizes) -> None:
    """Every place is reached from the top along the edges, in their order."""
    reached = np.zeros(sizes["places"] + 1, bool)
    reached[-1] = True  # the top has the number -1
    for edge in model.order_.tolist():
        if not reached[model.parents_[edge]]:
            raise StoreError("DivideAndConquerSVM.order_: an edge comes before the one above it")
        reached[model.children_[edge]] = True
    if not reached[model.ends_].all() or (np.diff(model.parents_) < 0).any():
        raise StoreError("DivideAndConquerSVM: edges do not lead to every label")
    if not (np.abs(model.deviation_) > 1e-100).all():
        raise StoreError("DivideAndConquerSVM.deviation_ holds 0")


def _check_posterior(model: HBLR, sizes: Sizes) -> None:
    if model.likelihood_ not in ("softmax", "binary"):
        raise StoreError(f"HBLR.likelihood_ is {model.likelihood_!r}")
    if sizes["widths"] not in (1, sizes["inputs"]) or not (model.link_precisions_ > 0).all():
        raise StoreError("HBLR.link_precisions_ are not one positive number for every vertex or weight")


def _check_samples(model: object, sizes: Sizes) -> None:
    if not sizes["samples"]:
        raise StoreError("CorrMNL.samples_ is empty")


def _check_ridge(model: HierarchicalRLS, sizes: Sizes) -> None:
    """Columns, rows and factors of families (exact margins)."""
    rows = sizes["features"] if "weights_" in vars(model) else sizes["support"]
    for entry in model.leverage_ if isinstance(model.leverage_, list) else [None]:
        if not (isinstance(entry, list) and len(entry) == 3 and all(isinstance(a, np.ndarray) for a in entry)):
            raise StoreError(f"HierarchicalRLS.leverage_ is {described(entry)}; expected columns, rows and a factor")
        columns, documents, root = entry
        own: Sizes = {"labels": sizes["labels"], "rows": rows if "weights_" in vars(model) else len(documents)}
        table = lines("root float[rows, rank]\ncolumns int[some] below labels")
        check_table(table, {"root": root, "columns": columns}, own, "HierarchicalRLS.leverage_", deep=True)
        if documents.dtype.kind not in "iu" or ("weights_" not in vars(model) and not within(documents, 0, rows)):
            raise StoreError("HierarchicalRLS.leverage_ refers to documents that are not kept")


def _check_steps(model: OnlineRanker, sizes: Sizes) -> None:
    if "attribute_drift_" not in vars(model):
        return
    rows = len(model.attribute_weights_)
    if sizes["drifts"] != (rows if model._averaged else 0):
        raise StoreError("attribute_drift_ does not fit attribute_weights_")
    if not isinstance(vars(model).get("n_steps_"), int):
        raise StoreError("n_steps_ is missing")


def _check_labellings(model: HM3, sizes: Sizes) -> None:
    if model._labellings.width != sizes["width"]:
        raise StoreError(f"HM3: weights of {sizes['width']} labellings; expected {model._labellings.width}")


def _check_mixture(mixture: MixtureWeights, sizes: Sizes) -> None:
    n = sizes["sources"]
    if not is_strings(mixture.names) or not len(mixture.names) == len(set(mixture.names)) == n:
        raise StoreError("MixtureWeights.names are not unique names, one for every source")
    if sizes["terms"] != n + 1:
        raise StoreError("MixtureWeights.vertex_weights are not one for every source and a constant")


def _check_lexical(model: LexicalModel, sizes: Sizes) -> None:
    from linnaeus.lexical.candidates import FEATURES, LEARNED, OF_WHOLE

    if sizes["evidence"] not in (len(FEATURES), len(OF_WHOLE)) or sizes["learned"] != len(LEARNED):
        raise StoreError(
            f"LexicalModel has {sizes['evidence']} weights of evidence and {sizes['learned']} learned values of every "
            f"node; expected {len(FEATURES)} (or {len(OF_WHOLE)}, for whole labels only) and {len(LEARNED)}; train the "
            "model again"
        )


RULES: dict[str, Callable[[Any, Sizes], None]] = {
    "Calibrator": _check_calibrator,
    "CorrMNL": _check_samples,
    "DivideAndConquerSVM": _check_places,
    "GlobalTreeModel": _check_branching,
    "HBLR": _check_posterior,
    "HM3": _check_labellings,
    "HierarchicalPerceptron": _check_steps,
    "HierarchicalRLS": _check_ridge,
    "Hieron": _check_steps,
    "LabelTree": _check_label_tree,
    "LexicalModel": _check_lexical,
    "MixtureWeights": _check_mixture,
    "RiskControl": _check_risk,
    "Sequences": _check_sequences,
    "Subtrees": _check_subtrees,
}


# -- features ----------------------------------------------------------------------------------------------------------


def check_features(features: Any, deep: bool) -> int | None:
    """The number of columns of features; None if there are no features."""
    name = type(features).__name__
    if features is None:
        return None
    if name == "TextFeatures":
        return _text_width(features)
    if name == "HashedText":
        return _hashed_width(features)
    if name == "SpectrumFeatures":
        return _spectrum_width(features)
    if name in ("DenseFeatures", "FillMissing"):
        return _dense_width(features, deep)
    if name == "KernelMap":
        return _map_width(features, deep)
    if name == "EmbeddedText":
        return _embedded_width(features, deep)
    if name == "SideBySide":
        return _side_by_side_width(features, deep)
    raise StoreError(f"the features of the pipeline are {described(features)}")


def _embedded_width(features: EmbeddedText, deep: bool) -> int:
    """Width of terms and embedding, whose arrays must fit each other."""
    if type(features.features_).__name__ != "TextFeatures":
        raise StoreError(f"the terms of EmbeddedText are {described(features.features_)}")
    n_terms = _text_width(features.features_)
    if features.characters_ is not None:
        if type(features.characters_).__name__ != "TextFeatures":
            raise StoreError(f"the characters of EmbeddedText are {described(features.characters_)}")
        n_terms += _text_width(features.characters_)
    features._check_parameters()
    check_plain(Declared.of("weight_ float"), features.weight_, "EmbeddedText.weight_")
    check_number("weight_", features.weight_, least=0)
    vectors: Any = features.vectors_
    sizes: Sizes = {}
    if type(vectors).__name__ not in ("OwnVectors", "TextEncoder", "TokenVectors"):
        raise StoreError(f"the vectors of EmbeddedText are {described(vectors)}")
    own = type(vectors).__name__ == "OwnVectors"
    if own:
        sizes["words"] = len(vectors.terms)
        check_array(Declared.of("table float[words, width]"), vectors.table, sizes, "OwnVectors.table", deep)
        if not is_strings(vectors.terms.tolist()):
            raise StoreError("OwnVectors.terms are not strings")
    else:
        sizes["width"] = vectors.dimension
    table = "mean_ float[width]" + ("\nidf_ float[words]" if own else "\nidf_ null")
    check_table(lines(table), vars(features), sizes, "EmbeddedText", deep=deep)
    return n_terms + vectors.dimension


def _map_width(features: KernelMap, deep: bool) -> int:
    """Width of a kernel map, whose arrays must fit its input and each other."""
    features._check_parameters()
    sizes: Sizes = {}
    inputs = check_features(features.features_, deep)
    check_plain(Declared.of("n_features_in_ int"), features.n_features_in_, "KernelMap.n_features_in_")
    check_plain(Declared.of("gamma_ float"), features.gamma_, "KernelMap.gamma_")
    check_number("gamma_", features.gamma_, above=0)
    if inputs not in (None, features.n_features_in_):
        raise StoreError(f"KernelMap takes {features.n_features_in_} features, and {inputs} are made for it")
    sizes["inputs"] = features.n_features_in_
    table = "landmarks_ float[landmarks, width]\ncoefficients_ float[rows, columns]"
    table += "\nprojection_ float[inputs, width] or null\nlimits_ float[2, width] or null"
    if features.projection_ is None:
        sizes["width"] = features.n_features_in_
    check_table(lines(table), vars(features), sizes, "KernelMap", deep=deep)
    fourier = features.method == "fourier"
    if sizes["columns" if fourier else "rows"] != sizes["landmarks"] or (fourier and sizes["rows"] != 1):
        raise StoreError(f"KernelMap.coefficients_ has the shape {features.coefficients_.shape}")
    return sizes["columns"]


def _side_by_side_width(features: SideBySide, deep: bool) -> int:
    """Width of all parts, each of which takes the same vectors."""
    features._check_parameters()
    if type(features.values_).__name__ != "DenseFeatures":
        raise StoreError(f"the values of SideBySide are {described(features.values_)}")
    n_inputs, width = _dense_width(features.values_, deep), 0
    if not isinstance(features.scales_, list) or len(features.scales_) != len(features.parts_):
        raise StoreError(f"SideBySide.scales_ are {described(features.scales_)}; expected one for each part")
    for part, scale in zip(features.parts_, features.scales_, strict=True):
        check_plain(Declared.of("scale float"), scale, "SideBySide.scales_")
        check_number("scale", scale, above=0)
        inputs = part.features_ if type(part).__name__ == "KernelMap" else part
        takes = part.n_features_in_ if inputs is None else None
        if inputs is not None and type(inputs).__name__ != "DenseFeatures":
            raise StoreError(f"a part of SideBySide is {described(part)}; expected features of dense vectors")
        made = check_features(part, deep)
        takes = check_features(inputs, deep) if takes is None else takes
        if takes != n_inputs or made is None:
            raise StoreError(f"SideBySide takes {n_inputs} features, and a part of it {takes}")
        width += made
    return width


def _checked_fields(features: TextFeatures | HashedText, *switches: str) -> dict[str, float]:
    """Weights of all fields; they and the parameters have the types that the class declares."""
    features._check_parameters()
    kind, fields = type(features).__name__, {**features.weights_, **features.kinds_}
    check_names(fields, f"{kind}.weights")
    for name, weight in fields.items():
        check_plain(Declared.of("weight float"), weight, f"{kind}.weights[{name!r}]")
    for name in switches:
        check_plain(Declared.of(f"{name} bool"), getattr(features, name), f"{kind}.{name}")
    return fields


def _text_width(features: TextFeatures) -> int:
    for name, weight in _checked_fields(features, "lowercase", "sublinear_tf").items():
        terms = features.vocabulary_[name]
        if not is_strings(terms.tolist()) or len(set(terms.tolist())) != len(terms):
            raise StoreError(f"TextFeatures.terms of {name!r} are not unique strings")
        if name in features.weights_:
            if not len(terms):
                raise StoreError(f"TextFeatures.terms of {name!r} are empty")
            idf = features.idf_[name]
            check_array(
                Declared.of("idf float[terms]"), idf, {"terms": len(terms)}, f"TextFeatures.idf of {name!r}", True
            )
            if not np.abs(idf * weight).max() < 1e15:  # its square is finite in single precision
                raise StoreError(f"TextFeatures.idf of {name!r} is out of range")
    return sum(map(len, features.vocabulary_.values()))


def _hashed_width(features: HashedText) -> int:
    _checked_fields(features, "lowercase", "sublinear_tf", "signed")
    if not all(isinstance(count, int) and count > 0 for count in features.terms_.values()):
        raise StoreError("HashedText.counts are not positive numbers")
    return 2 ** int(features.bits)


def _spectrum_width(features: SpectrumFeatures) -> int:
    from linnaeus.features.spectrum import SpectrumKernel

    shared = {key: getattr(features, key) for key in ("p", "q", "weights", "unit", "alphabet", "unknown", "normalise")}
    SpectrumKernel(**shared)
    check_number("max_gap", features.max_gap, least=0, whole=True)
    check_number("decay", features.decay, above=0)
    if features.dtype not in ("float32", "float64") or features.p > 1000 or features.max_gap > 1000:
        raise StoreError("SpectrumFeatures: dtype, p or max_gap is out of range")
    vocabulary = features.vocabulary_
    for array in (vocabulary.letters, *vocabulary.numbers):
        check_array(Declared.of("numbers int[any]"), array, {}, "SpectrumFeatures.numbers", True)
        if array.dtype != np.int64 or (len(array) > 1 and not (np.diff(array) > 0).all()):
            raise StoreError("SpectrumFeatures: letters and numbers are not increasing")
    if not all(isinstance(name, str) for name in features.names_.values()):
        raise StoreError("SpectrumFeatures.names are not strings")
    return int(vocabulary.n_pieces)


def _dense_width(features: Any, deep: bool) -> int:
    filler = getattr(features, "filler_", features)
    sizes: Sizes = {}
    if filler.how not in ("mean", "median", "zero"):
        raise StoreError(f"FillMissing.how is {filler.how!r}")
    check_array(Declared.of("values float[features]"), filler.values_, sizes, "FillMissing.values", deep)
    if filler is not features:
        for name in ("mean_", "deviation_"):
            line = Declared.of(f"{name} float[features]")
            check_array(line, getattr(features, name), sizes, f"DenseFeatures.{name}", deep)
        if not (features.deviation_ > 1e-100).all():
            raise StoreError("DenseFeatures.deviation_ holds a number that is not above 0")
        for name in ("scale", "profiles"):
            check_plain(Declared.of(f"{name} bool"), getattr(features, name), f"DenseFeatures.{name}")
    return sizes["features"]


def is_strings(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def check_names(value: object, where: str) -> None:
    """Raise an error unless a value is a dictionary with strings as keys."""
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise StoreError(f"{where} is {described(value)}; expected values by name")


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
    check_codec(model.codec_, taxonomy)
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
        if type(model).__name__ == "SuggestionModel":
            continue  # it takes scores by label
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


def check_codec(codec: LabelCodec, taxonomy: Taxonomy) -> None:
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
