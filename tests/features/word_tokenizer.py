"""A tokenizer of whole words, as the package tokenizers reads it, for folders of made-up models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path


def write_tokenizer(folder: Path, words: Sequence[str]) -> None:
    """Write tokenizer.json; ``words`` has "[UNK]" for all others."""
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(words)}, "unk_token": "[UNK]"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
