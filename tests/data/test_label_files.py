from __future__ import annotations

import gzip
import json

import pytest

from linnaeus.data.label_files import LabelFile, align, read_label_file
from linnaeus.errors import DataError, ParameterError

KNOWN = {"A", "B", "C", "Machine learning", "http://x.org/1"}


@pytest.fixture
def read(tmp_path):
    def write_and_read(text, name="labels.txt", **options):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return read_label_file(path, **options)

    return write_and_read


EXPECTED = (["d1", "d2", "d3"], [["A", "B"], ["B"], []])


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "d1", "labels": ["A", "B"]}\n{"id": "d2", "labels": ["B"]}\n\n{"id": "d3", "labels": []}\n',
        '{"id": "d1", "label": ["A", "B"]}\n{"id": "d2", "label": "B"}\n{"id": "d3", "label": null}\n',
        '{"_id": "d1", "subjects": [{"name": "A"}, "B"]}\n{"_id": "d2", "subjects": ["B"]}\n{"_id":"d3","subjects":[]}',
        "d1\tA;B\nd2\tB\nd3\t\n",
        "d1\tA|B\nd2\tB\nd3\t\n",
        "d1\tA,B\nd2\tB\nd3\t\n",
        "d1\tA B\nd2\tB\nd3\t\n",
        "d1\tA\tB\nd2\tB\nd3\t\n",
        "id\tlabels\nd1\tA;B\nd2\tB\nd3\t\n",
        "labels\tdocument\nA;B\td1\nB\td2\n\td3\n",
        "d1\tA\nd1\tB\nd2\tB\nd3\t\n",
        "d1\tA\t0.9\nd1\tB\t0.4\nd2\tB\t1e-3\nd3\t\t\n",
        "doc_id\tlabel\tscore\td\nd1\tA\t0.9\tx\nd1\tB\t0.4\ty\nd2\tB\t1\tz\nd3\t\t\t\n",
        "d1,A,0.9\nd1,B,0.4\nd2,B,1\nd3,,\n",
        'id,labels\nd1,"A,B"\nd2,B\nd3,\n',
        "\ufeffd1\tA;B\r\nd2\tB\r\nd3\t\r\n",
        "d1\t<A>;<B>\nd2\t<B>\nd3\t\n",
    ],
)
def test_documents_with_ids(read, text):
    file = read(text)
    assert (file.ids, file.labels) == EXPECTED
    known = read(text, known=KNOWN)
    assert (known.ids, known.labels) == EXPECTED


@pytest.mark.parametrize(
    "text",
    [
        "A B\nB\n\n",
        "A;B\nB\n\n",
        "A,B\nB\n\n",
        "A\tB\nB\n\n",
        '{"labels": ["A", "B"]}\n{"labels": ["B"]}\n{"labels": []}\n',
    ],
)
def test_one_line_per_document(read, text):
    file = read(text, known=KNOWN)
    assert (file.ids, file.labels) == (None, EXPECTED[1])


def test_json_lists_and_labels_only_tables(read):
    assert read('["A", "B"]\n["B"]\n[]\n').labels == EXPECTED[1]
    assert read("labels\nA;B\nB\n").labels == [["A", "B"], ["B"]]


def test_scores_come_along(read):
    for text in (
        '{"labels": [{"label": "A", "score": 0.9}, {"label": "B", "score": 0.4}]}\n{"labels": []}\n',
        "d1\tA\t0.9\nd1\tB\t0.4\nd2\t\t\n",
        "A:0.9 B:0.4\n\n",
        "A:0.9,B:0.4\n\n",
    ):
        assert read(text, known=KNOWN).ranked() == [[("A", 0.9), ("B", 0.4)], []]
    assert read('{"labels": [{"label": "A", "score": 0.9}, "B"]}\n').ranked() is None


def test_known_labels_settle_what_separates(read):
    assert read("d1\tMachine learning\nd2\tA\n", known=KNOWN).labels == [["Machine learning"], ["A"]]
    assert read("d1\tMachine learning;A\n", known=KNOWN).labels == [["Machine learning", "A"]]
    assert read("d1\tMachine learning,A\n", known=KNOWN).labels == [["Machine learning", "A"]]
    assert read("Machine learning\nA\n", known=KNOWN).labels == [["Machine learning"], ["A"]]
    # a node called like a column is a node
    assert read("label\nA\n", known={"A", "label"}).labels == [["label"], ["A"]]


def test_entries_are_named_by_what_the_taxonomy_knows(read):
    entry = {"uri": "http://x.org/1", "label": "One", "notation": "1", "score": 0.5}
    text = json.dumps({"document_id": 7, "results": [entry]})
    assert read(text, known=KNOWN).labels == [["http://x.org/1"]]
    assert read(text).labels == [["One"]]
    assert read(text).ids == ["7"]


@pytest.mark.parametrize(
    "text",
    [
        '{"pmid": 1, "topics": ["A", "B"]}\n{"pmid": 2, "topics": []}\n',
        '{"pmid": 1, "Mesh": [["D1", "A", "N"], ["D2", "B", "Y"]]}\n{"pmid": 2, "Mesh": []}\n',
        '{"key": 1, "tags": [{"id": "D1", "name": "A"}, {"code": "D2", "title": "B"}]}\n{"key": 2, "tags": []}\n',
        "docno\tcategories\n1\tA|B\n2\t\n",
        "uuid,classes\n1,A;B\n2,\n",
    ],
)
def test_what_can_be_trained_on_can_be_compared_with(read, text):
    for known in (None, KNOWN):
        file = read(text, known=known)
        assert (file.ids, file.labels) == (["1", "2"], [["A", "B"], []])


def test_a_repeated_id_makes_no_long_table_of_a_wide_one(read):
    for known in (None, KNOWN):
        with pytest.raises(DataError, match=r"labels.txt:3: the id 'd1' was already given in line 1"):
            read("d1\tA;B\nd2\tB\nd1\tC\n", known=known)
    with pytest.raises(DataError, match=r"labels.txt:3: the id 'd1'"):
        read("d1\tA,B\nd2\tB\nd1\tC\n", known=KNOWN)
    # Commas and blanks may be part of a name.
    assert read("d1\tGlands, Human\nd1\tSkin\n").labels == [["Glands, Human", "Skin"]]
    assert read("d1\tMachine learning\nd1\tA\n", known=KNOWN).labels == [["Machine learning", "A"]]


def test_the_separator_is_found_wherever_it_occurs(read):
    text = "".join(f"d{i}\tA\n" for i in range(2000)) + "last\tA;B\n"
    for known in (None, KNOWN):
        assert read(text, known=known).labels[-1] == ["A", "B"]


def test_a_cell_longer_than_the_limit_of_the_csv_module_is_read(read):
    many = ";".join(["A"] * 100_000)
    assert len(read(f'id,labels\nd1,"{many}"\n').labels[0]) == 100_000


def test_unknown_labels_are_not_cut_at_blanks(read):
    assert read("d1\tFoo bar\nd2\tBaz\n", known=KNOWN).labels == [["Foo bar"], ["Baz"]]


def test_pairs_of_label_and_score_are_read(read):
    assert read('{"labels": [["A", 0.9], ["B", 1]]}\n', known=KNOWN).ranked() == [[("A", 0.9), ("B", 1.0)]]


def test_joined_strings_in_json_are_cut_where_only_the_parts_are_known(read):
    assert read('{"labels": "A;B"}\n', known=KNOWN).labels == [["A", "B"]]
    assert read('{"labels": "A;B"}\n', known={"A;B", "A", "B"}).labels == [["A;B"]]
    assert read('{"labels": "A;B"}\n').labels == [["A;B"]]


@pytest.mark.parametrize("known", [None, KNOWN])
class TestFastText:
    def test_labels_with_probabilities(self, read, known):
        file = read("__label__A 0.9 __label__B 1e-5\n\n__label__B 1.00001\n", known=known)
        assert file.ids is None
        assert file.ranked() == [[("A", 0.9), ("B", 1e-5)], [], [("B", 1.00001)]]

    def test_labels_alone(self, read, known):
        file = read("__label__A __label__B\n__label__B\n\n", known=known)
        assert (file.labels, file.scores) == ([["A", "B"], ["B"], []], None)

    def test_a_training_file_gives_gold_labels(self, read, known):
        file = read("__label__A __label__B 3 goals\n__label__B 7\nno labels here\n", known=known)
        assert (file.labels, file.scores) == ([["A", "B"], ["B"], []], None)


ONE, TWO = "http://x.org/1", "http://x.org/2"


@pytest.mark.parametrize("known", [None, KNOWN, {"One", ONE}])
class TestAnnif:
    def test_suggestions_are_about_one_document(self, read, known):
        file = read(f"<{ONE}>\tOne\t0.9\n<{TWO}>\tTwo\tT2\t0.4\n", known=known)
        assert (file.ids, file.ranked()) == (None, [[(ONE, 0.9), (TWO, 0.4)]])

    def test_headings_name_documents(self, read, known):
        text = f"Suggestions for d1.txt\n<{ONE}>\tOne\t0.9\nSuggestions for d2.txt\nSuggestions for d3.txt\n"
        file = read(text + f"<{TWO}>\tTwo\t0.4\n", known=known)
        assert (file.ids, file.ranked()) == (["d1.txt", "d2.txt", "d3.txt"], [[(ONE, 0.9)], [], [(TWO, 0.4)]])

    def test_an_empty_line_ends_a_document(self, read, known):
        file = read(f"<{ONE}>\tOne\t0.9\n\n\n<{TWO}>\tTwo\t0.4\n\n", known=known)
        assert file.ranked() == [[(ONE, 0.9)], [], [(TWO, 0.4)]]

    def test_what_is_no_suggestion_is_named(self, read, known):
        with pytest.raises(DataError, match=r"labels.txt:2: 'nonsense' is not a suggestion"):
            read(f"<{ONE}>\tOne\t0.9\nnonsense\n", format="annif", known=known)
        with pytest.raises(DataError, match=r"labels.txt:1 has no id"):
            read(f"<{ONE}>\tOne\t0.9\nSuggestions for d2\n", known=known)


def test_gold_labels_of_annif_have_no_scores(read):
    file = read(f"<{ONE}>\tOne\n<{TWO}>\tTwo\n", known={ONE, TWO})
    assert (file.labels, file.scores) == ([[ONE, TWO]], None)


def test_documents_may_be_named_by_addresses(read):
    assert read("<http://d/1>\tA;B\n<http://d/2>\tB\n", known=KNOWN).labels == [["A", "B"], ["B"]]
    assert read("<http://d/1>\tA\t0.9\n<http://d/1>\tB\t0.1\n", known=KNOWN).labels == [["A", "B"]]
    assert read("<http://d/1>\tA\n<http://d/2>\tB\n").labels == [["A"], ["B"]]


@pytest.mark.parametrize("known", [None, KNOWN])
@pytest.mark.parametrize(
    ("text", "labels", "ids"),
    [
        ('{"id": 1, "labels": ["C"], "hue": ["A"]}\n{"id": 2, "hue": ["B"]}\n', "hue", ["1", "2"]),
        ('{"id": ["A"]}\n{"id": ["B"]}\n', "id", None),
        ("id\tlabels\thue\n1\tC\tA\n2\tC\tB\n", "hue", ["1", "2"]),
        ("Inhalt,hue\na vote,A\na goal,B\n", "hue", None),
        ("hue\nA\nB\n", "hue", None),
        ("1\tC\tA\n2\tC\tB\n", "2", ["1", "2"]),
        ("A\tx\nB\ty\n", "0", None),
    ],
)
def test_the_key_or_column_of_the_labels_can_be_named(read, text, labels, ids, known):
    file = read(text, labels=labels, known=known)
    assert (file.labels, file.ids) == ([["A"], ["B"]], ids)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"hue": ["A"]}\n', r"labels.txt has no key 'heu'; it has 'hue'; did you mean 'hue'"),
        ("id\thue\n1\tA\n", r"labels.txt:1 has no column 'heu'; it has 'id', 'hue'; did you mean 'hue'"),
        ("id,x,heu\n1,A\n", r"labels.txt:2 has 2 columns"),
        ("A\nB\n", r"labels.txt has no column 'heu'; its first line is 'A'"),
        ("__label__A\n", r"labels.txt is a file of fasttext labels, which has no column 'heu'"),
    ],
)
def test_a_wrong_name_of_the_labels_is_answered(read, text, message):
    with pytest.raises(DataError, match=message):
        read(text, labels="heu")


def test_compressed_files(tmp_path):
    path = tmp_path / "labels.tsv.gz"
    path.write_bytes(gzip.compress(b"d1\tA;B\n"))
    assert read_label_file(path).labels == [["A", "B"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": 1, "labels": ["A"]}\n{"id": 2,\n', r"labels.txt:2 is not JSON"),
        ('{"id": 1, "hue": ["A"]}\n', r"labels.txt:1 has the keys \['hue', 'id'\], expected one of labels, label"),
        ('{"labels": ["A"]}\n{"label": ["A"]}\n', r"labels.txt:2 has the keys \['label'\], expected 'labels'"),
        ('{"labels": [{"text": "A"}]}\n', r"labels.txt:1: expected a label as a string, .* got \{'text': 'A'\}"),
        ('{"labels": [null]}\n', r"labels.txt:1: expected a label as a string, .* got None"),
        ('{"labels": ' + "[" * 100_000 + "\n", r"labels.txt:1 is nested too deeply"),
        ("id,labels\nd1,A;B\nd2,B\nd1,A\n", r"labels.txt:4: the id 'd1' was already given in line 2"),
        ('id,labels\nd1,"A"\rB\n', r"labels.txt:2 is not a row of cells"),
        ('{"labels": [{"label": "A", "score": "high"}]}\n', r"labels.txt:1: the score of 'A' is 'high'"),
        ('{"id": 1, "labels": []}\n{"id": 1, "labels": []}\n', r"labels.txt:2: the id '1' was already given in line 1"),
        ('{"id": 1, "labels": []}\n{"labels": []}\n', r"labels.txt:2 has no id"),
        ("id\tlabel\tscore\nd1\tA\thigh\n", r"labels.txt:2: the score of 'A' is 'high', expected a number"),
        ("  \n", "is empty"),
    ],
)
def test_errors_name_file_and_line(read, text, message):
    with pytest.raises(DataError, match=message):
        read(text)


def test_a_wrong_format_is_named(read, tmp_path):
    with pytest.raises(ParameterError, match="did you mean 'jsonl'"):
        read("A\n", format="json")
    with pytest.raises(DataError, match="is a folder"):
        read_label_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_label_file(tmp_path / "nowhere")


def test_the_format_can_be_given(read):
    assert read("d1,A\n", format="csv").ids == ["d1"]
    assert read("d1,A\n", format="lines").labels == [["d1", "A"]]


def test_documents_are_matched_by_id_where_both_have_ids():
    gold = LabelFile("gold", [["A"], ["B"], ["C"]], [1, 2, 3], ids=["d1", "d2", "d3"])
    predicted = LabelFile("predicted", [["C"], ["A"]], [1, 2], ids=["d3", "d1"], scores=[[0.3], [0.1]])
    aligned, n_missing = align(gold, predicted)
    assert (aligned.labels, aligned.scores, n_missing) == ([["A"], [], ["C"]], [[0.1], [], [0.3]], 1)


def test_documents_are_matched_by_order_otherwise():
    gold = LabelFile("gold", [["A"], ["B"]], [1, 2], ids=["d1", "d2"])
    predicted = LabelFile("predicted", [["B"], ["A"]], [1, 2])
    assert align(gold, predicted) == (predicted, 0)
    with pytest.raises(DataError, match="gold has 2 documents and predicted has 1"):
        align(gold, LabelFile("predicted", [["B"]], [1]))


def test_unknown_ids_are_named_with_file_and_line():
    gold = LabelFile("gold", [["A"]], [1], ids=["doc-1"])
    with pytest.raises(DataError, match=r"'doc-l' \(p.tsv:9\) is not in gold; did you mean 'doc-1'"):
        align(gold, LabelFile("p.tsv", [["A"]], [9], ids=["doc-l"]))


def test_a_table_of_nothing_but_a_separator_line_is_refused(tmp_path) -> None:
    (tmp_path / "labels.csv").write_text("sep=;\n")
    with pytest.raises(DataError, match="holds no rows"):
        read_label_file(tmp_path / "labels.csv")
