"""The audit log: a chain of lines that agrees with the store, survives kills, and shows every change."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import linnaeus
from linnaeus.errors import StoreError
from linnaeus.serve.app import create_app
from linnaeus.serve.settings import Settings
from linnaeus.serve.store.audit import AuditLog, GroupedLines, append_line, verify
from linnaeus.serve.store.database import open_database


def checked(folder):
    store = open_database(folder)
    report = verify(folder, store)
    store.close()
    return report


@pytest.fixture
def folder(folders, tmp_path) -> Path:
    """A store with answers, documents, verdicts and an erased text."""
    app = create_app(Settings((folders["joint"],), store=str(tmp_path), reload_every=0))
    with TestClient(app) as client:
        client.post("/api/v1/models/joint/top", json={"documents": ["cat purr", "dog"], "k": 1})
        client.post("/v1/projects/joint/suggest", data={"text": "a secret cat"})
        rows = [{"id": f"d{i}", "text": f"cat {i}"} for i in range(3)]
        client.post("/api/v1/documents", json={"documents": rows})
        verdicts = [
            {"key": f"k{i}", "document": f"d{i}", "coder": "anna", "kind": "accept", "labels": ["Cats"]}
            for i in range(3)
        ]
        client.post("/api/v1/verdicts", json={"verdicts": verdicts})
        assert client.post("/api/v1/documents/erase?id=d1").json()["erased"]
    return tmp_path


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "audit.log").read_text().splitlines()]


def test_answers_of_a_migrated_model_name_both_versions(folders, tmp_path) -> None:
    shutil.copytree(folders["joint"], tmp_path / "joint")
    own = linnaeus.load(tmp_path / "joint").taxonomy_.fingerprint
    versions = {"old_taxonomy": "0" * 64, "new_taxonomy": own, "table": "1" * 64}
    (tmp_path / "joint" / "migration.json").write_text(json.dumps({"versions": versions}))
    app = create_app(Settings((str(tmp_path / "joint"),), store=str(tmp_path / "store"), reload_every=0))
    with TestClient(app) as client:
        client.post("/api/v1/models/joint/top", json={"documents": ["cat"], "k": 1})
    logged = lines(tmp_path / "store")[0]["model"]
    assert (logged["taxonomy"], logged["old_taxonomy"], logged["table"]) == (own, "0" * 64, "1" * 64)


def test_everything_is_logged_with_fingerprints_and_the_chain_verifies(linnaeus, folder) -> None:
    result = linnaeus("audit", "verify", folder, "--json")
    found = json.loads(result.out)
    assert (result.code, found["intact"], found["problems"]) == (0, True, [])
    assert found["kinds"] == {"answer": 2, "documents": 1, "verdict": 3, "erase": 1}
    assert (found["verdicts"], found["texts"], found["erased"]) == (3, 2, 1)
    answer = lines(folder)[0]
    assert set(answer["model"]) == {"name", "fingerprint", "taxonomy", "features"}
    assert all(len(answer["model"][name]) == 64 for name in ("fingerprint", "taxonomy", "features"))
    assert [one["labels"] for one in answer["documents"]] == [["Cats"], ["Dogs"]]
    assert lines(folder)[3]["model"] == answer["model"]


def test_no_text_is_in_the_log(folder) -> None:
    text = (folder / "audit.log").read_text()
    assert "secret" not in text
    assert "purr" not in text
    assert "cat 1" not in text


def change(folder: Path, how) -> None:
    rows = (folder / "audit.log").read_text().splitlines(keepends=True)
    (folder / "audit.log").write_text("".join(how(rows)))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda rows: [*rows[:3], rows[3].replace("Cats", "Dogs"), *rows[4:]], "Line 4 was changed"),
        (lambda rows: [*rows[:3], *rows[4:]], "Line 4 does not follow"),
        (lambda rows: [*rows[:2], rows[3], rows[2], *rows[4:]], "Line 3 does not follow"),
        (lambda rows: [*rows[:3], rows[3].replace(",", ", ", 1), *rows[4:]], "Line 4 was changed"),
        (lambda rows: [*rows[:3], "x\n", *rows[3:]], "Line 4 is not a line"),
        (lambda rows: rows[:-1], "the store has written 7"),
        (lambda rows: rows[:5], "verdict 'k2' of the store is not in the log"),
    ],
)
def test_changes_of_the_log_are_found(folder, how, message) -> None:
    change(folder, how)
    assert any(message in problem for problem in checked(folder).problems)


def test_changes_of_the_store_are_found(linnaeus, folder) -> None:
    connection = sqlite3.connect(folder / "store.sqlite")
    connection.execute("UPDATE verdicts SET labels = '[\"Dogs\"]' WHERE key = 'k0'")
    connection.execute('UPDATE texts SET content = \'{"text": "other"}\' WHERE document = 1')
    connection.commit()
    connection.close()
    result = linnaeus("audit", "verify", folder, "--json")
    assert result.code == 1
    assert json.loads(result.out)["problems"] == [
        "The verdict 'k0' of the store differs from line 4.",
        "The text of the document 'd0' was changed.",
    ]


def test_half_a_line_is_completed_by_the_next_process(folder) -> None:
    path = folder / "audit.log"
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    assert checked(folder).incomplete
    store = open_database(folder)
    AuditLog(folder, store)
    assert path.read_bytes() == whole
    path.write_bytes(b"")
    AuditLog(folder, store)
    assert path.read_bytes() == whole
    store.close()


def test_a_log_that_lost_lines_which_the_store_no_longer_has_is_refused(tmp_path) -> None:
    store = open_database(tmp_path)
    log = AuditLog(tmp_path, store)
    for start in range(0, 2100, 300):
        with store.write() as t:
            for i in range(start, start + 300):
                append_line(t, "answer", {"i": i})
        log.flush()
    assert verify(tmp_path, store).lines == 2100
    with store.read() as t:
        assert t.rows("SELECT COUNT(*) AS n FROM audit")[0]["n"] < 1100
    change(tmp_path, lambda rows: rows[:500])
    with pytest.raises(StoreError, match="ends with line 500"):
        AuditLog(tmp_path, store)
    store.close()


def test_lines_that_wait_for_each_other_are_written_in_one_transaction_and_are_on_disk(tmp_path) -> None:
    database = open_database(tmp_path, None)
    log, n_transactions, all_wait = AuditLog(tmp_path, database), 0, threading.Event()

    @contextlib.contextmanager
    def change():
        nonlocal n_transactions
        n_transactions += 1
        all_wait.wait(20)  # the first transaction lasts until the other lines wait
        with database.write() as transaction:
            yield transaction
        log.flush()

    lines = GroupedLines(change)

    def append(i: int) -> bool:
        lines.append("answer", {"i": i})
        return f'"i":{i},' in log.path.read_text()

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(append, i) for i in range(8)]
        deadline = time.monotonic() + 20
        while len(lines._waiting) < 7 and time.monotonic() < deadline:
            time.sleep(0.01)
        all_wait.set()
        assert all(one.result() for one in found)
    report = verify(tmp_path, database)
    database.close()
    assert (n_transactions, report.lines, report.problems) == (2, 8, [])


def test_no_line_of_a_transaction_that_failed_is_acknowledged(tmp_path) -> None:
    database = open_database(tmp_path, None)
    AuditLog(tmp_path, database)

    @contextlib.contextmanager
    def change():
        with database.write() as transaction:
            yield transaction
            raise OSError("the disk is full")

    lines = GroupedLines(change)

    def append(i: int) -> None:
        lines.append("answer", {"i": i})

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(append, i) for i in range(4)]
        for one in found:
            with pytest.raises(OSError, match="full"):
                one.result()
    with database.read() as transaction:
        assert transaction.rows("SELECT * FROM audit") == []
    database.close()


def test_logs_that_are_not_there_are_one_sentence(tmp_path) -> None:
    with pytest.raises(StoreError, match=r"has no audit.log"):
        verify(tmp_path, None)


KILLED = """
import sys
from pathlib import Path
from linnaeus.serve.store.database import open_database
from linnaeus.serve.store.audit import AuditLog, append_line
folder = Path(sys.argv[1])
store = open_database(folder)
log = AuditLog(folder, store)
for i in range(100_000):
    with store.write() as t:
        append_line(t, "answer", {"i": i})
    log.flush()
    print(i, flush=True)
"""


def test_a_killed_process_leaves_a_log_with_every_acknowledged_line(tmp_path) -> None:
    seen = -1
    for _ in range(3):  # each process continues the chain of the one before
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, env=os.environ
        )
        assert process.stdout is not None
        for _ in range(10):
            process.stdout.readline()
        time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        seen += 10 + len([line for line in process.stdout if line.endswith(b"\n")])
        process.wait()
    store = open_database(tmp_path)
    AuditLog(tmp_path, store)
    report = verify(tmp_path, store)
    assert (report.problems, report.incomplete) == ([], False)
    assert seen <= report.lines <= seen + 4
    store.close()
