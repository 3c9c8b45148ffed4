"""Trees, DAGs and graphs of nodes: the taxonomy and everything that can be asked of it without documents."""

from linnaeus.taxonomy.names import Deprecated
from linnaeus.taxonomy.search import Match
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.taxonomy.texts import NodeText, Texts

__all__ = ["Deprecated", "Match", "NodeText", "Taxonomy", "Texts"]
