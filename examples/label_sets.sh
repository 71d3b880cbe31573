#!/bin/sh
# Learn sets of labels, every label on its own and with weights of their pairs, and compare the two on TEST.
# usage: label_sets.sh [TRAIN] [TEST]; writes labels.PAIRS.model, .sets and .json to the current folder
set -eu
train=${1:-data/labels.train}
test=${2:-data/labels.test}
for pairs in none all; do
    svmcut learn --task multilabel -v 0 --pairs "$pairs" --example-cost 1 --gap 0.001 "$train" "labels.$pairs.model"
    svmcut classify --report "labels.$pairs.json" "$test" "labels.$pairs.model" "labels.$pairs.sets" >/dev/null
    for measure in subset_accuracy hamming_loss micro_f1; do
        value=$(sed -n "s/^ *\"$measure\": \\([0-9.eE+-]*\\),*\$/\\1/p" "labels.$pairs.json")
        printf -- '--pairs %-5s %-16s %6.2f %%\n' "$pairs" "$measure" "$value"
    done
done
