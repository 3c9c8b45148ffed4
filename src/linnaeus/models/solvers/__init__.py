"""Faces of the solver kernels: prepare arrays, run epochs, certify."""
