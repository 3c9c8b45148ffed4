"""From a text to its terms: words, stems, lemmas or characters, and n-grams of them.

    word            words as they are found by a regular expression
    stems:de        their stems, by the Snowball stemmer of a language
    lemmas:de       their dictionary forms, by simplemma (an optional package)
    char, char_wb   n-grams of characters, across words or inside them

An `Analyser` is defined by its parameters alone, so that it can be stored with a model and applied to documents and to
label texts alike. Stop words are removed before stems are taken and n-grams are formed. The stem of a word is computed
once for all analysers of a language.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property, partial
from itertools import filterfalse

from linnaeus.errors import ParameterError, nearest
from linnaeus.features.stop_words import STOP_WORDS, stop_words_of

__all__ = ["WORD", "Analyser", "parse_analyser", "parse_ngrams", "shown", "surfaces_of"]

WORD = r"(?u)\b\w\w+\b"
KINDS = ("word", "char", "char_wb", "stems", "lemmas")

# Codes of the languages that Snowball stemmers exist for.
SNOWBALL = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
_CACHED = 1_000_000  # words whose stems are remembered per language


@dataclass(frozen=True)
class Analyser:
    """A function from a text to the list of its terms.

    Parameters
    ----------
    analyzer : str, default="word"
        "word", "char", "char_wb", or "stems" or "lemmas", with a language as in "stems:de" (default: English).
    ngram_range : tuple of int, default=(1, 1)
        Smallest and largest number of words (or characters) of a term.
    stop_words : str or sequence of str, default=None
        Words to leave out: a language code ("de"), "english" for the longer list of scikit-learn, or the words.
    lowercase : bool, default=True
        Convert texts to lower case first.
    token_pattern : str
        Regular expression of a word; default: two or more letters, digits or underscores.

    Examples
    --------
    >>> Analyser("stems", stop_words="en")("The cats were running")
    ['cat', 'run']
    >>> Analyser("word", ngram_range=(1, 2))("late goals")
    ['late', 'goals', 'late goals']
    >>> Analyser("stems:de") == Analyser("stems:de")
    True
    """

    analyzer: str = "word"
    ngram_range: tuple[int, int] = (1, 1)
    stop_words: str | tuple[str, ...] | None = None
    lowercase: bool = True
    token_pattern: str = WORD

    def __post_init__(self) -> None:
        self._check_kind()
        words = self.stop_words
        if isinstance(words, (list, set, frozenset)):
            object.__setattr__(self, "stop_words", tuple(sorted(words)) if _are_strings(words) else words)
        if isinstance(self.ngram_range, list):
            object.__setattr__(self, "ngram_range", tuple(self.ngram_range))
        self._check_words()
        lengths = self.ngram_range
        whole = isinstance(lengths, tuple) and all(hasattr(n, "__index__") for n in lengths)
        if not whole or len(lengths) != 2 or not 1 <= lengths[0] <= lengths[1]:
            raise ParameterError(
                f"ngram_range goes from the shortest to the longest, as in (1, 2); got {self.ngram_range!r}."
            )

    def _check_kind(self) -> None:
        """Refuse what cannot be stored with a model, above all functions, and say what is possible instead."""
        given = self.analyzer
        if not isinstance(given, str) or self.kind not in KINDS:
            functions = "; functions are not supported, documents may be lists of tokens" * callable(given)
            raise ParameterError(
                f"analyzer must be one of {', '.join(map(repr, KINDS))}, where stems and lemmas may name a language as "
                f"in 'stems:de'; got {given!r}{functions}."
            )
        if ":" in given and self.kind not in ("stems", "lemmas"):
            raise ParameterError(f"analyzer={given!r}: only stems and lemmas depend on a language.")
        if self.kind == "stems" and self.language not in SNOWBALL:
            raise ParameterError(
                f"{self.language!r} is not a language with a stemmer; there are "
                f"{', '.join(SNOWBALL)}{nearest(self.language, SNOWBALL)}"
            )

    def _check_words(self) -> None:
        words = self.stop_words
        known = words in ("english", *STOP_WORDS) if isinstance(words, str) else _are_strings(words or ())
        if not known or not isinstance(words, (str, tuple, type(None))):
            raise ParameterError(
                f"stop_words must be 'english', a language ({', '.join(STOP_WORDS)}), a list of words or None; "
                f"got {words!r} (for other languages pass the words themselves)."
            )
        try:
            groups = re.compile(self.token_pattern).groups
        except (TypeError, re.error) as error:
            raise ParameterError(
                f"token_pattern must be a regular expression; got {self.token_pattern!r} ({error})."
            ) from None
        if groups > 1:
            raise ParameterError(f"token_pattern has {groups} groups; expected one at most: {self.token_pattern!r}.")

    @property
    def kind(self) -> str:
        """What terms are made of, without the language."""
        return self.analyzer.partition(":")[0]

    @property
    def language(self) -> str:
        """Code of the language of stems and lemmas."""
        given = self.analyzer.partition(":")[2].lower() or "en"
        return next((code for code, name in SNOWBALL.items() if name == given), given)

    @property
    def changes_words(self) -> bool:
        """Whether terms differ from the words of the text, so that explanations should show the words."""
        return self.kind in ("stems", "lemmas")

    def __call__(self, text: str) -> list[str]:
        """The terms of a text, in their order and with repetitions."""
        return self._terms(text)

    def words(self, text: str) -> list[str]:
        """The words, stems or lemmas of a text without stop words, in their order and without n-grams.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of str
            One entry per word that is not a stop word.

        Examples
        --------
        >>> Analyser("stems", ngram_range=(1, 2)).words("running dogs")
        ['run', 'dog']
        """
        return self._words(text.lower() if self.lowercase else text)

    def counting(self, seen: Counter[str]) -> Callable[[str], list[str]]:
        """The same function, which also counts the words of the texts, before stems are taken, in ``seen``."""
        return self._analysing(partial(self._words, seen=seen))

    def base(self, word: str) -> str:
        """The stem or lemma of a word in the case of the terms; the word itself for other kinds.

        Parameters
        ----------
        word : str
            One word.

        Returns
        -------
        str
            What the word counts as.
        """
        return self.bases(word) if self.changes_words else word

    @property
    def bases(self) -> Callable[[str], str]:
        """`base` as a function of words alone, for many of them; of analysers with stems or lemmas."""
        return _bases(self.kind, self.language, lower=self.lowercase).__getitem__

    @cached_property
    def _terms(self) -> Callable[[str], list[str]]:
        return self._analysing(self._words)

    def _analysing(self, words: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
        from sklearn.feature_extraction.text import CountVectorizer

        how = {"ngram_range": self.ngram_range, "lowercase": self.lowercase}
        if self.changes_words:
            counter = CountVectorizer(tokenizer=words, token_pattern=None, **how)
        else:
            left_out = self.stop_words if self.stop_words in (None, "english") else sorted(self._stop_words)
            words_of = {"tokenizer": self._find} if self.kind == "word" else {}
            counter = CountVectorizer(analyzer=self.kind, stop_words=left_out, token_pattern=None, **words_of, **how)
        found: Callable[[str], list[str]] = counter.build_analyzer()
        return found

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        if self.stop_words == "english":
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            return frozenset(ENGLISH_STOP_WORDS)
        if isinstance(self.stop_words, str):
            return stop_words_of(self.stop_words)
        return frozenset(self.stop_words or ())

    @cached_property
    def _find(self) -> Callable[[str], list[str]]:
        return _plain_words if self.token_pattern == WORD else re.compile(self.token_pattern).findall

    def _words(self, text: str, seen: Counter[str] | None = None) -> list[str]:
        found = self._find(text)
        if self._stop_words:
            found = [word for word in found if word not in self._stop_words]
        if seen is not None:
            seen.update(found)
        if not self.changes_words:
            return found
        bases = _bases(self.kind, self.language, lower=self.lowercase)
        return [bases[word] for word in found]

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


_FIND_WORDS = re.compile(WORD).findall
_BETWEEN = bytes(code if re.match(r"\w", chr(code)) and code < 128 else 32 for code in range(256))
_LETTERS = frozenset(map(chr, _BETWEEN))


def _plain_words(text: str) -> list[str]:
    """What the pattern `WORD` finds; texts in ASCII are split without it, which is several times faster."""
    if not text.isascii():
        return _FIND_WORDS(text)
    words = text.encode("ascii").translate(_BETWEEN).decode("ascii").split()
    return list(filterfalse(_LETTERS.__contains__, words))


def _are_strings(words: object) -> bool:
    return isinstance(words, Iterable) and all(isinstance(word, str) for word in words)


class _Bases(dict[str, str]):
    """Stems or lemmas by word, computed when they are first asked for."""

    def __init__(self, compute: Callable[[str], str], *, lower: bool) -> None:
        super().__init__()
        self.compute, self.lower, self.lock = compute, lower, threading.Lock()

    def __missing__(self, word: str) -> str:
        with self.lock:  # stemmers hold the word in an attribute while they work
            found = self.compute(word)
            found = found.lower() if self.lower else found
            if len(self) >= _CACHED:
                self.clear()
            self[word] = found
        return found


@cache
def _bases(kind: str, language: str, *, lower: bool) -> _Bases:
    return _Bases(_stemmer(language) if kind == "stems" else _lemmatiser(language), lower=lower)


def _stemmer(language: str) -> Callable[[str], str]:
    import snowballstemmer

    try:
        stem: Callable[[str], str] = snowballstemmer.stemmer(SNOWBALL[language]).stemWord
    except KeyError:  # a release before this language was added
        raise ParameterError(
            f"The installed version of snowballstemmer has no stemmer for {language!r}; a later version may have it."
        ) from None
    return stem


def _lemmatiser(language: str) -> Callable[[str], str]:
    try:
        import simplemma
    except ImportError:
        raise ParameterError(
            "Lemmas need the package simplemma, which is not installed: pip install 'linnaeus[lemmas]'."
        ) from None
    lemma: Callable[[str], str] = partial(simplemma.lemmatize, lang=language)
    try:
        lemma("a")
    except ValueError as error:
        raise ParameterError(f"There are no lemmas of the language {language!r}: {error}.") from None
    return lemma


def surfaces_of(counts: Iterable[tuple[str, int]], analyser: Analyser, terms: Iterable[str]) -> dict[str, str]:
    """The most frequent word of a text for every stem or lemma that is part of a term, where it is another word.

    Parameters
    ----------
    counts : iterable of (str, int)
        Words with the number of their occurrences.
    analyser : Analyser
        Gives their stems or lemmas.
    terms : iterable of str
        Terms to show, which may be n-grams.

    Returns
    -------
    dict of str to str
        Words by stem or lemma; of equally frequent words the shorter one, then the first in alphabetical order.

    Examples
    --------
    >>> surfaces_of([("studies", 3), ("study", 1), ("cat", 1)], Analyser("stems"), ["studi", "cat"])
    {'studi': 'studies'}
    """
    wanted = {word for term in terms for word in term.split(" ")}
    best: dict[str, tuple[int, int, str]] = {}
    for word, count in counts:
        base, key = analyser.base(word), (-count, len(word), word)
        if base in wanted and (base not in best or key < best[base]):
            best[base] = key
    return {base: key[2] for base, key in best.items() if key[2] != base}


def shown(term: str, surfaces: Mapping[str, str]) -> str:
    """A term with every stem or lemma replaced by its most frequent word.

    Parameters
    ----------
    term : str
        A term, which may be an n-gram.
    surfaces : mapping of str to str
        Result of `surfaces_of`.

    Returns
    -------
    str
        The term as people read it.

    Examples
    --------
    >>> shown("clinic studi", {"studi": "studies", "clinic": "clinical"})
    'clinical studies'
    """
    return " ".join(surfaces.get(word, word) for word in term.split(" "))


def parse_analyser(text: str) -> dict[str, object]:
    """Parameters of `TextFeatures` for an analyser as the command line names it.

    Parameters
    ----------
    text : str
        "words", "stems", "stems:de", "lemmas", "lemmas:en", "chars" or "chars:2-5".

    Returns
    -------
    dict
        ``analyzer``, and for characters ``ngram_range``.

    Examples
    --------
    >>> parse_analyser("chars:2-5")
    {'analyzer': 'char_wb', 'ngram_range': (2, 5)}
    >>> parse_analyser("stems:de")
    {'analyzer': 'stems:de'}
    """
    kinds = ("words", "stems", "lemmas", "chars")
    kind, _, more = (part.strip() for part in text.partition(":"))
    if kind not in kinds or (kind == "words" and more):
        raise ParameterError(
            f"{text!r} is not an analyser; expected words, stems, stems:de, lemmas, lemmas:de, chars or chars:2-5"
            f"{nearest(kind, kinds)}"
        )
    if kind == "chars":
        return {"analyzer": "char_wb", "ngram_range": parse_ngrams(more or "2-5")}
    made = Analyser("word" if kind == "words" else f"{kind}:{more}" if more else kind)
    made.base("a")  # a missing package or language is reported now, not after the documents are read
    return {"analyzer": made.analyzer}


def parse_ngrams(text: str) -> tuple[int, int]:
    """Shortest and longest n-gram, given as "2" or "1-3".

    Parameters
    ----------
    text : str
        One length or two.

    Returns
    -------
    tuple of int
        Shortest and longest length.

    Examples
    --------
    >>> parse_ngrams("1-2"), parse_ngrams("3")
    ((1, 2), (3, 3))
    """
    first, dash, last = text.partition("-")
    try:
        lengths = int(first), int(last if dash else first)
    except ValueError:
        lengths = 0, 0
    if not 1 <= lengths[0] <= lengths[1]:
        raise ParameterError(f"{text!r} is not a range of lengths; expected for example 1-2, or 3.")
    return lengths
