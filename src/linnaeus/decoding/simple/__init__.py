"""Decoders that decide node by node: the best label, thresholds, greedy descent."""
