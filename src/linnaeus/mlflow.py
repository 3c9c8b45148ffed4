"""MLflow: models as runs log them and servers load them (extra ``mlflow``).

The flavour is ``python_function`` with `linnaeus.mlflow` as loader: what is logged is the model folder, no pickled
code. A served model takes a column of texts (or all fields of the model) and answers one row per document.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnaeus.errors import LinnaeusError

if TYPE_CHECKING:
    import pandas as pd

    from linnaeus.pipeline import Pipeline

__all__ = ["PyfuncModel", "log_model", "save_model"]


def save_model(model: Pipeline, path: str | Path, **options: Any) -> None:
    """Save a pipeline as an MLflow model folder.

    Parameters
    ----------
    model : Pipeline
        A fitted pipeline.
    path : str or Path
        The folder; it must not exist.
    **options : object
        For ``mlflow.pyfunc.save_model``, such as ``signature`` or ``input_example``.

    Examples
    --------
    >>> import linnaeus
    >>> save_model(linnaeus.load("model"), "logged")  # doctest: +SKIP
    """
    _with_folder(model, "save_model", {"path": str(path), **options})


def log_model(model: Pipeline, name: str = "model", **options: Any) -> Any:
    """Log a pipeline to the active run.

    Parameters
    ----------
    model : Pipeline
        A fitted pipeline.
    name : str, default="model"
        Name of the logged model.
    **options : object
        For ``mlflow.pyfunc.log_model``, such as ``registered_model_name``.

    Returns
    -------
    ModelInfo
        What MLflow says about the logged model.

    Examples
    --------
    >>> import linnaeus, mlflow  # doctest: +SKIP
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     info = log_model(linnaeus.load("model"), name="subjects")
    """
    return _with_folder(model, "log_model", {"name": name, **options})


def _with_folder(model: Pipeline, function: str, options: dict[str, Any]) -> Any:
    from linnaeus import store

    try:
        from mlflow import pyfunc
    except ImportError:
        raise LinnaeusError("MLflow is not installed: pip install 'linnaeus[mlflow]'") from None
    from linnaeus import __version__

    options.setdefault("pip_requirements", [f"linnaeus>={__version__}"])
    with tempfile.TemporaryDirectory(prefix="linnaeus-") as parent:
        folder = Path(parent) / "linnaeus"
        store.save(model, folder)
        return getattr(pyfunc, function)(loader_module="linnaeus.mlflow", data_path=str(folder), **options)


def _load_pyfunc(path: str) -> PyfuncModel:
    """What MLflow calls to load a model; ``path`` is the model folder."""
    from linnaeus import store

    return PyfuncModel(store.load(path))


class PyfuncModel:
    """A model as MLflow calls it: ``predict`` takes a data frame, a list of texts or fields by name.

    Parameters
    ----------
    model : Pipeline
        The loaded pipeline.

    Examples
    --------
    >>> from linnaeus import OneVsRestSVM, Pipeline
    >>> from linnaeus.features import TextFeatures
    >>> pipe = Pipeline(OneVsRestSVM(random_state=0), TextFeatures()).fit(["cats purr", "dogs bark"], ["cat", "dog"])
    >>> PyfuncModel(pipe).predict(["cats"])[0]["labels"]
    ['cat']
    """

    def __init__(self, model: Pipeline) -> None:
        self.model = model

    def predict(
        self, model_input: pd.DataFrame | list[str] | Mapping[str, list[str]], params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Labels and the best nodes of each document.

        Parameters
        ----------
        model_input : DataFrame, list of str or dict
            Documents: texts, or fields by name.
        params : dict, default=None
            ``top`` (number of nodes in the ranking, 5), ``risk``, ``closed``.

        Returns
        -------
        list of dict
            For each document ``labels``, ``top`` and ``scores``.
        """
        given = dict(params or {})
        k = int(given.pop("top", 5))
        documents: Any = model_input
        if hasattr(documents, "columns"):
            columns = {str(name): documents[name].astype(str).tolist() for name in documents.columns}
            documents = next(iter(columns.values())) if len(columns) == 1 else columns
        answers = self.model.answers(documents, **given)
        names, scores = self.model.top(documents, k=min(k, len(self.model.classes_)))
        found = self.model.taxonomy_.labels(answers)
        rows = zip(found, names.tolist(), scores.tolist(), strict=True)
        return [{"labels": labels, "top": [str(n) for n in top], "scores": s} for labels, top, s in rows]
