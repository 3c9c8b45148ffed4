#!/bin/sh
# The librarian's day on the command line; files are written to the current folder.
set -e
here=$(dirname "$0")

linnaeus taxonomy check "$here/subjects.ttl" --data "$here/train.jsonl"
linnaeus train --taxonomy "$here/subjects.ttl" --language en --data "$here/train.jsonl" --labels subjects --text title=2 --text abstract --model RRSVM --C 10 --min-df 1 --output indexer
linnaeus predict indexer "$here/new.jsonl" --as tsv --output suggestions.tsv
linnaeus explain indexer --data "$here/new.jsonl" --id n1 --top 3
linnaeus predict indexer "$here/new.jsonl" --only-under Nature --at-most 1
