"""Correspondences in files: tables, rules and RDF.

    CSV, TSV, Excel     two columns of codes among others, found by their content: the column whose cells are mostly
                        nodes of the old version and the one whose cells are mostly nodes of the new version. Cells may
                        hold labels instead of codes, and several codes separated by ``;``, ``|`` or ``,``. Columns like
                        "weight" or "kind" give these, rows with "no" in a column "confirmed" are dropped.
    YAML, JSON          rules ``{rules: [{input: {...: a}, output: {...: [b, c]}}]}``, also inside other objects,
                        lists of objects, which are read as the rows of a table, or one object ``{a: [b, c]}``
    sentences           lines such as "Abdomen, Acute [D000006] replaced by Abdominal Pain [D015746]", "a -> b; c" or
                        "Deleted: a", as in the reports of MeSH; headings or codes, of which half must be known; a line
                        that begins with an arrow, followed by lines that begin with a double arrow
    RDF                 SKOS matches, ``dcterms:isReplacedBy`` and ``replaces``, XKOS concept associations

Codes are kept as they are given unless they stand for a node in another way (alias, unique label, path of labels, last
step of an IRI), so that codes that do not exist can be reported.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from linnaeus.errors import DataError, TaxonomyError, nearest, place
from linnaeus.revisions.correspondence import CodePair, Correspondence
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.formats import recognise_text
from linnaeus.taxonomy.formats.draft import body_lines, column_mark, decode, load, source_name, table
from linnaeus.taxonomy.names import by_path
from linnaeus.taxonomy.search import fold
from linnaeus.typing import JSON
from linnaeus.yaml_text import parse_yaml

__all__ = ["Resolver", "matches", "matches_between", "read"]

RDF = ("turtle", "rdf-xml", "n-triples", "json-ld")
SKOS = "http://www.w3.org/2004/02/skos/core#"
XKOS = "http://rdf-vocabulary.ddialliance.org/xkos#"
DCT = "http://purl.org/dc/terms/"
_MATCHES = {
    "exactMatch": "exact",
    "closeMatch": "close",
    "broadMatch": "broad",
    "narrowMatch": "narrow",
    "relatedMatch": "close",
}
_INVERSE = {"broad": "narrow", "narrow": "broad"}
OLD_WORDS = {"old", "from", "source", "input", "previous", "before", "former", "deleted"}
NEW_WORDS = {"new", "to", "target", "output", "next", "after", "current", "replaced", "replacement"}
WEIGHT_WORDS = {"weight", "share", "proportion", "percent", "percentage"}
KIND_WORDS = {"kind", "relation", "match", "type", "relationship"}
CONFIRMED = "confirmed"
_KINDS = {
    **dict.fromkeys(("exact", "exactmatch", "equal", "same", "1:1", "=", "equivalent", "full"), "exact"),
    **dict.fromkeys(("close", "closematch", "partial", "part", "overlap", "related", "relatedmatch", "n:m"), "close"),
    **dict.fromkeys(("broad", "broadmatch", "broader", "n:1", "<", "merged"), "broad"),
    **dict.fromkeys(("narrow", "narrowmatch", "narrower", "1:n", ">", "split"), "narrow"),
}
_REPLACED = re.compile(
    r"^(?:[A-Za-z ]{0,20}:\s+)?(?P<old>.+?)\s*(?:->|=>|\u2192|\b(?:is |was |has been |have been |are )?"
    r"(?:replaced (?:by|with)|changed to|renamed (?:to|as)|merged (?:into|with)|use instead)\b:?)\s*(?P<new>.+)$",
    re.IGNORECASE,
)
_DELETED = re.compile(
    r"^(?:(?:deleted?|removed)(?: heading| descriptor)?:\s*(?P<old>.+)|(?P<also>.+?)\s+(?:is |was |has been )?"
    r"(?:deleted|removed)\.?)$",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"[\[(](?P<code>[^\])]+)[\])]\s*$")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S|urn:\S")
_ARROW = re.compile(r"(?:->|\u2192)\s*(?P<old>\S.*)")
_DOUBLE_ARROW = re.compile(r"(?:=>|\u21d2)\s*(?P<new>\S.*)")
LEAST_SHARE = 0.5  # of the cells of a column that must be codes of a version


class Resolver:
    """Names of nodes for what tables contain: names, aliases, unique labels, whole paths of labels, and IRIs.

    Codes and IRIs that end with them are the same, whichever of the two the nodes are named by.

    Examples
    --------
    >>> resolve = Resolver(Taxonomy.from_edges([("a", "b")], display_labels={"a": "Games", "b": "Tennis"}))
    >>> resolve("b"), resolve("tennis"), resolve("http://example.org/b"), resolve("Games > Tennis"), resolve("c")
    ('b', 'b', 'b', 'b', None)
    >>> Resolver(Taxonomy.flat(["http://example.org/b"]))("b")
    'http://example.org/b'
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self._labels: dict[str, str | None] | None = None
        self._steps: dict[str, str | None] | None = None

    def code(self, given: str) -> str | None:
        """The node whose name or alias it is, or that an IRI ends with."""
        tax = self.taxonomy
        if given in tax.index_of:
            return given
        if given in tax.aliases:
            return tax.aliases[given]
        last = _last_step(given)
        if last in tax.index_of:
            return last
        return self._by_step.get(last)

    def __call__(self, given: str) -> str | None:
        """The node that a code, a unique label or a path of labels stands for, or None."""
        return self.code(given) or self._by_label.get(fold(given)) or self._by_path(given)

    def _by_path(self, given: str) -> str | None:
        node = by_path(self.taxonomy, given) if ">" in given or "/" in given else None
        return None if node is None else str(self.taxonomy.names[node])

    @property
    def _by_step(self) -> dict[str, str | None]:
        """Names that are IRIs by their last steps, as far as these are unique."""
        if self._steps is None:
            self._steps = {}
            for name in map(str, self.taxonomy.names):
                if _IRI.match(name):
                    step = _last_step(name)
                    self._steps[step] = None if step in self._steps else name
            self._steps.pop("", None)
        return self._steps

    @property
    def _by_label(self) -> dict[str, str | None]:
        if self._labels is None:
            self._labels = {}
            for v, name in enumerate(self.taxonomy.names):
                key = fold(self.taxonomy.display(v))
                self._labels[key] = None if key in self._labels else str(name)
            self._labels.pop("", None)
        return self._labels


def _last_step(name: str) -> str:
    return name.replace("#", "/").rstrip("/").rpartition("/")[2] if "/" in name or "#" in name else name


def read(
    path: str | os.PathLike[str],
    old: Taxonomy,
    new: Taxonomy,
    *,
    columns: tuple[str, str] | None = None,
    encoding: str | None = None,
) -> Correspondence:
    """Read a correspondence; see `Correspondence.read`."""
    source = source_name(path)
    text = decode(load(path), source, encoding)
    if not text.strip():
        raise DataError(f"{source}: the file is empty; expected a table of old and new codes.")
    plain = re.sub(r"\.(gz|xz|bz2|zip)$", "", source.lower())
    format = recognise_text(text, ending=os.path.splitext(plain)[1])
    reader = _Reader(source, Resolver(old), Resolver(new), columns)
    if format in RDF:
        return matches(text, format, source, old, new)
    if format == "yaml":
        return reader.content(parse_yaml(text, source, DataError))
    if text.lstrip()[0] in "{[":
        try:
            return reader.content(json.loads(text))
        except ValueError as error:
            raise DataError(f"{source}: not JSON: {error}.") from None
    stated = reader.arrows(text) or reader.sentences(text)
    if stated is not None:
        return stated
    mark = column_mark(text)
    if mark is None:
        raise DataError(f"{source}: expected a table with a column of old and a column of new codes; got one column.")
    try:
        rows = list(table(text, mark, source))
    except TaxonomyError as error:
        raise DataError(str(error)) from None
    return reader.rows([cells for _, cells in rows], [line for line, _ in rows])


class _Reader:
    def __init__(self, source: str, old: Resolver, new: Resolver, columns: tuple[str, str] | None) -> None:
        self.source, self.old, self.new, self.columns = source, old, new, columns

    def error(self, message: str, line: int = 0) -> DataError:
        return DataError(f"{place(self.source, line or None)}: {message}")

    # -- rules ---------------------------------------------------------------------------------------------------------

    def content(self, content: JSON) -> Correspondence:
        """Rules, a list of objects, or one object of old and new codes."""
        sets = list(_rule_sets(content))
        if sets:
            return self._fitting([self.rules(rules) for rules in sets])
        if isinstance(content, list) and content and all(isinstance(item, dict) for item in content):
            keys = list(dict.fromkeys(key for item in content if isinstance(item, dict) for key in item))
            cells = [[_cell(item.get(key)) for key in keys] for item in content if isinstance(item, dict)]
            return self.rows([keys, *cells], [0] * (len(cells) + 1))
        if isinstance(content, dict):
            inside = [value for value in content.values() if isinstance(value, list) and value]
            if len(inside) == 1 and all(isinstance(item, dict) for item in inside[0]):
                return self.content(inside[0])
            pairs = [(str(key), name) for key, value in content.items() for name in _scalars(value) or [""]]
            return self.made((old, new, "", 1.0) for old, new in pairs)
        raise self.error("expected rules, a list of objects or one object of old and new codes.")

    def _fitting(self, sets: list[Correspondence]) -> Correspondence:
        """The rules between these two versions, where a file has several lists of rules."""

        def share(table: Correspondence) -> float:
            known = sum(self.old(pair.old) is not None and self.new(pair.new) is not None for pair in table.pairs)
            return known / len(table.pairs) if table.pairs else 0.0

        best = max(sets, key=share)
        if len(sets) == 1:
            return best
        return replace(
            best, notes=(*best.notes, f"The file has {len(sets)} lists of rules; the one that fits was read.")
        )

    def rules(self, rules: JSON) -> Correspondence:
        """Rules with ``input`` and ``output``, each an object that holds codes, or a code."""
        assert isinstance(rules, list)
        found: list[tuple[str, str, str, float]] = []
        conditions = 0
        for number, rule in enumerate(rules, 1):
            if not isinstance(rule, dict) or "input" not in rule or "output" not in rule:
                raise self.error(f"rule {number} is not an object with 'input' and 'output'.")
            given = _nodes(rule["input"])
            codes = [code for code in given if self.old.code(code) is not None] or given[:1]
            if not codes:
                raise self.error(f"rule {number} has no code in its input.")
            conditions += len(given) > len(codes)
            made = _nodes(rule["output"])
            known = [code for code in made if self.new(code) is not None]
            found += [(code, target, "", 1.0) for code in codes for target in (known or made or [""])]
        notes = [f"{conditions:,} rules have further conditions, which are not read."] if conditions else []
        return self.made(found, notes=notes)

    # -- sentences -----------------------------------------------------------------------------------------------------

    def arrows(self, text: str) -> Correspondence | None:
        """Lines that begin with an arrow, each with the lines of its double arrows below it; None for other texts."""
        found: list[tuple[str, str, str, float]] = []
        old, open_ = "", False
        for number, line in body_lines(text):
            line = line.strip()
            if first := _ARROW.fullmatch(line):
                found += [(old, "", "", 1.0)] if open_ else []
                old, open_ = first["old"], True
            elif second := _DOUBLE_ARROW.fullmatch(line):
                if not old:
                    raise self.error(f"{line[:60]!r} has no line with an arrow above it.", number)
                found.append((old, second["new"], "", 1.0))
                open_ = False
            elif not line.startswith("#"):
                return None
        found += [(old, "", "", 1.0)] if open_ else []
        return self.made(found) if found else None

    def sentences(self, text: str) -> Correspondence | None:
        """Replacements that lines describe in words; None if most lines do not, or do not name known nodes."""
        found: list[tuple[str, str, str, float]] = []
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        known = stated = 0
        for line in lines:
            said = _REPLACED.match(line)
            gone = None if said else _DELETED.match(line)
            if said is None and gone is None:
                continue
            stated += 1
            words = said["old"] if said else (gone["old"] or gone["also"]) if gone else ""
            before = self._meant(words, self.old)
            known += self.old(before) is not None
            targets = [] if said is None else self._targets(said["new"])
            found += [(before, target, "", 1.0) for target in targets or [""]]
        if not stated or 2 * stated < len(lines) or 2 * known < stated:
            return None
        other = len(lines) - stated
        notes = [f"{other:,} lines without a replacement were not read."] if other else []
        return self.made(found, notes=notes)

    def _meant(self, words: str, resolve: Resolver) -> str:
        """The code in brackets if it is known, else the words without it."""
        words = words.strip().strip("\"'*-").strip()
        inside = _BRACKETS.search(words)
        if inside is None:
            return words
        code, outside = inside["code"].strip(), words[: inside.start()].strip()
        return code if resolve(code) is not None or resolve(outside) is None else outside

    def _targets(self, words: str) -> list[str]:
        words = words.strip().rstrip(".").strip()
        whole = self._meant(words, self.new)
        if self.new(whole) is not None and ";" not in words:
            return [whole]
        return [self._meant(part, self.new) for part in re.split(r";|\||\band\b", words) if part.strip()] or [whole]

    # -- tables --------------------------------------------------------------------------------------------------------

    def rows(self, rows: list[list[str]], lines: Sequence[int]) -> Correspondence:
        """The pairs of a table whose first row may be a header."""
        width = max(len(row) for row in rows)
        rows = [row + [""] * (width - len(row)) for row in rows]
        i, j = self._columns(rows, width)
        head = rows[0]
        header = not self._known(head[i], self.old) and not self._known(head[j], self.new) and len(rows) > 1
        names = [cell if header else str(k + 1) for k, cell in enumerate(head)]
        words = [set(fold(name).split()) if header else set() for name in names]
        others = [k for k in range(width) if k not in (i, j)]
        weight = next((k for k in others if words[k] & WEIGHT_WORDS), None)
        kind = next((k for k in others if words[k] & KIND_WORDS), None)
        confirmed = next((k for k in others if header and fold(names[k]) == CONFIRMED), None)
        found: list[tuple[str, str, str, float]] = []
        rejected = unconfirmed = 0
        for row, line in list(zip(rows, lines, strict=True))[header:]:
            if confirmed is not None and fold(row[confirmed]) in ("no", "n", "false", "0", "nein", "non"):
                rejected += 1
                continue
            unconfirmed += confirmed is not None and not row[confirmed]
            olds, news = self._parts(row[i], self.old), self._parts(row[j], self.new)
            if not olds:
                if news:
                    continue  # a new node without an old one
                raise self.error(f"the row has no code in the column {names[i]!r}.", line)
            share = 1.0 if weight is None else self._weight(row[weight], line)
            said = "" if kind is None else _KINDS.get(row[kind].casefold().replace("skos:", "").strip(), "")
            found += [(a, b, said, share) for a in olds for b in (news or [""])]
        notes = [f"Old codes are in the column {names[i]!r}, new codes in the column {names[j]!r}."]
        if rejected:
            notes.append(f"{rejected:,} rows were dropped because the column {CONFIRMED!r} says no.")
        if unconfirmed:
            notes.append(
                f"{unconfirmed:,} rows are proposals that nobody confirmed (the column {CONFIRMED!r} is empty)."
            )
        return self.made(found, notes)

    def _columns(self, rows: list[list[str]], width: int) -> tuple[int, int]:
        if self.columns is not None:
            return self._named(rows[0], self.columns[0]), self._named(rows[0], self.columns[1])
        if width < 2:
            raise self.error("expected a column of old codes and a column of new codes; got one column.")
        sample = rows[1:] or rows
        shares = [
            [self._share([row[k] for row in sample], resolve) for k in range(width)] for resolve in (self.old, self.new)
        ]
        words = [set(fold(cell).split()) for cell in rows[0]]
        best, value = (0, 1), -1.0
        for i in range(width):
            for j in range(width):
                hint = 0.25 * (bool(words[i] & OLD_WORDS) + bool(words[j] & NEW_WORDS)) + 0.01 * (i < j)
                if i != j and shares[0][i] + shares[1][j] + hint > value:
                    best, value = (i, j), shares[0][i] + shares[1][j] + hint
        if shares[0][best[0]] < LEAST_SHARE or shares[1][best[1]] < LEAST_SHARE:
            listed = ", ".join(
                f"{rows[0][k]!r} ({shares[0][k]:.0%} old, {shares[1][k]:.0%} new)" for k in range(min(width, 10))
            )
            raise self.error(
                f"no pair of columns holds codes of the two versions; shares of cells that are nodes: {listed}; name "
                "the columns with columns=(old, new) if the codes are right."
            )
        return best

    def _named(self, head: list[str], wanted: str) -> int:
        if wanted in head:
            return head.index(wanted)
        if str(wanted).isdigit() and 1 <= int(wanted) <= len(head):
            return int(wanted) - 1
        raise self.error(f"there is no column {wanted!r}{nearest(wanted, head) or f'; there are {head}.'}")

    def _share(self, cells: list[str], resolve: Resolver) -> float:
        """Share of the cells that hold nodes; labels count a little less than codes."""
        filled = [cell for cell in cells if cell]
        if len(filled) < 0.1 * len(cells) or not filled:
            return 0.0
        value = 0.0
        for cell in filled:
            if resolve.code(cell) is not None:
                value += 1
            else:
                parts = self._parts(cell, resolve)
                value += 0.9 * sum(self._known(part, resolve) for part in parts) / max(1, len(parts))
        return value / len(filled)

    def _known(self, cell: str, resolve: Resolver) -> bool:
        return bool(cell) and resolve(cell) is not None

    def _parts(self, cell: str, resolve: Resolver) -> list[str]:
        """The codes in a cell; a mark inside a code or a label does not separate."""
        if not cell or cell in ("-", "–", "n/a", "none"):
            return []
        if resolve(cell) is not None:
            return [cell]
        for mark in ("|", ";", ",", "\n"):
            parts = [part.strip() for part in cell.split(mark) if part.strip()]
            if len(parts) > 1 and any(resolve(part) is not None for part in parts):
                return parts
        return [cell]

    def _weight(self, cell: str, line: int) -> float:
        if not cell:
            return 1.0
        try:
            value = float(cell.rstrip("%").strip().replace(",", ".")) / (100 if cell.endswith("%") else 1)
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            raise self.error(f"the weight {cell!r} is not a number from 0.", line)
        return value

    # -- pairs ---------------------------------------------------------------------------------------------------------

    def made(self, found: Iterable[tuple[str, str, str, float]], notes: Sequence[str] = ()) -> Correspondence:
        """The correspondence of codes as given; an empty new code stands for an old node without a target."""
        pairs: dict[tuple[str, str], CodePair] = {}
        without: dict[str, None] = {}
        for given, made, kind, weight in found:
            name = self.old(given) or given
            if not made:
                without[name] = None
                continue
            pair = CodePair(name, self.new(made) or made, kind, weight)
            before = pairs.get(pair[:2])
            if before is not None and before.kind and kind and before.kind != kind:
                raise self.error(f"{given!r} > {made!r} is given as {before.kind!r} and as {kind!r}.")
            pairs.setdefault(pair[:2], pair)
        return Correspondence(tuple(pairs.values()), tuple(without), self.source, tuple(notes))


def _cell(value: JSON) -> str:
    return " | ".join(_scalars(value))


def _rule_sets(content: JSON) -> Iterator[list[JSON]]:
    """The lists of rules anywhere in the content; ``rules`` without any value is an empty list."""
    if isinstance(content, list):
        if content and all(isinstance(item, dict) and "input" in item and "output" in item for item in content):
            yield content
            return
        for item in content:
            yield from _rule_sets(item)
    elif isinstance(content, dict):
        if "rules" in content and isinstance(content["rules"], (list, type(None))):
            yield content["rules"] or []
            return
        for item in content.values():
            yield from _rule_sets(item)


def _nodes(value: JSON) -> list[str]:
    """The nodes that a side of a rule names: ids of objects that have one, otherwise all scalars."""
    if isinstance(value, list):
        return [name for item in value for name in _nodes(item)]
    if isinstance(value, dict):
        if _scalars(value.get("id")):
            return _scalars(value["id"])
        return [name for item in value.values() for name in _nodes(item)]
    return _scalars(value)


def _scalars(value: JSON) -> list[str]:
    """All scalars in a value, in order, without keys."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in _scalars(item)]
    if isinstance(value, list):
        return [text for item in value for text in _scalars(item)]
    return [] if value is None or value == "" else [str(value)]


# -- RDF ---------------------------------------------------------------------------------------------------------------


def matches(text: str, format: str, source: str, old: Taxonomy, new: Taxonomy) -> Correspondence:
    """The pairs in RDF: SKOS matches, replacements and XKOS associations between nodes of the two versions.

    Statements in which one side is a node of neither version are counted in a note: a vocabulary may also be matched
    with others.
    """
    pairs: dict[tuple[str, str], CodePair] = {}
    foreign: Counter[str] = Counter()
    ends: dict[str, tuple[list[str], list[str]]] = {}
    as_old, as_new = Resolver(old).code, Resolver(new).code

    def add(a: str, b: str, kind: str, origin: str, both_ways: bool) -> None:
        first, second = as_old(a), as_new(b)
        if first is not None and second is not None and a != b:
            pairs.setdefault((first, second), CodePair(first, second, kind, origin=origin))
            return
        turned = as_old(b), as_new(a)
        if both_ways and turned[0] is not None and turned[1] is not None and a != b:
            pairs.setdefault(
                (turned[0], turned[1]), CodePair(turned[0], turned[1], _INVERSE.get(kind, kind), origin=origin)
            )
            return
        foreign["matches with other vocabularies" if origin == "match" else "replacements of other nodes"] += a != b

    for subject, predicate, value in _resources(text, format, source):
        if predicate.startswith(SKOS) and predicate[len(SKOS) :] in _MATCHES:
            add(subject, value, _MATCHES[predicate[len(SKOS) :]], "match", True)
        elif predicate == DCT + "isReplacedBy":
            add(subject, value, "", "replacement", False)
        elif predicate == DCT + "replaces":
            add(value, subject, "", "replacement", False)
        elif predicate in (XKOS + "sourceConcept", XKOS + "targetConcept"):
            ends.setdefault(subject, ([], []))[predicate.endswith("targetConcept")].append(value)
    for olds, news in ends.values():
        for a in olds:
            for b in news:
                pairs.setdefault((as_old(a) or a, as_new(b) or b), CodePair(as_old(a) or a, as_new(b) or b))
    without = [as_old(a) or a for olds, news in ends.values() if not news for a in olds]
    notes = [f"{count:,} {what} were left out." for what, count in foreign.items() if count]
    return Correspondence(tuple(pairs.values()), tuple(dict.fromkeys(without)), source, tuple(notes))


def matches_between(paths: Iterable[str | os.PathLike[str]], old: Taxonomy, new: Taxonomy) -> Correspondence | None:
    """The SKOS matches and XKOS associations in the files of the versions themselves; None if they have none."""
    pairs: list[CodePair] = []
    for path in paths:
        if str(path) == "-":
            continue
        content = load(path)
        if not any(word in content for word in (b"Match", b"sourceConcept")):
            continue
        try:
            text = decode(content, source_name(path))
        except TaxonomyError:
            continue  # in another encoding; the taxonomy itself was read with it
        format = recognise_text(text)
        if format in RDF:
            found = matches(text, format, source_name(path), old, new)
            pairs += [pair for pair in found.pairs if pair.origin != "replacement"]
    return Correspondence.from_pairs(pairs) if pairs else None


def _resources(text: str, format: str, source: str) -> Iterator[tuple[str, str, str]]:
    """Subject, predicate and object of the triples whose object is not a literal."""
    import pyoxigraph as ox

    from linnaeus.taxonomy.formats.skos import OURS, name_of, prepared, syntax_of

    try:
        for quad in ox.parse(prepared(text, source, format), format=syntax_of(format), base_iri=OURS):
            if not isinstance(quad.object, ox.Literal) and not isinstance(quad.subject, ox.Triple):
                yield name_of(quad.subject.value), quad.predicate.value, name_of(quad.object.value)
    except SyntaxError as error:
        raise DataError(f"{place(source, error.lineno)}: not {format}: {error.msg}.") from None
