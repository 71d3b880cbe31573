#!/bin/sh
# Learn to tag the tokens of sequences, tag unseen ones, and show what their neighbours tell: the same tokens, each alone.
# usage: tagging.sh [TRAIN] [TEST]; writes tagging.model, tagging.tags and tagging.json to the current folder
set -eu
train=${1:-data/tags.train}
test=${2:-data/tags.test}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# $1 and $2: files; $3: where the model, the tags and the report go
tag() {
    svmcut learn --task sequence -v 0 --example-cost 0.3 --gap 0.01 "$1" "$3.model"
    svmcut classify --report "$3.json" "$2" "$3.model" "$3.tags" | grep 'Token error'
}
tag "$train" "$test" tagging
echo 'every token a sequence of its own:'
awk '{ $2 = "qid:" NR; print }' "$train" >"$work/train"
awk '{ $2 = "qid:" NR; print }' "$test" >"$work/test"
tag "$work/train" "$work/test" "$work/alone"
