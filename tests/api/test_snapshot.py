"""The public interface changes only on purpose."""

from __future__ import annotations

import json
import warnings

import pytest

from tests.api.snapshot import FILE, changes, interface

pytest.importorskip("matplotlib", reason="the pictures are part of the interface")


def test_the_public_interface_is_the_one_that_was_written_down() -> None:
    added, broken = changes(json.loads(FILE.read_text("utf-8")), interface())
    assert not broken, "a change breaks callers; deprecate first (docs/stability.md):\n" + "\n".join(broken)
    if added:  # harmless for callers: shown, and written down with the next release
        warnings.warn("new public names or parameters; run `python tests/api/snapshot.py`:\n" + "\n".join(added))


def test_additions_and_breaks_are_told_apart() -> None:
    before = {"a.f": ["x", "y=1"], "a.g": [], "$ linnaeus run": ["--out"]}
    now = {"a.f": ["x", "y=2", "z=None"], "a.h": [], "$ linnaeus run": ["--out", "--new"]}
    added, broken = changes(before, now)
    assert added == ["a.h", "a.f: z=None", "$ linnaeus run: --new"]
    assert broken == ["a.g is gone", "a.f: y=1 became y=2"]
    assert changes({"a.f": ["x", "y=1"]}, {"a.f": ["y=1", "x"]})[1] == [
        "a.f: the order of positional parameters changed"
    ]
    assert changes({"a.f": []}, {"a.f": ["x"]})[1] == ["a.f: x is required"]
