"""Revisions of a taxonomy: correspondences of two versions, what changed, and proposals where nobody says."""

from linnaeus.revisions.compare import CHANGES, Change, Diff, compare
from linnaeus.revisions.correspondence import CodePair, Correspondence

__all__ = ["CHANGES", "Change", "CodePair", "Correspondence", "Diff", "compare"]
