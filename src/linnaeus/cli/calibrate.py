"""`linnaeus calibrate`: probabilities and promised risks for a saved model, from documents that it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from linnaeus.cli import common
from linnaeus.cli.common import JsonOption, note, note_columns, print_json, print_table

if TYPE_CHECKING:
    from linnaeus.decoding.probability.risk import RiskControl
    from linnaeus.taxonomy import Taxonomy

__all__ = ["calibrate"]


@common.with_groups
def calibrate(
    model: Annotated[str, typer.Argument(help="Model folder; it is replaced by the calibrated model.")],
    data: Annotated[str, typer.Argument(help="Labelled documents that the model has not seen.")],
    *,
    method: Annotated[str, typer.Option("--method", help="Calibration method: isotonic or platt.")] = "isotonic",
    loss: Annotated[str, typer.Option("--loss", help="What --risk limits: any_wrong or wrong_share.")] = "any_wrong",
    output: Annotated[str | None, typer.Option("--output", "-o", help="Save in this folder instead.")] = None,
    reading: common.LabelledReading,
    suggestions: common.SuggestionOptions,
    checks: common.LabelChecks,
    verify: common.Verify = None,
    as_json: JsonOption = False,
) -> None:
    """Add calibrated probabilities (predict --probabilities) and promised risks (--risk) to a model."""
    from linnaeus.cli.documents import documents_for, note_seen
    from linnaeus.cli.training import labels_of, save
    from linnaeus.tuning import calibrate as calibrated

    loaded = common.load_model(model, verify)
    documents = suggestions.join(documents_for(loaded, [data], reading), loaded.taxonomy_)
    note_columns(documents)
    note_seen(loaded, documents, "the probabilities and promised risks do not hold for new documents")
    documents, y, _ = labels_of(documents, loaded.taxonomy_, checks, reading)
    calibrated(loaded, documents.documents, y, cv=None, method=method, loss=loss)
    save(loaded, output or model)
    control = loaded.risk_control_
    assert control is not None
    rows = [(risk, *_promised(control, risk, loaded.taxonomy_)) for risk in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)]
    if as_json:
        promises = [dict(zip(("risk", "threshold", "answered", *_OF_ANSWERED), row, strict=True)) for row in rows]
        whole = {"documents": len(documents), "risk_documents": control.n, "promises": promises}
        print_json({**whole, "output": output or model})
        return
    columns = ["risk", "of all: threshold", "answered", "of answered: threshold", "answered"]
    print_table(columns, [["" if cell is None else cell for cell in row] for row in rows])
    note(f"saved to {output or model}; try: linnaeus predict {output or model} FILE {_suggested(rows)}")


_OF_ANSWERED = ("threshold_of_answered", "answered_of_answered")


def _suggested(rows: list[tuple[float | None, ...]]) -> str:
    """Options with the smallest risk of at least 5 % at which some documents are answered."""
    for column, of in ((4, " --risk-of answered"), (2, "")):
        for row in rows:
            if row[0] is not None and row[0] >= 0.05 and row[column]:
                return f"--risk {row[0]:g}{of}"
    return "--top 5 --probabilities"


def _promised(control: RiskControl, risk: float, taxonomy: Taxonomy) -> list[float | None]:
    """Thresholds and shares of answered documents for both kinds of risk; None where it cannot be promised."""
    from linnaeus.errors import ParameterError

    cells: list[float | None] = []
    for of in ("all", "answered"):
        try:
            threshold = control.threshold(risk, taxonomy, of=of)
            cells += [threshold, control.answered(threshold, taxonomy)]
        except ParameterError:
            cells += [None, None]
    return cells
