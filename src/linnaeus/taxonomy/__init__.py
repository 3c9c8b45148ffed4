"""Trees, DAGs and graphs of nodes: the taxonomy and everything that can be asked of it without documents."""

from linnaeus.taxonomy.taxonomy import Deprecated, Taxonomy

__all__ = ["Deprecated", "Taxonomy"]
