"""Compiled loops: arrays in, arrays out, serial, without the GIL; `tests/kernels/twins` has a NumPy twin of each."""
