"""Tokens, roles, the header of a proxy, and limits of the rate of requests."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from linnaeus.serve.app import create_app
from linnaeus.serve.settings import Settings
from linnaeus.serve.store.audit import verify
from linnaeus.serve.store.users import add_user, remove_user
from tests.serve.test_reviewing import API, add

VERDICT = {"key": "k", "document": "d0", "coder": "anna", "kind": "accept", "labels": ["Cats"]}


@contextlib.contextmanager
def service(folders, folder, **more) -> Iterator[TestClient]:
    settings = Settings((folders["joint"],), store=str(folder), reload_every=0, control=0, double=0, **more)
    with TestClient(create_app(settings), client=("127.0.0.1", 5000)) as client:
        yield client


@pytest.fixture
def users(folders, tmp_path):
    """A client, and headers of an admin, a reviewer and a coder."""
    with service(folders, tmp_path) as client:
        with client.app.state.service.review.change() as transaction:
            tokens = {role: add_user(transaction, name, role) for name, role in NAMES.items()}
        yield client, {role: {"authorization": f"Bearer {token}"} for role, token in tokens.items()}


NAMES = {"zoe": "admin", "rita": "reviewer", "anna": "coder"}


def test_requests_need_a_token_once_there_are_users(users) -> None:
    client, headers = users
    for path in (f"{API}/models", f"{API}/queue/next?coder=anna", "/v1/projects", "/metrics"):
        refused = client.get(path)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert client.get(path, headers=headers["coder"]).status_code == 200
    for wrong in ("Bearer x", "Bearer x.y", "Basic abc", headers["coder"]["authorization"] + "x"):
        assert client.get(f"{API}/models", headers={"authorization": wrong}).status_code == 401
    assert client.get(f"{API}/health").status_code == client.get("/docs").status_code == 200


def test_roles_limit_what_users_may_do(users) -> None:
    client, headers = users
    body = {"documents": [{"id": "d0", "text": "cat"}]}
    assert client.post(f"{API}/documents", json=body, headers=headers["coder"]).status_code == 403
    assert client.post(f"{API}/documents", json=body, headers=headers["reviewer"]).status_code == 200
    assert client.get(f"{API}/export", headers=headers["coder"]).status_code == 403
    assert client.post(f"{API}/documents/erase?id=d0", headers=headers["reviewer"]).status_code == 403
    assert client.post(f"{API}/models/joint/refit", json={}, headers=headers["reviewer"]).status_code == 403
    assert client.post(f"{API}/documents/erase?id=d0", headers=headers["admin"]).status_code == 200


def test_coders_give_verdicts_and_get_documents_in_their_own_name_only(users) -> None:
    client, headers = users
    client.post(f"{API}/documents", json={"documents": [{"id": "d0", "text": "cat"}]}, headers=headers["admin"])

    def status(role: str, **changes) -> int:
        return client.post(
            f"{API}/verdicts", json={"verdicts": [{**VERDICT, **changes}]}, headers=headers[role]
        ).status_code

    assert status("coder", coder="rita") == 403
    assert status("coder", adjudication=True) == 403
    assert status("coder") == 200
    assert status("reviewer", key="k2", coder="rita", adjudication=True) == 200
    assert client.get(f"{API}/queue/next?coder=rita", headers=headers["coder"]).status_code == 403
    promoted = client.post(f"{API}/models/joint/promote", json={"version": "x", "by": "rita"}, headers=headers["admin"])
    assert promoted.status_code == 403


def test_a_job_is_stopped_by_its_owner_or_an_admin(users) -> None:
    client, headers = users
    jobs = client.app.state.service.jobs
    for role, status in (("reviewer", 403), ("coder", 200), ("admin", 200)):
        id_ = jobs.create("top", "joint", {"documents": ["cat"]}, 1, "anna")
        assert client.post(f"{API}/jobs/{id_}/cancel", headers=headers[role]).status_code == status
    assert client.post(f"{API}/desk/training", headers=headers["reviewer"]).status_code == 403


def test_a_removed_user_and_a_replaced_token_are_refused_and_the_log_says_so(users, tmp_path) -> None:
    client, headers = users
    review = client.app.state.service.review
    with review.change() as transaction:
        assert remove_user(transaction, "anna")
        assert not remove_user(transaction, "anna")
        add_user(transaction, "rita", "reviewer")
    for role in ("coder", "reviewer"):
        assert client.get(f"{API}/models", headers=headers[role]).status_code == 401
    report = verify(tmp_path, review.database)
    assert (report.kinds["user"], report.problems) == (5, [])
    stored = review.database.path.read_bytes()
    assert headers["admin"]["authorization"].split(".")[1].encode() not in stored  # only a hash is kept


def test_without_users_nobody_has_to_say_who_they_are(folders, tmp_path) -> None:
    with service(folders, tmp_path) as client:
        assert add(client, 2)["added"] == 2
        assert client.post(f"{API}/verdicts", json={"verdicts": [VERDICT]}).status_code == 200


def test_a_trusted_proxy_names_users_and_only_from_this_machine(folders, tmp_path) -> None:
    with service(folders, tmp_path, proxy_header="X-Remote-User") as client:
        with client.app.state.service.review.change() as transaction:
            add_user(transaction, "zoe", "admin")
        assert client.get(f"{API}/models").status_code == 401
        assert client.get(f"{API}/models", headers={"x-remote-user": "ben"}).status_code == 200
        assert client.get(f"{API}/export", headers={"x-remote-user": "ben"}).status_code == 403
        assert client.get(f"{API}/export", headers={"x-remote-user": "zoe"}).status_code == 200
        far = TestClient(client.app, client=("10.0.0.9", 5000))
        assert far.get(f"{API}/models", headers={"x-remote-user": "zoe"}).status_code == 401


def test_too_many_requests_are_refused_with_the_time_to_wait(folders, tmp_path) -> None:
    with service(folders, tmp_path, rate=3) as client:
        codes = [client.get(f"{API}/models").status_code for _ in range(5)]
        assert codes == [200, 200, 200, 429, 429]
        refused = client.get(f"{API}/models")
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get(f"{API}/health").status_code == 200


def test_users_are_added_listed_and_removed_on_the_command_line(linnaeus, tmp_path) -> None:
    store = ("--store", tmp_path)
    token = linnaeus("users", "add", "anna", "--role", "reviewer", *store).out.strip()
    assert len(token) > 40
    assert '"reviewer"' in linnaeus("users", "list", "--json", *store).out
    assert linnaeus("users", "remove", "anna", *store).code == 0
    again = linnaeus("users", "remove", "anna", *store)
    assert (again.code, "There is no user 'anna'" in again.err) == (2, True)
    assert linnaeus("users", "add", "anna", "--role", "king", *store).code == 2


@pytest.fixture(params=["h11", "httptools"])
def port(folders, monkeypatch, request) -> Iterator[int]:
    """The port of a service whose connections have two seconds for a head."""
    import asyncio
    import threading

    import uvicorn

    from linnaeus.serve import connections

    if request.param == "httptools":
        pytest.importorskip("httptools")
    kind = connections.H11Connection if request.param == "h11" else connections.protocol()
    monkeypatch.setattr(connections._Impatience, "header_seconds", 2.0)
    app = create_app(Settings((folders["joint"],), reload_every=0))
    server = uvicorn.Server(uvicorn.Config(app, port=0, http=kind, ws="none", log_level="critical"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def test_heads_that_are_slow_or_large_end_the_connection_and_others_do_not(port) -> None:
    request = b"GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as large:
        with contextlib.suppress(OSError):
            for _ in range(40):
                large.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 100_000)
        with contextlib.suppress(ConnectionResetError):
            while large.recv(4000):
                pass
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as slow,
        socket.create_connection(("127.0.0.1", port), timeout=30) as second,
    ):
        slow.sendall(request[:-2])
        assert b"200 OK" in _received(second, request)
        second.sendall(request[:-2])  # a later request of a connection
        assert slow.recv(100) == second.recv(100) == b""  # closed by the service
    with socket.create_connection(("127.0.0.1", port), timeout=30) as quick:
        for _ in range(2):
            assert b"200 OK" in _received(quick, request)


def test_requests_that_offer_another_protocol_are_answered_in_http(port) -> None:
    body = b'{"documents": ["cat purr"], "k": 1}'
    head = (
        b"POST /api/v1/models/joint/top HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    )
    head += b"HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        for _ in range(2):
            found = _received(client, head % len(body) + body)
            assert b"200 OK" in found
            assert b'"Cats"' in found


def _received(client: socket.socket, request: bytes) -> bytes:
    client.sendall(request)
    received = b""
    while not received.endswith(b"}"):
        part = client.recv(4000)
        assert part, received
        received += part
    return received
