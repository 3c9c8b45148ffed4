"""`linnaeus users`: who may use a service, and as what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.cli.common import JsonOption, note, print_json, print_table
from linnaeus.errors import ParameterError

if TYPE_CHECKING:
    from linnaeus.serve.store.database import Transaction

__all__ = ["app"]

app = typer.Typer(name="users", help="Users of a service and their tokens.", no_args_is_help=True)

Store = Annotated[str, typer.Option("--store", help="The folder of `linnaeus serve --store`.")]
Database = Annotated[str | None, typer.Option("--database", help="The PostgreSQL database, if the store has one.")]


@contextmanager
def _changing(store: str, database: str | None) -> Iterator[Transaction]:
    from pathlib import Path

    from linnaeus.serve.store.audit import AuditLog
    from linnaeus.serve.store.database import open_database

    folder = Path(store)
    folder.mkdir(parents=True, exist_ok=True)
    opened = open_database(folder, database)
    log = AuditLog(folder, opened)
    try:
        with opened.write() as transaction:
            yield transaction
        log.flush()
    finally:
        opened.close()


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name of the user; an existing user gets a new token.")],
    store: Store,
    role: Annotated[str, typer.Option("--role", help="coder, reviewer or admin.")] = "coder",
    database: Database = None,
) -> None:
    """Add a user and print the token, which is not kept and cannot be shown again.

    linnaeus users add anna --role coder --store coding/
    """
    from linnaeus.serve.store.users import add_user

    with _changing(store, database) as transaction:
        token = add_user(transaction, name, role)
    print(token)
    note(f"{name!r} is a {role}; send the token as the header 'Authorization: Bearer TOKEN'")


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="Name of the user.")], store: Store, database: Database = None
) -> None:
    """End the token of a user; verdicts of the user stay."""
    from linnaeus.serve.store.users import list_users, remove_user

    with _changing(store, database) as transaction:
        if not remove_user(transaction, name):
            known = ", ".join(str(user["name"]) for user in list_users(transaction)) or "nobody"
            raise ParameterError(f"There is no user {name!r}; users are {known}.")
    note(f"the token of {name!r} has ended; a running service notices within a minute")


@app.command("list")
def list_all(store: Store, database: Database = None, as_json: JsonOption = False) -> None:
    """List the users."""
    from linnaeus.serve.store.users import list_users

    with _changing(store, database) as transaction:
        users = list_users(transaction)
    if as_json:
        print_json(users)
    else:
        print_table(["user", "role"], [(user["name"], user["role"]) for user in users])
