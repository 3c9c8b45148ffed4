"""Speed and size, measured beside rivals in one run: ``python -m benchmarks NAME [options] [--json]``."""
