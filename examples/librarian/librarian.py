"""Index books with a SKOS vocabulary: read and check it, train, suggest subjects with their URIs, say why.

    python examples/librarian/librarian.py

The same on the command line is in librarian.sh.
"""

from pathlib import Path

import linnaeus
from linnaeus import RRSVM, Pipeline, Taxonomy
from linnaeus.data import read_dataset, train_test_split
from linnaeus.features import TextFeatures
from linnaeus.taxonomy.checks import check

here = Path(__file__).parent

# 1. The vocabulary. Concepts are called by their URI; what people see comes from one of the languages.
subjects = Taxonomy.read(here / "subjects.ttl", language="en")
german = Taxonomy.read(here / "subjects.ttl", language="de")
print(subjects)
for finding in check(subjects).findings:
    print(f"  {finding.severity}: {finding.count} {finding.message}")

# 2. The catalogue: titles and abstracts with one or more subjects each. The title counts double.
books = read_dataset(here / "train.jsonl", taxonomy=subjects)
train, test = train_test_split(books, 0.2, random_state=0)
indexer = Pipeline(
    RRSVM(subjects, C=10.0, random_state=0),
    TextFeatures({"title": 2.0, "abstract": 1.0}, min_df=1, stop_words="english"),
)
indexer.fit(train.documents, train.labels)
print(f"hierarchical F1 on {len(test)} books held out: {indexer.score(test.documents, test.labels):.2f}")

# 3. Suggestions for new books, from all that is known: URIs for the catalogue, words in two languages for people.
indexer.fit(books.documents, books.labels)
new = read_dataset(here / "new.jsonl")
answers = indexer.predict(new.documents)
with open("suggestions.tsv", "w", encoding="utf-8") as file:
    for identifier, title, uris in zip(new.ids, new.documents["title"], answers, strict=True):
        for uri in uris:
            print(identifier, uri, subjects.display(uri), german.display(uri), sep="\t", file=file)
        print(f"{title}: {', '.join(f'{subjects.display(uri)} ({german.display(uri)})' for uri in uris)}")

# 4. Why? The words that spoke for the best subject of the first book, and for it rather than for the runner-up.
book = {field: values[0] for field, values in new.documents.items()}
why = indexer.explain(book, k=3)[-1]
for title, reasons in ((why.node, why), (f"... rather than {why.against.rival}", why.against)):
    words = zip(reasons.features[:3], reasons.contributions[:3], strict=True)
    print(f"{title}: {', '.join(f'{word} {value:+.2f}' for word, value in words)}")
for path in subjects.paths(why.node):  # beekeeping is farming, and it is about insects
    print("  " + " > ".join(subjects.display(node) for node in path))

# 5. A subject librarian wants nothing but nature, and at most one subject per book.
nature = subjects.names[subjects.displayed_as("Nature")][0]
print(indexer.predict(new.documents, rules={"only_under": nature, "at_most": 1})[:3])

linnaeus.save(indexer, "librarian-model")  # a folder of JSON and arrays; linnaeus.load("librarian-model") opens it
