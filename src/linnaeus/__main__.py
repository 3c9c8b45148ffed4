"""`python -m linnaeus` is the same as `linnaeus`."""

from linnaeus.cli.main import run

if __name__ == "__main__":
    run()
