"""What every class in a model file has learned: names, kinds and shapes (see `declared`), in one place.

Sizes of a model are ``nodes`` (of its taxonomy), ``labels`` (that it answers), ``features``, and ``inputs``: features
and, where the model has one, the constant. A learned value that is not here is refused when a model is loaded.
"""

from __future__ import annotations

from typing import Any

from linnaeus.store.declared import Declared, lines

__all__ = ["KERNELS", "ON_SEQUENCES", "TABLES", "tables_of"]

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
        """,
    "pruned attributes": """
        pruned_weights_ float[features, labels] sparse
        pruned_intercept_ float[labels]
        """,
    "linear attributes": """
        attribute_weights_ float[inputs, attributes]
        attribute_drift_ float[drifts, attributes]
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
    "RRSVM": _LINEAR,
    "RRLogistic": _LINEAR,
    "TopDownSVM": _TOPDOWN,
    "NodeSVM": _TOPDOWN,
    "OrthogonalTransfer": _TOPDOWN,
    "EdgePA": (*_TOPDOWN, "EdgePA"),
    "GlobalTreeModel": (*_LINEAR, "GlobalTreeModel"),
    "DivideAndConquerSVM": ("model", "DivideAndConquerSVM"),
    "HBLR": (*_LINEAR, "HBLR"),
    "CorrMNL": ("model", "CorrMNL"),
}

TABLES = {name: lines(table) for name, table in _TABLES.items()}
ON_SEQUENCES = ("SpectrumKernel", "SubsequenceKernel")
KERNELS = ("Linear", "RBF", "Polynomial", "Precomputed", *ON_SEQUENCES)


def tables_of(model: Any) -> list[Declared]:
    """The declarations of a model; those of models with kernels depend on the kernel and on what was kept."""
    name = type(model).__name__
    chosen = _MODELS[name] if name in _MODELS else ("model", "kernel", *_with_kernel(model, name))
    return [line for table in chosen for line in TABLES[table]]


def _with_kernel(model: Any, name: str) -> tuple[str, ...]:
    linear = isinstance(model.kernel, str) and model.kernel == "linear"
    if name == "HierarchicalRLS":
        return ("linear", "stops", "leverage") if "weights_" in vars(model) else ("leverage", "kernel ridge", "pruned")
    if name == "HM3":
        return ("HM3", "labellings") if "weights_" in vars(model) else ("HM3", "kernel labellings")
    if name == "HierarchicalSVM":
        return (
            ("class attributes", "linear", "no coefficients") if linear else ("class attributes", "support", "pruned")
        )
    if "pruned_weights_" in vars(model):
        return ("attributes", "pruned", "pruned attributes")
    return ("attributes", "pruned", "linear attributes") if linear else ("attributes", "pruned", "kernel attributes")
