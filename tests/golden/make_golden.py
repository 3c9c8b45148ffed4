"""Store a small model in the current format, with the answers it gives: ``python tests/golden/make_golden.py``."""

from __future__ import annotations

import json
from pathlib import Path

import linnaeus
from linnaeus import RRSVM, Pipeline, Taxonomy
from linnaeus.decoding import Threshold
from linnaeus.features import TextFeatures
from linnaeus.store.folder import FORMAT_VERSION

ANIMALS = {"Cats": "purrs", "Dogs": "barks", "Cows": "moos", "Hens": "clucks", "Pigs": "grunts", "Owls": "hoots"}
PLANTS = {"Oaks": "acorn", "Elms": "bark", "Ferns": "frond"}
TEXTS = {
    **{f"a furry animal {word}": [name] for name, word in ANIMALS.items()},
    **{f"a green plant {word}": [name] for name, word in PLANTS.items()},
    "animal purrs, animal barks": ["Cats", "Dogs"],
    "green plant": ["Plants"],
}


def main() -> None:
    folder = Path(__file__).parent / f"format-{FORMAT_VERSION}"
    if folder.exists():
        raise SystemExit(f"{folder.name} exists: stored models of a format are never made again")
    edges = [("Root", "Animals"), ("Root", "Plants")]
    edges += [("Animals", name) for name in ANIMALS] + [("Plants", name) for name in PLANTS]
    tax = Taxonomy.from_edges(edges, display_labels={"Cats": "Felines", "Plants": "Pflanzen"})
    model = Pipeline(RRSVM(tax, random_state=0), TextFeatures(), decoder=Threshold(-0.5, repair="closure"))
    model.fit(list(TEXTS), list(TEXTS.values()))
    model.model_.prune(0.1, half=True)  # the format of sparse weights is part of the promise
    if model.model_.subtrees_ is None:
        raise SystemExit("no subtree shares weights: this model says little about the format")
    linnaeus.save(model, folder / "model")
    documents = [*TEXTS, "nothing known", "an animal that barks"]
    expected = {
        "documents": documents,
        "scores": model.decision_function(documents).tolist(),
        "answers": model.predict(documents),
        "fingerprint": tax.fingerprint,
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
