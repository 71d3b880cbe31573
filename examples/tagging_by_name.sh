#!/bin/sh
# Tags and features by name, in CRFsuite's text: learn, tag, and see what the heaviest features of a tag are.
# usage: tagging_by_name.sh [TRAIN] [TEST]; writes named.model and named.tags to the current folder
set -eu
train=${1:-data/tags.train}
test=${2:-data/tags.test}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# svm_hmm's lines, TAG qid:N INDEX:VALUE ..., as lines of names: TAG word=INDEX:VALUE ... with tabs in between
named() {
    awk '{ if (NR > 1 && $2 != last) print ""; last = $2; printf "tag%s", $1
           for (i = 3; i <= NF; i++) printf "\tword=%s", $i; print "" }' "$1"
}
named "$train" >"$work/train"
named "$test" >"$work/test"
svmcut learn --task sequence --input crfsuite -v 0 --example-cost 0.3 --gap 0.01 "$work/train" named.model
svmcut classify --input crfsuite -v 0 "$work/test" named.model named.tags
svmcut inspect --top 3 named.model | sed -n '/^Weights of tag tag1:/,/^$/p'
