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
# One command for the whole path: every C starts from the cuts of the one before.
svmcut learn --example-cost 0.03,0.1,0.3,1,3,10 --validate "$work/held-out" --select error_rate \
    "$work/fit" "$work/model" >"$work/log"
sed -n '/^ *C  /,/^Model/{/^Model/!p;}' "$work/log"
best=$(awk '/<- selected$/ { print $1 }' "$work/log")
echo "training on all of $train with C = $best"
svmcut learn -v 0 --example-cost "$best" "$train" grid.model
svmcut classify -v 0 "$test" grid.model "$work/scores"
