"""The learned values of every class in a model file: names, kinds and shapes, and the validation of values.

A line of a table declares one value: ``name kind``. A name that ends in "?" may be absent; ``or null`` allows None.

    float[features, labels] sparse    finite numbers of this shape; "sparse" also allows a CSR array
    int[labels] below nodes unique    integers from 0 (or "from -1") to below a size
    int, float, bool, str             a single value
    Calibrator                        an object of this class, which has a table of its own
    diagnostic                        a value that predictions do not depend on

Sizes have names: ``nodes`` (of the taxonomy), ``labels`` (that the model answers), ``features``, and ``inputs``:
features and, where the model has one, the constant. A name that is not known yet is fixed by the first array that has
it, so that shapes are compared with each other. A learned value that is not declared is refused when a model is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.data.matrices import is_sparse
from linnaeus.errors import StoreError
from linnaeus.typing import Array, IntArray

__all__ = [
    "KERNELS",
    "LARGE",
    "ON_SEQUENCES",
    "TABLES",
    "Declared",
    "Sizes",
    "check_array",
    "check_plain",
    "check_table",
    "described",
    "lines",
    "tables_of",
    "within",
]

LARGE = 2**30  # bytes; the values of larger arrays are validated only on request
MOST = {"float16": 65504.0, "float32": 1e18, "float64": 1e100}  # products and sums of larger numbers are not finite

Sizes = dict[str, int]


@dataclass(frozen=True)
class Declared:
    """One line of a table."""

    name: str
    optional: bool
    kind: str
    shape: tuple[str, ...] | None
    sparse: bool
    least: int
    below: str | None
    unique: bool
    null: bool

    @classmethod
    def of(cls, line: str) -> Declared:
        """Parse a line.

        Examples
        --------
        >>> found = Declared.of("parents_? int[edges] from -1 below places or null")
        >>> found.name, found.shape, found.least, found.below, found.optional and found.null
        ('parents_', ('edges',), -1, 'places', True)
        """
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"not a declaration: {line!r}")
        name, optional, kind, shape, sparse, least, below, unique, null = match.groups()
        sizes = None if shape is None else tuple(size.strip() for size in shape.split(","))
        return cls(name, bool(optional), kind, sizes, bool(sparse), int(least or 0), below, bool(unique), bool(null))


_LINE = re.compile(
    r"(\w+)(\?)? (\w+)(?:\[([^\]]*)\])?( sparse)?(?: from (-?\d+))?(?: below ([\w+]+))?( unique)?( or null)?"
)


def lines(table: str) -> list[Declared]:
    """The declarations of a table, one on each line."""
    return [Declared.of(line) for line in table.strip().splitlines()]


def check_table(
    table: list[Declared],
    found: Mapping[str, object],
    sizes: Sizes,
    owner: str,
    *,
    deep: bool = False,
    check_object: Callable[[str, object, str], None] | None = None,
) -> None:
    """Raise an error for values that do not fit a table; ``check_object(kind, value, where)`` validates objects."""
    for line in table:
        where = f"{owner}.{line.name}"
        if line.name not in found:
            if not line.optional:
                raise StoreError(f"{where} is missing")
            continue
        value = found[line.name]
        if (value is None and line.null) or line.kind == "diagnostic":
            continue
        if line.shape is not None:
            check_array(line, value, sizes, where, deep)
        elif line.kind in _PLAIN:
            check_plain(line, value, where)
        elif check_object is not None:
            check_object(line.kind, value, where)
    for line in table:  # ranges may refer to sizes of later lines
        value = found.get(line.name)
        if line.below is not None and value is not None:
            _check_range(line, value, sizes, f"{owner}.{line.name}")


_PLAIN: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


def check_plain(line: Declared, value: object, where: str) -> None:
    good = isinstance(value, _PLAIN[line.kind]) and isinstance(value, bool) == (line.kind == "bool")
    if good and isinstance(value, (int, float)) and line.kind in ("int", "float"):
        good = bool(np.isfinite(float(value))) and (line.kind == "float" or 0 <= value < 2**63)
    if not good:
        raise StoreError(f"{where} is {described(value)}; expected {line.kind}")


def check_array(line: Declared, value: object, sizes: Sizes, where: str, deep: bool) -> None:
    shape = line.shape or ()
    if not (isinstance(value, np.ndarray) or (line.sparse and is_sparse(value))):
        raise StoreError(f"{where} is {described(value)}; expected an array of {line.kind}")
    if line.kind == "str":
        good = value.dtype == object and all(isinstance(text, str) for text in np.ravel(np.asarray(value)))
    else:
        good = value.dtype.kind in {"float": "f", "int": "iu", "number": "iuf"}[line.kind]
        good = good and value.dtype != np.float16
    if not good:
        raise StoreError(f"{where} is an array of {value.dtype}; expected {line.kind}")
    fits = len(value.shape) == len(shape)
    for name, size in zip(shape, value.shape, strict=False):
        fits = fits and sizes.setdefault(name, size) == size if not name.isdecimal() else fits and int(name) == size
    if not fits:
        wanted = ", ".join(name if name.isdecimal() else f"{name} ({sizes.get(name, '?')})" for name in shape)
        raise StoreError(f"{where} has the shape {tuple(value.shape)}; expected [{wanted}]")
    if value.dtype.kind == "f":
        _check_finite(value.data if is_sparse(value) else value, where, deep)


def _check_finite(values: Array, where: str, deep: bool) -> None:
    """Raise an error for NaN, infinity, and numbers whose products would be infinite."""
    if not values.size or (values.nbytes > LARGE and not deep):
        return
    low, high = float(values.min()), float(values.max())
    most = MOST[values.dtype.name]
    if not (-most <= low and high <= most):
        bad = high if not high <= most else low
        raise StoreError(f"{where} holds {bad:g}; expected finite numbers of at most {most:g}")


def _check_range(line: Declared, values: Any, sizes: Sizes, where: str) -> None:
    name, plus, more = (line.below or "").partition("+")
    limit = sizes[name] + (int(more) if plus else 0)
    if values.size and not (int(values.min()) >= line.least and int(values.max()) < limit):
        raise StoreError(f"{where} holds numbers outside {line.least} .. {limit - 1} ({line.below})")
    if line.unique and len(np.unique(values)) != values.size:
        raise StoreError(f"{where} holds a number twice")


def within(values: IntArray, least: int, limit: int) -> bool:
    return not values.size or (int(values.min()) >= least and int(values.max()) < limit)


def described(value: object) -> str:
    """A value in a message: its type, and its value if that is short."""
    shown = repr(value)
    return f"a {type(value).__name__}" if len(shown) > 40 else f"{shown} ({type(value).__name__})"


_TABLES: dict[str, str] = {
    "model": """
        taxonomy_ Taxonomy
        nodes_ int[labels] below nodes unique
        codec_ LabelCodec
        closed_ bool
        one_label_ bool
        nested_ bool
        some_empty_? bool
        n_features_in_? int
        feature_names_in_? str[features]
        calibrator_? Calibrator or null
        risk_control_? RiskControl or null
        carried_nodes_? int[carried_nodes] below nodes unique or null
        one_path_? bool
        kept_? KeptDocuments or null
        prune_threshold_? diagnostic
        objective_? diagnostic
        objectives_? diagnostic
        objective_curve_? diagnostic
        duality_gap_? diagnostic
        violation_? diagnostic
        n_iter_? diagnostic
        n_touched_? diagnostic
        n_updates_? diagnostic
        n_skipped_? diagnostic
        n_support_? diagnostic
        n_docs_? diagnostic
        n_labels_? diagnostic
        n_steps_? int
        active_ratio_? diagnostic
        mean_slack_? diagnostic
        margin_? diagnostic
        converged_? diagnostic
        unfinished_? diagnostic
        time_limit_reached_? diagnostic
        history_? diagnostic
        change_? diagnostic
        acceptance_? diagnostic
        r_hat_? diagnostic
        effective_sample_size_? diagnostic
        """,
    "pruned": """
        base_weights_? float[features] or null
        subtrees_? Subtrees or null
        """,
    "linear": """
        weights_ float[features, labels] sparse
        intercept_ float[labels]
        base_weights_? float[features] or null
        subtrees_? Subtrees or null
        """,
    "label texts": """
        n_documents_? int[labels] or null
        label_weights_? float[features, labels] sparse or null
        """,
    "stops": """
        stop_nodes_ int[stops] below nodes unique
        stop_weights_ float[features, stops] sparse
        stop_intercept_ float[stops]
        """,
    "kernel": "kernel_ Kernel",
    "leverage": "leverage_ diagnostic",
    "kernel ridge": """
        intercept_ float[labels]
        stop_nodes_ int[stops] below nodes unique
        stop_weights_ float[one, stops] sparse
        stop_intercept_ float[stops]
        dual_coef_ float[support, labels] sparse
        documents_ Documents
        """,
    "HM3": "label_nodes_ int[ends] below nodes unique",
    "labellings": """
        weights_ float[features, width]
        intercept_ float[width]
        """,
    "kernel labellings": """
        coefficients_ float[support, width]
        documents_ Documents
        """,
    "class attributes": """
        class_attributes_ float[labels, attributes] sparse
        set_size_? Decoder or null
        """,
    "no coefficients": "dual_coef_? diagnostic",
    "support": """
        weights_ diagnostic
        intercept_ diagnostic
        dual_coef_ float[support, labels] sparse
        support_documents_ Documents
        """,
    "attributes": """
        attributes_ float[labels, attributes] sparse
        attribute_keys_ int[attributes]
        set_size_? Decoder or null
        class_shift_? float[labels] or null
        """,
    "pruned attributes": """
        pruned_weights_ float[features, labels] sparse
        pruned_intercept_ float[labels]
        """,
    "linear attributes": """
        attribute_weights_ float[inputs, attributes]
        attribute_drift_ float[drifts, attributes]
        label_features_? float[nodes, features] sparse or null
        ranked_nodes_? int[ranked] below nodes unique
        start_weights_? float[places, features] sparse or null
        mean_document_? float[features]
        document_weight_? float
        text_strength_? float
        group_slope_? float[groups]
        group_shift_? float[groups]
        trial_? Models or null
        trial_documents_? int[nodes]
        met_nodes_? int[met] below nodes unique
        held_documents_? float[held, features] sparse or null
        held_labels_? number[held, nodes] sparse or null
        """,
    "kernel attributes": """
        attribute_weights_ float[support, attributes]
        attribute_drift_ float[drifts, attributes]
        support_documents_ Documents
        """,
    "EdgePA": """
        states_ int[2, nodes] from -2 below states
        label_nodes_ int[ends] below nodes unique
        """,
    "GlobalTreeModel": """
        label_nodes_ int[ends] below nodes unique
        branching_nodes_ int[labels] below nodes unique
        branching_ float[tops, branches]
        branching_shared_ float[branches]
        """,
    "DivideAndConquerSVM": """
        places_ number[labels, places] sparse
        parents_ int[edges] from -1 below places
        children_ int[edges] below places
        order_ int[edges] below edges unique
        ends_ int[labels] below places
        weights_ float[features, edges] sparse
        intercept_ float[edges]
        deviation_ float[edges]
        set_size_? Decoder or null
        """,
    "HBLR": """
        tree_ LabelTree
        std_ float[features, labels] or null
        intercept_std_ float[labels] or null
        covariance_ float[labels, inputs, inputs] or null
        link_precisions_ float[vertices, widths]
        lower_bounds_? diagnostic
        likelihood_ str
        """,
    "CorrMNL": """
        samples_ float[samples, labels, inputs]
        weights_ float[features, labels]
        intercept_ float[labels]
        """,
    "LexicalModel": """
        evidence_weights_ float[evidence]
        evidence_intercept_ float
        node_evidence_ float[nodes, learned]
        unmatched_ float[labels]
        cut_ float
        describes_nodes_? bool
        """,
    "SuggestionModel": "least_ float",
    "Mixture": """
        sources_ Models
        mixture_ MixtureWeights
        dense_ bool
        """,
    "MixtureWeights": """
        nodes int[labels] below nodes unique
        slope float[labels, sources]
        offset float[labels, sources]
        prior float[labels]
        weights float[labels, sources]
        intercept float[labels]
        vertices int[vertices] from -1 below nodes unique
        vertex_weights float[vertices, terms]
        single bool
        objective float
        gap float
        n_iter int
        closed? bool
        raised float[labels]
        relative? int[relative] below labels unique
        """,
    "LabelTree": """
        parent int[vertices] from -1 below vertices
        leaves int[labels] below vertices unique
        node int[vertices] from -1 below nodes
        """,
    "Subtrees": """
        weights float[features, vertices] sparse
        parent int[columns] from -1 below vertices
        """,
    "Calibrator": """
        nodes int[curves] below nodes unique
        slope float[curves]
        offset float[curves]
        indptr int[ends] below knots+1
        x float[knots]
        y float[knots]
        coherent str
        own bool
        labels? int[carried] below nodes unique or null
        single? bool
        label_slope? float
        label_x? float[label_knots] or null
        label_y? float[label_knots] or null
        """,
    "RiskControl": """
        P float[documents, nodes] sparse
        gold number[documents, nodes] sparse
        ordering int[documents]
        nodes int[levels] below nodes unique
        loss str
        exact bool
        single bool
        """,
    "KeptDocuments": """
        X float[kept, features] sparse
        names str[kept]
        Y number[kept, nodes] sparse
        lengths? float[kept] or null
        labels? number[kept, nodes] sparse or null
        """,
    "LabelCodec": """
        kind str
        dtype str
        width int
        sparse bool
        """,
    "RBF": "gamma float",
    "Polynomial": """
        gamma float
        degree int
        coef0 float
        """,
}

_TOPDOWN = ("model", "linear", "stops")
_LINEAR = ("model", "linear")
# The tables of every model without a kernel; for the others see `_with_kernel`.
_MODELS: dict[str, tuple[str, ...]] = {
    "OneVsRestSVM": _LINEAR,
    "OneVsRestLogistic": _LINEAR,
    "MulticlassSVM": _LINEAR,
    "SoftmaxRegression": _LINEAR,
    "OneVsRestPA": _LINEAR,
    "RRSVM": (*_LINEAR, "label texts"),
    "RRLogistic": (*_LINEAR, "label texts"),
    "TopDownSVM": _TOPDOWN,
    "NodeSVM": _TOPDOWN,
    "OrthogonalTransfer": _TOPDOWN,
    "EdgePA": (*_TOPDOWN, "EdgePA"),
    "GlobalTreeModel": (*_LINEAR, "GlobalTreeModel"),
    "DivideAndConquerSVM": ("model", "DivideAndConquerSVM"),
    "HBLR": (*_LINEAR, "HBLR"),
    "CorrMNL": ("model", "CorrMNL"),
    "LexicalModel": ("model", "LexicalModel"),
    "Mixture": ("model", "Mixture"),
    "SuggestionModel": ("model", "SuggestionModel"),
}

TABLES = {name: lines(table) for name, table in _TABLES.items()}
ON_SEQUENCES = ("SpectrumKernel", "SubsequenceKernel")
KERNELS = ("Linear", "RBF", "Polynomial", "Precomputed", *ON_SEQUENCES)


def tables_of(model: object) -> list[Declared]:
    """The declarations of a model; those of models with kernels depend on the kernel and on the kept values."""
    name = type(model).__name__
    chosen = _MODELS[name] if name in _MODELS else ("model", "kernel", *_with_kernel(model, name))
    return [line for table in chosen for line in TABLES[table]]


def _with_kernel(model: object, name: str) -> tuple[str, ...]:
    linear = isinstance(kernel := getattr(model, "kernel", None), str) and kernel == "linear"
    if name == "HierarchicalRLS":
        return ("linear", "stops", "leverage") if "weights_" in vars(model) else ("leverage", "kernel ridge", "pruned")
    if name == "HM3":
        return ("HM3", "labellings") if "weights_" in vars(model) else ("HM3", "kernel labellings")
    if name == "HierarchicalSVM":
        return (
            ("class attributes", "linear", "no coefficients", "label texts")
            if linear
            else ("class attributes", "support", "pruned")
        )
    if "pruned_weights_" in vars(model):
        return ("attributes", "pruned", "pruned attributes", "label texts")
    return (
        ("attributes", "pruned", "linear attributes", "label texts")
        if linear
        else ("attributes", "pruned", "kernel attributes")
    )
