"""Which model for my documents? Run several under the same conditions and read the report.

    python examples/shootout.py

On the command line, for files: linnaeus shootout --taxonomy topics.ttl --data docs.jsonl --budget 10m --output report/
"""

from pathlib import Path

from linnaeus.data.corpora import overlapping
from linnaeus.experiments.experiment import Experiment, make_parts
from linnaeus.experiments.report import write_report
from linnaeus.experiments.shootout import shootout

MODELS = ["OneVsRestSVM", "TopDownSVM", "RRSVM", "Hieron"]  # None takes all that fit the documents


def main() -> None:
    """Made-up documents with label sets on a tree: 27 leaves, few documents each, siblings alike."""
    X, labels, tree = overlapping(400, seed=0)
    parts, split = make_parts(X, tree.indicator(labels), test_size=0.25)
    experiment = Experiment("made-up documents", tree, parts, split)

    # Parameters are chosen on training documents alone; every model runs in a process of its own, within the budget.
    # What is finished is kept in report/runs: after a kill, the same call goes on.
    result = shootout(experiment, "report", models=MODELS, budget=60.0, jobs=2, say=print)
    for run in result.ranked():
        print(f"{run.model:14} hierarchical F1 {run.measures['hierarchical_f1']:.3f}")
    print(result.sentence)
    print("written:", ", ".join(str(path) for path in write_report(result, Path("report"))))


if __name__ == "__main__":  # children are started from here
    main()
