"""
Learning curves: is the hierarchy worth it?
===========================================

A joint model and a flat one after learning from some of the documents. Here it is not: with eight labels, and one
per document, both are equal within one standard deviation over three draws (bands). Whether it is with your labels
takes three lines.
"""

from corpus import TAXONOMY, sample

from linnaeus import RRSVM, OneVsRestSVM, Pipeline, plots
from linnaeus.features import TextFeatures

train, test = sample(480, 0), sample(600, 1)
models = {
    "joint (RRSVM)": Pipeline(RRSVM(taxonomy=TAXONOMY, random_state=0), TextFeatures()),
    "flat (OneVsRestSVM)": Pipeline(OneVsRestSVM(taxonomy=TAXONOMY, random_state=0), TextFeatures()),
}
points = plots.learning_curve(models, *train, *test, sizes=[30, 60, 120, 240, 480])
plots.plot_learning_curve(points)
