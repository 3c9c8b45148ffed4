"""Users of a service: names, roles, and tokens of which only an argon2 hash is kept."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linnaeus.errors import ParameterError, check_choice
from linnaeus.serve.store.audit import append_line
from linnaeus.serve.store.database import Transaction

if TYPE_CHECKING:
    from argon2 import PasswordHasher

__all__ = ["ROLES", "User", "add_user", "count_users", "list_users", "remove_user", "user_named", "user_of_token"]

ROLES = ("coder", "reviewer", "admin")  # each may do what those before it may


@dataclass(frozen=True)
class User:
    """Who sends a request."""

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Whether the user has a role, or one above it."""
        return ROLES.index(self.role) >= ROLES.index(role)


def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ImportError:
        raise ParameterError("Tokens need argon2-cffi; install it with pip install 'linnaeus[serve]'.") from None
    # Tokens are random and long, so that cheap parameters suffice; those for passwords would take 50 ms a request.
    return PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1)


def add_user(transaction: Transaction, name: str, role: str) -> str:
    """Add a user, or replace the role and token of one; returns the token, which is shown only now."""
    check_choice("role", role, ROLES)
    if not name or len(name) > 100 or not name.isprintable() or name.startswith("model:"):
        raise ParameterError(f"{name!r} cannot be the name of a user; expected up to 100 visible characters.")
    id_, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    transaction.rows(
        "INSERT INTO users (name, role, token, token_id, active, created) VALUES (?, ?, ?, ?, 1, ?) "
        "ON CONFLICT (name) DO UPDATE SET role = excluded.role, token = excluded.token, token_id = excluded.token_id, "
        "active = 1",
        (name, role, _hasher().hash(secret), id_, time.time()),
    )
    append_line(transaction, "user", {"user": name, "role": role, "active": True})
    return f"{id_}.{secret}"


def remove_user(transaction: Transaction, name: str) -> bool:
    """End the token of a user; verdicts stay. False if there is no such user."""
    found = transaction.rows("UPDATE users SET active = 0 WHERE name = ? AND active = 1 RETURNING name", (name,))
    if found:
        append_line(transaction, "user", {"user": name, "role": None, "active": False})
    return bool(found)


def list_users(transaction: Transaction) -> list[dict[str, object]]:
    """Users with a valid token."""
    rows = transaction.rows("SELECT name, role, created FROM users WHERE active = 1 ORDER BY name")
    return [dict(row) for row in rows]


def count_users(transaction: Transaction) -> int:
    """The number of users with a valid token."""
    return int(transaction.rows("SELECT COUNT(*) AS n FROM users WHERE active = 1")[0]["n"])


def user_named(transaction: Transaction, name: str) -> User | None:
    """The user of a name."""
    rows = transaction.rows("SELECT name, role FROM users WHERE name = ? AND active = 1", (name,))
    return User(rows[0]["name"], rows[0]["role"]) if rows else None


def user_of_token(transaction: Transaction, token: str) -> User | None:
    """The user of a token, None where the token is not valid."""
    from argon2.exceptions import Argon2Error

    id_, _, secret = token.partition(".")
    rows = transaction.rows("SELECT name, role, token FROM users WHERE token_id = ? AND active = 1", (id_,))
    if not rows:
        return None
    try:
        _hasher().verify(rows[0]["token"], secret)
    except Argon2Error:
        return None
    return User(rows[0]["name"], rows[0]["role"])
