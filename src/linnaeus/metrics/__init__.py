"""How good are the answers? Measures on label sets, rankings and probabilities, and tests of differences.

Gold and predicted labels come as names, lists of names, path arrays or 0/1 indicators (`linnaeus.metrics.sets`), scores
as arrays or lists of (label, score) pairs (`linnaeus.metrics.ranking_input`). Every measure is a plain number (`Score`)
that also says how many documents it used and by which convention.
"""

from linnaeus.metrics.agreement import kappa_hierarchical, kappa_nodes
from linnaeus.metrics.auprc import au_prc
from linnaeus.metrics.calibration import (
    brier,
    calibration_by_level,
    coherence_violations,
    expected_calibration_error,
    reliability,
)
from linnaeus.metrics.comparison import compare
from linnaeus.metrics.flat import (
    example_f1,
    example_precision,
    example_recall,
    jaccard,
    label_table,
    macro_f1,
    macro_precision,
    macro_recall,
    micro_f1,
    micro_precision,
    micro_recall,
    subset_accuracy,
    zero_one_loss,
)
from linnaeus.metrics.friedman_test import friedman
from linnaeus.metrics.hierarchical import (
    h_loss,
    h_tilde_loss,
    hamming_loss,
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    level_scores,
    normalised_taxonomy_loss,
    symmetric_difference,
    taxonomy_loss,
    tree_induced_error,
)
from linnaeus.metrics.lca import lca_f1, lca_precision, lca_recall
from linnaeus.metrics.ranking_measures import (
    average_precision,
    coverage,
    maximal_loss,
    one_accuracy,
    parent_accuracy,
    r_precision,
    ranking_loss,
    top_loss,
)
from linnaeus.metrics.report import Report, evaluate
from linnaeus.metrics.resampling import bootstrap, bootstrap_metric, permutation_metric, permutation_test
from linnaeus.metrics.score import Score
from linnaeus.metrics.selective import binomial_interval, coverage_risk_curve, selective_risk
from linnaeus.metrics.sets import as_sets
from linnaeus.metrics.significance import (
    corrected_resampled_t,
    decision_sign_test,
    holm,
    mcnemar,
    sign_test,
    wilcoxon,
)
from linnaeus.metrics.top_k import (
    ndcg_at_k,
    precision_at_k,
    propensities,
    propensity_scored_precision_at_k,
    recall_at_k,
)

__all__ = [
    "Report",
    "Score",
    "as_sets",
    "au_prc",
    "average_precision",
    "binomial_interval",
    "bootstrap",
    "bootstrap_metric",
    "brier",
    "calibration_by_level",
    "coherence_violations",
    "compare",
    "corrected_resampled_t",
    "coverage",
    "coverage_risk_curve",
    "decision_sign_test",
    "evaluate",
    "example_f1",
    "example_precision",
    "example_recall",
    "expected_calibration_error",
    "friedman",
    "h_loss",
    "h_tilde_loss",
    "hamming_loss",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "holm",
    "jaccard",
    "kappa_hierarchical",
    "kappa_nodes",
    "label_table",
    "lca_f1",
    "lca_precision",
    "lca_recall",
    "level_scores",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "maximal_loss",
    "mcnemar",
    "micro_f1",
    "micro_precision",
    "micro_recall",
    "ndcg_at_k",
    "normalised_taxonomy_loss",
    "one_accuracy",
    "parent_accuracy",
    "permutation_metric",
    "permutation_test",
    "precision_at_k",
    "propensities",
    "propensity_scored_precision_at_k",
    "r_precision",
    "ranking_loss",
    "recall_at_k",
    "reliability",
    "selective_risk",
    "sign_test",
    "subset_accuracy",
    "symmetric_difference",
    "taxonomy_loss",
    "top_loss",
    "tree_induced_error",
    "wilcoxon",
    "zero_one_loss",
]
