"""The part of YAML that lists and tables are written in, without a dependency: one document of block mappings, block
sequences, one-line flow collections and scalars.

Scalars are text (``01.10`` stays ``01.10``) and None (``~``, ``null`` or nothing). Plain and quoted scalars may
continue in deeper lines; block scalars (``|``, ``>``) keep their text and the indentation inside it. Anchors, aliases,
tags and several documents are refused with their line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from linnaeus.errors import LinnaeusError, place
from linnaeus.typing import JSON

__all__ = ["parse_yaml"]

_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\[\]{},#&*!|>'"%@`-][^#]*?|-[^\s#][^#]*?)\s*:(?=\s|$)""")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$""")
_FLOW = re.compile(
    r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[\[\]{},]|:(?=[\s,\]}]|$)|(?:[^\s,\[\]{}:]|:(?=\S))(?:[^,\[\]{}:]|:(?=\S))*)"""
)
DEEPEST = 200


_BLOCK = re.compile(r"([|>])([+-]?\d?[+-]?)\s*(?:#.*)?$")


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def parse_yaml(text: str, source: str | None = None, error: type[LinnaeusError] = LinnaeusError) -> JSON:
    """The content of a document as dictionaries, lists, strings and None.

    Parameters
    ----------
    text : str
        The document.
    source : str, default=None
        Name of the file, for messages.
    error : type of LinnaeusError, default=LinnaeusError
        Class of errors; they name the line.

    Returns
    -------
    dict, list, str or None
        The content.

    Examples
    --------
    >>> parse_yaml("rules:\\n- input: {id: 7}\\n  output: [a, 'b: c']  # two\\n")
    {'rules': [{'input': {'id': '7'}, 'output': ['a', 'b: c']}]}
    """
    return _Reader(text, source, error).document()


class _Reader:
    def __init__(self, text: str, source: str | None, error: type[LinnaeusError]) -> None:
        self.source, self.error = source, error
        self.raw = text.split("\n")
        self.lines = self._lines()
        self.at = 0

    def refuse(self, message: str, number: int) -> NoReturn:
        raise self.error(f"{place(self.source, number)}: {message}.")

    def _lines(self) -> list[_Line]:
        found: list[_Line] = []
        started = False
        for number, line in enumerate(self.raw, 1):
            line = line.rstrip()
            content = line.lstrip(" ")
            if not content or content.startswith("#") or (not started and content.startswith("%")):
                continue
            if line == "---" or line.startswith("--- "):
                if started:
                    self.refuse("a second document begins; expected one", number)
                line = content = line[3:].strip()
                started = True
                if not content or content.startswith("#"):
                    continue
            if line == "...":
                break
            if content.startswith("\t"):
                self.refuse("the line is indented with a tab; YAML expects spaces", number)
            started = True
            found.append(_Line(number, len(line) - len(content), content))
        return found

    def document(self) -> JSON:
        if not self.lines:
            return None
        value = self.block(self.lines[0].indent, 0)
        if self.at < len(self.lines):
            self.refuse(f"unexpected indentation of {self.lines[self.at].text[:40]!r}", self.lines[self.at].number)
        return value

    def block(self, indent: int, depth: int) -> JSON:
        """The collection or scalar that begins at the current line."""
        line = self.lines[self.at]
        if depth > DEEPEST:
            self.refuse(f"more than {DEEPEST} levels are nested", line.number)
        if line.text == "-" or line.text.startswith("- "):
            return self.sequence(indent, depth)
        if _KEY.match(line.text):
            return self.mapping(indent, depth)
        self.at += 1
        return self.scalar(line.text, line.number, indent - 1)

    def sequence(self, indent: int, depth: int) -> list[JSON]:
        items: list[JSON] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.indent != indent or not (line.text == "-" or line.text.startswith("- ")):
                break
            rest = line.text[1:].lstrip(" ")
            if not rest or rest.startswith("#"):
                self.at += 1
                items.append(self.below(indent, depth))
            else:  # what follows the dash is a block of its own, indented by the dash
                inner = indent + len(line.text) - len(rest)
                self.lines[self.at] = _Line(line.number, inner, rest)
                items.append(self.block(inner, depth + 1))
        return items

    def mapping(self, indent: int, depth: int) -> dict[str, JSON]:
        found: dict[str, JSON] = {}
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.indent != indent:
                break
            match = _KEY.match(line.text)
            if match is None:
                self.refuse(f"expected 'key: value', got {line.text[:40]!r}", line.number)
            key = self.unquoted(match.group(1), line.number)
            if key in found:
                self.refuse(f"the key {key!r} is given twice", line.number)
            rest = line.text[match.end() :].strip()
            self.at += 1
            if not rest or rest.startswith("#"):
                found[key] = self.below(indent, depth, sequences=True)
            else:
                found[key] = self.scalar(rest, line.number, indent)
        return found

    def below(self, indent: int, depth: int, *, sequences: bool = False) -> JSON:
        """What is nested below a line; a sequence may have the indentation of the key that it belongs to."""
        if self.at == len(self.lines):
            return None
        line = self.lines[self.at]
        dashed = line.text == "-" or line.text.startswith("- ")
        if line.indent > indent or (sequences and dashed and line.indent == indent):
            return self.block(line.indent, depth + 1)
        return None

    def scalar(self, text: str, number: int, indent: int) -> JSON:
        """A scalar or flow collection, with its continuation in deeper lines."""
        if block := _BLOCK.match(text):
            return self.block_scalar(block[1] == ">", block[2].strip("123456789"), number, indent)
        if text[0] in "&*!|>%@`":
            self.refuse(f"{text[:20]!r} is a part of YAML that is not supported (anchor, alias or tag)", number)
        if text[0] in "\"'":
            while not _QUOTED.match(text) and self.at < len(self.lines) and self.lines[self.at].indent > indent:
                text += " " + self.lines[self.at].text
                self.at += 1
            match = _QUOTED.match(text)
            if match is None:
                self.refuse("a quoted text does not end", number)
            return self.unquoted(match.group(1), number)
        if text[0] in "[{":
            while self.at < len(self.lines) and self.lines[self.at].indent > indent:
                text = _COMMENT.sub("", text) + " " + self.lines[self.at].text
                self.at += 1
            return self.flow(text, number)
        text = _COMMENT.sub("", text).rstrip()
        while self.at < len(self.lines) and self.lines[self.at].indent > indent:
            line = self.lines[self.at]
            if _KEY.match(line.text):
                self.refuse(f"unexpected indentation of {line.text[:40]!r}", line.number)
            text += " " + _COMMENT.sub("", line.text).rstrip()
            self.at += 1
        return None if text in ("~", "null", "Null", "NULL", "") else text

    def block_scalar(self, folded: bool, end: str, number: int, indent: int) -> str:
        """The lines that are deeper than a line, as text; ``folded`` joins lines of one paragraph by spaces."""
        taken: list[str] = []
        for line in self.raw[number:]:
            line = line.rstrip()
            if line and len(line) - len(line.lstrip(" ")) <= indent:
                break
            taken.append(line)
        while self.at < len(self.lines) and self.lines[self.at].number <= number + len(taken):
            self.at += 1
        while taken and not taken[-1]:
            taken.pop()
        margin = min((len(line) - len(line.lstrip(" ")) for line in taken if line), default=0)
        text = "\n".join(line[margin:] for line in taken)
        if folded:
            text = re.sub(r"(?<!\n)\n(?![\n ])", " ", text).replace("\n\n", "\n")
        return text if end == "-" or not text else text + "\n"

    def unquoted(self, text: str, number: int) -> str:
        if text.startswith("'"):
            return text[1:-1].replace("''", "'")
        if not text.startswith('"'):
            return text
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            self.refuse(f"{text[:40]!r} has an escape sequence that is not supported", number)

    def flow(self, text: str, number: int) -> JSON:
        tokens = [match.group(1).strip() for match in _FLOW.finditer(_without_comment(text))]
        tokens.reverse()  # taken from the end

        def take(expected: str | None = None) -> str:
            if not tokens or (expected is not None and tokens[-1] != expected):
                self.refuse(f"{text[:40]!r} is not a list or mapping that can be read", number)
            return tokens.pop()

        value = self._flow_value(take, tokens, number, 0)
        if tokens:
            self.refuse(f"unexpected {tokens[-1][:20]!r} behind a list or mapping", number)
        return value

    def _flow_value(self, take: Callable[..., str], tokens: list[str], number: int, depth: int) -> JSON:
        token = take()
        if depth > DEEPEST:
            self.refuse(f"more than {DEEPEST} levels are nested", number)
        if token == "[":
            items: list[JSON] = []
            while tokens and tokens[-1] != "]":
                items.append(self._flow_value(take, tokens, number, depth + 1))
                if tokens and tokens[-1] != "]":
                    take(",")
            take("]")
            return items
        if token == "{":
            found: dict[str, JSON] = {}
            while tokens and tokens[-1] != "}":
                key = self.unquoted(take(), number)
                found[key] = None
                if tokens and tokens[-1] == ":":
                    take(":")
                    found[key] = self._flow_value(take, tokens, number, depth + 1) if tokens[-1:] != ["}"] else None
                if tokens and tokens[-1] != "}":
                    take(",")
            take("}")
            return found
        if token in ("]", "}", ",", ":"):
            self.refuse(f"unexpected {token!r} in a list or mapping", number)
        return None if token in ("~", "null") else self.unquoted(token, number)


def _without_comment(text: str) -> str:
    """A flow collection without a comment behind it."""
    end = max(text.rfind("]"), text.rfind("}")) + 1
    return text[:end] if text[end:].lstrip().startswith("#") else text
