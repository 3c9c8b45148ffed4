"""Decoders that learn from held-out scores where to cut."""
