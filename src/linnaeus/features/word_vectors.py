"""Vectors of words, from which documents are embedded: learned from the documents themselves, or read from a folder.

Own vectors. With c(t, d) the count of term t in document d, and a dot for a sum, positive pointwise mutual information

    P(t, d) = max(0, ln( c(t, d) c(., .) / (c(t, .) c(., d)) ))

is approximated by its leading singular vectors, P = U S V', and the vector of t is its row of U S^(1/2). Terms that
occur in the same documents have similar vectors. Memory is that of the counts; only the most frequent terms take part.

Vectors of tokens. A tokenizer splits a word into n tokens of a table, and the vector of the word is the sum of their
vectors over sqrt(n): a word of many pieces is rare, and says more than each of them, but not n times as much. The
package wordllama holds such a table, and model2vec writes folders with one.

Levy, Goldberg and Dagan (2015), Improving distributional similarity with lessons learned from word embeddings.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from linnaeus.errors import DataError, ParameterError, StoreError
from linnaeus.features.documents import packed, unpacked
from linnaeus.features.text_encoder import TextEncoder, encoder_kind
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, Array, FloatArray, IntArray, ObjectArray

__all__ = ["OwnVectors", "TokenVectors", "WordVectors", "open_vectors"]

WORDLLAMA = "wordllama"
_EXTRA = "pip install 'linnaeus[embeddings]'"
_WORDS = 10_000  # words that are split into tokens at a time
_LARGEST_CONFIG = 1_000_000  # bytes


class WordVectors(Protocol):
    """Vectors of words, and what is needed to find them again.

    ``uses_idf`` says whether words of a document are weighted by their inverse document frequency: own vectors have the
    same length for frequent and for rare words, while vectors of trained tables are shorter for words that say little.
    """

    uses_idf: bool

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    def vectors(self, words: Sequence[str]) -> FloatArray: ...


class OwnVectors:
    """Vectors learned from counts of words in documents.

    Parameters
    ----------
    terms : ndarray of str
        The words.
    table : ndarray of shape (n_terms, dimension)
        Their vectors in single precision.

    Examples
    --------
    >>> counts = sparse.csr_array(np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1.0]]))
    >>> own = OwnVectors.learn(counts, np.array(["cat", "purr", "dog", "bark"], dtype=object), 2)
    >>> cat, purr, dog, zebra = own.vectors(["cat", "purr", "dog", "zebra"])
    >>> bool(cat @ purr > 0.5), bool(abs(cat @ dog) < 1e-5), zebra.tolist()
    (True, True, [0.0, 0.0])
    """

    uses_idf = True

    def __init__(self, terms: ObjectArray, table: FloatArray) -> None:
        self.terms = terms
        self.table = table
        self._places: dict[str, int] | None = None

    @classmethod
    def learn(cls, counts: CSR, terms: ObjectArray, dimension: int, random_state: int = 0) -> OwnVectors:
        """Learn vectors from the counts of terms in documents (n_docs x n_terms).

        Fewer documents or terms than ``dimension`` give shorter vectors.
        """
        from sklearn.utils.extmath import randomized_svd

        C: CSR = sparse.csr_array(counts, dtype=np.float64)
        in_documents, in_terms = np.asarray(C.sum(axis=1)).ravel(), np.asarray(C.sum(axis=0)).ravel()
        rows = np.repeat(np.arange(C.shape[0]), np.diff(C.indptr))
        information = np.log(C.data * C.data.sum() / (in_documents[rows] * in_terms[C.indices]))
        P = sparse.csr_array((np.maximum(information, 0.0), C.indices, C.indptr), shape=C.shape)
        P.eliminate_zeros()
        rank = min(dimension, *P.shape)
        if not P.nnz:
            return cls(terms, np.zeros((len(terms), rank), dtype=np.float32))
        _, lengths, V = randomized_svd(P, rank, n_iter=4, random_state=random_state)
        return cls(terms, np.ascontiguousarray((V * np.sqrt(lengths)[:, None]).T, dtype=np.float32))

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return int(self.table.shape[1])

    @property
    def fingerprint(self) -> str:
        """A hash of terms and vectors."""
        return _fingerprint(packed(self.terms)[0].tobytes(), np.ascontiguousarray(self.table).tobytes())

    def places(self, words: Sequence[str]) -> IntArray:
        """Rows of words in the table, -1 for words that were not learned."""
        if self._places is None:
            self._places = {term: i for i, term in enumerate(self.terms.tolist())}
        return np.array([self._places.get(word, -1) for word in words], dtype=np.int64)

    def vectors(self, words: Sequence[str]) -> FloatArray:
        """Vectors of words, zero for words that were not learned."""
        places = self.places(words)
        found = np.zeros((len(words), self.dimension), dtype=np.float32)
        found[places >= 0] = self.table[places[places >= 0]]
        return found

    def state(self) -> tuple[dict[str, object], dict[str, Array]]:
        """Terms and vectors as (values, arrays)."""
        terms, offsets = packed(self.terms)
        return {}, {"terms": terms, "offsets": offsets, "table": self.table}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> OwnVectors:
        """The inverse of `state`."""
        return cls(unpacked(arrays["terms"], arrays["offsets"]), np.asarray(arrays["table"]))


class TokenVectors:
    """Vectors of words by the tokens that a tokenizer splits them into.

    Parameters
    ----------
    name : str
        What `open_vectors` opened: "wordllama" or the path of a folder.
    table : ndarray of shape (n_rows, dimension)
        Vectors.
    tokenizer : bytes
        The tokenizer as JSON, as the package tokenizers reads it.
    weights : ndarray of shape (n_tokens,), default=None
        Factors of the vectors of tokens.
    mapping : ndarray of shape (n_tokens,), default=None
        The row of each token, where it is not the number of the token.
    keep : bool, default=False
        Whether a model folder holds the table instead of its name and fingerprint.
    """

    uses_idf = False

    def __init__(
        self,
        name: str,
        table: FloatArray,
        tokenizer: bytes,
        *,
        weights: FloatArray | None = None,
        mapping: Array | None = None,
        keep: bool = False,
    ) -> None:
        self.name = name
        self.table = table
        self.tokenizer = tokenizer
        self.weights = weights
        self.mapping = mapping
        self.keep = keep
        self._split, self._unknown = _splitter(name, tokenizer)
        self._check()

    def _check(self) -> None:
        n_tokens = self._split.get_vocab_size()
        rows = len(self.table) if self.mapping is None else len(self.mapping)
        if self.table.ndim != 2 or self.table.dtype.kind != "f" or not self.table.size:
            raise DataError(f"{self.name}: the vectors have the shape {self.table.shape} ({self.table.dtype}).")
        if rows < n_tokens or (self.weights is not None and len(self.weights) < n_tokens):
            raise DataError(f"{self.name}: the tokenizer has {n_tokens:,} tokens, and there are vectors of {rows:,}.")
        if self.mapping is not None and (
            self.mapping.dtype.kind not in "iu"
            or not 0 <= int(self.mapping.min()) <= int(self.mapping.max()) < len(self.table)
        ):
            raise DataError(f"{self.name}: the mapping of tokens refers to vectors that do not exist.")
        if not np.isfinite(self.table).all():
            raise DataError(f"{self.name}: the vectors hold numbers that are not finite.")

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return int(self.table.shape[1])

    @property
    def fingerprint(self) -> str:
        """A hash of tokenizer and vectors."""
        parts = [self.tokenizer, np.ascontiguousarray(self.table).tobytes()]
        parts += [np.ascontiguousarray(more).tobytes() for more in (self.weights, self.mapping) if more is not None]
        return _fingerprint(*parts)

    def vectors(self, words: Sequence[str]) -> FloatArray:
        """Vectors of words, from the tokens that the table knows."""
        found = np.zeros((len(words), self.dimension), dtype=np.float32)
        for start in range(0, len(words), _WORDS):
            part = [word.encode("utf-8", "replace").decode() for word in words[start : start + _WORDS]]
            split = [
                [token for token in one.ids if token != self._unknown]
                for one in self._split.encode_batch(part, add_special_tokens=False)
            ]
            tokens = np.fromiter((token for one in split for token in one), dtype=np.int64)
            indptr = pointers(list(map(len, split)))
            factors = np.ones(len(tokens), dtype=np.float32) if self.weights is None else self.weights[tokens]
            rows = tokens if self.mapping is None else self.mapping[tokens]
            used, place = np.unique(rows, return_inverse=True)
            sums = sparse.csr_array((factors.astype(np.float32), place, indptr), shape=(len(part), len(used)))
            lengths = np.sqrt(np.maximum(np.diff(indptr), 1), dtype=np.float32)
            found[start : start + len(part)] = (sums @ self.table[used].astype(np.float32)) / lengths[:, None]
        return found

    def state(self) -> tuple[dict[str, object], dict[str, Array]]:
        """Name and fingerprint as (values, arrays), or the table itself if it is to be kept."""
        values: dict[str, object] = {"name": self.name, "fingerprint": self.fingerprint, "keep": self.keep}
        if not self.keep:
            return values, {}
        arrays = {"table": self.table, "tokenizer": np.frombuffer(self.tokenizer, dtype=np.uint8)}
        more = {"weights": self.weights, "mapping": self.mapping}
        return values, {**arrays, **{name: array for name, array in more.items() if array is not None}}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> TokenVectors:
        """The inverse of `state`; a table that is not held is opened again and compared."""
        name = str(values["name"])
        if values["keep"]:
            more = {key: np.asarray(arrays[key]) for key in ("weights", "mapping") if key in arrays}
            tokenizer = np.asarray(arrays["tokenizer"], dtype=np.uint8).tobytes()
            return cls(name, np.asarray(arrays["table"]), tokenizer, keep=True, **more)
        try:
            made = open_vectors(name)
        except (DataError, ParameterError) as error:
            raise StoreError(
                f"The model was trained with the embedding {name}, which is needed to use it: {error}"
            ) from None
        if isinstance(made, TextEncoder) or made.fingerprint != values["fingerprint"]:
            raise StoreError(f"The model was trained with the embedding {name}, which is not the same any more.")
        return made


def open_vectors(name: str, *, keep: bool = False) -> TokenVectors | TextEncoder:
    """Vectors by name; the kind of a folder is recognised by its files.

    Parameters
    ----------
    name : str
        "wordllama" for the vectors that the package of this name holds, or the folder of a model2vec, ONNX or
        sentence-transformers model.
    keep : bool, default=False
        Whether a model folder holds the table instead of its name and fingerprint; not possible for neural models.

    Returns
    -------
    TokenVectors or TextEncoder
        The vectors of words, or of whole texts; nothing is ever downloaded.

    Examples
    --------
    >>> try:
    ...     open_vectors("no/such/folder")
    ... except DataError as error:
    ...     print(str(error)[:44])
    The embedding no/such/folder is not a folder
    """
    if name == WORDLLAMA:
        return _wordllama(keep)
    folder = Path(name)
    if not folder.is_dir():
        raise DataError(
            f"The embedding {name} is not a folder; expected own, wordllama, or a folder of a model2vec, ONNX or "
            "sentence-transformers model."
        )
    if encoder_kind(folder) is not None:
        if keep:
            raise ParameterError(f"keep=True: the neural model in {folder} is not held in model folders.")
        return TextEncoder(name)
    table, tokenizer = folder / "model.safetensors", folder / "tokenizer.json"
    for file in (table, tokenizer):
        if not file.is_file():
            raise DataError(f"{folder} is not a model2vec model: it has no {file.name}.")
    arrays = _arrays(table)
    if "embeddings" not in arrays:
        held = ", ".join(sorted(arrays)[:5])
        raise DataError(f"{table} is not a table of a model2vec model: it holds {held}, not embeddings.")
    _check_dimension(folder, arrays["embeddings"])
    more = {name: arrays[name] for name in ("weights", "mapping") if name in arrays}
    return TokenVectors(str(folder.resolve()), arrays["embeddings"], tokenizer.read_bytes(), keep=keep, **more)


def _wordllama(keep: bool) -> TokenVectors:
    """The table inside the package, read directly: its own loader looks for the tokenizer in the internet."""
    found = importlib.util.find_spec(WORDLLAMA)
    if found is None or not found.submodule_search_locations:
        raise DataError(f"The embedding wordllama is in a package that is not installed; {_EXTRA} installs it.")
    folder = Path(next(iter(found.submodule_search_locations)))
    tables = sorted((folder / "weights").glob("*.safetensors"))
    tokenizers = sorted((folder / "tokenizers").glob("*.json"))
    if not tables or not tokenizers:
        raise DataError(f"The package wordllama in {folder} holds no vectors; versions 0.3 and 0.4 do.")
    arrays = _arrays(tables[0])
    return TokenVectors(WORDLLAMA, next(iter(arrays.values())), tokenizers[0].read_bytes(), keep=keep)


def _arrays(file: Path) -> dict[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays: dict[str, Array] = load_file(file)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file} is damaged or not a safetensors file ({error}).") from None
    return arrays


def _check_dimension(folder: Path, table: Array) -> None:
    """Compare the dimension that the configuration says with that of the table."""
    file = folder / "config.json"
    if not file.is_file() or file.stat().st_size > _LARGEST_CONFIG:
        return
    try:
        config = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} is not valid JSON ({error}).") from None
    said = config.get("hidden_dim") if isinstance(config, dict) else None
    if isinstance(said, int) and table.ndim == 2 and config.get("model_type") == "model2vec" and said != table.shape[1]:
        raise DataError(f"{file} says {said} dimensions, and the vectors have {table.shape[1]}.")


def _splitter(name: str, tokenizer: bytes) -> tuple[Any, int | None]:
    """The tokenizer, and the number of the token for what it does not know."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise DataError(f"The embedding {name} needs the package tokenizers; {_EXTRA} installs it.") from None
    try:
        made = Tokenizer.from_str(tokenizer.decode())
        model = json.loads(tokenizer)["model"]
    except Exception as error:  # tokenizers raises plain exceptions
        raise DataError(f"The tokenizer of {name} is damaged ({str(error)[:200]}).") from None
    made.no_padding()
    made.no_truncation()
    unknown = model.get("unk_token")
    return made, made.token_to_id(unknown) if isinstance(unknown, str) else model.get("unk_id")


def _fingerprint(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()
