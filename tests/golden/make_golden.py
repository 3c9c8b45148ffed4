"""Store a small model in the current format, with the answers it gives: ``python tests/golden/make_golden.py``."""

from __future__ import annotations

import json
from pathlib import Path

import linnaeus
from linnaeus import OneVsRestSVM, Pipeline, Taxonomy
from linnaeus.decoding import Threshold
from linnaeus.features import TextFeatures
from linnaeus.store.folder import FORMAT_VERSION

TEXTS = {
    "a cat purrs": ["Cats"],
    "a dog barks": ["Dogs"],
    "bark of a tree": ["Plants"],
    "cat, dog": ["Cats", "Dogs"],
}


def main() -> None:
    folder = Path(__file__).parent / f"format-{FORMAT_VERSION}"
    if folder.exists():
        raise SystemExit(f"{folder.name} exists: stored models of a format are never made again")
    edges = [("Root", "Animals"), ("Root", "Plants"), ("Animals", "Cats"), ("Animals", "Dogs")]
    tax = Taxonomy.from_edges(edges, display_labels={"Cats": "Felines", "Plants": "Pflanzen"})
    model = Pipeline(OneVsRestSVM(tax, random_state=0), TextFeatures(), decoder=Threshold(-0.5, repair="closure"))
    model.fit(list(TEXTS), list(TEXTS.values()))
    model.model_.prune(0.05, half=True)  # the format of sparse weights is part of the promise
    linnaeus.save(model, folder / "model")
    documents = [*TEXTS, "nothing known", "a barking cat"]
    expected = {
        "documents": documents,
        "scores": model.decision_function(documents).tolist(),
        "answers": model.predict(documents),
        "fingerprint": tax.fingerprint,
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
