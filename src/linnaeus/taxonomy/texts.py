"""Texts of nodes: preferred, alternative and hidden labels, definitions, notes, examples and notations, per language.

A vocabulary may have a million of them, so they are arrays and one string of bytes: entry i belongs to node
``node[i]``, has the kind ``KINDS[kind[i]]`` and the language ``tags[language[i]]``, and its text is the UTF-8 bytes
``offsets[i] .. offsets[i + 1] - 1`` of ``pool``, which begins with a null byte and ends every text with one. Entries
are sorted by node, kind and language, and keep the order of the file beyond that. Texts are decoded when asked for.

Texts are not part of the fingerprint of a taxonomy: a model depends on nodes and edges, and a corrected definition
must not make it unusable.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linnaeus.errors import ParameterError, TaxonomyError, nearest
from linnaeus.typing import BoolArray, IntArray, ObjectArray

if TYPE_CHECKING:
    from linnaeus.taxonomy.taxonomy import Taxonomy

__all__ = ["CODE", "KINDS", "LABELS", "Labels", "NodeText", "TextCollector", "Texts", "has_words", "words_of_name"]

KINDS = ("preferred", "alternative", "hidden", "definition", "scope_note", "note", "example", "notation")
LABELS = KINDS[:3]
_CODE = {kind: code for code, kind in enumerate(KINDS)}

# Codes, and IRIs whose last step has a digit.
CODE = re.compile(r"[A-Za-z]{0,3}\d[\d._/-]*|[A-Za-z]{1,8}[:_-]\d[\d._/-]*|[A-Za-z][\w+.-]*:\S*?[^/#:]*\d[^/#]*")
# An id after the words of a name: five digits or more, or the sense of a word, as in "dog.n.01".
_ID_AT_END = re.compile(r"(?:[._#:|]\d{5,}|\.[a-z]\.\d{2})\Z")
_WORD = re.compile(r"[^\W\d_]{3,}")


class NodeText(NamedTuple):
    """One text of a node.

    Parameters
    ----------
    node : int
        Number of the node.
    kind : str
        One of `KINDS`.
    language : str
        Language tag in lower case; empty if the text has none.
    text : str
        The text.

    Examples
    --------
    >>> NodeText(3, "alternative", "en", "Apiculture").text
    'Apiculture'
    """

    node: int
    kind: str
    language: str
    text: str


class Labels(NamedTuple):
    """Labels of all nodes as arrays of equal length.

    Parameters
    ----------
    node : int array of shape (n_labels,)
        Numbers of the nodes, in ascending order.
    kind : object array of shape (n_labels,)
        "preferred", "alternative" or "hidden".
    text : object array of shape (n_labels,)
        The labels.
    """

    node: IntArray
    kind: ObjectArray
    text: ObjectArray


class Texts:
    """Texts of the nodes of a taxonomy; frozen. Create them with `from_entries` or by reading a taxonomy.

    Parameters
    ----------
    node : int array of shape (n_texts,)
        Numbers of the nodes, in ascending order.
    kind : int array of shape (n_texts,)
        Numbers of the kinds, as in `KINDS`.
    language : int array of shape (n_texts,)
        Numbers of the language tags.
    tags : sequence of str
        Language tags in lower case; the empty tag is that of texts without a language.
    lengths : int array of shape (n_texts,)
        Lengths of the texts in bytes.
    pool : bytes or callable
        A null byte and the texts in UTF-8, each followed by a null byte; a function that returns them is called when
        the first text is read.

    Examples
    --------
    >>> texts = Texts.from_entries([(0, "preferred", "en", "Heart attack"), (0, "alternative", "de", "Herzinfarkt")])
    >>> len(texts), texts.languages
    (2, {'de': 1, 'en': 1})
    >>> texts.of(0, language="de")
    [NodeText(node=0, kind='alternative', language='de', text='Herzinfarkt')]
    """

    def __init__(
        self,
        node: IntArray,
        kind: IntArray,
        language: IntArray,
        tags: Sequence[str],
        lengths: IntArray,
        pool: bytes | Callable[[], bytes],
    ) -> None:
        self.node = _frozen(node, np.int32)
        self.kind = _frozen(kind, np.uint8)
        self.language = _frozen(language, np.uint16)
        self.tags = tuple(tags)
        self.offsets = _frozen(np.concatenate([[1], 1 + np.cumsum(np.asarray(lengths, np.int64) + 1)]), np.int64)
        self._pool = pool

    @classmethod
    def from_entries(cls, entries: Iterable[tuple[int, str, str, str]]) -> Texts:
        """Create texts from (node, kind, language, text).

        White space around texts is removed; empty and repeated texts are dropped.

        Parameters
        ----------
        entries : iterable of (int, str, str, str)
            Number of the node, one of `KINDS`, a language tag (empty if there is none), and the text.

        Returns
        -------
        Texts
            The texts, sorted by node, kind and language.

        Examples
        --------
        >>> Texts.from_entries([(0, "title", "", "Opera")])
        Traceback (most recent call last):
        linnaeus.errors.TaxonomyError: 'title' is not a kind of text; expected one of preferred, alternative, hidden, \
definition, scope_note, note, example, notation.
        """
        collector = TextCollector()
        for node, kind, language, text in entries:
            if isinstance(node, bool) or not isinstance(node, (int, np.integer)) or node < 0:
                raise TaxonomyError(f"{node!r} is not the number of a node; expected an integer from 0.")
            collector.add(int(node), kind, language, text)
        return collector.texts()

    @property
    def pool(self) -> bytes:
        """All texts in UTF-8, with a null byte before and after each."""
        if callable(self._pool):
            self._pool = self._pool()
        return self._pool

    def __len__(self) -> int:
        return len(self.node)

    def __iter__(self) -> Iterator[NodeText]:
        return map(self.entry, range(len(self)))

    def entry(self, i: int) -> NodeText:
        """The entry with a number."""
        return NodeText(int(self.node[i]), KINDS[self.kind[i]], self.tags[self.language[i]], self._text(i))

    def _text(self, i: int) -> str:
        return self.pool[self.offsets[i] : self.offsets[i + 1] - 1].decode(errors="replace")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts):
            return NotImplemented
        same = len(self) == len(other) and np.array_equal(self.offsets, other.offsets) and self.tags == other.tags
        arrays = ("node", "kind", "language")
        return (
            same
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)
            and self.pool == other.pool
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[..., Texts], tuple[object, ...]]:
        return Texts, (self.node, self.kind, self.language, self.tags, np.diff(self.offsets) - 1, self.pool)

    def __repr__(self) -> str:
        if not len(self):
            return "Texts(empty)"
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.items())
        languages = ", ".join(f"{tag or 'no language'} ({count:,})" for tag, count in self.languages.items())
        return f"Texts({kinds}; {languages})"

    # -- counts --------------------------------------------------------------------------------------------------------

    @property
    def kinds(self) -> dict[str, int]:
        """Number of texts of each kind that occurs."""
        counts = np.bincount(self.kind, minlength=len(KINDS)).tolist()
        return {kind: count for kind, count in zip(KINDS, counts, strict=True) if count}

    @property
    def languages(self) -> dict[str, int]:
        """Number of texts in each language that occurs; the key of texts without a language is empty."""
        counts = np.bincount(self.language, minlength=len(self.tags)).tolist()
        return {tag: count for tag, count in zip(self.tags, counts, strict=True) if count}

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Number of texts by kind and language."""
        pairs, counts = np.unique(self.kind.astype(np.int64) * (len(self.tags) + 1) + self.language, return_counts=True)
        found: dict[str, dict[str, int]] = {}
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            kind, language = divmod(pair, len(self.tags) + 1)
            found.setdefault(KINDS[kind], {})[self.tags[language]] = count
        return found

    # -- selection -----------------------------------------------------------------------------------------------------

    def of(self, node: int, kinds: str | Sequence[str] | None = None, language: str | None = None) -> list[NodeText]:
        """Texts of one node.

        Parameters
        ----------
        node : int
            Number of the node.
        kinds : str or sequence of str, default=None
            Kinds of texts; all by default.
        language : str, default=None
            A language tag, which also selects its regional variants ("en" selects "en-gb"); all languages by default.
            A language that no text has is an error.

        Returns
        -------
        list of NodeText
            The texts, sorted by kind and language.

        Examples
        --------
        >>> texts = Texts.from_entries([(2, "preferred", "en", "Opera"), (2, "note", "en", "Sung drama.")])
        >>> [entry.text for entry in texts.of(2, "preferred")], texts.of(0)
        (['Opera'], [])
        """
        wanted = self._wanted(kinds, language)
        start, stop = np.searchsorted(self.node, [node, node + 1]).tolist()
        return [self.entry(i) for i in range(start, stop) if wanted is None or wanted(i, i + 1)[0]]

    def labels(self, language: str | None = None) -> Labels:
        """Preferred, alternative and hidden labels of all nodes, sorted by node and kind.

        Parameters
        ----------
        language : str, default=None
            A language tag, as in `of`; all languages by default.

        Returns
        -------
        Labels
            Arrays ``node``, ``kind`` and ``text``.

        Examples
        --------
        >>> texts = Texts.from_entries([(0, "preferred", "en", "Opera"), (1, "hidden", "en", "Balett")])
        >>> node, kind, text = texts.labels()
        >>> node.tolist(), kind.tolist(), text.tolist()
        ([0, 1], ['preferred', 'hidden'], ['Opera', 'Balett'])
        """
        chosen = self.select(LABELS, language)
        return Labels(self.node[chosen], _objects(KINDS)[self.kind[chosen]], self.decoded(chosen))

    def select(self, kinds: str | Sequence[str] | None = None, language: str | None = None) -> IntArray:
        """Numbers of the entries of these kinds in this language, as in `of`."""
        wanted = self._wanted(kinds, language)
        return np.arange(len(self)) if wanted is None else np.flatnonzero(wanted(0, len(self)))

    def decoded(self, entries: IntArray) -> ObjectArray:
        """The texts of these entries."""
        if 4 * len(entries) > len(self):
            return _objects(self.pool.decode(errors="replace").split("\0")[1:-1])[entries]
        return _objects([self._text(i) for i in entries.tolist()])

    def equal_to(self, text: str) -> list[int]:
        """Numbers of the entries with exactly this text.

        Examples
        --------
        >>> Texts.from_entries([(0, "preferred", "en", "Opera"), (1, "note", "", "Opera house")]).equal_to("Opera")
        [0]
        """
        if not text or "\0" in text:
            return []
        key = b"\0" + text.encode(errors="surrogatepass") + b"\0"
        found, place = [], self.pool.find(key)
        while place >= 0:
            found.append(int(np.searchsorted(self.offsets, place + 1)))
            place = self.pool.find(key, place + 1)
        return found

    def _wanted(
        self, kinds: str | Sequence[str] | None, language: str | None
    ) -> Callable[[int, int], BoolArray] | None:
        """A function that says which of the entries ``start .. stop - 1`` are selected; None selects all."""
        if kinds is None and language is None:
            return None
        of_kind = np.zeros(len(KINDS), bool)
        of_kind[[_code(kind) for kind in _sequence(kinds)]] = True
        in_language = np.ones(len(self.tags), bool)
        if language is not None:
            in_language[:] = [speaks(tag, language) for tag in self.tags]
            self.check_language(language)
        return lambda start, stop: of_kind[self.kind[start:stop]] & in_language[self.language[start:stop]]

    def check_language(self, language: str) -> None:
        """Raise an error that lists the languages of the texts if this is not one of them."""
        has = self.languages
        if not any(speaks(tag, language) for tag in has):
            raise TaxonomyError(f"No text of the taxonomy is in the language {language!r}; {listed(has)}.")

    # -- other nodes ---------------------------------------------------------------------------------------------------

    def restricted_to(self, nodes: IntArray) -> Texts:
        """The texts of some nodes, which keep their numbers.

        Examples
        --------
        >>> texts = Texts.from_entries([(0, "preferred", "", "Opera"), (1, "preferred", "", "Ballet")])
        >>> list(texts.restricted_to(np.array([1])))
        [NodeText(node=1, kind='preferred', language='', text='Ballet')]
        """
        return self._taken(np.flatnonzero(np.isin(self.node, nodes)), self.node)

    def renumbered(self, number: IntArray) -> Texts:
        """The texts with node v numbered ``number[v]``; texts of nodes with a negative number are dropped.

        Examples
        --------
        >>> texts = Texts.from_entries([(0, "preferred", "", "Opera"), (1, "preferred", "", "Ballet")])
        >>> list(texts.renumbered(np.array([3, -1])))
        [NodeText(node=3, kind='preferred', language='', text='Opera')]
        """
        number = np.asarray(number, dtype=np.int64)
        if len(self) and self.node[-1] >= len(number):
            raise ParameterError(f"number has {len(number):,} entries; expected one for each node with texts.")
        nodes = number[self.node]
        order = np.argsort(nodes, kind="stable")
        return self._taken(order[nodes[order] >= 0], nodes)

    def _taken(self, entries: IntArray, nodes: IntArray) -> Texts:
        """Entries in this order, with these nodes."""
        start, stop, pool = self.offsets[entries].tolist(), self.offsets[entries + 1].tolist(), self.pool
        taken = b"\0" + b"".join(pool[a:b] for a, b in zip(start, stop, strict=True))
        lengths = np.diff(self.offsets)[entries] - 1
        return Texts(nodes[entries], self.kind[entries], self.language[entries], self.tags, lengths, taken)._tidied()

    def _tidied(self) -> Texts:
        """The same texts with only the language tags that occur, so that equal texts have equal arrays."""
        used = np.unique(self.language)
        if len(used) == len(self.tags):
            return self
        number = np.zeros(len(self.tags), np.uint16)
        number[used] = np.arange(len(used))
        tags, lengths = [self.tags[i] for i in used], np.diff(self.offsets) - 1
        return Texts(self.node, self.kind, number[self.language], tags, lengths, self.pool)

    def check(self, n_nodes: int) -> None:
        """Raise an error if the arrays do not fit each other or the number of nodes; the pool is not read."""
        n = len(self.node)
        fits = len(self.kind) == len(self.language) == n == len(self.offsets) - 1
        fits = fits and bool((np.diff(self.node) >= 0).all() and (np.diff(self.offsets) > 1).all())
        if n and fits:
            fits = int(self.node[0]) >= 0 and int(self.node[-1]) < n_nodes
            fits = fits and int(self.kind.max()) < len(KINDS) and int(self.language.max()) < len(self.tags)
        if not fits:
            raise TaxonomyError("The texts do not fit the nodes of the taxonomy.")


class TextCollector:
    """Collects texts of nodes in any order, at about the size of the texts; `texts` sorts them.

    Examples
    --------
    >>> collector = TextCollector()
    >>> collector.add(7, "preferred", "EN", " Opera ")
    >>> list(collector.texts())
    [NodeText(node=7, kind='preferred', language='en', text='Opera')]
    """

    def __init__(self) -> None:
        self.owner = array("i")
        self.kind = array("B")
        self.language = array("H")
        self.tags: dict[str, int] = {}
        self.start = array("q")
        self.pool = bytearray()

    def __len__(self) -> int:
        return len(self.owner)

    def add(self, owner: int, kind: str, language: str, text: str) -> None:
        """Add a text of the node or other owner with this number; an empty text is ignored."""
        code = _code(kind)
        if not isinstance(text, str) or not isinstance(language, str):
            raise TaxonomyError(f"A text is {text!r} in the language {language!r}; expected two strings.")
        text = text.replace("\0", "").strip()
        if not text:
            return
        try:
            packed = text.encode()
        except UnicodeEncodeError:
            raise TaxonomyError(f"The text {text[:60]!r} contains half of a surrogate pair.") from None
        tag = language.strip().lower()
        number = self.tags.setdefault(tag, len(self.tags))
        if number > 65_535:
            raise TaxonomyError(f"The texts have more than 65,536 language tags, such as {tag[:20]!r}.")
        self.owner.append(owner)
        self.kind.append(code)
        self.language.append(number)
        self.start.append(len(self.pool))
        self.pool += packed

    def owned_by(self, number: Mapping[int, int]) -> TextCollector:
        """The texts of the owners that have a number, with that number as their owner; this collector is used up."""
        owners = np.array(self.owner, np.int64)
        numbers = np.full(int(owners.max(initial=-1)) + 1, -1, np.int64)
        for owner, new in number.items():
            numbers[owner] = new
        self.owner = array("i", numbers[owners].astype(np.int32).tobytes())
        return self

    def texts(self, node_of: IntArray | None = None) -> Texts:
        """The texts, sorted and without repetitions.

        Parameters
        ----------
        node_of : int array, default=None
            Number of the node of each owner. By default owners are nodes. Owners with a negative number are dropped.

        Returns
        -------
        Texts
            The texts.
        """
        owner = np.array(self.owner, np.int64)
        node = owner if node_of is None else np.where(owner < 0, -1, np.asarray(node_of, np.int64)[owner])
        tags = sorted(self.tags)
        rank = np.empty(len(tags), np.int64)
        rank[[self.tags[tag] for tag in tags]] = np.arange(len(tags))
        kind = np.array(self.kind, np.int64)
        language = rank[np.array(self.language, np.int64)]
        order = np.lexsort((language, kind, node))
        order = order[node[order] >= 0]
        keys = zip(node[order].tolist(), kind[order].tolist(), language[order].tolist(), strict=True)
        kept, pieces = self._distinct(keys, order)
        lengths = np.array([len(piece) for piece in pieces], np.int64)
        chosen = order[kept]
        pool = b"\0" + b"".join(itertools.chain.from_iterable((piece, b"\0") for piece in pieces))
        return Texts(node[chosen], kind[chosen], language[chosen], tags, lengths, pool)._tidied()

    def _distinct(self, keys: Iterable[tuple[int, int, int]], order: IntArray) -> tuple[IntArray, list[bytes]]:
        """Places in ``order`` of the first of equal texts, and these texts."""
        start, stop = np.array(self.start, np.int64), np.array([*self.start[1:], len(self.pool)], np.int64)
        kept, pieces, view = array("q"), [], memoryview(self.pool)
        before: tuple[int, int, int] | None = None
        seen: set[bytes] = set()
        spans = zip(start[order].tolist(), stop[order].tolist(), strict=True)
        for place, (key, (a, b)) in enumerate(zip(keys, spans, strict=True)):
            piece = bytes(view[a:b])
            if key != before:
                before, seen = key, set()
            if piece not in seen:
                seen.add(piece)
                kept.append(place)
                pieces.append(piece)
        return np.array(kept, np.int64), pieces


def words_of_name(name: str) -> str:
    """The text of a node that has a name only: blanks for underscores, without an id at the end.

    Names with blanks are texts already. An id is left where nothing but a code would remain.

    Examples
    --------
    >>> words_of_name("physical_entity.00001930"), words_of_name("dog.n.01"), words_of_name("Windows_95")
    ('physical entity', 'dog', 'Windows 95')
    >>> words_of_name("GO:0008150"), words_of_name("C04.557"), words_of_name("Part 2.10000")
    ('GO:0008150', 'C04.557', 'Part 2.10000')
    """
    if " " in name:
        return name
    bare = _ID_AT_END.sub("", name)
    bare = bare if _WORD.search(bare) else name
    return bare.replace("_", " ").strip() or name


def has_words(taxonomy: Taxonomy) -> bool:
    """Whether most names of nodes are words, not codes.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> has_words(Taxonomy.flat(["sports", "physical_entity.00001930"])), has_words(Taxonomy.flat(["A01", "b"]))
    (True, False)
    """
    words = [_WORD.search(name) and not CODE.fullmatch(name) for name in map(words_of_name, taxonomy.names.tolist())]
    return 2 * sum(map(bool, words)) > len(words)


def speaks(tag: str, language: str) -> bool:
    """Whether a language tag is a language or a regional variant of it.

    Examples
    --------
    >>> speaks("en-gb", "en"), speaks("en", "EN"), speaks("", "en"), speaks("english", "en")
    (True, True, False, False)
    """
    wanted = language.lower()
    return tag == wanted or (bool(wanted) and tag.startswith(f"{wanted}-"))


def listed(languages: Mapping[str, int]) -> str:
    """The languages that there are, most frequent first, as the end of an error message."""
    if not languages:
        return "it has no texts"
    most = sorted(languages.items(), key=lambda item: (-item[1], item[0]))
    some = ", ".join(f"{tag or 'none'} ({count:,})" for tag, count in most[:20])
    return f"the languages of its texts are {some}{', ...' if len(most) > 20 else ''}"


def _code(kind: str) -> int:
    if kind not in _CODE:
        hint = nearest(str(kind), KINDS) or f"; expected one of {', '.join(KINDS)}."
        raise TaxonomyError(f"{kind!r} is not a kind of text{hint}")
    return _CODE[kind]


def _sequence(kinds: str | Sequence[str] | None) -> Sequence[str]:
    return KINDS if kinds is None else (kinds,) if isinstance(kinds, str) else kinds


def _objects(values: Sequence[str]) -> ObjectArray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _frozen(values: IntArray, dtype: type[np.generic]) -> IntArray:
    values = np.ascontiguousarray(values, dtype=dtype)
    if values.flags.writeable:
        values = values.copy()
        values.flags.writeable = False
    return values
