"""
Reliability of probabilities
============================

How often labels are right that were given a probability. A model with too large a C promises too much; after
calibration on documents that it has not seen, the points lie close to the diagonal.
"""

from corpus import TAXONOMY, sample
from matplotlib import pyplot as plt

from linnaeus import OneVsRestLogistic, Pipeline, calibrate, plots
from linnaeus.features import TextFeatures

train, held_out, test = sample(150, 0), sample(800, 1), sample(2000, 2)
model = Pipeline(OneVsRestLogistic(TAXONOMY, C=100.0, learn="closed", random_state=0), TextFeatures()).fit(*train)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
plots.plot_reliability(test[1], model.node_probabilities(test[0]), TAXONOMY, ax=left)
left.set_title("as learned")
calibrate(model, *held_out, cv=None)
plots.plot_reliability(test[1], model.node_probabilities(test[0]), TAXONOMY, ax=right)
right.set_title("calibrated")
