"""Small models behind the application, and a client that calls it in this process."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import numpy as np
import pytest

from linnaeus import RRSVM, MulticlassSVM, OneVsRestSVM, Pipeline, Taxonomy, calibrate, save
from linnaeus.features.text import TextFeatures

if any(importlib.util.find_spec(package) is None for package in ("fastapi", "uvicorn", "httpx")):
    collect_ignore_glob = ["test_*.py"]

WORDS = {
    "Cats": "cat purr whisker kitten claw",
    "Dogs": "dog bark leash puppy fetch",
    "Trees": "tree leaf bark root branch",
    "Flowers": "flower petal bloom scent rose",
}
EDGES = [("Animals", "Cats"), ("Animals", "Dogs"), ("Plants", "Trees"), ("Plants", "Flowers")]


def corpus(n: int = 48) -> tuple[list[str], list[list[str]]]:
    """Texts and labels; every fourth document has a second label."""
    texts, labels = [], []
    for i in range(n):
        names = [list(WORDS)[i % 4]] + ([list(WORDS)[(i + 1) % 4]] if i % 16 < 4 else [])
        words = [word for name in names for j, word in enumerate(WORDS[name].split()) if (i + j) % 3]
        texts.append(" ".join([*words, "thing"]))
        labels.append(names)
    return texts, labels


def taxonomy() -> Taxonomy:
    from linnaeus.taxonomy.texts import Texts

    tax = Taxonomy.from_edges(EDGES)
    texts = [(tax.index("Cats"), "alternative", "en", "Felines"), (tax.index("Cats"), "preferred", "de", "Katzen")]
    texts += [(v, "preferred", "en", f"{name} (all)") for v, name in enumerate(tax.names)]
    texts += [(tax.index("Cats"), "notation", "", "42.1")]
    return tax.with_texts(Texts.from_entries(sorted(texts)))


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> dict[str, str]:
    """Model folders by name: calibrated, flat, with two fields, with one label per document, of vectors."""
    root = tmp_path_factory.mktemp("served")
    texts, labels = corpus()
    tax = taxonomy()
    joint = Pipeline(RRSVM(tax, random_state=0), TextFeatures(min_df=1)).fit(texts, labels)
    joint.keep_documents(texts, labels)
    calibrate(joint, texts, labels)
    save(joint, root / "joint")
    save(Pipeline(OneVsRestSVM(tax, random_state=0), TextFeatures(min_df=1)).fit(texts, labels), root / "flat")
    fields = {"title": [text.split()[0] for text in texts], "text": texts}
    two = Pipeline(OneVsRestSVM(tax, random_state=0), TextFeatures(fields={"title": 2.0, "text": 1.0}, min_df=1))
    save(two.fit(fields, labels), root / "fields")
    single = [row[0] for row in labels]
    save(Pipeline(MulticlassSVM(tax, random_state=0), TextFeatures(min_df=1)).fit(texts, single), root / "single")
    vectors = np.random.default_rng(0).normal(size=(24, 3)) + np.eye(4, 3)[np.arange(24) % 4] * 4
    save(OneVsRestSVM(tax, random_state=0).fit(vectors, [list(WORDS)[i % 4] for i in range(24)]), root / "vectors")
    return {path.name: str(path) for path in sorted(root.iterdir())}


@pytest.fixture(scope="session")
def client(folders) -> Iterator[object]:
    from starlette.testclient import TestClient

    from linnaeus.serve.app import create_app
    from linnaeus.serve.settings import Settings

    app = create_app(Settings(tuple(folders.values()), max_bytes=100_000, max_documents=50, reload_every=0))
    with TestClient(app, raise_server_exceptions=False) as made:
        yield made
