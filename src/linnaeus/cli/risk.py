"""Promised risks on the command line: the options, documents for review, and the check of a promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from linnaeus.cli import common
from linnaeus.cli.common import note, print_table
from linnaeus.errors import ParameterError

if TYPE_CHECKING:
    from linnaeus.answering.records import PromisedRisk, Record
    from linnaeus.taxonomy import Taxonomy
    from linnaeus.typing import FloatArray

__all__ = [
    "Promise",
    "PromiseCheck",
    "check_plot",
    "checked_promise",
    "print_promise",
    "review_columns",
    "review_row",
    "share_of",
    "write_plot",
]

PANEL = "Promised risk, for calibrated models"  # heading of these options in --help
PLOTS = (".png", ".svg", ".pdf")
_SHOWN = 10  # rows of the coverage-risk curve in a table


class Share(TypedDict):
    """A share with its 90 % interval."""

    value: float | None
    low: float
    high: float


class PromiseCheck(TypedDict):
    """What a promise achieves on labelled documents."""

    risk: float
    risk_of: str
    confidence: float | None
    threshold: float
    documents: int
    coverage: Share
    wrong_of_answered: Share
    wrong_of_all: Share
    brier: float
    ece: float
    brier_of_best_label: float | None
    ece_of_best_label: float | None
    curve: list[dict[str, float]]


def _promise(*names: str, help: str, min: int | None = None) -> object:
    return typer.Option(*names, help=help, min=min, rich_help_panel=PANEL)


def share_of(text: str | float) -> float:
    """A share as a number or a percentage."""
    given = str(text).strip()
    try:
        return float(given.removesuffix("%")) / 100 if given.endswith("%") else float(given)
    except ValueError:
        raise typer.BadParameter(f"{given!r} is not a share; expected a number such as 0.05, or 5%.") from None


@dataclass(frozen=True, kw_only=True)
class Promise(common.Group):
    """A share of wrong answers that must not be exceeded."""

    risk: Annotated[
        float | None,
        typer.Option(
            "--risk",
            help="Withhold answers so that at most this share is wrong, as 0.05 or 5%.",
            parser=share_of,
            metavar="SHARE",
            rich_help_panel=PANEL,
        ),
    ] = None
    risk_of: Annotated[
        str | None, _promise("--risk-of", help="Share of: all documents (default), or answered documents only.")
    ] = None
    confidence: Annotated[
        float | None,
        _promise(
            "--confidence",
            help="Probability with which the risk is kept (default: 0.9 for answered; for all, kept on average).",
        ),
    ] = None

    def request(self, model: common.SavedModel, rules: dict[str, object], taxonomy: Taxonomy) -> PromisedRisk | None:
        """The parameters of ``decisions``, None without --risk; validated before any document is read."""
        if self.risk is None:
            self.refuse("belongs to --risk, which is not given")
            return None
        control = model.risk_control_
        if control is None:
            raise ParameterError("--risk: the model is not calibrated; run `linnaeus calibrate MODEL UNSEEN` first.")
        for name in ("require", "at_least"):
            if rules.get(name):
                option = f"--{name.replace('_', '-')}"
                raise ParameterError(
                    f"--risk and {option} contradict each other: an uncertain document gets no answer."
                )
        if not control.exact:
            from linnaeus.answering.records import APPROXIMATE

            note(f"note: {APPROXIMATE}")
        of = self.risk_of or "all"
        with self.named():
            threshold = control.threshold(self.risk, taxonomy, of=of, confidence=self.confidence, rules=rules or None)
        if threshold >= 1.0:
            note(
                f"warning: no document can be answered with a risk of {self.risk:g} of {of} documents; all are left "
                "for review"
            )
        return {"risk": self.risk, "risk_of": of, "confidence": self.confidence, "rules": rules or None}


# -- documents for review ----------------------------------------------------------------------------------------------


def review_columns(k: int) -> list[str]:
    """The header of the table of documents for review."""
    of_one = [f"{what}_{i}" for i in range(1, k + 1) for what in ("label", "name", "probability")]
    return ["id", "reason", "margin", *of_one]


def review_row(record: Record, k: int) -> list[object]:
    """The row of one document."""
    cells = [value for candidate in record["candidates"][:k] for value in candidate.values()]
    return [record["id"], record["reason"], record["margin"], *cells, *[None] * (3 * k - len(cells))]


# -- the check of a promise --------------------------------------------------------------------------------------------


def checked_promise(
    model: common.SavedModel, documents: object, gold: list[list[str]], request: PromisedRisk
) -> PromiseCheck:
    """Realised risk and coverage with intervals, Brier score, calibration errors, and the coverage-risk curve."""
    import numpy as np

    from linnaeus import metrics

    inner, taxonomy = model.estimator, model.taxonomy_
    X = model.matrix(documents)
    found = inner.decisions(X, k=1, **request)
    n = found.Y.shape[0]
    answered = metrics.selective_risk(gold, found.Y, taxonomy)
    n_wrong = round(float(metrics.selective_risk(gold, found.Y, taxonomy, of="all")) * n)
    curve = inner.calibrator_
    assert curve is not None  # `Promise.request` refuses models without one
    P = np.concatenate([curve(S, taxonomy, inner.nodes_) for S in inner.score_blocks(X)])
    names = [str(name) for name in taxonomy.names[curve.nodes]]
    best, certainty = found.candidates[:, 0], found.probabilities[:, 0]
    best_labels = [[str(name)] for name in taxonomy.names[best]]
    rows = metrics.coverage_risk_curve(gold, best_labels, certainty, taxonomy)
    right = np.array([label[0] in row for label, row in zip(best_labels, gold, strict=True)], dtype=np.float64)
    return {
        "risk": request["risk"],
        "risk_of": request["risk_of"],
        "confidence": request["confidence"],
        "threshold": found.threshold,
        "documents": n,
        "coverage": _share(answered.n, n),
        "wrong_of_answered": _share(n_wrong, answered.n),
        "wrong_of_all": _share(n_wrong, n),
        "brier": float(metrics.brier(gold, P, taxonomy, labels=names)),
        "ece": float(metrics.expected_calibration_error(gold, P, taxonomy, labels=names)),
        "brier_of_best_label": float(np.mean((certainty - right) ** 2)) if n else None,
        "ece_of_best_label": _top_error(certainty, right),
        "curve": rows,
    }


def _share(k: int, n: int) -> Share:
    from linnaeus.metrics import binomial_interval

    low, high = binomial_interval(k, n)
    return {"value": k / n if n else None, "low": low, "high": high}


def _top_error(certainty: FloatArray, right: FloatArray) -> float | None:
    """Expected calibration error of the best labels, in 15 bins of equal width."""
    from linnaeus.metrics.calibration import bin_table

    rows = bin_table(certainty, right, 15)
    n = sum(row["n"] for row in rows)
    return sum(row["n"] * abs(row["probability"] - row["frequency"]) for row in rows) / n if n else None


def print_promise(found: PromiseCheck) -> None:
    """Print the check of a promise as tables."""
    import numpy as np

    shares = [
        ("coverage", *found["coverage"].values()),
        ("wrong of answered", *found["wrong_of_answered"].values()),
        ("wrong of all", *found["wrong_of_all"].values()),
    ]
    how = "" if found["confidence"] is None else f", confidence {found['confidence']:g}"
    title = f"promised: at most {found['risk']:.3g} of {found['risk_of']} documents wrong{how}"
    print_table(["share", "value", "low (90 %)", "high (90 %)"], shares, title=title)
    single = [
        ("threshold", found["threshold"]),
        ("brier", found["brier"]),
        ("ece", found["ece"]),
        ("brier of best label", found["brier_of_best_label"]),
        ("ece of best label", found["ece_of_best_label"]),
    ]
    print_table(["probabilities", "value"], single)
    rows = found["curve"]
    rows = [rows[i] for i in np.unique(np.linspace(0, len(rows) - 1, _SHOWN).round().astype(int))] if rows else []
    if rows:
        print_table(list(rows[0]), [list(row.values()) for row in rows], title="best label: coverage and risk")


def check_plot(path: str | None) -> None:
    """Refuse a plot that cannot be drawn, before anything is computed."""
    if path is None:
        return
    if not path.lower().endswith(PLOTS):
        raise ParameterError(f"--plot {path}: expected a file name that ends in {', '.join(PLOTS)}.")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ParameterError("--plot needs matplotlib: pip install 'linnaeus[plots]'.") from None


def write_plot(found: PromiseCheck, path: str) -> None:
    """Draw the coverage-risk curve with its interval, the promised risk, and the point that the promise reaches."""
    from matplotlib.figure import Figure

    from linnaeus.plots import plot_coverage_risk

    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    covered, wrong = found["coverage"]["value"], found["wrong_of_answered"]["value"]
    reached = None if covered is None or wrong is None else (covered, wrong)
    plot_coverage_risk(found["curve"], risk=found["risk"], reached=reached, ax=figure.add_subplot())
    figure.savefig(path, dpi=150)
