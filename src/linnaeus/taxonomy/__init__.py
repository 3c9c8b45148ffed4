"""Trees, DAGs and graphs of nodes: the taxonomy and everything that can be asked of it without documents."""

from linnaeus.taxonomy.names import Deprecated
from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["Deprecated", "Taxonomy"]
