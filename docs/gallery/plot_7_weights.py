"""
What a node learned apart from its parent
=========================================

Weights of a node of a joint model against those of its parent. Words on the diagonal mean the same for both; the
named ones make the difference between this node and its siblings.
"""

from corpus import TAXONOMY, sample

from linnaeus import RRSVM, Pipeline, plots
from linnaeus.features import TextFeatures

model = Pipeline(RRSVM(taxonomy=TAXONOMY, random_state=0), TextFeatures()).fit(*sample(300, 0))
plots.plot_weights(model.estimator, "Dogs", model.features_.get_feature_names_out())
