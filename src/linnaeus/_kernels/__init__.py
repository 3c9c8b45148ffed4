"""Compiled loops: arrays in, arrays out, serial, without the GIL. `reference.py` has a readable twin of each."""
