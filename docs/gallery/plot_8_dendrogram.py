"""
A taxonomy learned from documents
=================================

Labels with similar documents are joined, the most similar first; cut links are dashed. The tree of the gallery's
documents is found again without being given.
"""

from corpus import sample
from matplotlib import pyplot as plt

from linnaeus.features import TextFeatures
from linnaeus.models.learn_taxonomy import learn_dendrogram

texts, labels = sample(1500, 0)
taxonomy, dendrogram = learn_dendrogram(TextFeatures().fit_transform(texts), labels)
print(taxonomy)
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
dendrogram.picture(axes)
