"""`linnaeus annif import`: projects, vocabularies and corpora of Annif become what `linnaeus train` takes."""

from __future__ import annotations

import gzip
import json
import shlex

import pytest

TTL = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://x/animals> a skos:Concept ; skos:prefLabel "animals"@en, "Tiere"@de .
<http://x/cats> a skos:Concept ; skos:prefLabel "cats"@en, "Katzen"@de ; skos:broader <http://x/animals> .
<http://x/dogs> a skos:Concept ; skos:prefLabel "dogs"@en, "Hunde"@de ; skos:broader <http://x/animals> .
"""
CFG = """[pets-en]
name=Pets
language=en
backend=tfidf
analyzer=snowball(english)
vocab=pets
limit=10

[pets-match]
language=en
backend=mllm
analyzer=voikko(fi)
vocab=pets(en)
"""


@pytest.fixture
def annif(tmp_path):
    """A folder as Annif leaves it, with a corpus."""
    (tmp_path / "projects.cfg").write_text(CFG)
    (tmp_path / "data" / "vocabs" / "pets").mkdir(parents=True)
    (tmp_path / "data" / "vocabs" / "pets" / "subjects.ttl").write_text(TTL)
    rows = [
        f"purr {i} whisker\t<http://x/cats>\n" if i % 2 else f"bark {i} leash\t<http://x/dogs>\n" for i in range(40)
    ]
    (tmp_path / "train.tsv").write_text("".join(rows))
    return tmp_path


def imported(linnaeus, folder, *more: str) -> list[dict]:
    result = linnaeus("annif", "import", folder / "projects.cfg", "-o", folder / "out", "--json", *more)
    assert result.code == 0, result.err
    return json.loads(result.out)


def labels(folder, project: str = "pets-en") -> list[list[str]]:
    lines = (folder / "out" / "documents" / f"{project}.jsonl").read_text().splitlines()
    return [json.loads(line)["labels"] for line in lines]


def test_an_imported_project_can_be_trained_with_the_printed_command(linnaeus, annif) -> None:
    first, second = imported(linnaeus, annif, "--corpus", f"pets-en={annif / 'train.tsv'}")
    assert (first["project"], first["documents"], first["subjects"]) == ("pets-en", 40, 3)
    assert first["not_carried_over"] == ["limit=10"]
    assert second["not_carried_over"] == ["analyzer=voikko(fi)"]
    assert "--analyser stems:en" in first["command"]
    assert "LexicalModel" in second["command"]
    for one in (first, second):
        quick = ["--model", "OneVsRestSVM", "--budget", "0", "--test-size", "0"] if one is first else []
        trained = linnaeus(*shlex.split(one["command"])[1:], *quick)
        assert trained.code == 0, trained.err
    (annif / "new.txt").write_text("bark leash\n")
    answered = linnaeus("predict", annif / "out" / "models" / "pets-en", annif / "new.txt", "--json")
    assert "http://x/dogs" in answered.out


def test_all_kinds_of_corpora_give_the_same_documents(linnaeus, annif) -> None:
    (annif / "a.tsv.gz").write_bytes(gzip.compress(b"purr\thttp://x/cats <http://x/animals>\nbark\t<http://x/dogs>\n"))
    (annif / "a.csv").write_text(
        'document_id,text,subject_uris,title\n1,"purr",<http://x/cats> <http://x/animals>,T\n2,bark,http://x/dogs,\n'
    )
    rows = [
        {"text": "purr", "subjects": [{"uri": "http://x/cats"}, {"label": "animals"}], "metadata": {"title": "T"}},
        {"text": "bark", "subjects": [{"uri": "http://x/dogs"}]},
    ]
    (annif / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (annif / "full").mkdir()
    (annif / "full" / "1.txt").write_text("purr")
    (annif / "full" / "1.key").write_text("cats\nanimals\n")
    (annif / "full" / "2.txt").write_text("bark")
    (annif / "full" / "2.tsv").write_text("<http://x/dogs>\tdogs\n")
    (annif / "full" / "3.txt").write_text("a text without subjects is not a training document")
    for name in ("a.tsv.gz", "a.csv", "a.jsonl", "full"):
        imported(linnaeus, annif, "--corpus", str(annif / name))
        assert labels(annif) == [["http://x/cats", "http://x/animals"], ["http://x/dogs"]], name
        assert labels(annif, "pets-match") == labels(annif)
    imported(linnaeus, annif, "--corpus", str(annif / "a.csv"))
    assert '"title": "T"' in (annif / "out" / "documents" / "pets-en.jsonl").read_text()


def test_vocabularies_of_tables_are_flat_and_have_all_labels(linnaeus, annif) -> None:
    (annif / "v.csv").write_text(
        "uri,notation,label_en,label_de\nhttp://x/cats,1,cats,Katzen\n<http://x/dogs>,2,dogs,\nhttp://x/old,,,\n"
    )
    (annif / "v.tsv").write_text("<http://x/cats>\tcats\t1\n<http://x/dogs>\tdogs\n")
    for name in ("v.csv", "v.tsv"):
        found = imported(linnaeus, annif, "--vocab", f"pets={annif / name}")
        assert found[0]["subjects"] == 2  # a subject without labels is deprecated
        assert found[0]["command"] is None
        written = (annif / "out" / "vocabularies" / "pets.ttl").read_text()
        assert '"cats"@en' in written
    assert linnaeus("taxonomy", "check", annif / "out" / "vocabularies" / "pets.ttl").code == 0


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("projects.cfg", "[a]\nlanguage=en\nlanguage=de\n", "projects.cfg:3: language is given twice"),
        ("projects.cfg", CFG + "[pets-en]\n", "projects.cfg:14: [pets-en] is given twice"),
        ("projects.cfg", "x=1\n", "projects.cfg:1: a setting before"),
        ("projects.cfg", "[a]\nlanguage=en\nvocab=v\n", "projects.cfg:1: the project 'a' has no 'backend'"),
        (
            "projects.cfg",
            "[a]\nlanguage=en\nvocab=yso\nbackend=svc\n",
            "projects.cfg:1: the vocabulary 'yso' is not in",
        ),
        ("train.tsv", "purr\t<http://x/cats>\nbark <http://x/dogs>\n", "train.tsv:2: there is no tab"),
        (
            "train.tsv",
            "purr\t<http://x/cat>\n",
            "train.tsv:1: the subject 'http://x/cat' is not in the vocabulary; did",
        ),
        ("train.csv", "txt,subject_uris\n", "train.csv:1: there is no column 'text'"),
        ("train.jsonl", '{"text": "a"}\n{"text"\n', "train.jsonl:2: not JSON"),
    ],
)
def test_errors_name_the_file_and_the_line(linnaeus, annif, name, content, expected) -> None:
    (annif / name).write_text(content)
    corpus = annif / (name if name.startswith("train") else "train.tsv")
    result = linnaeus("annif", "import", annif / "projects.cfg", "-o", annif / "out", "--corpus", corpus)
    assert result.code == 1
    assert expected in result.err


def test_unknown_subjects_are_left_out_and_counted_if_told(linnaeus, annif) -> None:
    (annif / "train.tsv").write_text("purr\t<http://x/cats> <http://x/old>\nmeow\t<http://x/old>\n")
    found = imported(linnaeus, annif, "--corpus", str(annif / "train.tsv"), "--unknown", "drop")
    assert found[0]["left_out"] == {"subjects": 2, "documents": 1}
    assert labels(annif) == [["http://x/cats"]]


def test_projects_in_toml_and_in_folders_are_read(linnaeus, annif) -> None:
    folder = annif / "projects.d"
    folder.mkdir()
    (folder / "a.cfg").write_text(CFG)
    (folder / "b.toml").write_text(
        '[more]\nlanguage = "de"\nbackend = "svc"\nvocab = "pets(de)"\nmin_df = 3\nngram = 2\n'
    )
    result = linnaeus("annif", "import", folder, "-o", annif / "out", "--json", "-c", annif / "train.tsv")
    assert result.code == 0, result.err
    assert [one["project"] for one in json.loads(result.out)] == ["pets-en", "pets-match", "more"]
    assert "--language de --min-df 3 --ngrams 1-2" in json.loads(result.out)[2]["command"]
    (folder / "c.cfg").write_text(CFG)
    again = linnaeus("annif", "import", folder, "-o", annif / "out")
    assert "c.cfg:1: the project 'pets-en' is already in" in again.err
    assert "a.cfg:1" in again.err


def test_options_that_name_no_project_are_refused(linnaeus, annif) -> None:
    for option, value in (("--corpus", "pets-fr=train.tsv"), ("--vocab", "pest=v.ttl"), ("--corpus", "absent.tsv")):
        result = linnaeus("annif", "import", annif / "projects.cfg", "-o", annif / "out", option, value)
        assert (result.code, option in result.err) == (2, True)
