"""A checkpoint gives back what was committed, whole, whatever happens in between."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from linnaeus.errors import CheckpointError
from linnaeus.models import checkpoint as module
from linnaeus.models.checkpoint import Checkpoint

FIT = {"model": "M", "documents": "#1", "C": 1.0}


def content(folder) -> dict:
    with Checkpoint(folder, FIT) as found:
        return {key: {name: array.tolist() for name, array in found.get(key).items()} for key in found}


KINDS = st.sampled_from([np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_])
ARRAYS = KINDS.flatmap(lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=5)))


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=5), st.dictionaries(st.sampled_from("abc"), ARRAYS), max_size=4))
def test_arrays_come_back_as_they_were(tmp_path_factory, saved) -> None:
    folder = tmp_path_factory.mktemp("checkpoint")
    with Checkpoint(folder, FIT, durable=False) as checkpoint:
        for key, arrays in saved.items():
            checkpoint.put(key, arrays)
        checkpoint.commit()
    with Checkpoint(folder, FIT, durable=False) as again:
        assert set(again) == set(saved)
        for key, arrays in saved.items():
            found = again.get(key)
            assert set(found) == set(arrays)
            for name, array in arrays.items():
                assert found[name].dtype == array.dtype
                np.testing.assert_array_equal(found[name], array)


def test_what_was_not_committed_is_not_there(tmp_path) -> None:
    with Checkpoint(tmp_path, FIT) as checkpoint:
        checkpoint.put("a", {"x": np.arange(3)})
        checkpoint.commit()
        checkpoint.put("a", {"x": np.arange(4)})
        checkpoint.put("b", {"x": np.arange(5)})
        assert checkpoint.get("a")["x"].tolist() == [0, 1, 2, 3]
    assert content(tmp_path) == {"a": {"x": [0, 1, 2]}}


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans()), max_size=12))
def test_a_copy_of_the_folder_at_any_moment_holds_the_last_commit_whole(tmp_path_factory, steps) -> None:
    root = tmp_path_factory.mktemp("checkpoint")
    now: dict = {}
    committed: dict = {}
    with Checkpoint(root / "live", FIT, durable=False) as checkpoint:
        for number, (key, value, commit) in enumerate(steps):
            checkpoint.put(key, {"x": np.full(3, value)})
            now[key] = {"x": [value] * 3}
            if commit:
                checkpoint.commit()
                committed = dict(now)
            shutil.copytree(root / "live", root / f"{number}")
            assert content(root / f"{number}") == committed


def test_a_kill_between_the_arrays_and_the_index_loses_nothing_older(tmp_path, monkeypatch) -> None:
    with Checkpoint(tmp_path, FIT) as checkpoint:
        checkpoint.put("a", {"x": np.arange(3)})
        checkpoint.state["sweep"] = 1
        checkpoint.commit()
        checkpoint.put("a", {"x": np.zeros(3)})
        checkpoint.state["sweep"] = 2

        def killed(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.commit()
        monkeypatch.undo()
    with Checkpoint(tmp_path, FIT) as again:
        assert again.state == {"sweep": 1}
        assert again.get("a")["x"].tolist() == [0, 1, 2]


def test_overwriting_again_and_again_does_not_fill_the_disk(tmp_path) -> None:
    with Checkpoint(tmp_path, FIT, durable=False) as checkpoint:
        for sweep in range(20):
            for key in "abc":
                checkpoint.put(key, {"x": np.full(1000, sweep)})
            checkpoint.commit()
            assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 4 * 3 * 8000 + 3000


def test_commits_are_due_only_after_some_time(tmp_path) -> None:
    with Checkpoint(tmp_path, FIT, every=1000.0, durable=False) as checkpoint:
        checkpoint.put("a", {"x": np.arange(3)})
        assert not checkpoint.commit_if_due()
    with Checkpoint(tmp_path, FIT, every=0.0, durable=False) as checkpoint:
        assert not checkpoint.commit_if_due()  # nothing changed
        checkpoint.put("a", {"x": np.arange(3)})
        assert checkpoint.commit_if_due()
        checkpoint.discard("a")
        checkpoint.commit()
    assert content(tmp_path) == {}


def test_another_fit_is_refused_with_what_differs(tmp_path) -> None:
    with Checkpoint(tmp_path, FIT) as checkpoint:
        checkpoint.commit()
    with pytest.raises(CheckpointError, match="another fit: the documents differ, C was 1.0 and is 2.0"):
        Checkpoint(tmp_path, {"model": "M", "documents": "#2", "C": 2.0})
    assert content(tmp_path) == {}  # and is not locked by the attempt


def test_folders_of_other_things_are_not_touched(tmp_path) -> None:
    (tmp_path / "thesis.doc").write_text("years of work")
    with pytest.raises(CheckpointError, match="not a checkpoint.*'thesis.doc'"):
        Checkpoint(tmp_path, FIT)
    with pytest.raises(CheckpointError, match="is a file"):
        Checkpoint(tmp_path / "thesis.doc", FIT)


def test_damage_is_noticed(tmp_path) -> None:
    with Checkpoint(tmp_path, FIT) as checkpoint:
        checkpoint.put("a", {"x": np.arange(100)})
        checkpoint.commit()
    path = next(tmp_path.glob("arrays-*.bin"))
    good = path.read_bytes()
    path.write_bytes(good[:40] + b"?" + good[41:])
    with pytest.raises(CheckpointError, match="is damaged \\(at 'a'\\)"):
        content(tmp_path)
    path.write_bytes(good[:100])
    with pytest.raises(CheckpointError, match="is damaged"):
        content(tmp_path)
    (tmp_path / module.INDEX).write_text("{")
    with pytest.raises(CheckpointError, match="checkpoint.json is damaged"):
        content(tmp_path)


def test_removing_leaves_only_what_is_not_ours(tmp_path) -> None:
    checkpoint = Checkpoint(tmp_path / "here", FIT)
    checkpoint.put("a", {"x": np.arange(3)})
    checkpoint.finish()
    (tmp_path / "here" / "notes.txt").write_text("mine")
    checkpoint.remove()
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["notes.txt"]
    (tmp_path / "here" / "notes.txt").unlink()
    Checkpoint(tmp_path / "here", FIT).remove()
    assert not (tmp_path / "here").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_two_processes_do_not_share_a_checkpoint(tmp_path) -> None:
    code = "import sys; from linnaeus.models.checkpoint import Checkpoint; Checkpoint(sys.argv[1], {'C': 1.0})"
    with Checkpoint(tmp_path, {"C": 1.0}):
        tried = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert "is in use" in tried.stderr
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 0


def test_objects_are_refused(tmp_path) -> None:
    with Checkpoint(tmp_path, FIT) as checkpoint, pytest.raises(TypeError, match="plain arrays"):
        checkpoint.put("a", {"x": np.array(["a", None], dtype=object)})


def test_only_finished_checkpoints_are_cleared_away(tmp_path) -> None:
    with Checkpoint(tmp_path / "c", FIT) as checkpoint:
        checkpoint.commit()
    assert not module.remove_finished(tmp_path / "c")
    with Checkpoint(tmp_path / "c", FIT) as checkpoint:
        checkpoint.finish()
    assert module.remove_finished(tmp_path / "c")
    assert not (tmp_path / "c").exists()
    assert not module.remove_finished(tmp_path / "c")
