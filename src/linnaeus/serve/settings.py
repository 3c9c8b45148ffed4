"""Settings of a service: which models it serves, and the limits of a request."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

from linnaeus.errors import ParameterError, check_number

__all__ = ["Settings"]

_VARIABLE = "LINNAEUS_SERVE_SETTINGS"  # how worker processes are given their settings
_PARENT = "LINNAEUS_SERVE_PARENT"  # and the number of the process that starts them


@dataclass(frozen=True)
class Settings:
    """What a service serves, and its limits.

    Parameters
    ----------
    folders : tuple of str
        Model folders, folders of model folders, or ``NAME=FOLDER``.
    max_bytes : int, default=16777216
        Maximum number of bytes of a request, and of a line of a stream.
    max_documents : int, default=1000
        Maximum number of documents in a request; streams have no such limit.
    timeout : float, default=60.0
        Time limit of a request in seconds, and of a pause of the client while it sends.
    max_waiting : int, default=64
        Number of requests that may wait for a model; further ones are refused.
    reload_every : float, default=1.0
        Seconds between looks at the folders; 0 never reloads.
    workers : int, default=1
        Number of processes.
    store : str, default=None
        Folder in which documents, verdicts and jobs are kept; None keeps nothing.
    database : str, default=None
        URL of a PostgreSQL database to use in place of a SQLite file in ``store``.
    control : float, default=0.05
        Share of documents that are a random sample, on which accuracy is measured.
    blind : float, default=0.02
        Share of control documents whose coders see no suggestion.
    double : float, default=0.05
        Share of documents that two coders decide.
    seed : int, default=0
        Seed with which documents are drawn for these shares.
    lease_minutes : float, default=10.0
        Minutes for which a document is kept for the coder who got it.
    audit_answers : bool, default=True
        Whether the audit log of a store also records all answers of models.
    memory : bool, default=True
        Whether documents show what was decided about the same or similar documents.
    training : tuple of str, default=()
        Files of documents that later trainings include, in addition to those with verdicts.
    proxy_header : str, default=None
        Header with the name of the user, which a proxy on this machine sets after it has authenticated the user.
    rate : int, default=0
        Maximum number of requests per minute of a user, or of an address; 0 for no limit.

    Examples
    --------
    >>> Settings(("model",), workers=2).max_documents
    1000
    """

    folders: tuple[str, ...]
    max_bytes: int = 16 * 2**20
    max_documents: int = 1000
    timeout: float = 60.0
    max_waiting: int = 64
    reload_every: float = 1.0
    workers: int = 1
    store: str | None = None
    database: str | None = None
    control: float = 0.05
    blind: float = 0.02
    double: float = 0.05
    seed: int = 0
    lease_minutes: float = 10.0
    audit_answers: bool = True
    memory: bool = True
    training: tuple[str, ...] = ()
    proxy_header: str | None = None
    rate: int = 0

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_documents", "max_waiting", "workers"):
            check_number(name, getattr(self, name), least=1, whole=True)
        check_number("timeout", self.timeout, least=0.001)
        check_number("reload_every", self.reload_every, least=0)
        check_number("rate", self.rate, least=0, whole=True)
        check_number("lease_minutes", self.lease_minutes, above=0)
        if self.rate and self.workers > 1:
            raise ParameterError("--rate counts requests in one process; give --workers 1, or limit rates in a proxy.")
        if self.database is not None and self.store is None:
            raise ParameterError("--database needs --store FOLDER, where files of the service are kept.")

    def export(self) -> None:
        """Hand the settings to processes that are started from now on."""
        os.environ[_VARIABLE] = json.dumps(asdict(self))
        os.environ[_PARENT] = str(os.getpid())

    @classmethod
    def exported(cls) -> Settings:
        """The settings that the parent process handed over."""
        given = json.loads(os.environ[_VARIABLE])
        return cls(**{**given, "folders": tuple(given["folders"]), "training": tuple(given["training"])})

    @staticmethod
    def exporter() -> int:
        """The process that handed the settings over; a worker may begin after it was killed."""
        return int(os.environ.get(_PARENT, os.getppid()))
