"""Saving and loading models without executing anything."""

from linnaeus.store.folder import check_target, load, read_manifest, save

__all__ = ["check_target", "load", "read_manifest", "save"]
