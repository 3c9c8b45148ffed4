"""Experiments: every model on one problem, compared, and the report of it."""
