"""
Confusion between siblings
==========================

Which nodes are taken for which of their siblings: first at the top, then among the leaves below one node. A table
of all leaves would hide that most errors stay within the family.
"""

from corpus import TAXONOMY, sample

from linnaeus import OneVsRestSVM, Pipeline, plots
from linnaeus.features import TextFeatures

train, test = sample(150, 0), sample(600, 1)
model = Pipeline(OneVsRestSVM(taxonomy=TAXONOMY, random_state=0), TextFeatures()).fit(*train)
answers = model.predict(test[0])
plots.plot_confusion(test[1], answers, TAXONOMY)

# %%
# Below ``Animals``:
plots.plot_confusion(test[1], answers, TAXONOMY, "Animals")
