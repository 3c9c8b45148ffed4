"""
A taxonomy with its data
========================

The area of a dot is the number of documents at a node or below it, its colour the F1 of a model on test documents.
Nodes that are small and dark need documents.
"""

from corpus import TAXONOMY, sample

from linnaeus import OneVsRestSVM, Pipeline, metrics, plots
from linnaeus.features import TextFeatures

train, test = sample(150, 0), sample(600, 1)
model = Pipeline(OneVsRestSVM(taxonomy=TAXONOMY, random_state=0), TextFeatures()).fit(*train)
report = metrics.evaluate(test[1], model.predict(test[0]), TAXONOMY, per_node=True)
plots.plot_taxonomy(TAXONOMY, train[1], values={row["label"]: row["f1"] for row in report.nodes}, value_name="F1")
