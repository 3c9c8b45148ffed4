"""`linnaeus serve` without its packages is one clear sentence; what it does with them is in tests/serve."""

from __future__ import annotations


def test_without_the_extra_the_error_says_what_to_install(linnaeus, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("linnaeus.cli.serve.find_spec", lambda name: None)
    result = linnaeus("serve", tmp_path)
    assert result.code == 2
    assert result.err == "error: linnaeus serve needs fastapi; install it with pip install 'linnaeus[serve]'.\n"
    assert "--workers" in linnaeus("serve", "--help").out
