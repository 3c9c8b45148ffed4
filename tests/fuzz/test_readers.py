"""Whatever is done to a valid file, a reader gives a data set or one of our errors, never another exception.

Files of every format of documents and labels are mutated (see `mutations`) and read, with the format recognised or
given. ``LINNAEUS_FUZZ_CASES=50000`` reads as many files; a case that fails names its number, which repeats it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import shutil
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.data.convert import write_mapped
from linnaeus.data.dataset import Dataset, columns_line
from linnaeus.data.describe import describe
from linnaeus.data.label_files import FORMATS as LABEL_FORMATS
from linnaeus.data.label_files import LabelFile, read_label_file
from linnaeus.data.readers import FORMATS, read_dataset
from linnaeus.errors import LinnaeusError
from tests.fuzz.mutations import cases, mutated
from tests.test_workbooks import workbook

CASES = 2000  # of documents; files of labels and folders take a third each
TOPICS = Taxonomy.from_edges([("Sports", "Football"), ("Sports", "Tennis")], root=None)
SGML = (
    b'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1"><TOPICS><D>wheat</D></TOPICS>'
    b"<TEXT><TITLE>A &lt;b&#62;</TITLE><BODY>Grain &#3; rose</BODY></TEXT></REUTERS>\n"
    b'<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="2"><TOPICS></TOPICS><TEXT>unproc</TEXT></REUTERS>\n'
)
GAF = b"".join(
    b"\t".join([b"UniProtKB", name, b"s", qualifier, term, b"PMID:1", b"IEA", b"", b"F", *[b""] * 6]) + b"\n"
    for name, qualifier, term in ((b"P1", b"", b"GO:1"), (b"P1", b"NOT|x", b"GO:2"), (b"P2", b"involved_in", b"GO:3"))
)
SPARSE = {
    "X_data": np.array([1.0, 2.0], dtype=np.float32),
    "X_indices": np.array([0, 1], dtype=np.int32),
    "X_indptr": np.array([0, 1, 2], dtype=np.int32),
    "X_shape": np.array([2, 2]),
    "Y_indices": np.array([0, 1]),
    "Y_indptr": np.array([0, 1, 2]),
    "Y_shape": np.array([2, 2]),
    "label_names": np.array(["A", "B"]),
}
DENSE = {"X": np.eye(2), "y": np.eye(2), "label_names": np.array(["A", "B"]), "ids": np.array([7, 8])}


def npz(arrays: dict[str, np.ndarray], save: Callable[..., None] = np.savez) -> bytes:
    buffer = io.BytesIO()
    save(buffer, **arrays)
    return buffer.getvalue()


def tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()[: 512 * (2 * len(files) + 2)]


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


SI = "<si><t>text</t></si><si><r><t>a</t></r></si>"
DOCUMENTS = [
    b'{"id": "d1", "title": "A goal", "text": ["a", 1], "labels": ["x", ["y", "z"], {"id": 1}]}\n{"id": 3}\n',
    b'[{"text": "a", "split": "train"}, {"labels": "b;c", "text": null}]',
    b'{"Sequence": "MKQ", "EC number": "1.1.1.1"}\n{"Sequence": "MAA", "EC number": null}\n',
    b'id,text,labels,year\nd1,"a, ""b""",A;B,1999\nd2,c,,2000\nd3,"two\nlines",B,\n',
    b"sep=;\r\nid;text;label\r\n1;a;A|B\r\n2;b;\r\n",
    b'id\ttext\tlabel\n1\ta\tA|B\n2\t"b"\tA\n',
    b"A late goal\t<http://x/1> <http://x/2>\nA vote\t<http://x/3>\n",
    b"f1,f2,label\n1,2.5,A\n?,3,B\n",
    b"Nr,Inhalt,Schlagwort\n1,Ein Tor,Sport\n2,Eine Wahl,Politik\n",
    b"One line per document.\n\nAnother, with a comma\n",
    b"__label__A __label__B a late goal\n__label__B a vote\n",
    b"3,5 0:0.5 7:1\n4 2:3 # note\n\n",
    b"2 9 6\n3,5 0:0.5 7:1\n4 2:3\n",
    b"3, 5 0:0.5 7:1\n4 2:3\n",
    b"@relation r\n@attribute x numeric\n@attribute s {a,'b c'}\n@attribute class hierarchical 1,1/1,2\n@data\n"
    b"1,a,1@2\n?,'b c',1/1\n",
    b"@relation r\n@attribute x numeric\n@attribute class hierarchical r/a,a/b\n@data\n{0 1, 1 a@b}\n{}\n",
    b">P1 1.1;2.2\nMKQ\nAA*\n>P2\nAA\n",
    b">sp|Q0P887|N_X Some protein OS=X\nMKQ\n>tr|P12345|M_X Other EC=1.1.1.1\nAA\n",
    SGML,
    "id,text,labels\n1,é,A\n2,ü,B\n".encode("utf-16"),
    tar({"train/a/1": b"From: x\nSubject: y\n\none", "test/b/2": b"two"}),
    tar({"1.sgm": SGML, "2.sgm": SGML}),
    zipped({"a/1": b"one", "b/2": b"two"}),
    zipped({"d1.txt": b"one", "d1.tsv": b"<http://x/1>\tOne\n", "d2.txt": b"two"}),
    zipped({"docs.csv": b"text,labels\na,A\nb,B\n"}),
    workbook('<row r="1"><c t="s"><v>0</v></c><c t="str"><v>label</v></c></row><row><c r="B2"><v>1</v></c></row>', SI),
    gzip.compress(tar({"a/1": b"one", "b/2": b"two"})),
    lzma.compress(b"text,labels\na,A\nb,B\n"),
    bz2.compress(b'{"text": "a", "labels": ["x"]}\n'),
    npz(SPARSE),
    npz(DENSE),
    npz({**SPARSE, "format": np.array("csc")}, np.savez_compressed),
]
LABELS = [
    b'{"id": "d1", "labels": ["A", {"label": "B", "score": 0.4}, ["C", 0.3]]}\n{"id": "d2", "labels": null}\n',
    b'["A", "B"]\n[]\n',
    b"id\tlabels\nd1\tA;B\nd2\tB\n",
    b"d1,A,0.9\nd1,B,0.4\nd2,A,0.1\n",
    b"Nr;Code\n1;A\n2;B\n",
    b"A B\n\nB\n",
    b"__label__A 0.9 __label__B 0.4\n__label__B 0.7\n",
    b"Suggestions for d1.txt\n<http://x/1>\tOne\t0.9\n<http://x/2>\tTwo\tN2\t0.4\nSuggestions for d2\n",
    b"!gaf-version: 2.2\n" + GAF,
    GAF,
]
WORDS = [
    b"text",
    b"labels",
    b"id",
    b"@data\n",
    b"@attribute y {a,b}\n",
    b"<REUTERS ",
    b"</REUTERS>",
    b"__label__",
    b">sp|",
]


def attempt(read: Callable[[], object], kind: type, case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = read()
        except LinnaeusError as error:
            found = str(error)
            kind = str
        except Exception as error:  # the number of the case is worth more than the traceback alone
            raise AssertionError(f"{case}: {type(error).__name__}: {error}"[:500]) from error
    assert isinstance(found, kind), case
    assert not isinstance(found, str) or 0 < len(found) <= 2000, case


def use(data: Dataset) -> Dataset:
    """Look at all of a data set, as commands do."""
    describe(data)
    columns_line(data)
    data.take([len(data) - 1, 0] if len(data) else [])
    if len(data):
        data.place(len(data) - 1)
    return data


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def test_mutated_documents_give_a_data_set_or_our_error(place: Path) -> None:
    for number, rng in enumerate(cases("documents", CASES)):
        seed = rng.randrange(len(DOCUMENTS))
        path = place / rng.choice(("docs", "docs.csv", "docs.txt"))
        path.write_bytes(mutated(DOCUMENTS[seed], rng, WORDS))
        format = rng.choice((None, None, None, *FORMATS))
        options = rng.choice(({}, {}, {"header": True}, {"text": "1"}, {"labels": "label"}, {"encoding": "latin-1"}))
        taxonomy = rng.choice((None, TOPICS))

        def read(
            path: Path = path, format: str | None = format, options: dict = options, tax: object = taxonomy
        ) -> Dataset:
            return use(read_dataset(path, format, taxonomy=tax, **options))

        attempt(read, Dataset, f"case {number} of seed {seed} as {format} with {options}")


def test_mutated_files_of_labels_give_labels_or_our_error(place: Path) -> None:
    (place / "proteins.fasta").write_bytes(b">P1\nMKQ\n>P2\nMAA\n")
    for number, rng in enumerate(cases("labels", CASES // 3)):
        seed = rng.randrange(len(LABELS))
        path = place / rng.choice(("labels", "labels.csv"))
        path.write_bytes(mutated(LABELS[seed], rng, WORDS))
        format = rng.choice((None, None, *LABEL_FORMATS))
        known = rng.choice((None, TOPICS.index_of))
        case = f"case {number} of seed {seed} as {format}"
        attempt(lambda p=path, f=format, k=known: read_label_file(p, f, known=k), LabelFile, case)
        if number % 4 == 0:
            attempt(lambda p=path: read_dataset(place / "proteins.fasta", labels_file=p), Dataset, case)


def test_mutated_folders_give_a_data_set_or_our_error(place: Path) -> None:
    whole = place / "whole"
    sparse = read_from(place, b"3,5 0:0.5 7:1\n4 2:3\n")
    write_mapped(sparse, whole / "mapped")
    for name, content in {
        "x/a.txt": b"one",
        "x/b/c.txt": b"two",
        "y/d1.txt": b"one",
        "y/d1.tsv": b"<http://x/1>\tA\n",
    }.items():
        (whole / name).parent.mkdir(parents=True, exist_ok=True)
        (whole / name).write_bytes(content)
    for number, rng in enumerate(cases("folders", CASES // 3)):
        kind = rng.choice(("mapped", "mapped", "mapped", "x", "y"))
        folder = place / "changed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole / kind, folder)
        chosen = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
        chosen.write_bytes(mutated(chosen.read_bytes(), rng, WORDS))
        if kind == "mapped" and rng.random() < 0.7:
            _declare_sizes(folder, rng)
        attempt(lambda p=folder: use(read_dataset(p)), Dataset, f"case {number}: {chosen.name} of {kind}")


def read_from(place: Path, content: bytes) -> Dataset:
    (place / "vectors").write_bytes(content)
    return read_dataset(place / "vectors")


def _declare_sizes(folder: Path, rng: random.Random) -> None:
    """Make the manifest agree with the altered files, so that the check of their sizes does not end the reading."""
    try:
        manifest = json.loads((folder / "dataset.json").read_bytes())
        for name, entry in manifest["files"].items():
            entry["bytes"] = (folder / name).stat().st_size
        if rng.random() < 0.5:
            key = rng.choice(sorted(manifest))
            manifest[key] = rng.choice((None, 7, "x", [], {}, [9**30, 2], [2, -1], -1, [[]]))
        (folder / "dataset.json").write_text(json.dumps(manifest))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError):
        return
