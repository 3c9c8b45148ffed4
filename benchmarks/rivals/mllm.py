"""MLLM of Annif in an interpreter of its own: ``python benchmarks/rivals/mllm.py FOLDER``, where Annif is installed.

The folder has ``vocab.ttl`` (SKOS), ``train.tsv`` (text, a tab, URIs) and ``test.txt`` (a text per line); the best five
URIs of every test document are written to ``suggested.json``. The last line printed is JSON. The analyser is
``snowball(english)``, everything else is Annif's default. Where the data of NLTK's sentence splitter is not installed,
sentences end after full stops, question and exclamation marks. Nothing of linnaeus is imported here.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PROJECT = "[mllm]\nname=mllm\nlanguage=en\nbackend=mllm\nanalyzer=snowball(english)\nvocab=terms\nlimit=5\n"
_BATCH = 32  # documents


def split_sentences_without_data() -> bool:
    """Replace NLTK's sentence splitter where its data is missing; True if it was replaced."""
    import nltk.data
    import nltk.tokenize

    try:
        nltk.data.find("tokenizers/punkt_tab")
    except LookupError:
        nltk.data.find = lambda *_, **__: None
        nltk.tokenize.sent_tokenize = lambda text, *_: re.split(r"(?<=[.?!])\s+", text.strip())
        return True
    return False


def main(folder: Path) -> dict[str, Any]:
    """Load the vocabulary, train, and suggest."""
    (folder / "projects.cfg").write_text(_PROJECT)
    os.chdir(folder)
    replaced = split_sentences_without_data()
    import annif
    import annif.registry
    from annif.cli import cli
    from annif.corpus import Document

    cli.main(["load-vocab", "--language", "en", "terms", "vocab.ttl"], standalone_mode=False)
    start = time.process_time()
    cli.main(["train", "mllm", "train.tsv"], standalone_mode=False)
    trained = time.process_time() - start
    texts = (folder / "test.txt").read_text(encoding="utf-8").splitlines()
    suggested: list[list[str]] = []
    with annif.create_flask_app().app_context():
        project = annif.registry.get_project("mllm")
        start = time.process_time()
        for first in range(0, len(texts), _BATCH):
            batch = project.suggest([Document(text=text) for text in texts[first : first + _BATCH]])
            for row in batch:
                best = sorted(row, key=lambda one: -one.score)[:5]
                suggested.append([project.subjects[one.subject_id].uri for one in best if one.score > 0])
    (folder / "suggested.json").write_text(json.dumps(suggested))
    return {
        "annif": version("annif"),
        "sentences_by_punctuation": replaced,
        "train_seconds": round(trained, 2),
        "suggest_seconds": round(time.process_time() - start, 2),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]).resolve())))
