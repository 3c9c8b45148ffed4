"""Promised risks on the command line: the options, documents for review, and whether a promise is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linnaeus.cli import options
from linnaeus.cli.console import note, print_table
from linnaeus.errors import ParameterError

if TYPE_CHECKING:
    from linnaeus.models.promises import Decisions
    from linnaeus.taxonomy import Taxonomy

__all__ = [
    "Promise",
    "check_plot",
    "checked_promise",
    "print_promise",
    "review_columns",
    "review_entry",
    "review_row",
    "write_plot",
]

PLOTS = (".png", ".svg", ".pdf")
_SHOWN = 10  # rows of the coverage-risk curve in a table


def _promise(*names: str, help: str, min: int | None = None) -> Any:
    return typer.Option(*names, help=help, min=min, rich_help_panel="Promised risk, for calibrated models")


@dataclass(frozen=True, kw_only=True)
class Promise(options.Group):
    """A share of wrong answers that is not to be exceeded."""

    risk: Annotated[float | None, _promise("--risk", help="Withhold answers so that at most this share is wrong.")] = (
        None
    )
    risk_of: Annotated[
        str | None, _promise("--risk-of", help="What the share is of: all documents (default), or those answered.")
    ] = None
    confidence: Annotated[
        float | None,
        _promise(
            "--confidence", help="Probability that the promise holds (default: 0.9 of answered, on average of all)."
        ),
    ] = None

    def request(self, model: Any, rules: dict[str, Any], taxonomy: Taxonomy) -> dict[str, Any]:
        """The parameters of ``decisions``, empty without --risk; checked before any document is read."""
        if self.risk is None:
            self.refuse("belongs to --risk, which is not given")
            return {}
        control = model.risk_control_
        if control is None:
            raise ParameterError("--risk: the model is not calibrated; `linnaeus calibrate MODEL UNSEEN` does it.")
        for name in ("require", "at_least"):
            if rules.get(name):
                option = f"--{name.replace('_', '-')}"
                raise ParameterError(
                    f"--risk and {option} contradict each other: an uncertain document gets no answer."
                )
        of = self.risk_of or "all"
        with self.named():
            threshold = control.threshold(self.risk, taxonomy, of=of, confidence=self.confidence, rules=rules or None)
        if threshold >= 1.0:
            note(f"warning: no threshold keeps --risk {self.risk:g} of {of} documents: all are left for review")
        return {"risk": self.risk, "risk_of": of, "confidence": self.confidence, "rules": rules or None}


# -- documents for review ----------------------------------------------------------------------------------------------


def review_entry(found: Decisions, i: int, k: int, taxonomy: Taxonomy) -> dict[str, Any]:
    """Why a document has no answer, and its k most probable labels."""
    from linnaeus.models.promises import REASONS

    pairs = zip(found.candidates[i, :k].tolist(), found.probabilities[i, :k].tolist(), strict=True)
    labels = [
        {"label": str(taxonomy.names[v]), "name": taxonomy.display(v), "probability": round(p, 6)} for v, p in pairs
    ]
    return {"reason": REASONS[found.reason[i]], "margin": round(float(found.margin[i]), 6), "candidates": labels}


def review_columns(k: int) -> list[str]:
    """The header of the table of documents for review."""
    of_one = [f"{what}_{i}" for i in range(1, k + 1) for what in ("label", "name", "probability")]
    return ["id", "reason", "margin", *of_one]


def review_row(record: dict[str, Any], k: int) -> list[Any]:
    """The row of one document."""
    cells = [value for candidate in record["candidates"][:k] for value in candidate.values()]
    return [record["id"], record["reason"], record["margin"], *cells, *[None] * (3 * k - len(cells))]


# -- whether a promise is kept -----------------------------------------------------------------------------------------


def checked_promise(model: Any, documents: Any, gold: Any, request: dict[str, Any]) -> dict[str, Any]:
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


def _share(k: int, n: int) -> dict[str, float | None]:
    from linnaeus.metrics import binomial_interval

    low, high = binomial_interval(k, n)
    return {"value": k / n if n else None, "low": low, "high": high}


def _top_error(certainty: Any, right: Any) -> float | None:
    """Expected calibration error of the best labels, in 15 bins of equal width."""
    from linnaeus.metrics.calibration import bin_table

    rows = bin_table(certainty, right, 15)
    n = sum(row["n"] for row in rows)
    return sum(row["n"] * abs(row["probability"] - row["frequency"]) for row in rows) / n if n else None


def print_promise(found: dict[str, Any]) -> None:
    """The check of a promise as tables."""
    import numpy as np

    shares = [
        (name.replace("_", " "), *found[name].values()) for name in ("coverage", "wrong_of_answered", "wrong_of_all")
    ]
    how = "" if found["confidence"] is None else f", confidence {found['confidence']:g}"
    title = f"promised: at most {found['risk']:.3g} of {found['risk_of']} documents wrong{how}"
    print_table(["share", "value", "low (90 %)", "high (90 %)"], shares, title=title)
    plain = ("threshold", "brier", "ece", "brier_of_best_label", "ece_of_best_label")
    print_table(["probabilities", "value"], [(name.replace("_", " "), found[name]) for name in plain])
    rows = found["curve"]
    rows = [rows[i] for i in np.unique(np.linspace(0, len(rows) - 1, _SHOWN).round().astype(int))] if rows else []
    if rows:
        print_table(list(rows[0]), [list(row.values()) for row in rows], title="best label: coverage and risk")


def check_plot(path: str | None) -> None:
    """Refuse a picture that cannot be drawn, before anything is computed."""
    if path is None:
        return
    if not path.lower().endswith(PLOTS):
        raise ParameterError(f"--plot {path}: expected a file that ends in {', '.join(PLOTS)}.")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ParameterError("--plot needs matplotlib: pip install 'linnaeus[plots]'.") from None


def write_plot(found: dict[str, Any], path: str) -> None:
    """The coverage-risk curve as a picture, with its interval, the promised risk, and where the promise stands."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    coverage, risk, low, high = ([row[key] for row in found["curve"]] for key in ("coverage", "risk", "low", "high"))
    axes.fill_between(coverage, low, high, alpha=0.25, label="90 % interval")
    axes.plot(coverage, risk, label="best label")
    axes.axhline(found["risk"], linestyle="--", color="black", linewidth=0.8, label=f"promised {found['risk']:.3g}")
    if found["wrong_of_answered"]["value"] is not None:
        axes.plot(found["coverage"]["value"], found["wrong_of_answered"]["value"], "o", label="under the promise")
    axes.set_xlabel("coverage: share of documents answered")
    axes.set_ylabel("risk: share of answers wrong")
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.savefig(path, dpi=150)
