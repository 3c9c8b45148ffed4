"""The entry point: finds the command, and turns errors of the user into one line and an exit code.

Only the module of the command that is called is imported: `linnaeus --help` lists the others by their summaries here.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from typing import Annotated, Any

import typer

from linnaeus.errors import LinnaeusError, ParameterError, visible

__all__ = ["COMMANDS", "make_app", "run"]

# Wrong usage, as typer raises it: the class of click, or of the copy of click that newer versions of typer include.
WrongUsage: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

# Every command, a function or an `app` of the module of this name, with the first line of its help.
COMMANDS = {
    "demo": "Train on the built-in corpus, evaluate, explain three documents, save, and suggest next steps.",
    "train": "Train a model, save it, and measure it on documents that it has not seen.",
    "calibrate": "Add calibrated probabilities (predict --probabilities) and promised risks (--risk) to a model.",
    "predict": "Classify documents.",
    "evaluate": "Compare answers with gold labels: a model on labelled documents, or label files of any tool.",
    "explain": "Show which words count for and against each node of the paths to the labels.",
    "learn": "Continue to train a model on a stream of documents.",
    "migrate": "Bring labelled documents, or a saved model, to the next version of their taxonomy.",
    "models": "List the models, the parameters of one, or the properties of a saved model.",
    "serve": "Serve models over HTTP: a REST interface, Annif's addresses, and metrics.",
    "desk": "Code documents in the browser, with suggestions of a model.",
    "shootout": "Run every model that fits, compare, and write report.html, report.md and shootout.json.",
    "card": "Write a model card: what the model is, its labels, figures, and how to use it.",
    "taxonomy": "Show, search, convert, check, compare and learn taxonomies.",
    "data": "Describe and convert documents and labels.",
    "annif": "Projects of Annif.",
    "audit": "Check the log of a service.",
    "users": "Users of a service and their tokens.",
}


def make_app(called: str | None = None) -> typer.Typer:
    """The command line; with ``called``, only this command has its options, and others are summaries."""
    app = typer.Typer(
        name="linnaeus",
        help="Classify documents, vectors and sequences into a taxonomy.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name, summary in COMMANDS.items():
        if called is not None and name != called:
            app.command(name, help=summary)(_not_called)
            continue
        module = importlib.import_module(f"linnaeus.cli.{name}")
        group = getattr(module, "app", None)
        if group is None:
            app.command()(getattr(module, name))
        else:
            app.add_typer(group, name=name)
    return app


def _not_called() -> None:
    """What stands for a command while another one is called."""


def _version(wanted: bool) -> None:
    if wanted:
        from linnaeus import __version__

        print(f"linnaeus {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


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
        make_app()()
    called = next((one for one in arguments if not one.startswith("-")), "")
    command = typer.main.get_command(make_app(called))
    with command.make_context("linnaeus", list(arguments)) as context:
        command.invoke(context)
