"""Migration of labelled documents and of trained models to a new version of their taxonomy."""

from linnaeus.migration.documents import MigratedDocuments, double_code, migrate_documents

__all__ = ["MigratedDocuments", "double_code", "migrate_documents"]
