"""The entry point: collects the commands, and turns errors of the user into one line and an exit code."""

from __future__ import annotations

import os
import re
import sys
import warnings
from typing import Annotated, Any

import typer

from linnaeus.cli import annif, audit, data, taxonomy, users
from linnaeus.cli.calibrate import calibrate
from linnaeus.cli.card import card
from linnaeus.cli.demo import demo
from linnaeus.cli.desk import desk
from linnaeus.cli.evaluate import evaluate
from linnaeus.cli.explain import explain
from linnaeus.cli.learn import learn
from linnaeus.cli.migrate import migrate
from linnaeus.cli.models import models
from linnaeus.cli.predict import predict
from linnaeus.cli.serve import serve
from linnaeus.cli.shootout import shootout
from linnaeus.cli.train import train
from linnaeus.errors import LinnaeusError, ParameterError, visible

__all__ = ["app", "run"]

# Wrong usage, as typer raises it: the class of click, or of the copy of click that newer versions of typer include.
WrongUsage: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

app = typer.Typer(
    name="linnaeus",
    help="Classify documents, vectors and sequences into a taxonomy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from linnaeus import __version__

        print(f"linnaeus {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for command in (
    demo,
    train,
    calibrate,
    predict,
    evaluate,
    explain,
    learn,
    migrate,
    models,
    serve,
    desk,
    shootout,
    card,
):
    app.command()(command)
app.add_typer(taxonomy.app, name="taxonomy")
app.add_typer(data.app, name="data")
app.add_typer(annif.app, name="annif")
app.add_typer(audit.app, name="audit")
app.add_typer(users.app, name="users")


# Parameters of Python beside the options that do the same: names='label' (--names label).
_PARAMETERS = re.compile(r"\w+='[^']*'(?: and \w+='[^']*')* \((--[^)]+)\)")


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning in one line, without the source line that raised it."""
    print(f"warning: {message}", file=sys.stderr)


def run(arguments: list[str] | None = None) -> None:
    """Run the command line.

    The exit code is 0 on success, 1 for a problem with the input, 2 for wrong usage, 130 when stopped by Ctrl-C.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        sys.exit(_code(arguments))


def _code(arguments: list[str] | None) -> int:
    try:
        _invoke(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()  # detects a closed pipe here rather than at exit
    except typer.Exit as stop:
        return stop.exit_code
    except WrongUsage as error:
        error.show()
        return 2
    except LinnaeusError as error:
        message = _PARAMETERS.sub(r"\1", str(error))
        print(f"error: {visible(message)}", file=sys.stderr)
        return 2 if isinstance(error, ParameterError) else 1
    except BrokenPipeError:  # `linnaeus ... | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"error: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        return 1
    except (KeyboardInterrupt, typer.Abort) as stopped:
        print(str(stopped) or "stopped", file=sys.stderr)
        return 130
    return 0


def _invoke(arguments: list[str]) -> None:
    """Parse and run, without typer's own handling of interrupts and closed pipes."""
    if "_LINNAEUS_COMPLETE" in os.environ:  # the shell requests completions
        app()
    command = typer.main.get_command(app)
    with command.make_context("linnaeus", list(arguments)) as context:
        command.invoke(context)
