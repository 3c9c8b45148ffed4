"""Recursive regularisation: all nodes learned together, each pulled towards its neighbours in the taxonomy."""
