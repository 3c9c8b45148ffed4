"""A disk that is full is reported with the path and leaves what was there; writers of one folder take turns."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import linnaeus
from linnaeus import OneVsRestSVM
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.store import folder as store_folder


def made(C: float = 1.0, n_features: int = 40):
    X = np.random.default_rng(0).normal(size=(30, n_features))
    return OneVsRestSVM(C=C, tol=0.5, random_state=0).fit(X, [f"n{i % 6}" for i in range(30)])


def limited(action: str, *arguments: str, limit: int = 4096) -> subprocess.CompletedProcess[str]:
    """Python code in a process whose files may not grow beyond ``limit`` bytes, as on a disk that is full."""
    code = (
        "import resource, signal, sys, numpy as np, linnaeus\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from tests.kills.test_disk import made\n"
        "model = made(2.0, 4000)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n" + action
    )
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(Path(linnaeus.__file__).parents[1]), str(root)])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=root, env=environment, capture_output=True, text=True
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_full_disk_is_named_and_leaves_the_old_model(tmp_path) -> None:
    linnaeus.save(made(), tmp_path / "model")
    before = sorted(path.name for path in (tmp_path / "model").iterdir())
    action = (
        "for target in sys.argv[1:]:\n"
        "    try:\n"
        "        linnaeus.save(model, target)\n"
        "    except OSError as error:\n"
        "        print(error.filename)\n"
    )
    done = limited(action, str(tmp_path / "model"), str(tmp_path / "new"))
    assert done.stdout.split() == [str(tmp_path / "model"), str(tmp_path / "new")], done.stderr
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == before
    assert linnaeus.load(tmp_path / "model").C == 1.0
    assert not (tmp_path / "new").exists()


def test_a_full_disk_at_the_manifest_leaves_the_old_model(tmp_path, monkeypatch) -> None:
    linnaeus.save(made(), tmp_path / "model")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / "model" / "manifest.json"))

    with monkeypatch.context() as patched:
        patched.setattr(store_folder, "replace_file", full)
        with pytest.raises(OSError, match="No space left on device: .*manifest.json"):
            linnaeus.save(made(2.0), tmp_path / "model")
    assert linnaeus.load(tmp_path / "model").C == 1.0
    linnaeus.save(made(3.0), tmp_path / "model")
    assert len(list((tmp_path / "model").iterdir())) == 2, "arrays that no manifest names are cleared away"


def test_the_command_line_says_which_path_is_full(tmp_path) -> None:
    (tmp_path / "docs.csv").write_text("text,label\n" + "cat purr,a\ndog bark,b\n" * 10, "utf-8")
    action = (
        "from linnaeus.cli.main import run\n"
        "run(['train', '-d', sys.argv[1], '--labels', 'label', '--text', 'text', '-o', sys.argv[2]])\n"
    )
    done = limited(action, str(tmp_path / "docs.csv"), str(tmp_path / "model"), limit=200)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"error: File too large: {tmp_path / 'model'}"
    assert not (tmp_path / "model").exists()


def test_a_full_disk_keeps_the_last_commit_of_a_checkpoint(tmp_path) -> None:
    with Checkpoint(tmp_path / "fit", {}) as kept:
        kept.put("a", {"weights": np.ones(3)})
        kept.commit()
    action = (
        "from linnaeus.models.checkpoint import Checkpoint\n"
        "with Checkpoint(sys.argv[1], {}) as kept:\n"
        "    try:\n"
        "        kept.put('b', {'weights': np.ones(100_000)})\n"
        "        kept.commit()\n"
        "    except OSError as error:\n"
        "        print(error.filename)\n"
    )
    done = limited(action, str(tmp_path / "fit"))
    assert done.stdout.strip() == str(tmp_path / "fit"), done.stderr
    with Checkpoint(tmp_path / "fit", {}) as kept:
        assert list(kept) == ["a"]
        assert kept.get("a")["weights"].tolist() == [1.0, 1.0, 1.0]


def test_what_a_dead_writer_left_is_cleared_away_by_the_next_save(tmp_path) -> None:
    linnaeus.save(made(), tmp_path / "model")
    for name in (".0123456789abcdef.part", "arrays-0123456789abcdef.safetensors"):
        (tmp_path / "model" / name).write_bytes(b"half")
    linnaeus.save(made(2.0), tmp_path / "model")
    assert len(list((tmp_path / "model").iterdir())) == 2


def test_writers_and_readers_at_once_see_whole_models(tmp_path) -> None:
    models = [made(C) for C in (1.0, 2.0, 3.0)]
    linnaeus.save(models[0], tmp_path / "model")
    failures: list[Exception] = []

    def write(model) -> None:
        try:
            for _ in range(8):
                linnaeus.save(model, tmp_path / "model")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        try:
            assert linnaeus.load(tmp_path / "model").C in (1.0, 2.0, 3.0)
        except Exception as error:
            failures.append(error)
            break
    for thread in threads:
        thread.join()
    assert not failures
    assert linnaeus.load(tmp_path / "model").C in (1.0, 2.0, 3.0)
    assert len(list((tmp_path / "model").iterdir())) == 2
