"""What a long fit has finished, on disk: a folder of named arrays from which the same fit continues after a kill.

    checkpoint.json      whose fit it is (fingerprint), its state (plain values), where the arrays of every key lie
    arrays-0001.bin      arrays one after the other, each at a multiple of 64 bytes; written once, never changed
    lock                 held by the process that trains

`put` writes arrays at once, but they count only when `commit` has replaced checkpoint.json, in one step: all keys put
since the last commit become visible together, or none does. A kill at any moment leaves the last commit, so keys may be
overwritten freely. Arrays come back memory-mapped: reading some rows of each does not load them whole.

A fit is known by its fingerprint; two fits with the same one compute the same model:

    {"model": "RRSVM", "documents": "#30000 x 47236 f4, 9c1e...", "labels": "#...", "taxonomy": "#...", "C": 1.0, ...}

Values that begin with "#" stand for content; they can be compared, not shown.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
import zlib
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from linnaeus.data.check import Problem
from linnaeus.data.matrices import is_sparse
from linnaeus.errors import CheckpointError
from linnaeus.files import naming, replace_file
from linnaeus.typing import Array, Matrix

__all__ = ["RUN_ONLY", "Checkpoint", "Pace", "differences", "digest", "fingerprint", "remove_finished"]

FORMAT = "linnaeus-checkpoint"
FORMAT_VERSION = 1
INDEX = "checkpoint.json"
EVERY = 5.0
LOCK = "lock"
_OURS = re.compile(rf"arrays-\d+\.bin|{INDEX}|{LOCK}|\.[0-9a-f]+\.part")
_FULL = 256 * 2**20  # bytes after which a new file begins
_ALIGN = 64
# How a fit runs, not what it computes.
_Entry = tuple[str, int, str, list[int], int]  # file, offset, dtype, shape, checksum; a list in JSON
RUN_ONLY = frozenset({"checkpoint", "engine", "max_memory", "max_time", "n_jobs", "verbose"})
_CHUNK = 2**24


class Pace:
    """When to write a state again: after ``every`` seconds, and at most 1 / ``share`` of the time is spent on it.

    Examples
    --------
    >>> pace = Pace(every=3600.0, share=10)
    >>> pace.due
    False
    """

    def __init__(self, every: float, share: int) -> None:
        self.every, self.share = every, share
        self._last, self._took = time.monotonic(), 0.0

    @property
    def due(self) -> bool:
        """Whether enough time has passed since the state was written."""
        return time.monotonic() - self._last >= max(self.every, self.share * self._took)

    def wrote(self, began: float) -> None:
        """Note that a state was written, which took from ``began`` (`time.monotonic`) until now."""
        self._last = time.monotonic()
        self._took = self._last - began


class Checkpoint:
    """Named arrays and plain values of one fit in a folder; what is there of the same fit is taken up.

    Parameters
    ----------
    folder : path-like
        Created where it does not exist; one that holds other things is refused.
    fingerprint : mapping
        What the fit is (see `fingerprint`); a folder of another fit is refused, with what differs.
    every : float, default=None
        Seconds between commits of `commit_if_due`, 5 by default.
    durable : bool, default=True
        Wait for the disk at every commit; False for files that need not survive a power cut.

    Attributes
    ----------
    state : dict
        Plain values, written with the next commit.
    finished : bool
        Whether the fit came to its end.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with Checkpoint(folder, {"C": 1.0}) as checkpoint:
    ...     checkpoint.put("block 3", {"weights": np.ones(2)})
    ...     checkpoint.state["sweep"] = 7
    ...     checkpoint.commit()
    >>> with Checkpoint(folder, {"C": 1.0}) as again:
    ...     again.state["sweep"], again.get("block 3")["weights"].tolist()
    (7, [1.0, 1.0])
    >>> Checkpoint(folder, {"C": 2.0})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    linnaeus.errors.CheckpointError: ... holds the checkpoint of another fit: C was 1.0 and is 2.0; ...
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        fingerprint: Mapping[str, object],
        *,
        every: float | None = None,
        durable: bool = True,
    ) -> None:
        self.folder = Path(folder)
        self.fingerprint = json.loads(json.dumps(dict(fingerprint)))  # as it will be read back
        self.every, self.durable = EVERY if every is None else every, durable
        self.state: dict[str, Any] = {}
        self.finished = False
        self._entries: dict[str, dict[str, _Entry]] = {}  # key -> array name -> where it is
        self._file: BinaryIO | None = None
        self._maps: dict[str, Array] = {}
        self._changed = False
        self._last = time.monotonic()
        self._lock: BinaryIO | None = None
        self._open()

    # -- keys ----------------------------------------------------------------------------------------------------------

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def put(self, key: str, arrays: Mapping[str, npt.ArrayLike]) -> None:
        """Write arrays under a key, in place of those it had; they count from the next commit on."""
        with naming(self.folder):
            self._entries[key] = {name: self._write(np.asarray(array)) for name, array in arrays.items()}
        self._changed = True

    def get(self, key: str, *, verify: bool = True) -> dict[str, Array]:
        """The arrays of a key, read-only and memory-mapped; ``verify=False`` spares reading them for checksums."""
        return {name: self._read(key, entry, verify) for name, entry in self._entries[key].items()}

    def discard(self, key: str) -> None:
        """Forget a key, from the next commit on."""
        self._changed |= self._entries.pop(key, None) is not None

    # -- commits -------------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Make everything put so far, and ``state``, what a later fit finds: all of it or, after a kill, none of it."""
        start = time.monotonic()
        if self._file is not None:
            with naming(self.folder):
                self._file.flush()
                if self.durable:
                    os.fsync(self._file.fileno())
        content = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "finished": self.finished,
            "fingerprint": self.fingerprint,
            "state": self.state,
            "keys": self._entries,
        }
        text = json.dumps(content)
        if self.durable:
            replace_file(self.folder / INDEX, text.encode())
        else:
            (self.folder / INDEX).write_text(text)
        self._changed = False
        self._tidy()
        self._last = time.monotonic()
        # An index of very many keys takes long to write: at most a twentieth of the time goes into commits.
        self._pause = max(self.every, 20 * (self._last - start))

    def commit_if_due(self) -> bool:
        """Commit if the last one is more than ``every`` seconds ago and something changed since."""
        due = self._changed and time.monotonic() - self._last >= self._pause
        if due:
            self.commit()
        return due

    def finish(self) -> None:
        """Commit and mark the fit as finished; a later fit of the same finds everything done."""
        self.finished = True
        self.commit()

    def close(self) -> None:
        """Let the folder go; what was not committed is lost. Arrays that were read stay valid."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._maps.clear()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def remove(self) -> None:
        """Delete the checkpoint, and the folder where nothing else is in it."""
        self.close()
        for path in list(self.folder.iterdir()):
            if _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the folder ----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._pause = self.every
        if self.folder.exists() and not self.folder.is_dir():
            raise CheckpointError(f"checkpoint={str(self.folder)!r} is a file; expected a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        foreign = sorted(path.name for path in self.folder.iterdir() if not _OURS.fullmatch(path.name))
        if foreign and not (self.folder / INDEX).exists():
            raise CheckpointError(
                f"{self.folder} is not a checkpoint (it holds {foreign[0]!r}); choose another folder."
            )
        self._lock = _locked(self.folder / LOCK)
        try:
            if (self.folder / INDEX).exists():
                self._take_up()
            self._tidy()
            for path in self.folder.glob(".*.part"):  # of a write that was killed
                path.unlink(missing_ok=True)
        except BaseException:
            self.close()
            raise

    def _take_up(self) -> None:
        path = self.folder / INDEX
        try:
            content = json.loads(path.read_text("utf-8"))
            version = content["format_version"] if content["format"] == FORMAT else None
        except (UnicodeDecodeError, json.JSONDecodeError, LookupError, TypeError):
            raise CheckpointError(f"{path} is damaged; delete {self.folder} to start again.") from None
        if version != FORMAT_VERSION:
            raise CheckpointError(f"{path} has format version {version}; this linnaeus reads {FORMAT_VERSION}.")
        other = differences(content["fingerprint"], self.fingerprint)
        if other:
            raise CheckpointError(
                f"{self.folder} holds the checkpoint of another fit: {', '.join(other)}; "
                "choose another folder, or delete this one to start again."
            )
        self._entries, self.state, self.finished = content["keys"], content["state"], content["finished"]

    def _tidy(self) -> None:
        """Delete files that no key needs; begin a new file where the open one is full or holds overwritten arrays."""
        used: dict[str, int] = {}
        for arrays in self._entries.values():
            for file, _, dtype, shape, _ in arrays.values():
                used[file] = used.get(file, 0) + _padded(np.dtype(dtype).itemsize * math.prod(shape))
        if self._file is not None:
            name, size = Path(self._file.name).name, self._file.tell()
            if size >= _FULL or used.get(name, 0) < size:
                self._file.close()
                self._file = None
        for path in self.folder.glob("arrays-*.bin"):
            if path.name not in used and (self._file is None or path.name != Path(self._file.name).name):
                self._maps.pop(path.name, None)
                path.unlink(missing_ok=True)

    def _write(self, array: Array) -> _Entry:
        if array.dtype.hasobject:
            raise TypeError("a checkpoint holds plain arrays, not objects")
        if self._file is None:
            numbers = [int(path.stem.partition("-")[2]) for path in self.folder.glob("arrays-*.bin")]
            self._file = open(self.folder / f"arrays-{max(numbers, default=0) + 1:04d}.bin", "xb")  # noqa: SIM115
        offset = self._file.tell()
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        self._file.write(content)
        self._file.write(bytes(_padded(content.nbytes) - content.nbytes))
        name = Path(self._file.name).name
        return name, offset, array.dtype.str, list(array.shape), zlib.crc32(content)

    def _read(self, key: str, entry: _Entry, verify: bool) -> Array:
        file, offset, dtype, shape, crc = entry
        stop = offset + np.dtype(dtype).itemsize * math.prod(shape)
        try:
            raw = self._mapped(file, stop)[offset:stop]
        except (OSError, ValueError):
            raw = np.zeros(0, np.uint8)
        if len(raw) != stop - offset or (verify and zlib.crc32(raw.data) != crc):
            raise CheckpointError(
                f"{self.folder / file} is damaged (at {key!r}); delete {self.folder} to start the fit again."
            )
        return raw.view(dtype).reshape(shape)

    def _mapped(self, file: str, stop: int) -> Array:
        """One mapping per file, however many arrays it holds: systems allow some ten thousand mappings."""
        known = self._maps.get(file)
        if known is None or len(known) < stop:
            if self._file is not None:
                self._file.flush()
            path = self.folder / file
            mapped = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8)
            known = self._maps[file] = np.asarray(mapped)
        return known


def remove_finished(folder: str | PathLike[str]) -> bool:
    """Delete the checkpoint of a fit that came to its end, for its model is saved now; others stay."""
    try:
        content = json.loads((Path(folder) / INDEX).read_text("utf-8"))
        finished = content["format"] == FORMAT and content["finished"]
    except (OSError, ValueError, LookupError, TypeError):
        return False
    if finished:
        Checkpoint(folder, content["fingerprint"]).remove()
    return bool(finished)


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // _ALIGN) * _ALIGN


def _locked(path: Path) -> BinaryIO:
    """An open file that no other process holds; the system releases it when the process ends, however it ends."""
    file = open(path, "ab")  # noqa: SIM115
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise CheckpointError(f"{path.parent} is in use: another process trains with this checkpoint.") from None
    except (ImportError, OSError):  # no such locks on this system or file system: the user must ensure one writer
        pass
    return file


# -- fingerprints ------------------------------------------------------------------------------------------------------


class _Parameterised(Protocol):
    """What scikit-learn calls an estimator."""

    def get_params(self, deep: bool = ...) -> dict[str, object]: ...


def fingerprint(model: _Parameterised, problem: Problem) -> dict[str, object]:
    """The fingerprint of fitting ``model`` to ``problem``: data, taxonomy and every parameter that matters.

    A seed counts when it is a number. Without one, or with a generator, any seed will do: the first is kept and used.

    Examples
    --------
    >>> from scipy import sparse
    >>> from linnaeus import OneVsRestSVM, Taxonomy
    >>> tax = Taxonomy.flat(["a", "b"])
    >>> problem = Problem(sparse.csr_array(np.eye(2)), tax.indicator(["a", "b"]), tax)
    >>> one, two = (fingerprint(OneVsRestSVM(C=C, n_jobs=2), problem) for C in (1.0, 2.0))
    >>> differences(one, two)
    ['C was 1.0 and is 2.0']
    """
    parts: dict[str, object] = {
        "model": type(model).__name__,
        "documents": digest(problem.X),
        "labels": digest(problem.Y),
        "kind of labels": problem.codec.kind,
        "taxonomy": f"#{problem.taxonomy.fingerprint}",
        "sample_weight": None if problem.weights is None else digest(problem.weights),
    }
    for name, value in model.get_params(deep=False).items():
        if name not in RUN_ONLY and name != "taxonomy":
            parts[name] = _seed(value) if name == "random_state" else _plain(value)
    return parts


def differences(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """What differs between two fingerprints, in words.

    Examples
    --------
    >>> differences({"documents": "#1", "tol": 0.1}, {"documents": "#2", "tol": 0.1, "learn": "closed"})
    ['the documents differ', "learn was not known and is 'closed'"]
    """
    found = []
    for name in [*before, *(name for name in now if name not in before)]:
        old, new = before.get(name, _Unknown), now.get(name, _Unknown)
        if old == new:
            continue
        if str(old).startswith("#") or str(new).startswith("#"):
            found.append(f"the {name} {'differs' if name in ('taxonomy', 'sample_weight') else 'differ'}")
        else:
            found.append(f"{name} was {_described(old)} and is {_described(new)}")
    return found


def digest(A: Matrix) -> str:
    """Shape, type and a hash of the content of a dense or CSR matrix; a memory-mapped one is read piece by piece."""
    state = hashlib.blake2b(digest_size=16)
    parts = (A.indptr, A.indices, A.data) if is_sparse(A) else (A,)
    for part in parts:
        part = np.asarray(part)
        # The width of indices depends on where they came from, their values do not.
        rows = max(1, _CHUNK // max(1, part.itemsize * int(np.prod(part.shape[1:], dtype=int))))
        for a in range(0, len(part), rows):
            piece = part[a : a + rows]
            piece = piece.astype(np.int64) if piece.dtype.kind in "iu" else piece
            state.update(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
    shape = " x ".join(str(n) for n in A.shape)
    return f"#{shape} {np.dtype(A.dtype).str[1:]}, {state.hexdigest()}"


class _Unknown:
    pass


def _described(value: object) -> str:
    return "not known" if value is _Unknown else repr(value)


def _seed(value: object) -> object:
    return value if value is None or isinstance(value, (int, str)) else _whole(value)


def _whole(value: object) -> object:
    return int(value) if isinstance(value, np.integer) else "a generator"


def _plain(value: object) -> object:
    """A parameter as JSON keeps it; arrays by their content, other objects by what they say of themselves."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return digest(value)
    if isinstance(value, Mapping):
        return [[str(key), _plain(v)] for key, v in sorted(value.items(), key=lambda item: str(item[0]))]
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
