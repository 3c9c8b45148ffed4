"""Probabilities of nodes: curves, coherence, answers of least expected cost and of bounded risk."""
