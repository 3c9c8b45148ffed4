"""
Why a document went where it did
================================

For each node of the path: the words for it and against it. The bars of a node add up to its score.
"""

from corpus import TAXONOMY, sample

from linnaeus import RRSVM, Pipeline, plots
from linnaeus.features import TextFeatures

model = Pipeline(RRSVM(taxonomy=TAXONOMY, learn="closed", random_state=0), TextFeatures()).fit(*sample(300, 0))
plots.plot_explanation(model.explain("a silent wing at night over the forest road"), k=5)
