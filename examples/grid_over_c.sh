#!/bin/sh
# Choose C on a held-out fifth of the training file, train with it on all of the file, and measure on TEST.
# usage: grid_over_c.sh [TRAIN] [TEST]; writes grid.model to the current folder
set -eu
train=${1:-data/text.train}
test=${2:-data/text.test}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk 'NR % 5 != 0' "$train" >"$work/fit"
awk 'NR % 5 == 0' "$train" >"$work/held-out"
best=
for c in 0.03 0.1 0.3 1 3 10; do
    svmcut learn -v 0 --example-cost "$c" "$work/fit" "$work/model"
    svmcut classify -v 0 --report "$work/report" "$work/held-out" "$work/model" "$work/scores" >/dev/null
    error=$(sed -n 's/^ *"error_rate": \([0-9.eE+-]*\),*$/\1/p' "$work/report")
    echo "C = $c: $error % errors on the held-out part"
    if [ -z "$best" ] || awk "BEGIN { exit !($error < $least) }"; then
        best=$c
        least=$error
    fi
done
echo "training on all of $train with C = $best"
svmcut learn -v 0 --example-cost "$best" "$train" grid.model
svmcut classify -v 0 "$test" grid.model "$work/scores"
