"""Migration of labelled documents and of trained models to a new version of their taxonomy."""

from linnaeus.migration.documents import MigratedDocuments, double_code, migrate_documents
from linnaeus.migration.models import MigratedModel, NodeOrigin, migrate_model

__all__ = [
    "MigratedDocuments",
    "MigratedModel",
    "NodeOrigin",
    "double_code",
    "migrate_documents",
    "migrate_model",
]
