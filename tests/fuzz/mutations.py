"""Seeded mutations of valid files, for fuzz tests of readers.

A mutation keeps most of the structure of a file, so that it reaches the code behind the first check: bytes are flipped,
the file is truncated, lines are duplicated and swapped, numbers become huge, separators and quotes change, the encoding
changes, values are nested deeply. ``cases(name, default)`` gives one seeded generator for each case; the environment
variable ``LINNAEUS_FUZZ_CASES`` replaces the default number of cases.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence

__all__ = ["MUTATIONS", "cases", "mutated"]

HUGE = [b"9" * 5000, b"-1", b"0", b"4294967296", b"99999999999999999999", b"1e400", b"-" + b"8" * 4400, b"nan", b"0x1f"]
SEPARATORS = [
    b"\t",
    b",",
    b";",
    b"|",
    b":",
    b" ",
    b"\r\n",
    b"\r",
    b"\0",
    b"@",
    b"/",
    b"=",
    b".",
    b"\x0b",
    b"\xe2\x80\xa8",
]
PIECES = [
    *SEPARATORS,
    *HUGE,
    b'"',
    b"'",
    b"{",
    b"}",
    b"[",
    b"]",
    b"<",
    b">",
    b"&",
    b"#",
    b"%",
    b"!",
    b"\\",
    b"&#" + b"9" * 5000 + b";",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"sep=;\n",
    b"null",
    b"[" * 10_000,
    b'{"a":' * 10_000,
    b"<a>" * 5_000,
    b"(" * 5_000,
]
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1"]
NUMBER = re.compile(rb"\d+")


def cases(name: str, default: int) -> Iterator[random.Random]:
    """One generator of random numbers for each case, the same in every run.

    A case is repeated alone with ``random.Random(f"{name}:{number}")``.
    """
    for number in range(int(os.environ.get("LINNAEUS_FUZZ_CASES", default))):
        yield random.Random(f"{name}:{number}")


def mutated(content: bytes, rng: random.Random, pieces: Sequence[bytes] = ()) -> bytes:
    """A valid file after one to four mutations; ``pieces`` are words of the format to insert beside the usual ones.

    >>> mutated(b"a,b\\n1,2\\n", random.Random(3)) == mutated(b"a,b\\n1,2\\n", random.Random(3))
    True
    """
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        if pieces and rng.random() < 0.2:
            content = _inserted(content, rng.choice(pieces), rng)
        else:
            content = rng.choice(MUTATIONS)(content, rng)
    return content


# -- bytes -------------------------------------------------------------------------------------------------------------


def _position(content: bytes, rng: random.Random) -> int:
    return rng.randrange(len(content) + 1)


def _inserted(content: bytes, piece: bytes, rng: random.Random) -> bytes:
    at = _position(content, rng)
    return content[:at] + piece + content[at + rng.choice((0, 0, 1, len(piece))) :]


def flip_bits(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def random_bytes(content: bytes, rng: random.Random) -> bytes:
    return _inserted(content, rng.randbytes(rng.randrange(1, 9)), rng)


def insert_piece(content: bytes, rng: random.Random) -> bytes:
    return _inserted(content, rng.choice(PIECES), rng)


def truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: _position(content, rng)]


def remove_range(content: bytes, rng: random.Random) -> bytes:
    at = _position(content, rng)
    return content[:at] + content[at + rng.randrange(1, 30) :]


def repeat_range(content: bytes, rng: random.Random) -> bytes:
    at = _position(content, rng)
    piece = content[at : at + rng.randrange(1, 60)]
    return content[:at] + piece * rng.choice((2, 2, 3, 1000)) + content[at + len(piece) :]


# -- lines -------------------------------------------------------------------------------------------------------------


def _lines(content: bytes) -> list[bytes]:
    return content.split(b"\n")


def duplicate_line(content: bytes, rng: random.Random) -> bytes:
    lines = _lines(content)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"\n".join(lines)


def swap_lines(content: bytes, rng: random.Random) -> bytes:
    lines = _lines(content)
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def remove_line(content: bytes, rng: random.Random) -> bytes:
    lines = _lines(content)
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def blank_line(content: bytes, rng: random.Random) -> bytes:
    lines = _lines(content)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice((b"", b" ", b"\t", b"#", b"\r")))
    return b"\n".join(lines)


def shuffle_words(content: bytes, rng: random.Random) -> bytes:
    words = content.split(b" ")
    a, b = rng.randrange(len(words)), rng.randrange(len(words))
    words[a], words[b] = words[b], words[a]
    return b" ".join(words)


# -- values ------------------------------------------------------------------------------------------------------------


def replace_number(content: bytes, rng: random.Random) -> bytes:
    found = list(NUMBER.finditer(content))
    if not found:
        return insert_piece(content, rng)
    chosen = rng.choice(found)
    return content[: chosen.start()] + rng.choice(HUGE) + content[chosen.end() :]


def replace_separator(content: bytes, rng: random.Random) -> bytes:
    present = [mark for mark in SEPARATORS if mark in content] or [b""]
    return content.replace(rng.choice(present), rng.choice(SEPARATORS), rng.choice((1, 2, -1)))


def remove_quotes(content: bytes, rng: random.Random) -> bytes:
    return content.replace(rng.choice((b'"', b"'", b">", b"}", b"]", b"\n")), b"", rng.choice((1, 1, -1)))


def nest(content: bytes, rng: random.Random) -> bytes:
    at = _position(content, rng)
    opening, closing = rng.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"<a>", b"</a>"), (b'{"labels":[', b"]}"))
    )
    depth = rng.choice((2, 100, 990, 10_000))
    return content[:at] + opening * depth + content[at : at + 20] + closing * depth + content[at + 20 :]


# -- the whole file ----------------------------------------------------------------------------------------------------


def encode(content: bytes, rng: random.Random) -> bytes:
    return content.decode("utf-8", "replace").encode(rng.choice(ENCODINGS), "replace")


def compress(content: bytes, rng: random.Random) -> bytes:
    pack: Callable[[bytes], bytes] = rng.choice((gzip.compress, bz2.compress, lzma.compress, zlib.compress))
    packed = pack(content)
    return packed if rng.random() < 0.5 else flip_bits(packed, rng)


def carriage_returns(content: bytes, rng: random.Random) -> bytes:
    return content.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n")))


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flip_bits,
    random_bytes,
    insert_piece,
    truncate,
    remove_range,
    repeat_range,
    duplicate_line,
    swap_lines,
    remove_line,
    blank_line,
    shuffle_words,
    replace_number,
    replace_number,
    replace_separator,
    remove_quotes,
    nest,
    encode,
    compress,
    carriage_returns,
)
