"""The command line `linnaeus`: one file per command; heavy imports happen inside the commands."""
