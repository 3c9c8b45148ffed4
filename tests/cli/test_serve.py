"""`linnaeus serve` without its packages is one clear sentence; what it does with them is in tests/serve."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnaeus.serve.settings import Settings


def test_without_the_extra_the_error_says_what_to_install(linnaeus, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("linnaeus.cli.serve.find_spec", lambda name: None)
    result = linnaeus("serve", tmp_path)
    assert result.code == 2
    assert result.err == "error: linnaeus serve needs fastapi; install it with pip install 'linnaeus[serve]'.\n"
    assert "--workers" in linnaeus("serve", "--help").out


def test_options_are_settings_of_the_service(linnaeus, monkeypatch, tmp_path) -> None:
    for package in ("fastapi", "uvicorn"):
        pytest.importorskip(package)
    started: list[Settings] = []
    monkeypatch.setattr("linnaeus.serve.run.run", lambda settings, *_, **__: started.append(settings))
    shares = ("--control", "0.2", "--blind", "0", "--seed", "3")
    kept = ("--store", tmp_path / "kept", "--no-memory", "--training", "docs.csv")
    result = linnaeus("serve", tmp_path, "--max-bytes", "1MB", "--no-reload", *shares, *kept)
    assert result.code == 0, result.err
    assert started == [
        Settings(
            (str(tmp_path),),
            max_bytes=10**6,
            reload_every=0.0,
            store=str(tmp_path / "kept"),
            memory=False,
            training=(str(Path("docs.csv").resolve()),),
            control=0.2,
            blind=0.0,
            seed=3,
        )
    ]
