"""Documents read in batches are the documents of the whole file."""

from __future__ import annotations

import json

import pytest

from linnaeus.data import read_dataset
from linnaeus.data.dataset import concatenate
from linnaeus.data.readers import read_batches
from linnaeus.errors import DataError, ParameterError

ROWS = [(f"d{i}", f"text {i}", ["A"] if i % 3 else ["A", "B"]) for i in range(25)]
FILES = {
    "docs.jsonl": "".join(json.dumps({"id": i, "text": t, "labels": ls}) + "\n" for i, t, ls in ROWS),
    "array.json": json.dumps([{"id": i, "text": t, "labels": ls} for i, t, ls in ROWS]),
    "docs.csv": "id,text,labels\n" + "".join(f"{i},{t},{';'.join(ls)}\n" for i, t, ls in ROWS),
    "docs.tsv": "id\ttext\tlabels\n" + "".join(f"{i}\t{t}\t{';'.join(ls)}\n" for i, t, ls in ROWS),
    "lines.txt": "".join(f"{t}\n" for _, t, _ in ROWS),
    "fast.txt": "".join(f"{' '.join('__label__' + one for one in ls)} {t}\n" for _, t, ls in ROWS),
    "numbers.csv": "labels,x,y\n" + "".join(f"A,{i},{i % 3}\n" for i in range(25)),
    "sequences.fasta": "".join(f">s{i}\nACDEF\n" for i in range(25)),
}


@pytest.mark.parametrize("name", list(FILES))
@pytest.mark.parametrize("size", [1, 7, 100])
def test_batches_are_the_file(tmp_path, name: str, size: int) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    whole, batches = read_dataset(path), list(read_batches(path, size=size))
    joined = concatenate(batches)
    assert len(whole) == 25
    assert (joined.fields, joined.sequences, joined.labels, joined.ids) == (
        whole.fields,
        whole.sequences,
        whole.labels,
        whole.ids,
    )
    assert (joined.X is None) == (whole.X is None)
    assert [joined.place(i) for i in (0, 24)] == [whole.place(i) for i in (0, 24)]
    if name != "numbers.csv":
        assert max(map(len, batches)) <= size


def test_a_separator_that_appears_later_is_an_error(tmp_path) -> None:
    path = tmp_path / "docs.csv"
    path.write_text("text,labels\n" + 10 * "one,A\n" + 10 * "two,A;B\n")
    with pytest.raises(DataError, match=r"docs.csv:12 and rows below it .*label_separator"):
        list(read_batches(path, size=10))
    assert len(list(read_batches(path, size=10, label_separator=";"))) == 2


def test_parts_documents_without_labels_and_several_files(tmp_path) -> None:
    rows = [{"text": f"t{i}", "labels": ["A"] * (i % 2), "split": "train" if i < 6 else "test"} for i in range(10)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths = 2 * [tmp_path / "docs.jsonl"]
    options = {"split": "train", "unlabelled": "drop"}
    texts = [text for batch in read_batches(paths, size=3, **options) for text in batch.fields["text"]]
    assert texts == 2 * ["t1", "t3", "t5"] == read_dataset(paths, **options).fields["text"]


def test_ids_and_sequences_may_be_given_by_position(tmp_path) -> None:
    path = tmp_path / "docs.csv"
    path.write_text("number,text,labels\nd1,a goal,Sports\nd2,a vote,Politics\nd3,a law,Politics\n")
    assert [batch.ids for batch in read_batches(path, size=2, id=0)] == [["d1", "d2"], ["d3"]]
    proteins = tmp_path / "proteins.csv"
    proteins.write_text("name,chain,labels\np1,MKVL,1.1\np2,MKIL,2.1\n")
    (batch,) = read_batches(proteins, sequence=1, header=True)
    assert (batch.sequences, batch.fields) == (["MKVL", "MKIL"], None)


def test_wrong_parameters_of_batches_are_refused(tmp_path) -> None:
    path = tmp_path / "docs.csv"
    path.write_text("text,labels\na goal,Sports\n")
    with pytest.raises(ParameterError, match="unlabelled must be one of"):
        list(read_batches(path, unlabelled="dropped"))
    with pytest.raises(TypeError, match="lables"):
        list(read_batches(path, lables="labels"))
