"""The store keeps documents and verdicts: each once, nothing acknowledged is lost, nothing is handed out twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from linnaeus.errors import StoreError
from linnaeus.serve.store import database, queue, schema
from linnaeus.serve.store.database import open_database
from linnaeus.serve.store.documents import (
    Listing,
    NewDocument,
    Shares,
    UnknownDocumentError,
    add_documents,
    document_row,
    erase_text,
    list_documents,
)
from linnaeus.serve.store.verdicts import KeyReusedError, NewVerdict, VerdictError, add_verdict, history

QUEUE = "news"
NO_SHARES = Shares(control=0, blind=0, double=0)


def documents(n: int) -> list[NewDocument]:
    return [NewDocument({"text": f"text {i}"}, id=f"d{i}") for i in range(n)]


@pytest.fixture
def store(tmp_path):
    made = open_database(tmp_path)
    yield made
    made.close()


def fill(store, n: int = 10, shares: Shares = NO_SHARES) -> None:
    with store.write() as t:
        numbers, _ = add_documents(t, QUEUE, documents(n), shares)
        for i, number in enumerate(numbers):
            t.rows("UPDATE documents SET usefulness = ?, answer = ? WHERE number = ?", (float(i), '["A"]', number))


def say(store, key: str, kind: str, coder: str = "anna", document: str = "d0", **more) -> str:
    with store.write() as t:
        return add_verdict(t, QUEUE, NewVerdict(key, document, coder, kind, **more)).state


def state(store, document: str = "d0") -> tuple[str, list[str] | None]:
    with store.read() as t:
        row = document_row(t, QUEUE, document)
    return row["state"], None if row["final"] is None else json.loads(row["final"])


def test_documents_are_added_once_and_found_again(store) -> None:
    fill(store, 5)
    with store.write() as t:
        added, n_known = add_documents(t, QUEUE, [*documents(6), NewDocument({"text": "no id"})], NO_SHARES)
    assert (len(added), n_known) == (2, 5)
    with store.read() as t:
        total, rows = list_documents(t, QUEUE, Listing(offset=4, limit=2))
        assert (total, [row["id"] for row in rows]) == (7, ["d4", "d5"])
        with pytest.raises(UnknownDocumentError, match="d99"):
            document_row(t, QUEUE, "d99")


def test_shares_are_drawn_by_a_seeded_hash_and_blind_documents_are_control_documents() -> None:
    shares = Shares(control=0.2, blind=0.1, double=0.3, seed=7)
    drawn = [shares.draw(QUEUE, str(i)) for i in range(4000)]
    assert drawn == [Shares(0.2, 0.1, 0.3, 7).draw(QUEUE, str(i)) for i in range(4000)]
    assert drawn != [Shares(0.2, 0.1, 0.3, 8).draw(QUEUE, str(i)) for i in range(4000)]
    for column, share in ((1, 0.2), (2, 0.1), (3, 0.3)):
        assert sum(row[column] for row in drawn) / 4000 == pytest.approx(share, abs=0.03)
    assert all(control for _, control, blind, _ in drawn if blind)


def test_a_repeated_verdict_is_stored_once_and_a_reused_key_is_refused(store) -> None:
    fill(store)
    for _ in range(3):
        assert say(store, "k1", "accept", labels=["A"]) == "done"
    with pytest.raises(KeyReusedError, match="k1"):
        say(store, "k1", "accept", labels=["B"])
    with store.read() as t:
        assert len(history(t, 1)) == 1
    assert state(store) == ("done", ["A"])


def test_verdicts_decide_and_can_be_taken_back_and_brought_back(store) -> None:
    fill(store)
    assert say(store, "1", "accept", labels=["A"]) == "done"
    assert say(store, "2", "replace", labels=["B", "C"]) == "done"
    assert state(store) == ("done", ["B", "C"])
    say(store, "3", "undo")
    assert state(store) == ("done", ["A"])
    assert say(store, "4", "undo") == "open"
    with pytest.raises(VerdictError, match="no verdict"):
        say(store, "5", "undo")
    say(store, "6", "redo")
    assert state(store) == ("done", ["A"])
    say(store, "7", "redo")
    assert state(store) == ("done", ["B", "C"])
    say(store, "8", "undo", undoes="1")
    assert state(store) == ("done", ["B", "C"])
    say(store, "9", "none-fits")
    with pytest.raises(VerdictError, match="no undo"):
        say(store, "10", "redo")
    assert state(store) == ("done", [])
    assert say(store, "11", "cannot-tell") == "unsure"
    with store.read() as t:
        counts = {row["key"]: row["counts"] for row in history(t, 1)}
    assert counts["2"]
    assert not counts["1"]
    assert not counts["3"]


@pytest.mark.parametrize(
    ("kind", "more", "message"),
    [
        ("accept", {}, "needs 'labels'"),
        ("none-fits", {"labels": ["A"]}, "has no labels"),
        ("like", {}, "not a kind"),
        ("accept", {"labels": ["A"], "undoes": "k"}, "'undoes' belongs"),
        ("note", {}, "needs 'note'"),
    ],
)
def test_verdicts_that_contradict_themselves_are_refused(kind, more, message) -> None:
    with pytest.raises(VerdictError, match=message):
        NewVerdict("k", "d", "anna", kind, **more)


def test_notes_flags_and_rejections_do_not_decide(store) -> None:
    fill(store)
    assert say(store, "1", "note", note="see page 3") == "open"
    assert say(store, "2", "flag") == "open"
    assert say(store, "3", "reject") == "open"
    with store.read() as t:
        assert [row["id"] for row in list_documents(t, QUEUE, Listing(flagged=True))[1]] == ["d0"]
    say(store, "4", "undo", undoes="2")
    with store.read() as t:
        assert list_documents(t, QUEUE, Listing(flagged=True))[0] == 0


def test_double_coded_documents_wait_for_a_second_coder_and_disagreements_for_an_adjudication(store) -> None:
    fill(store, 2, Shares(control=0, blind=0, double=1))
    assert say(store, "1", "accept", labels=["A"]) == "partly"
    assert say(store, "2", "accept", coder="ben", labels=["A"]) == "done"
    assert say(store, "3", "accept", document="d1", labels=["A"]) == "partly"
    assert say(store, "4", "replace", coder="ben", document="d1", labels=["B"]) == "disagreement"
    assert say(store, "5", "accept", coder="cleo", document="d1", labels=["B"], adjudication=True) == "done"
    assert state(store, "d1") == ("done", ["B"])


def got(store, coder: str, **more) -> list[str]:
    with store.write() as t:
        return [row["id"] for row in queue.next_documents(t, QUEUE, coder, control_share=0, **more)]


def test_coders_get_the_most_useful_documents_and_never_the_same(store) -> None:
    fill(store, 6)
    assert got(store, "anna", limit=2) == ["d5", "d4"]
    assert got(store, "ben", limit=2) == ["d3", "d2"]
    assert got(store, "anna", limit=3) == ["d5", "d4", "d1"]  # those that anna has already come first
    say(store, "1", "accept", document="d5", labels=["A"])
    assert got(store, "anna", limit=1) == ["d4"]
    with store.write() as t:
        assert queue.release(t, QUEUE, "anna", ["d4"]) == 1
    assert got(store, "ben", limit=3) == ["d3", "d2", "d4"]
    assert got(store, "cleo", minutes=-1) == ["d0"]
    assert got(store, "dora", limit=9) == ["d0"]  # the lease has ended
    with store.read() as t:
        assert queue.remaining(t, QUEUE, "anna") == 5


def test_double_coded_documents_are_handed_to_two_coders_and_assigned_ones_to_theirs(store) -> None:
    fill(store, 1, Shares(control=0, blind=0, double=1))
    with store.write() as t:
        add_documents(t, QUEUE, [NewDocument({"text": "x"}, id="own", assigned="ben")], NO_SHARES)
    assert got(store, "anna", limit=9) == ["d0"]
    assert got(store, "ben", limit=9) == ["d0", "own"]
    assert got(store, "cleo", limit=9) == []


def test_the_share_of_control_documents_is_kept_while_others_remain(store) -> None:
    fill(store, 200, Shares(control=0.3, blind=0, double=0))
    with store.write() as t:
        rows = [queue.next_documents(t, QUEUE, "anna", control_share=0.1, limit=n)[-1] for n in range(1, 61)]
    assert sum(row["control"] for row in rows) == 6
    usefulness = [row["usefulness"] for row in rows if not row["control"]]
    assert usefulness == sorted(usefulness, reverse=True)


def test_erased_texts_are_gone_and_verdicts_stay(store) -> None:
    fill(store, 2)
    say(store, "1", "accept", labels=["A"])
    with store.write() as t:
        assert erase_text(t, QUEUE, "d0")
        assert erase_text(t, QUEUE, "d1")
        assert not erase_text(t, QUEUE, "d1")
    assert state(store) == ("done", ["A"])
    assert got(store, "anna") == []
    with store.read() as t:
        assert t.rows("SELECT * FROM texts") == []


# -- the database ------------------------------------------------------------------------------------------------------


def test_a_transaction_that_fails_leaves_nothing(store) -> None:
    fill(store, 1)
    with pytest.raises(VerdictError), store.write() as t:  # noqa: PT012
        add_verdict(t, QUEUE, NewVerdict("1", "d0", "anna", "accept", labels=["A"]))
        raise VerdictError("no")
    assert state(store) == ("open", None)


def test_writers_of_several_threads_and_connections_take_turns(tmp_path) -> None:
    stores = [open_database(tmp_path) for _ in range(2)]
    fill(stores[0], 20)

    def work(coder: str, store) -> None:
        for i in range(20):
            say(store, f"{coder}{i}", "note", coder=coder, document=f"d{i}", note="x")

    threads = [threading.Thread(target=work, args=(f"c{k}", stores[k % 2])) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with stores[0].read() as t:
        assert t.rows("SELECT COUNT(*) AS n FROM verdicts")[0]["n"] == 80
    for store in stores:
        store.close()


def test_network_file_systems_are_refused_with_a_sentence(tmp_path) -> None:
    mounts = f"/dev/sda / ext4 rw 0 0\nhost:/x {tmp_path} nfs4 rw 0 0\n"
    with pytest.raises(StoreError, match=r"network file system \(nfs4\).*--database"):
        database.check_local(tmp_path, mounts)
    database.check_local(tmp_path.parent, mounts)


def test_later_versions_are_refused_and_earlier_ones_are_migrated(tmp_path) -> None:
    open_database(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "store.sqlite")
    connection.execute("INSERT INTO versions VALUES (99)")
    connection.commit()
    with pytest.raises(StoreError, match="version 99.*newer"):
        open_database(tmp_path)
    connection.execute("DELETE FROM versions WHERE version = 99")
    connection.commit()
    connection.close()
    store = open_database(tmp_path)
    with store.write() as t:
        schema.migrate(t, "", "x", (*schema.MIGRATIONS, ("CREATE TABLE later (a INTEGER)",)))
        assert t.rows("SELECT * FROM later") == []
    store.close()


def test_a_damaged_file_is_refused(tmp_path) -> None:
    (tmp_path / "store.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(StoreError, match="cannot be opened as a store"):
        open_database(tmp_path)


KILLED = """
import sys
from pathlib import Path
from linnaeus.serve.store.database import open_database
from linnaeus.serve.store.documents import NewDocument, Shares, add_documents
from linnaeus.serve.store.verdicts import NewVerdict, add_verdict
store = open_database(Path(sys.argv[1]))
with store.write() as t:
    add_documents(t, "news", [NewDocument({"text": "x"}, id="d0")], Shares())
for i in range(100_000):
    with store.write() as t:
        add_verdict(t, "news", NewVerdict(f"k{i}", "d0", "anna", "flag"))
    print(f"k{i}", flush=True)
"""


def test_no_acknowledged_verdict_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, env=os.environ)
    assert process.stdout is not None
    seen = [process.stdout.readline().decode().strip() for _ in range(20)]
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    seen += [line.decode().strip() for line in process.stdout if line.endswith(b"\n")]
    process.wait()
    store = open_database(tmp_path)
    with store.read() as t:
        stored = {row["key"] for row in t.rows("SELECT key FROM verdicts")}
        assert set(seen) <= stored
        assert len(stored) - len(seen) <= 1
    store.close()
