"""The best answer by default: features, model, C and cut chosen on held-out training documents."""

from linnaeus.auto.classifier import AutoClassifier
from linnaeus.auto.search import AutoReport

__all__ = ["AutoClassifier", "AutoReport"]
