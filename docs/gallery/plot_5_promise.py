"""
Coverage against risk
=====================

If only the most certain documents are answered, fewer answers are wrong. The dot is what a promise of 25 % reached
on new documents.
"""

import numpy as np
from corpus import TAXONOMY, sample

from linnaeus import OneVsRestLogistic, Pipeline, calibrate, metrics, plots
from linnaeus.features import TextFeatures

train, held_out, test = sample(150, 0), sample(1500, 1), sample(2000, 2)
model = Pipeline(OneVsRestLogistic(TAXONOMY, learn="closed", random_state=0), TextFeatures()).fit(*train)
calibrate(model, *held_out, cv=None)
names, certainty = model.top(test[0], k=1, probabilities=True)
curve = metrics.coverage_risk_curve(test[1], list(names[:, 0]), certainty[:, 0], TAXONOMY)
found = model.predict(test[0], risk=0.25, risk_of="answered", rules={"leaves_only": True})
coded = [i for i, labels in enumerate(found) if labels]
wrong = np.mean([found[i] != [test[1][i]] for i in coded]) if coded else 0.0
plots.plot_coverage_risk(curve, risk=0.25, reached=(len(coded) / len(found), float(wrong)))
