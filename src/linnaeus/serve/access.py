"""Who may do what: tokens or the header of a trusted proxy, roles, and limits of the rate of requests.

Without users and without a proxy everybody may do everything, as on a machine of one's own. As soon as a user has a
token, or a proxy header is trusted, all addresses but those that say whether the service runs need a user.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from linnaeus.serve.problems import ProblemError
from linnaeus.serve.store.users import User, count_users, user_named, user_of_token

if TYPE_CHECKING:
    from linnaeus.serve.review import Review
    from linnaeus.serve.settings import Settings

__all__ = ["ANYBODY", "Access"]

ANYBODY = User("", "admin")  # everybody, where nobody has to say who they are
_PUBLIC = re.compile(r"/api/v1/(health|ready)|/v2/health/(live|ready)|/docs(/.*)?|/openapi\.json|/desk(/.*)?|/")
# Addresses that need more than the role of a coder: method, path, role.
_ROLES = (
    ("POST", re.compile(r"/api/v1/documents(/file)?|/api/v1/verdicts/file"), "reviewer"),
    ("POST", re.compile(r"/v1/projects/[^/]+/learn"), "reviewer"),
    ("GET", re.compile(r"/api/v1/export"), "reviewer"),
    ("POST", re.compile(r"/api/v1/automatic(/.*)?|/api/v1/desk/assignments"), "reviewer"),
    ("POST", re.compile(r"/api/v1/documents/erase"), "admin"),
    ("POST", re.compile(r"/api/v1/models/[^/]+/(refit|recalibrate|promote)|/api/v1/desk/training"), "admin"),
)
_KNOWN = 60.0  # seconds for which a token or the number of users is not looked up again
_MOST = 10_000  # tokens and clients that are remembered


class Access:
    """Users of requests, and how many requests they send.

    Parameters
    ----------
    settings : Settings
        ``proxy_header`` and ``rate``.
    review : Review or None
        The store with its users.
    """

    def __init__(self, settings: Settings, review: Review | None) -> None:
        self._header = None if settings.proxy_header is None else settings.proxy_header.lower().encode()
        self._rate = settings.rate
        self._review = review
        self._users: OrderedDict[bytes, tuple[float, User]] = OrderedDict()
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._counted = (-_KNOWN, 0)

    @property
    def everybody(self) -> bool:
        """Whether no request has to be looked at: nobody is a user, and no rate is limited."""
        return self._header is None and not self._rate and self._review is None

    def user(self, method: str, path: str, headers: Mapping[bytes, bytes], client: str | None) -> User:
        """The user of a request; raises a problem where there is none, or where the user may not do this."""
        user = self._known(headers, client)
        if user is None:
            if _PUBLIC.fullmatch(path):
                return User("", "coder")
            raise ProblemError(
                401,
                "This service has users; send the header 'Authorization: Bearer TOKEN' with a token of "
                "`linnaeus users add NAME --store FOLDER`.",
                {"WWW-Authenticate": "Bearer"},
            )
        for verb, pattern, role in _ROLES:
            if method == verb and pattern.fullmatch(path) and not user.may(role):
                raise ProblemError(403, f"{user.name!r} is a {user.role}; {verb} {path} needs the role {role}.")
        return user

    def _known(self, headers: Mapping[bytes, bytes], client: str | None) -> User | None:
        if self._header is not None and _is_loopback(client):
            name = headers.get(self._header, b"").decode("utf-8", "replace").strip()[:100]
            if name:
                return self._named(name)
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and self._review is not None:
            found = self._of_token(token.strip())
            if found is not None:
                return found
        return ANYBODY if self._header is None and not self._n_users() else None

    def _named(self, name: str) -> User:
        """A user that a proxy names: with the role in the store, otherwise a coder."""
        if self._review is None:
            return User(name, "coder")
        with self._review.read() as transaction:
            return user_named(transaction, name) or User(name, "coder")

    def _of_token(self, token: bytes) -> User | None:
        key, now = hashlib.sha256(token).digest(), time.monotonic()
        known = self._users.get(key)
        if known is not None and known[0] > now:
            return known[1]
        assert self._review is not None
        with self._review.read() as transaction:
            found = user_of_token(transaction, token.decode("utf-8", "replace"))
        if found is not None:
            _remember(self._users, key, (now + _KNOWN, found))
        return found

    def _n_users(self) -> int:
        """The number of users; looked up again after a second, so that the first user counts at once."""
        now = time.monotonic()
        if self._review is not None and now - self._counted[0] > 1.0:
            with self._review.read() as transaction:
                self._counted = now, count_users(transaction)
        return self._counted[1]

    def spend(self, user: User, client: str | None) -> None:
        """Count a request against the rate of its user or address; raises a problem when there are too many."""
        if not self._rate:
            return
        key, now, per_second = user.name or f"address {client}", time.monotonic(), self._rate / 60.0
        left, last = self._spent.get(key, (float(self._rate), now))
        left = min(float(self._rate), left + (now - last) * per_second)
        if left < 1.0:
            wait = max(1, round((1.0 - left) / per_second))
            raise ProblemError(
                429, f"More than {self._rate} requests a minute; try again in {wait} s.", {"Retry-After": str(wait)}
            )
        _remember(self._spent, key, (left - 1.0, now))


def _remember(kept: OrderedDict, key: object, value: object) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _MOST:
        kept.popitem(last=False)


def _is_loopback(client: str | None) -> bool:
    try:
        return client is not None and ipaddress.ip_address(client).is_loopback
    except ValueError:
        return False
