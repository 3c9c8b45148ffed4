"""The store in a PostgreSQL server keeps the same promises as in SQLite; skipped where there is no server to start."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from linnaeus.errors import StoreError
from linnaeus.serve.store.audit import AuditLog, append_line, verify
from linnaeus.serve.store.database import open_database
from linnaeus.serve.store.documents import NewDocument, Shares, add_documents
from linnaeus.serve.store.memory import keep_bands, remembered
from linnaeus.serve.store.users import add_user, user_of_token

# The claims about SQLite, which run here with the fixture `store` of this file.
from tests.serve.store.test_store import (  # noqa: F401
    QUEUE,
    fill,
    say,
    test_a_repeated_verdict_is_stored_once_and_a_reused_key_is_refused,
    test_a_transaction_that_fails_leaves_nothing,
    test_coders_get_the_most_useful_documents_and_never_the_same,
    test_documents_are_added_once_and_found_again,
    test_double_coded_documents_are_handed_to_two_coders_and_assigned_ones_to_theirs,
    test_double_coded_documents_wait_for_a_second_coder_and_disagreements_for_an_adjudication,
    test_erased_texts_are_gone_and_verdicts_stay,
    test_notes_flags_and_rejections_do_not_decide,
    test_the_share_of_control_documents_is_kept_while_others_remain,
    test_verdicts_decide_and_can_be_taken_back_and_brought_back,
)

psycopg = pytest.importorskip("psycopg")
FOUND = [shutil.which("initdb"), *map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
PROGRAMS = [path for path in FOUND if path]
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="no PostgreSQL server is installed")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The folder of the socket of a server; it is started by another user, since it refuses to run as root."""
    programs = Path(PROGRAMS[0]).resolve().parent
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    who = {"user": "postgres"} if os.getuid() == 0 else {}
    if who:
        shutil.chown(folder, "postgres")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, "cwd": folder, **who}
    subprocess.run([programs / "initdb", "-D", folder / "data", "-U", "tester", "-A", "trust", "--no-sync"], **quiet)
    control = [programs / "pg_ctl", "-D", folder / "data", "-w"]
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    try:
        subprocess.run([*control, "-o", options, "-l", folder / "log", "start"], **quiet)
        yield str(folder)
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **{**quiet, "check": False})
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(server, request) -> str:
    """A schema of its own for each test."""
    schema = f"s{abs(hash(request.node.nodeid))}"
    whole = f"host={server} user=tester dbname=postgres"
    with psycopg.connect(whole, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{whole} options=-csearch_path={schema}"


@pytest.fixture
def store(url, tmp_path):
    made = open_database(tmp_path, url)
    yield made
    made.close()


def test_writers_take_turns(store) -> None:
    fill(store, 10)

    def work(coder: str) -> None:
        for i in range(10):
            say(store, f"{coder}{i}", "note", coder=coder, document=f"d{i}", note="x")

    threads = [threading.Thread(target=work, args=(f"c{k}",)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as t:
        assert t.rows("SELECT COUNT(*) AS n FROM verdicts")[0]["n"] == 40


def test_a_second_store_finds_what_the_first_has_written(store, url, tmp_path) -> None:
    fill(store, 3)
    again = open_database(tmp_path, url)
    with again.read() as t:
        assert t.rows("SELECT COUNT(*) AS n FROM documents")[0]["n"] == 3
    again.close()


def test_log_users_and_memory_work_as_in_sqlite(store, tmp_path) -> None:
    log = AuditLog(tmp_path, store)
    with store.write() as t:
        append_line(t, "answer", {"text": "\0 ü"})
        token = add_user(t, "anna", "coder")
        (first, second), _ = add_documents(
            t, QUEUE, [NewDocument({"text": text}, id=text) for text in ("A cat", "a  cat")], Shares(0, 0, 0)
        )
        for number in (first, second):
            keep_bands(t, number, {"text": "a cat"})
    log.flush()
    say(store, "k", "accept", document="A cat", labels=["A"])
    with store.read() as t:
        user = user_of_token(t, token)
        assert (user.name, user.role) == ("anna", "coder")
        assert remembered(t, QUEUE, {"text": "a cat"}, second)["labels"] == ["A"]
    assert verify(tmp_path, None).lines == 2


def test_a_server_that_does_not_answer_is_one_sentence(tmp_path) -> None:
    with pytest.raises(StoreError, match="PostgreSQL database cannot be used"):
        open_database(tmp_path, f"host={tmp_path} user=x")
