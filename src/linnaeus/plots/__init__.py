"""Pictures of taxonomies, answers, probabilities and models, drawn with matplotlib (extra ``plots``).

Every function takes ``ax``, the axes to draw on, makes a figure of its own without it, and returns the axes.
"""

from linnaeus.plots.answers import plot_confusion, plot_coverage_risk, plot_reliability
from linnaeus.plots.learning import LearningPoint, learning_curve, plot_learning_curve
from linnaeus.plots.reasons import plot_explanation, plot_weights
from linnaeus.plots.tree import plot_taxonomy

__all__ = [
    "LearningPoint",
    "learning_curve",
    "plot_confusion",
    "plot_coverage_risk",
    "plot_explanation",
    "plot_learning_curve",
    "plot_reliability",
    "plot_taxonomy",
    "plot_weights",
]
