"""Store small models in the current format, with the answers they give: ``python tests/golden/make_golden.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import linnaeus
from linnaeus import RRSVM, LexicalModel, Mixture, OneVsRestSVM, Pipeline, Taxonomy
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
DISEASES = {
    "heart": "Heart Diseases", "attack": "Heart Attack", "kidney": "Chronic Kidney Failure", "lungs": "Lungs",
    "foster": "Foster Home Care", "surgery": "Coronary Bypass Surgery", "smoking": "Smoking",
    "typhi": "Salmonella typhi",
}  # fmt: skip
NOTES = {
    "A heart attack after smoking": ["attack", "smoking"],
    "Smoking harms the lungs": ["lungs", "smoking"],
    "Heart diseases and the lungs": ["heart", "lungs"],
    "After a heart attack": ["attack"],
    "Lungs of people who gave up smoking": ["lungs"],
    "Chronic kidney failure in heart diseases": ["kidney", "heart"],
    "The kidney after a heart attack": ["attack"],
}


def main() -> None:
    folder = Path(__file__).parent / f"format-{FORMAT_VERSION}"
    store(folder, pipeline(), [*TEXTS, "nothing known", "an animal that barks"])
    some_words = ["foster care", "bypass of coronary arteries", "failure of a kidney", "typhi"]
    store(Path(f"{folder}-labels"), mixture(), [*NOTES, *some_words, "Foster home care"])


def pipeline() -> Pipeline:
    edges = [("Root", "Animals"), ("Root", "Plants")]
    edges += [("Animals", name) for name in ANIMALS] + [("Plants", name) for name in PLANTS]
    tax = Taxonomy.from_edges(edges, display_labels={"Cats": "Felines", "Plants": "Pflanzen"})
    model = Pipeline(RRSVM(tax, random_state=0), TextFeatures(), decoder=Threshold(-0.5, repair="closure"))
    model.fit(list(TEXTS), list(TEXTS.values()))
    model.model_.prune(0.1, half=True)  # the format of sparse weights is part of the promise
    if model.model_.subtrees_ is None:
        raise SystemExit("no subtree shares weights: this model says little about the format")
    return model


def mixture() -> Mixture:
    """Labels found in texts beside words; most nodes have no documents."""
    above = {"attack": "heart", "surgery": "heart"}
    tax = Taxonomy.from_edges([(above.get(name, "Root"), name) for name in DISEASES], display_labels=DISEASES)
    sources = [("labels", LexicalModel()), ("words", Pipeline(OneVsRestSVM(random_state=0), TextFeatures()))]
    return Mixture(sources, tax, cv=2, learn="given").fit(list(NOTES) * 4, list(NOTES.values()) * 4)


def store(folder: Path, model: Any, documents: list[str]) -> None:
    if folder.exists():
        print(f"{folder.name} exists: stored models of a format are never made again")
        return
    linnaeus.save(model, folder / "model")
    expected = {
        "documents": documents,
        "scores": model.decision_function(documents).tolist(),
        "answers": model.predict(documents),
        "fingerprint": model.taxonomy_.fingerprint,
    }
    if isinstance(model, Mixture):
        expected["probabilities"] = model.predict_proba(documents).tolist()
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
